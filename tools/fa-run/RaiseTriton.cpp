//===- RaiseTriton.cpp - a Triton kernel that is attention as one ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Runtime/RaisedLaunch.h"
#include "fa/Runtime/TritonProgram.h"

#include "llvm/Support/raw_ostream.h"

#include <utility>

using namespace llvm;
using namespace fa;
using namespace fa::run;

//===----------------------------------------------------------------------===//
// What is raised
//===----------------------------------------------------------------------===//

Error fa::run::raiseTritonProgram(Job &job, const Options &options) {
  tile::KernelOp kernel = findTritonKernel(*job.module, options.entry);
  if (options.raise == Raise::Off || !kernel)
    return Error::success();
  std::string why;
  job.raised = raiseTritonKernel(kernel, why);
  if (!job.raised && options.raise == Raise::Only)
    return createStringError(why);
  // What is shown has no launch to depend on.
  if (job.raised && !options.emit.empty())
    job.module = std::move(job.raised->module);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Its launch
//===----------------------------------------------------------------------===//

Error fa::run::chooseRaised(Job &job, const Options &options) {
  auto launch = RaisedLaunch::create(
      findTritonKernel(*job.module, options.entry), *job.raised);
  if (!launch)
    return launch.takeError();
  const KernelInfo &info = launch->kernel();
  if (Error error = prepareTritonArguments(job, options, info))
    return error;
  auto bound = launch->bind(job.arguments);
  if (bound) {
    job.asWritten = {std::exchange(job.module, std::move(job.raised->module)),
                     std::exchange(job.arguments, std::move(*bound)),
                     job.program};
    job.program += ", @" + info.entry + " raised";
    return Error::success();
  }
  std::string why = "@" + info.entry + ": " + toString(bound.takeError());
  if (options.raise == Raise::Only)
    return createStringError("--raise=only: " + why);
  errs() << "fa-run: note: not raised: " << why
         << "; it runs as it is written\n";
  return Error::success();
}

bool fa::run::giveUpRaised(Job &job, const Options &options, Error &error) {
  if (!job.asWritten || options.raise == Raise::Only)
    return false;
  errs() << "fa-run: note: not raised: it runs as it is written, as its "
            "attention cannot be compiled: "
         << toString(std::move(error)) << '\n';
  job.module = std::move(job.asWritten->module);
  job.arguments = std::move(job.asWritten->arguments);
  job.program = std::move(job.asWritten->program);
  job.asWritten.reset();
  return true;
}

//===- LazyKernels.cpp - kernels of a plan as launches take them ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/LazyKernels.h"

#include <unistd.h>

using namespace llvm;
using namespace fa;

char LoadError::ID = 0;
char LateCompileError::ID = 0;

LazyKernels::LazyKernels(GpuPlan &card,
                         std::vector<std::shared_ptr<StoredKernel>> kernels,
                         StoredKernel::Progress progress,
                         BackgroundCompiler *background)
    : card(card), kernels(std::move(kernels)), progress(std::move(progress)),
      background(background), infos(card.artifact().kernels),
      process(getpid()) {}

Expected<LaunchChoice> LazyKernels::choose(ArrayRef<LaunchArgument> arguments,
                                           const Workspace &workspace) {
  auto choice = card.choose(arguments, workspace);
  while (choice && choice->unknown) {
    if (Error error = load(*choice->unknown))
      return error;
    choice = card.choose(arguments, workspace);
  }
  if (!choice)
    return choice;
  // What is loaded now does not change the choice: it depends on none that is
  // not known.
  for (const KernelInfo &kernel : choice->kernels)
    if (!card.isLoaded(kernel))
      if (Error error = load(kernel))
        return error;
  if (background && !gaveRest.load(std::memory_order_relaxed) &&
      !gaveRest.exchange(true))
    background->add(kernels);
  return choice;
}

Error LazyKernels::load(const KernelInfo &kernel) {
  size_t number = &kernel - card.kernels().data();
  // Nobody here has the locks of the threads that were not forked with it.
  if (getpid() != process)
    return make_error<LoadError>(
        createStringError("@" + kernel.symbol +
                          " is not loaded, and a card is of no use in a "
                          "forked process: expected process " +
                          Twine(process) + ", found " + Twine(getpid())));
  auto code = kernels[number]->get(progress);
  if (!code) {
    Error error = code.takeError();
    return error.isA<CancelledError>()
               ? std::move(error)
               : make_error<LateCompileError>(std::move(error));
  }
  if (progress && !progress("load"))
    return make_error<CancelledError>();
  if (Error error = loadCode(number, **code))
    return make_error<LoadError>(std::move(error));
  return Error::success();
}

Error LazyKernels::loadCode(size_t number, const Artifact &code) {
  std::lock_guard lock(mutex);
  KernelInfo &info = infos[number];
  if (card.isLoaded(card.kernels()[number]))
    return Error::success();
  GpuDevice::RelaxedCapture relaxed(card.device());
  if (Failure failure = relaxed.failure())
    return createStringError("@" + info.symbol +
                             " is not loaded, and a launch "
                             "that may be captured cannot do it: " +
                             failure.message() +
                             "; faPlanPrepare loads it before");
  auto loaded = card.add(number, code);
  if (!loaded)
    return loaded.takeError();
  info.registers = loaded->registers;
  info.stackBytes = loaded->stackBytes;
  info.spillBytes = code.kernels.front().spillBytes;
  return Error::success();
}

KernelInfo LazyKernels::describe(size_t number) const {
  std::lock_guard lock(mutex);
  return infos[number];
}

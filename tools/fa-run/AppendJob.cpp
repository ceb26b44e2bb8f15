//===- AppendJob.cpp - tokens that a cache is to keep ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Frontend/BuildAppend.h"
#include "fa/Runtime/ServingArguments.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

Expected<Job> fa::run::prepareAppend(mlir::MLIRContext &context,
                                     const Options &options) {
  if (!options.in.empty())
    return createStringError(
        "--in: expected a file or --merge, found --append, "
        "whose inputs are random");
  auto p = parseAppendSpec(*options.append);
  if (!p)
    return p.takeError();
  if (options.check && options.bench && p->numHeads)
    return createStringError("expected either --check or --bench with queries, "
                             "which each run rotates again, found both");
  Job job;
  job.program = "append " + p->str();
  job.entry = "append";
  auto module = buildAppend(context, *p, job.entry);
  if (!module)
    return module.takeError();
  job.module = std::move(*module);
  if (!options.emit.empty())
    return job;
  auto inputs = makeRandomInputs(*p, options.seed);
  if (!inputs)
    return inputs.takeError();
  job.arguments = makeArguments(*inputs);
  job.tensors = {inputs->k, inputs->v, inputs->slots};
  for (const auto &tensor : {inputs->positions, inputs->cosines, inputs->sines})
    if (tensor)
      job.tensors.push_back(*tensor);
  job.outputs = {{"k", inputs->kPages}, {"v", inputs->vPages}};
  if (inputs->q)
    job.outputs.push_back({"q", *inputs->q});
  job.checker = [p = *p, seed = options.seed](
                    const Job &job) -> Expected<std::vector<OutputCheck>> {
    // The job's own have been written to.
    auto before = makeRandomInputs(p, seed);
    if (!before)
      return before.takeError();
    AppendResult result{job.outputs[0].second, job.outputs[1].second,
                        std::nullopt};
    if (p.numHeads)
      result.q = job.outputs[2].second;
    return checkAppend(p, *before, result);
  };
  return job;
}

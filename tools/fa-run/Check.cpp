//===- Check.cpp - outputs against the reference --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

Expected<std::vector<OutputCheck>> fa::run::checkAttention(const Job &job) {
  auto reference = referenceF64(*job.problem, job.inputs);
  if (!reference)
    return reference.takeError();
  auto e0 = unfused(*job.problem, job.inputs);
  if (!e0)
    return e0.takeError();
  std::vector<OutputCheck> checks;
  for (const auto &[name, tensor] : job.outputs) {
    if (name == "lse")
      checks.push_back(checkLse(name, tensor, reference->lse, e0->lse));
    else
      checks.push_back(checkForward(name, tensor, reference->out, e0->out,
                                    tensor.type(), maxAbs(job.inputs.v)));
  }
  return checks;
}

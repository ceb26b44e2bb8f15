//===- Check.cpp - outputs against the reference --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

std::string fa::run::findReference(mlir::ModuleOp module, StringRef entry) {
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (entry.empty() || kernel.getEntryName() == entry)
      return kernel.getReference().value_or("").str();
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (entry.empty() ? function.isPublic() : function.getSymName() == entry)
      return function.getSymName().str();
  return "";
}

static Error evaluateGradients(const Job &job, AttentionReference &reference) {
  auto exact =
      referenceBackwardF64(*job.problem, job.inputs, job.backward->cotangents);
  if (!exact)
    return exact.takeError();
  auto e0 = unfusedBackward(*job.problem, job.inputs, *job.backward);
  if (!e0)
    return e0.takeError();
  reference.exactGradients = std::move(*exact);
  reference.unfusedGradients = std::move(*e0);
  return Error::success();
}

Expected<AttentionReference> fa::run::evaluateReference(const Job &job) {
  AttentionReference reference;
  if (job.backward)
    if (Error error = evaluateGradients(job, reference))
      return error;
  if (job.backward && !job.hasForwardFiles)
    return reference;
  auto exact = referenceF64(*job.problem, job.inputs);
  if (!exact)
    return exact.takeError();
  auto e0 = unfused(*job.problem, job.inputs);
  if (!e0)
    return e0.takeError();
  reference.exact = std::move(*exact);
  reference.unfused = std::move(*e0);
  return reference;
}

static std::vector<OutputCheck>
compareGradients(const Job &job, const AttentionReference &reference) {
  std::vector<OutputCheck> checks;
  // Where these are wrong, e0 is as large as the gradients' error.
  if (job.hasForwardFiles) {
    const AttentionResult &given = job.backward->forward;
    checks = {checkForward("forward-out", given.out, reference.exact.out,
                           reference.unfused.out, given.out.type(),
                           maxAbsValue(job.inputs)),
              checkLse("forward-lse", given.lse, reference.exact.lse,
                       reference.unfused.lse)};
  }
  for (auto [output, exact, e0] : zip_equal(
           job.outputs, reference.exactGradients, reference.unfusedGradients))
    checks.push_back(checkGradient(output.first, output.second, exact.value,
                                   e0.value, output.second.type(),
                                   exact.bound));
  return checks;
}

std::vector<OutputCheck> fa::run::compare(const Job &job,
                                          const AttentionReference &reference) {
  if (job.backward)
    return compareGradients(job, reference);
  std::vector<OutputCheck> checks;
  for (const auto &[name, tensor] : job.outputs) {
    if (name == "lse")
      checks.push_back(
          checkLse(name, tensor, reference.exact.lse, reference.unfused.lse));
    else
      checks.push_back(checkForward(name, tensor, reference.exact.out,
                                    reference.unfused.out, tensor.type(),
                                    maxAbsValue(job.inputs)));
  }
  return checks;
}

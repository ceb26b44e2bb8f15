//===- CheckFile.cpp - outputs of a file against its reference ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

void fa::run::findFusedGradients(Job &job, const FusionOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> fused = job.module->clone();
  // What there is to say of it the compilation says.
  mlir::ScopedDiagnosticHandler handler(
      fused->getContext(),
      [](mlir::Diagnostic &diagnostic) { return mlir::success(); });
  mlir::PassManager pm(fused->getContext());
  buildFusionPipeline(pm, options);
  if (failed(pm.run(*fused)))
    return;
  auto function = fused->lookupSymbol<mlir::func::FuncOp>(job.reference);
  if (function &&
      !function.getBody().getOps<tile::AttentionBackwardOp>().empty())
    job.fused = std::move(fused);
}

/// Whether result `number` of the reference is a log-sum-exp.
static bool isLogSumExp(mlir::ModuleOp module, StringRef reference,
                        size_t number) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(reference);
  mlir::Operation *end = function.getBody().front().getTerminator();
  return number < end->getNumOperands() &&
         end->getOperand(number).getDefiningOp<tile::LogSumExpOp>();
}

/// A number as one element, as which a kernel gives the gradient of one.
static HostTensor asElement(const HostTensor &tensor) {
  return tensor.rank() == 0 ? tensor.view({1}, {1}) : tensor;
}

/// By the rule of results. A value is a mean of V's rows: the largest of the
/// reference stands for the largest of V, which a program of any form does not
/// name.
static OutputCheck checkResult(StringRef name, const HostTensor &found,
                               const HostTensor &exact, const HostTensor &e0,
                               bool isLse) {
  return isLse ? checkLse(name, found, exact, e0)
               : checkForward(name, found, exact, e0, found.type(),
                              maxAbs(exact));
}

/// Of the forward's results, where these are given.
static Expected<std::vector<OutputCheck>> checkGiven(Job &job) {
  std::vector<OutputCheck> checks;
  if (!job.forward || job.forward->given.empty())
    return checks;
  ForwardFunction &forward = *job.forward;
  auto exact = forwardResults(job);
  if (!exact)
    return exact.takeError();
  auto e0 = interpret(
      *forward.module, forward.name,
      ArrayRef(job.referenceArguments).take_front(forward.numArguments),
      Precision::Declared);
  if (!e0)
    return e0.takeError();
  for (auto [n, found] : enumerate(forward.given))
    checks.push_back(
        checkResult("forward-out" + std::to_string(n), found, (*exact)[n],
                    (*e0)[n], isLogSumExp(*forward.module, forward.name, n)));
  return checks;
}

/// The arguments of the reference, with the forward's results in float64.
static Expected<std::vector<InterpreterValue>> exactArguments(Job &job) {
  std::vector<InterpreterValue> arguments = job.referenceArguments;
  if (!job.forward)
    return arguments;
  auto results = forwardResults(job);
  if (!results)
    return results.takeError();
  llvm::copy(*results, arguments.begin() + job.forward->numArguments);
  return arguments;
}

/// Whether the gradients that the compiler found are the function's, both in
/// float64: one check for each output that differs. Where they are others, e0
/// would be as large as the error.
static Expected<std::vector<OutputCheck>>
checkFused(const Job &job, ArrayRef<InterpreterValue> arguments,
           ArrayRef<HostTensor> reference) {
  auto fused =
      interpret(*job.fused, job.reference, arguments, Precision::Float64);
  if (!fused)
    return fused.takeError();
  std::vector<OutputCheck> checks;
  for (auto [output, found, expected] :
       zip_equal(job.outputs, *fused, reference)) {
    // Both are sums of doubles: a part in a million is no rounding.
    OutputCheck check =
        checkGradient(output.first, found, expected, expected, ElementType::F32,
                      std::max(maxAbs(expected), 1e-3));
    if (check.pass)
      continue;
    check.why = "the gradients that were found are not the function's: in "
                "float64 " +
                check.why;
    checks.push_back(std::move(check));
  }
  return checks;
}

/// Output `number` with `e0` of all.
static OutputCheck checkOutput(const Job &job, size_t number,
                               const HostTensor &exact, const HostTensor &e0) {
  const auto &[name, found] = job.outputs[number];
  if (!job.forward)
    return checkResult(name, found, exact, e0,
                       isLogSumExp(*job.original, job.reference, number));
  // No element of a gradient is larger than its bound is.
  return checkGradient(name, found, asElement(exact), asElement(e0),
                       found.type(), maxAbs(exact));
}

/// e0 of gradients has the output and the log-sum-exp that the program has.
/// Where these are wrong, or numbers of that e0 say nothing, it is that of the
/// program as it is written, with an output of its own.
Expected<std::vector<OutputCheck>> fa::run::checkFile(Job &job) {
  auto arguments = exactArguments(job);
  if (!arguments)
    return arguments.takeError();
  auto reference =
      interpret(*job.original, job.reference, *arguments, Precision::Float64);
  if (!reference)
    return reference.takeError();
  if (reference->size() != job.outputs.size())
    return createStringError("expected a reference with " +
                             Twine(job.outputs.size()) + " results, found " +
                             Twine(reference->size()));
  auto checks = checkGiven(job);
  if (!checks)
    return checks;
  std::vector<OutputCheck> outputs;
  auto checkWith = [&](mlir::ModuleOp module) -> Error {
    auto e0 = interpret(module, job.reference, job.referenceArguments,
                        Precision::Declared);
    if (!e0)
      return e0.takeError();
    for (auto [n, exact] : enumerate(*reference))
      if (n == outputs.size())
        outputs.push_back(checkOutput(job, n, exact, (*e0)[n]));
      else if (outputs[n].contractOnly)
        outputs[n] = checkOutput(job, n, exact, (*e0)[n]);
    return Error::success();
  };
  auto passes = [](const OutputCheck &check) { return check.pass; };
  if (job.fused && all_of(*checks, passes)) {
    auto differing = checkFused(job, *arguments, *reference);
    if (!differing || !differing->empty())
      return differing;
    if (Error error = checkWith(*job.fused))
      return error;
  }
  auto saysNothing = [](const OutputCheck &check) {
    return check.contractOnly;
  };
  if (outputs.empty() || any_of(outputs, saysNothing))
    if (Error error = checkWith(*job.original))
      return error;
  llvm::append_range(*checks, outputs);
  return checks;
}

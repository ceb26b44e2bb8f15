//===- GradientFile.cpp - a file whose function's gradients are asked for -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its arguments are those of the function, its results and their cotangents
// (tile-differentiate). The results follow from the arguments, and the
// reference from the function as it is written, differentiated before any
// attention is looked for in it.
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

void fa::run::findGradientFile(Job &job) {
  std::string entry = findReference(*job.module, job.entry);
  auto function = job.module->lookupSymbol<mlir::func::FuncOp>(entry);
  if (!function || !function->hasAttr(tile::TileDialect::vjpWrtAttrName))
    return;
  ForwardFunction forward;
  forward.name = entry;
  forward.numArguments = function.getNumArguments();
  forward.numResults = function.getNumResults();
  forward.module = job.module->clone();
  for (auto each : forward.module->getOps<mlir::func::FuncOp>()) {
    each->removeAttr(tile::TileDialect::vjpWrtAttrName);
    each->removeAttr(tile::TileDialect::vjpOfAttrName);
  }
  job.forward = std::move(forward);
}

Expected<ArrayRef<HostTensor>> fa::run::forwardResults(Job &job) {
  ForwardFunction &forward = *job.forward;
  if (forward.results.empty()) {
    mlir::PassManager pm(forward.module->getContext());
    pm.addPass(createTileInlineCalls());
    if (failed(pm.run(*forward.module)))
      return createStringError("the function's calls could not be inlined");
    auto results = interpret(
        *forward.module, forward.name,
        ArrayRef(job.referenceArguments).take_front(forward.numArguments),
        Precision::Float64);
    if (!results)
      return results.takeError();
    forward.results = std::move(*results);
  }
  return forward.results;
}

Expected<HostTensor> fa::run::forwardResult(Job &job, size_t number,
                                            ElementType type) {
  auto results = forwardResults(job);
  if (!results)
    return results.takeError();
  const HostTensor &exact = (*results)[number];
  auto rounded = HostTensor::create(type, exact.sizes());
  if (!rounded)
    return rounded;
  std::vector<double> values = exact.toDoubles();
  const double *next = values.data();
  rounded->forEach([&](char *e) { storeElement(e, type, *next++); });
  return rounded;
}

Error fa::run::differentiateReference(mlir::ModuleOp module) {
  std::string problems;
  raw_string_ostream out(problems);
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        out << "; " << diagnostic.getLocation() << ": " << diagnostic;
        return mlir::success();
      });
  mlir::PassManager pm(module.getContext());
  pm.addNestedPass<mlir::func::FuncOp>(createTileRaiseLinalg());
  pm.addPass(createTileDifferentiate());
  if (failed(pm.run(module)))
    return createStringError("--check: the reference has no gradients" +
                             Twine(problems));
  return Error::success();
}

//===- Structured.cpp - linalg in the reference evaluator -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "LoopNest.h"

#include "fa/Numerics/HostTensor.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

/// Takes note of a dimension of `found` elements that is read at `expr`.
static llvm::Error findSize(AffineExpr expr, int64_t found, Sizes &sizes) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t &size = sizes[dim.getPosition()];
    if (size >= 0 && size != found)
      return llvm::createStringError(
          "operands of different sizes: " + llvm::Twine(size) + " and " +
          llvm::Twine(found));
    size = found;
    return llvm::Error::success();
  }
  auto number = dyn_cast<AffineConstantExpr>(expr);
  if (number && number.getValue() >= 0 && number.getValue() < found)
    return llvm::Error::success();
  return llvm::createStringError("expected a loop or a number below " +
                                 llvm::Twine(found) + " as an index, found " +
                                 debugString(expr));
}

llvm::Expected<Sizes> Evaluator::findLoops(linalg::LinalgOp op) {
  Sizes sizes(op.getNumLoops(), -1);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    const Tensor &tensor = get(operand.get());
    for (auto [expr, size] : llvm::zip(map.getResults(), tensor.sizes))
      if (llvm::Error error = findSize(expr, size, sizes))
        return error;
  }
  if (llvm::is_contained(sizes, -1))
    return llvm::createStringError("a loop whose size no operand gives");
  return sizes;
}

/// Where the iterations find `value` if they read `tensor` through `map`.
static ElementAccess accessThrough(AffineMap map, const Tensor &tensor,
                                   Value value) {
  ElementAccess access{value, &tensor, Sizes(map.getNumDims(), 0)};
  for (auto [expr, stride] :
       llvm::zip(map.getResults(), contiguousStrides(tensor.sizes))) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      access.strides[dim.getPosition()] += stride;
    else
      access.offset += cast<AffineConstantExpr>(expr).getValue() * stride;
  }
  return access;
}

/// An error unless `nest` is one that is run.
static llvm::Error checkResults(const LoopNest &nest) {
  auto moves = [](const LoopResult &result) {
    return llvm::map_to_vector(result.access.strides,
                               [](int64_t stride) { return stride != 0; });
  };
  for (const LoopResult &result : nest.results) {
    if (moves(result) != moves(nest.results.front()))
      return llvm::createStringError(
          "expected results that move along the same loops");
    for (const LoopResult &other : nest.results)
      if (&other != &result && other.access.value == result.yielded)
        return llvm::createStringError(
            "expected results that do not become each other");
  }
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateLoops(linalg::LinalgOp op) {
  llvm::Expected<Sizes> sizes = findLoops(op);
  if (!sizes)
    return located(op, sizes.takeError());
  SmallVector<Tensor, 1> results;
  for (OpOperand &init : op.getDpsInitsMutable())
    results.push_back(get(init.get()));
  auto finish = [&] {
    for (auto [value, result] : llvm::zip(op->getResults(), results))
      values[value] = std::move(result);
    return llvm::Error::success();
  };
  if (llvm::is_contained(*sizes, 0))
    return finish();
  Block &block = *op.getBlock();
  if (llvm::Error error = evaluateUniform(block))
    return error;
  Body body(values, precision);
  if (llvm::Error error = body.add(block))
    return error;
  LoopNest nest;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    ElementAccess access = accessThrough(op.getMatchingIndexingMap(&operand),
                                         get(operand.get()), argument);
    if (argument.use_empty())
      access.value = nullptr;
    if (op.isDpsInit(&operand))
      nest.results.push_back(
          {access, op.getMatchingYieldValue(&operand)->get()});
    else if (access.value)
      nest.inputs.push_back(access);
  }
  for (auto index : block.getOps<linalg::IndexOp>())
    nest.inputs.push_back(indexAlong(index, sizes->size(), index.getDim()));
  nest.sizes = std::move(*sizes);
  if (llvm::Error error = checkResults(nest))
    return located(op, std::move(error));
  if (llvm::Error error = runLoops(nest, body, results))
    return error;
  return finish();
}

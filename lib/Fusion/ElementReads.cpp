//===- ElementReads.cpp - reads that cannot leave their tensor ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

int64_t fa::getCoordinate(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return -1;
  // A score region has the score before its coordinates.
  bool hasScore =
      !isa<IndexType>(argument.getOwner()->getArgument(0).getType());
  int64_t number = int64_t(argument.getArgNumber()) - hasScore;
  return number < 4 ? number : -1;
}

bool fa::hasFixedIndex(tensor::ExtractOp extract, unsigned dim) {
  APInt number;
  return matchPattern(extract.getIndices()[dim], m_ConstantInt(&number)) &&
         !extract.getTensor().getType().isDynamicDim(dim) &&
         number.ult(extract.getTensor().getType().getDimSize(dim));
}

bool fa::readsFixedElement(tensor::ExtractOp extract) {
  return llvm::all_of(llvm::seq(extract.getIndices().size()),
                      [&](size_t dim) { return hasFixedIndex(extract, dim); });
}

/// Whether every index of `extract` is fixed or `isChecked`.
static bool readsAt(tensor::ExtractOp extract,
                    llvm::function_ref<bool(Value)> isChecked) {
  return llvm::all_of(llvm::seq(extract.getIndices().size()), [&](size_t dim) {
    return fa::hasFixedIndex(extract, dim) ||
           isChecked(extract.getIndices()[dim]);
  });
}

bool fa::readsInBounds(tensor::ExtractOp extract) {
  return readsAt(extract,
                 [](Value index) { return getCoordinate(index) >= 0; });
}

bool fa::isNextBatch(Value value) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  return add && getCoordinate(add.getLhs()) == 0 &&
         matchPattern(add.getRhs(), m_One());
}

bool fa::readsOffsetsInBounds(tensor::ExtractOp extract) {
  return readsAt(extract, [](Value index) {
    return getCoordinate(index) >= 0 || isNextBatch(index);
  });
}

std::optional<int64_t>
fa::findBound(Value index, llvm::function_ref<int64_t(int64_t)> sizeOf) {
  if (int64_t n = getCoordinate(index); n >= 0)
    return ShapedType::isDynamic(sizeOf(n)) ? std::nullopt
                                            : std::optional(sizeOf(n));
  Operation *op = index.getDefiningOp();
  APInt divisor;
  if (!isa_and_nonnull<arith::RemUIOp, arith::DivUIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive())
    return std::nullopt;
  int64_t by = divisor.getSExtValue();
  if (isa<arith::RemUIOp>(op))
    return by;
  std::optional<int64_t> whole = findBound(op->getOperand(0), sizeOf);
  return whole ? std::optional((*whole + by - 1) / by) : std::nullopt;
}

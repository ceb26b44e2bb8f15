//===- AttentionAdjoints.cpp - reverse mode over an attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Derivatives.h"
#include "ElementReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

std::pair<Value, Value> Adjoints::resultsOf(AttentionOp op) {
  Value output = known.lookup(op.getOutput()),
        lse = op.getLse() ? known.lookup(op.getLse()) : Value();
  if (output && lse)
    return {output, lse};
  emitRemark(op.getLoc())
      << "the attention is computed again for its gradients: expected its "
         "output and its log-sum-exp to be results of the function, found "
      << (output ? "the output"
          : lse  ? "the log-sum-exp"
                 : "neither")
      << (output || lse ? " alone" : "");
  auto q = typeOf(op.getQ());
  Type rows = RankedTensorType::get(q.getShape().drop_back(), b.getF32Type());
  auto again = AttentionOp::create(
      b, op.getOutput().getType(), rows, op.getQ(), op.getK(), op.getV(),
      op.getScale(), op.getKeyScales(), op.getValueScales(), op.getSink(),
      op.getRng(), op.getCaptures(), op.getProbabilityAttr(), op.getWideP(),
      op.getPrecision());
  IRMapping score, mask;
  op.getScore().cloneInto(&again.getScore(), score);
  op.getMask().cloneInto(&again.getMask(), mask);
  return {again.getOutput(), again.getLse()};
}

/// The only element of captured tensor `number` that scores of `op` read; null
/// if there are others or none, or it is not at coordinates of the score.
static tensor::ExtractOp findRead(AttentionOp op, int64_t number) {
  Value captured =
      op.getScore().empty() ? Value() : op.getScore().getArgument(5 + number);
  if (!captured || !captured.hasOneUse())
    return {};
  auto read = dyn_cast<tensor::ExtractOp>(*captured.user_begin());
  return read && readsInBounds(read) ? read : tensor::ExtractOp();
}

/// Whether the slope that `derivative` gives is 1.
static bool isOne(Region &derivative) {
  return matchPattern(derivative.front().getTerminator()->getOperand(0),
                      m_OneFloat());
}

/// Finds the captured tensors of `op` whose gradients are wanted: `numbers`,
/// and the element that scores read of each.
LogicalResult Adjoints::findLearned(AttentionOp op,
                                    SmallVectorImpl<int64_t> &numbers,
                                    SmallVectorImpl<tensor::ExtractOp> &reads) {
  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    if (!isActive(capture))
      continue;
    if (!isa<TensorType>(capture.getType()))
      return refuse(op,
                    "of what its scores read, those of tensors are derived, "
                    "found that of a scalar");
    tensor::ExtractOp read = findRead(op, number);
    if (!read)
      return refuse(op, "that of a tensor is derived of which scores read one "
                        "element, at their batch, head, query and key");
    numbers.push_back(number);
    reads.push_back(read);
  }
  return success();
}

LogicalResult Adjoints::visitAttention(AttentionOp op) {
  SmallVector<int64_t> learned;
  SmallVector<tensor::ExtractOp> reads;
  if (failed(findLearned(op, learned, reads)))
    return failure();
  if (isActive(op.getScale()))
    return refuse(op, "that of its scale is not derived yet");
  Type element = typeOf(op.getQ()).getElementType();
  if (typeOf(op.getOutput()).getElementType() != element ||
      typeOf(op.getV()).getElementType() != element)
    return refuse(op,
                  "expected an attention of one element type, found others");
  Value dout = of(op.getOutput());
  Value dlse = op.getLse() ? sums.lookup(op.getLse()) : Value();
  auto [output, lse] = resultsOf(op);
  auto typeIf = [&](Value operand) {
    return isActive(operand) ? operand.getType() : Type();
  };
  Value sink = op.getSink();
  if (sink && !isActive(sink))
    sink = Value();
  SmallVector<Type> types;
  for (int64_t number : learned)
    types.push_back(op.getCaptures()[number].getType());
  auto backward = AttentionBackwardOp::create(
      b, typeIf(op.getQ()), typeIf(op.getK()), typeIf(op.getV()),
      sink ? sink.getType() : Type(), types, op.getQ(), op.getK(), op.getV(),
      output, lse, dout, dlse, op.getScale(), sink, op.getRng(),
      op.getCaptures(), b.getDenseI64ArrayAttr(learned),
      op.getProbabilityAttr(), op.getWideP() ? b.getUnitAttr() : UnitAttr(),
      DotPrecisionAttr::get(b.getContext(), op.getPrecision()),
      /*effectsCount=*/learned.size());
  IRMapping score, mask;
  op.getScore().cloneInto(&backward.getScore(), score);
  op.getMask().cloneInto(&backward.getMask(), mask);
  if (Region &region = backward.getDerivative(); !op.getScore().empty()) {
    if (failed(differentiateScore(op.getScore(), op.getScore().getArgument(0),
                                  region)))
      return failure();
    if (isOne(region))
      region.getBlocks().clear();
  }
  for (auto [read, effect] : llvm::zip(reads, backward.getEffects()))
    if (failed(differentiateScore(op.getScore(), read.getResult(), effect)))
      return failure();
  auto addIf = [&](Value operand, Value gradient) {
    if (gradient)
      add(operand, gradient);
  };
  addIf(op.getQ(), backward.getDq());
  addIf(op.getK(), backward.getDk());
  addIf(op.getV(), backward.getDv());
  addIf(sink, backward.getDsink());
  for (auto [number, gradient] : llvm::zip(learned, backward.getDcaptures()))
    addIf(op.getCaptures()[number], gradient);
  return success();
}

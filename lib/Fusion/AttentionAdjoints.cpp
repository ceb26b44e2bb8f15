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
  auto again =
      AttentionOp::create(b, op.getOutput().getType(), rows, op.getQ(),
                          op.getK(), op.getV(), op.getScale(), op.getSink(),
                          op.getCaptures(), op.getWideP(), op.getPrecision());
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

LogicalResult Adjoints::visitAttention(AttentionOp op) {
  std::optional<int64_t> captured;
  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    if (!isActive(capture))
      continue;
    if (captured || !isa<TensorType>(capture.getType()))
      return refuse(op, "of what its scores read, that of one tensor is "
                        "derived, found others");
    captured = number;
  }
  if (isActive(op.getScale()))
    return refuse(op, "that of its scale is not derived yet");
  if (op.getSink() && isActive(op.getSink()))
    return refuse(op, "those of its sinks are not derived yet");
  Type element = typeOf(op.getQ()).getElementType();
  if (typeOf(op.getOutput()).getElementType() != element ||
      typeOf(op.getV()).getElementType() != element)
    return refuse(op,
                  "expected an attention of one element type, found others");
  auto read = captured ? findRead(op, *captured) : tensor::ExtractOp();
  if (captured && !read)
    return refuse(op, "that of a tensor is derived of which scores read one "
                      "element, at their batch, head, query and key");
  Value dout = of(op.getOutput());
  Value dlse = op.getLse() ? sums.lookup(op.getLse()) : Value();
  auto [output, lse] = resultsOf(op);
  auto typeIf = [&](Value operand) {
    return isActive(operand) ? operand.getType() : Type();
  };
  Value capture = captured ? op.getCaptures()[*captured] : Value();
  auto backward = AttentionBackwardOp::create(
      b, typeIf(op.getQ()), typeIf(op.getK()), typeIf(op.getV()),
      capture ? capture.getType() : Type(), op.getQ(), op.getK(), op.getV(),
      output, lse, dout, dlse, op.getScale(), op.getCaptures(),
      captured ? b.getI64IntegerAttr(*captured) : IntegerAttr(), op.getWideP(),
      op.getPrecision());
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
  if (read && failed(differentiateScore(op.getScore(), read.getResult(),
                                        backward.getEffect())))
    return failure();
  std::pair<Value, Value> gradients[] = {{op.getQ(), backward.getDq()},
                                         {op.getK(), backward.getDk()},
                                         {op.getV(), backward.getDv()},
                                         {capture, backward.getDcapture()}};
  for (auto [operand, gradient] : gradients)
    if (gradient)
      add(operand, gradient);
  return success();
}

//===- AttentionAdjoints.cpp - reverse mode over an attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Derivatives.h"

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
  if (op.getLse())
    return {op.getOutput(), op.getLse()};
  // In its place: what else reads its output does not compute it once more.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  auto q = typeOf(op.getQ());
  Type rows = RankedTensorType::get(q.getShape().drop_back(), b.getF32Type());
  auto again = AttentionOp::create(
      b, op.getOutput().getType(), rows, op.getQ(), op.getK(), op.getV(),
      op.getScale(), op.getKeyScales(), op.getValueScales(), op.getSink(),
      op.getRng(), op.getCaptures(), op.getProbabilityAttr(), op.getWideP(),
      op.getPrecision(), op.getScaleKeysAttr());
  IRMapping score, mask;
  op.getScore().cloneInto(&again.getScore(), score);
  op.getMask().cloneInto(&again.getMask(), mask);
  op.getOutput().replaceAllUsesWith(again.getOutput());
  return {again.getOutput(), again.getLse()};
}

/// What `from` promises of the blocks that are walked holds for `to`, too.
static void copyLists(AttentionOp from, Operation *to) {
  for (StringRef name :
       {TileDialect::blockListsAttrName, TileDialect::queryListsAttrName})
    if (Attribute lists = from->getAttr(name))
      to->setAttr(name, lists);
}

/// What scores of `op` read of capture `number`: the number itself, or the only
/// element of a tensor; null if they read none or several.
static Value findRead(AttentionOp op, int64_t number) {
  if (op.getScore().empty())
    return {};
  Value captured = op.getScore().getArgument(5 + number);
  if (!isa<TensorType>(captured.getType()))
    return captured;
  auto read = captured.hasOneUse()
                  ? dyn_cast<tensor::ExtractOp>(*captured.user_begin())
                  : tensor::ExtractOp();
  return read ? read.getResult() : Value();
}

/// Whether the slope that `derivative` gives is 1.
static bool isOne(Region &derivative) {
  return matchPattern(derivative.front().getTerminator()->getOperand(0),
                      m_OneFloat());
}

FailureOr<SmallVector<int64_t>> Adjoints::findLearned(AttentionOp op) {
  SmallVector<int64_t> numbers;
  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    if (!isActive(capture))
      continue;
    if (!findRead(op, number))
      return refuse(op, "of what an attention captures, those of numbers are "
                        "derived that scores read, and of tensors of which "
                        "each score reads one element");
    numbers.push_back(number);
  }
  return numbers;
}

/// What `scale` is a multiple of by constants: a gradient with respect to it is
/// an attention's own result, where that of `scale` would be multiplied after.
static Value peelConstantFactors(Value scale) {
  while (Operation *op = scale.getDefiningOp()) {
    if (isa<arith::MulFOp>(op) && matchPattern(op->getOperand(0), m_Constant()))
      scale = op->getOperand(1);
    else if (isa<arith::MulFOp, arith::DivFOp>(op) &&
             matchPattern(op->getOperand(1), m_Constant()))
      scale = op->getOperand(0);
    else
      break;
  }
  return scale;
}

/// Makes `effect`, a region of `backward`, the derivative of the score with
/// respect to what the scale is a multiple of, the last capture c: f' x / c,
/// where x is scale times q·k.
static LogicalResult differentiateByScale(AttentionBackwardOp backward,
                                          Region &effect) {
  Region &score = backward.getScore();
  if (!score.empty()) {
    if (failed(differentiateScore(score, score.getArgument(0), effect)))
      return failure();
  } else {
    Type index = IndexType::get(backward.getContext());
    SmallVector<Type> types = {backward.getScale().getType(), index, index,
                               index, index};
    llvm::append_range(types, backward.getCaptures().getTypes());
    effect.emplaceBlock().addArguments(
        types, SmallVector<Location>(types.size(), backward.getLoc()));
  }
  Block &block = effect.front();
  ImplicitLocOpBuilder b =
      ImplicitLocOpBuilder::atBlockEnd(backward.getLoc(), &block);
  Operation *yield = score.empty() ? nullptr : block.getTerminator();
  if (yield)
    b.setInsertionPoint(yield);
  Value product = arith::DivFOp::create(b, block.getArgument(0),
                                        block.getArguments().back());
  if (!yield) {
    YieldOp::create(b, product);
    return success();
  }
  Value slope = yield->getOperand(0);
  if (!matchPattern(slope, m_OneFloat()))
    product = arith::MulFOp::create(b, slope, product);
  yield->setOperand(0, product);
  return success();
}

LogicalResult Adjoints::visitAttention(AttentionOp op) {
  FailureOr<SmallVector<int64_t>> learned = findLearned(op);
  if (failed(learned))
    return failure();
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
  // A scale that is learned is one more captured number.
  SmallVector<Value> captures(op.getCaptures());
  SmallVector<int64_t> wrt = *learned;
  bool learnsScale = isActive(op.getScale());
  if (learnsScale) {
    wrt.push_back(captures.size());
    captures.push_back(peelConstantFactors(op.getScale()));
  }
  SmallVector<Type> types;
  for (int64_t number : wrt)
    types.push_back(captures[number].getType());
  auto backward = AttentionBackwardOp::create(
      b, typeIf(op.getQ()), typeIf(op.getK()), typeIf(op.getV()),
      sink ? sink.getType() : Type(), types, op.getQ(), op.getK(), op.getV(),
      output, lse, dout, dlse, op.getScale(), sink, op.getRng(), captures,
      b.getDenseI64ArrayAttr(wrt), op.getProbabilityAttr(),
      op.getWideP() ? b.getUnitAttr() : UnitAttr(),
      DotPrecisionAttr::get(b.getContext(), op.getPrecision()),
      /*effectsCount=*/wrt.size());
  copyLists(op, backward);
  auto copy = [&](Region &from, Region &to) {
    IRMapping mapping;
    from.cloneInto(&to, mapping);
    if (learnsScale && !to.empty())
      to.addArgument(op.getScale().getType(), op.getLoc());
  };
  copy(op.getScore(), backward.getScore());
  copy(op.getMask(), backward.getMask());
  Region &score = backward.getScore();
  if (Region &region = backward.getDerivative(); !score.empty()) {
    if (failed(differentiateScore(score, score.getArgument(0), region)))
      return failure();
    if (isOne(region))
      region.getBlocks().clear();
  }
  for (auto [number, effect] : llvm::zip(*learned, backward.getEffects())) {
    Value read = score.getArgument(5 + number);
    if (isa<TensorType>(read.getType()))
      read = cast<tensor::ExtractOp>(*read.user_begin()).getResult();
    if (failed(differentiateScore(score, read, effect)))
      return failure();
  }
  if (learnsScale &&
      failed(differentiateByScale(backward, backward.getEffects().back())))
    return failure();
  auto addIf = [&](Value operand, Value gradient) {
    if (gradient)
      add(operand, gradient);
  };
  addIf(op.getQ(), backward.getDq());
  addIf(op.getK(), backward.getDk());
  addIf(op.getV(), backward.getDv());
  addIf(sink, backward.getDsink());
  for (auto [number, gradient] : llvm::zip(wrt, backward.getDcaptures()))
    addIf(captures[number], gradient);
  return success();
}

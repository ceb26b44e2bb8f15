//===- LoopsOfTensors.cpp - shapes, elements and dots of whole tensors ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value LoopBuilder::lowerTranspose(TransposeOp op) {
  SmallVector<Value> sizes;
  for (int64_t from : op.getPermutation())
    sizes.push_back(sizeOf(op.getInput(), from));
  return linalg::TransposeOp::create(
             b, op.getInput(), empty(op.getType(), sizes), op.getPermutation())
      ->getResult(0);
}

Value LoopBuilder::lowerExpand(ExpandDimsOp op) {
  RankedTensorType type = op.getType();
  int64_t at = op.getDim();
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (d == at)
      sizes.push_back(b.getIndexAttr(1));
    else if (type.isDynamicDim(d))
      sizes.push_back(sizeOf(op.getInput(), d < at ? d : d - 1));
    else
      sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
    bool joins = !groups.empty() && (d == at ? at != 0 : d == 1 && at == 0);
    if (joins)
      groups.back().push_back(d);
    else
      groups.push_back({d});
  }
  if (type.getRank() == 1) // of rank 0
    groups.clear();
  return tensor::ExpandShapeOp::create(b, type, op.getInput(), groups, sizes);
}

Value LoopBuilder::lowerRepeat(RepeatOp op) {
  return repeated(op.getInput(), op.getTimes(),
                  tensor::EmptyOp::create(b, op.getType(), op.getSizes()));
}

Value LoopBuilder::repeated(Value input, int64_t each, Value result) {
  RankedTensorType type = typeOf(result);
  int64_t rank = type.getRank();
  Value count = sizeOf(input, rank - 1), times = index(each);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return loops(
      result, ValueRange(), {identity(rank)}, iterators,
      [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
        SmallVector<Value> at;
        for (int64_t d = 0; d < rank; ++d)
          at.push_back(linalg::IndexOp::create(b, d));
        at.back() = arith::DivUIOp::create(b, at.back(), times);
        Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                              at.back(), count);
        auto branch = scf::IfOp::create(
            b, isThere,
            [&](OpBuilder &inside, Location loc) {
              Value read = tensor::ExtractOp::create(inside, loc, input, at);
              scf::YieldOp::create(inside, loc, read);
            },
            [&](OpBuilder &inside, Location loc) {
              Value none = arith::ConstantOp::create(
                  inside, loc, inside.getZeroAttr(type.getElementType()));
              scf::YieldOp::create(inside, loc, none);
            });
        return branch.getResult(0);
      });
}

Value LoopBuilder::lowerBroadcast(BroadcastOp op) {
  RankedTensorType type = op.getType();
  Value result = tensor::EmptyOp::create(b, type, op.getSizes());
  auto input = dyn_cast<RankedTensorType>(op.getInput().getType());
  if (!input)
    return filled(result, op.getInput());
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    exprs.push_back(input.getDimSize(d) == 1 ? b.getAffineConstantExpr(0)
                                             : dimExpr(d));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return loops(result, op.getInput(), {mapOf(rank, exprs), identity(rank)},
               iterators,
               [](ImplicitLocOpBuilder &, ValueRange args) { return args[0]; });
}

Value LoopBuilder::lowerIota(IotaOp op) {
  RankedTensorType type = op.getType();
  Value result = tensor::EmptyOp::create(b, type, op.getSizes());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return loops(result, {}, identity(type.getRank()), iterators,
               [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                 Value at = linalg::IndexOp::create(b, op.getDim());
                 if (type.getElementType().isIndex())
                   return at;
                 return arith::IndexCastOp::create(b, type.getElementType(),
                                                   at);
               });
}

Value LoopBuilder::lowerElementwise(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Value> tensors;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      tensors.push_back(operand);
  return pointwise(
      type, tensors, [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
        SmallVector<Value> operands;
        size_t next = 0;
        for (Value operand : op->getOperands())
          operands.push_back(isa<RankedTensorType>(operand.getType())
                                 ? arguments[next++]
                                 : operand);
        OperationState state(op->getLoc(), op->getName(), operands,
                             {type.getElementType()}, op->getAttrs());
        return b.create(state)->getResult(0);
      });
}

Value LoopBuilder::dot(RankedTensorType type, Value left, Value right,
                       Value acc, bool transposeB) {
  int64_t rank = type.getRank(), k = rank;
  Type element = type.getElementType();
  if (!acc) {
    SmallVector<Value> sizes;
    for (int64_t d = 0; d + 1 < rank; ++d)
      sizes.push_back(sizeOf(left, d));
    sizes.push_back(sizeOf(right, transposeB ? rank - 2 : rank - 1));
    acc = filled(empty(type, sizes), constant(b, element, 0));
  }
  SmallVector<Value> groups;
  for (int64_t d = 0; d < rank - 2; ++d)
    groups.push_back(
        arith::DivUIOp::create(b, sizeOf(left, d), sizeOf(right, d)));
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank - 1; ++d)
    exprs.push_back(dimExpr(d));
  exprs.push_back(dimExpr(k));
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators[k] = utils::IteratorType::reduction;
  AffineMap out = identity(rank + 1).dropResult(k);
  return loops(acc, left, {mapOf(rank + 1, exprs), out}, iterators,
               [&](ImplicitLocOpBuilder &b, ValueRange args) -> Value {
                 SmallVector<Value> at;
                 for (int64_t d = 0; d < rank - 2; ++d)
                   at.push_back(arith::DivUIOp::create(
                       b, Value(linalg::IndexOp::create(b, d)), groups[d]));
                 Value n = linalg::IndexOp::create(b, rank - 1);
                 Value kAt = linalg::IndexOp::create(b, k);
                 at.push_back(transposeB ? n : kAt);
                 at.push_back(transposeB ? kAt : n);
                 Value x = widened(b, args[0], element);
                 Value y = widened(b, tensor::ExtractOp::create(b, right, at),
                                   element);
                 return arith::AddFOp::create(
                     b, args[1], Value(arith::MulFOp::create(b, x, y)));
               });
}

Value LoopBuilder::widened(ImplicitLocOpBuilder &b, Value value, Type type) {
  return value.getType() == type ? value
                                 : Value(arith::ExtFOp::create(b, type, value));
}

Value LoopBuilder::lowerDot(DotOp op) {
  return dot(op.getType(), op.getA(), op.getB(), op.getAcc(),
             op.getTransposeB());
}

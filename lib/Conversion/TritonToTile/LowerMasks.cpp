//===- LowerMasks.cpp - which elements of a tile are meant ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;

std::optional<TileMask> TritonLowering::findMask(Value source) {
  auto known = masks.find(source);
  if (known == masks.end())
    return std::nullopt;
  return known->second;
}

TileMask::Bound TritonLowering::allOrNone(int64_t dim, int64_t size,
                                          Value condition) {
  Value limit = b.createOrFold<arith::SelectOp>(condition, math.constant(size),
                                                math.constant(0));
  return {dim, {}, limit};
}

TileMask::Bound TritonLowering::repeat(const TileMask::Bound &bound,
                                       int64_t size) {
  using arith::CmpIPredicate;
  Value holds;
  auto require = [&](CmpIPredicate predicate, Value number) {
    if (!number)
      return;
    Value one = arith::CmpIOp::create(b, predicate, number, math.constant(0));
    holds = holds ? Value(arith::AndIOp::create(b, holds, one)) : one;
  };
  require(CmpIPredicate::sle, bound.first);
  require(CmpIPredicate::sgt, bound.limit);
  return allOrNone(bound.dim, size, holds);
}

/// Whether an index cannot be below 0. Numbers of a program and what is added
/// up and multiplied of such are not, where sums do not overflow.
static bool isNeverNegative(Value value, unsigned depth = 0) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number >= 0;
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return false;
  if (isa<tile::ProgramIdOp, tile::NumProgramsOp>(op))
    return true;
  return isa<arith::AddIOp, arith::MulIOp, arith::IndexCastOp, arith::ExtSIOp,
             arith::MinSIOp, arith::DivSIOp, arith::RemSIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isNeverNegative(operand, depth + 1);
         });
}

bool TritonLowering::lowerCompare(arith::CmpIOp op) {
  using enum arith::CmpIPredicate;
  auto predicate = op.getPredicate();
  if (!isa<RankedTensorType>(op.getType()) ||
      !llvm::is_contained({slt, sle, sgt, sge}, predicate))
    return false;
  std::optional<AffineTile> x = findAffine(op.getLhs()),
                            y = findAffine(op.getRhs());
  if (!x || !y)
    return false;
  // What moves is left of the sign, with a step of 1.
  auto moves = [](const AffineTile &difference) {
    return llvm::any_of(difference.steps, [](Value step) {
      return step && isConstantIntValue(step, 1);
    });
  };
  AffineTile difference = math.sub(*x, *y);
  if (!moves(difference) && !difference.isUniform()) {
    difference = math.sub(*y, *x);
    predicate = predicate == slt   ? sgt
                : predicate == sle ? sge
                : predicate == sgt ? slt
                                   : sle;
  }
  int64_t moving = -1;
  for (auto [dim, step] : llvm::enumerate(difference.steps)) {
    if (!step)
      continue;
    if (moving >= 0 || !isConstantIntValue(step, 1))
      return false;
    moving = dim;
  }
  if (moving < 0) { // one answer for all elements
    Value holds = arith::CmpIOp::create(
        b, predicate, math.orZero(difference.base), math.constant(0));
    masks[op] = {{allOrNone(0, shapeOf(op.getResult())[0], holds)}, {}};
    return true;
  }
  // i + base < 0 is i < −base.
  Value bound = math.orZero(math.sub({}, difference.base));
  if (predicate == sle || predicate == sgt)
    bound = math.add(bound, math.constant(1));
  if (predicate == slt || predicate == sle)
    masks[op] = {{{moving, {}, bound}}, {}};
  else if (predicate == sge && isNeverNegative(math.orZero(difference.base)))
    masks[op] = {};
  else
    masks[op] = {{{moving, bound, {}}}, {}};
  return true;
}

bool TritonLowering::lowerBothMasks(arith::AndIOp op) {
  auto asMask = [&](Value source) -> std::optional<TileMask> {
    if (auto known = findMask(source))
      return known;
    Value tile = values.lookupOrNull(source);
    if (tile)
      return TileMask{{}, tile};
    return std::nullopt;
  };
  std::optional<TileMask> x = asMask(op.getLhs()), y = asMask(op.getRhs());
  if (!isa<RankedTensorType>(op.getType()) || !x || !y ||
      (x->rest && y->rest && x->bounds.empty() && y->bounds.empty()))
    return false;
  llvm::append_range(x->bounds, y->bounds);
  if (x->rest && y->rest)
    x->rest = arith::AndIOp::create(b, x->rest, y->rest);
  else if (y->rest)
    x->rest = y->rest;
  masks[op] = *x;
  return true;
}

Value TritonLowering::materialize(const TileMask &mask,
                                  ArrayRef<int64_t> shape) {
  Value all = mask.rest;
  auto require = [&](arith::CmpIPredicate predicate, int64_t dim, Value bound) {
    if (!bound)
      return;
    auto type = RankedTensorType::get(shape, b.getIndexType());
    Value one =
        arith::CmpIOp::create(b, predicate, iota(dim, shape, b.getIndexType()),
                              broadcast(bound, type));
    all = all ? Value(arith::AndIOp::create(b, all, one)) : one;
  };
  for (auto [dim, first, limit] : mask.bounds) {
    require(arith::CmpIPredicate::sge, dim, first);
    require(arith::CmpIPredicate::slt, dim, limit);
  }
  if (all)
    return all;
  auto type = RankedTensorType::get(shape, b.getI1Type());
  return arith::ConstantOp::create(b, SplatElementsAttr::get(type, true));
}

//===- LowerReductions.cpp - sums, extremes, scans and counts -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Triton says how a reduction or a scan combines two elements by a region
// (CombineRegion.h). That of means, squares and weights is three sums
// (Welford.h).
//
//===----------------------------------------------------------------------===//

#include "CombineRegion.h"
#include "TritonLowering.h"
#include "Welford.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

FailureOr<Value> TritonLowering::turnReduced(Operation *op, int64_t axis,
                                             Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  ArrayRef<int64_t> shape = type.getShape();
  bool turns = shape.size() == 2 && axis == 0;
  // What follows steps is made as it is wanted.
  if (auto steps = findAffine(source); steps && shape.size() == 2) {
    if (turns)
      std::swap(steps->steps[0], steps->steps[1]);
    return materialize(*steps, {shape[turns], shape[!turns]},
                       type.getElementType());
  }
  FailureOr<Value> tile = get(op, source);
  if (failed(tile))
    return failure();
  if (shape.size() == 1)
    return Value(
        tile::ExpandDimsOp::create(b, type.clone({1, shape[0]}), *tile, 0));
  if (turns)
    return Value(tile::TransposeOp::create(b, type.clone({shape[1], shape[0]}),
                                           *tile, ArrayRef<int64_t>{1, 0}));
  return *tile;
}

/// One number for each row of `tile`, of two dimensions.
Value TritonLowering::reduceRows(tile::ReduceKind kind, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return tile::ReduceOp::create(b, type.clone({type.getDimSize(0)}), kind, tile,
                                1);
}

/// `rows`, a number for each, as often as `type` has columns.
static Value repeatRows(ImplicitLocOpBuilder &b, Value rows,
                        RankedTensorType type) {
  auto vector = cast<RankedTensorType>(rows.getType());
  Value column = tile::ExpandDimsOp::create(
      b, vector.clone({type.getDimSize(0), 1}), rows, 1);
  return tile::BroadcastOp::create(b, type.clone(vector.getElementType()),
                                   column, ValueRange());
}

/// Narrow floats in f32.
static Value widen(ImplicitLocOpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  auto element = dyn_cast<FloatType>(type.getElementType());
  return element && element.getWidth() < 32
             ? arith::ExtFOp::create(b, type.clone(b.getF32Type()), tile)
             : tile;
}

/// What was computed of widened elements, as one of `element`.
static Value narrow(ImplicitLocOpBuilder &b, Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  return type.getElementType() == element
             ? tile
             : arith::TruncFOp::create(b, type.clone(element), tile);
}

LogicalResult TritonLowering::checkCombined(Operation *op, Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getRank() > 2)
    return refuse(op, "no kernel has tiles of more than two dimensions, found ")
           << type;
  Type element = type.getElementType();
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return refuse(op, "no kernel reduces or scans such elements: ") << type;
  return success();
}

LogicalResult TritonLowering::lowerReduce(triton::ReduceOp op) {
  if (op.getCombineOp().hasOneBlock() &&
      mergesMoments(op.getCombineOp().front()))
    return lowerMoments(op);
  std::optional<tile::ReduceKind> kind;
  bool isIndexed = op.getSrcs().size() == 2;
  if (op.getCombineOp().hasOneBlock())
    kind = isIndexed                  ? indexedKindOf(op.getCombineOp().front())
           : op.getSrcs().size() == 1 ? combineKindOf(op.getCombineOp().front())
                                      : std::nullopt;
  if (!kind)
    return refuse(op, "no kernel has a reduction but the sum, the maximum and "
                      "the minimum of numbers, where these two are, and the "
                      "merge of means and squares");
  for (Value source : op.getSrcs())
    if (failed(checkCombined(op, source)))
      return failure();
  triton::ReshapeOp whole = findWhole(op.getSrcs()[0]);
  FailureOr<Value> tile = whole
                              ? get(op, whole.getSrc())
                              : turnReduced(op, op.getAxis(), op.getSrcs()[0]);
  if (failed(tile))
    return failure();
  // Narrow floats are reduced in f32, which is what lanes of a GPU exchange.
  Type element = getElementTypeOrSelf(*tile);
  *tile = widen(b, *tile);
  if (whole) { // its rows, and then what they give
    Value rows = reduceRows(*kind, *tile);
    auto type = cast<RankedTensorType>(rows.getType());
    *tile = tile::ExpandDimsOp::create(b, type.clone({1, type.getDimSize(0)}),
                                       rows, 0);
  }
  Value result = reduceRows(*kind, *tile);
  if (isIndexed && failed(lowerIndexed(op, *tile, result)))
    return failure();
  values.map(op->getResult(0), narrow(b, result, element));
  return success();
}

/// Of the elements of each row that are its extreme, in `most`, the least
/// index. Of a row with a NaN all elements are.
LogicalResult TritonLowering::lowerIndexed(triton::ReduceOp op, Value tile,
                                           Value most) {
  FailureOr<Value> indices = turnReduced(op, op.getAxis(), op.getSrcs()[1]);
  if (failed(indices))
    return failure();
  auto type = cast<RankedTensorType>(tile.getType());
  auto indexType = cast<RankedTensorType>(indices->getType());
  if (!isa<IntegerType>(indexType.getElementType()))
    return refuse(op, "expected indices of integers, found ") << indexType;
  Value all = repeatRows(b, most, type);
  Value isMost =
      isa<FloatType>(type.getElementType())
          ? arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ, tile, all)
                .getResult()
          : arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile, all)
                .getResult();
  unsigned width = indexType.getElementTypeBitWidth();
  Value beyond = arith::ConstantOp::create(
      b, SplatElementsAttr::get(indexType, APInt::getSignedMaxValue(width)));
  Value candidates = arith::SelectOp::create(b, isMost, *indices, beyond);
  values.map(op->getResult(1), reduceRows(tile::ReduceKind::Min, candidates));
  return success();
}

/// With the mean of all, squares of each part grow by the square of how far its
/// mean is away, as often as it weighs.
LogicalResult TritonLowering::lowerMoments(triton::ReduceOp op) {
  SmallVector<Value> tiles;
  for (Value source : op.getSrcs()) {
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getRank() > 2 || !type.getElementType().isF32())
      return refuse(op, "expected tiles of f32 of at most two dimensions, "
                        "found ")
             << type;
    FailureOr<Value> tile = turnReduced(op, op.getAxis(), source);
    if (failed(tile))
      return failure();
    tiles.push_back(*tile);
  }
  Value mean = tiles[0], squares = tiles[1], weight = tiles[2];
  auto type = cast<RankedTensorType>(mean.getType());
  auto sum = [&](Value tile) {
    return reduceRows(tile::ReduceKind::Add, tile);
  };
  Value all = sum(weight);
  Value weighted = sum(arith::MulFOp::create(b, mean, weight));
  auto vector = cast<RankedTensorType>(all.getType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, all, zero);
  Value mid = arith::SelectOp::create(
      b, isNone, zero, Value(arith::DivFOp::create(b, weighted, all)));
  Value away = arith::SubFOp::create(b, mean, repeatRows(b, mid, type));
  Value more = arith::MulFOp::create(
      b, weight, Value(arith::MulFOp::create(b, away, away)));
  Value spread = sum(arith::AddFOp::create(b, squares, more));
  Value merged[] = {mid, spread, all};
  for (auto [result, value] : llvm::zip_equal(op.getResults(), merged))
    values.map(result, value);
  return success();
}

//===----------------------------------------------------------------------===//
// ScanOp, HistogramOp
//===----------------------------------------------------------------------===//

LogicalResult TritonLowering::lowerScan(triton::ScanOp op) {
  std::optional<tile::ReduceKind> kind;
  if (op.getSrcs().size() == 1 && op.getCombineOp().hasOneBlock())
    kind = combineKindOf(op.getCombineOp().front());
  if (!kind)
    return refuse(op, "no kernel has a scan but the sum, the maximum and the "
                      "minimum of numbers");
  Value source = op.getSrcs()[0];
  if (failed(checkCombined(op, source)))
    return failure();
  bool isVector = shapeOf(source).size() == 1;
  FailureOr<Value> tile =
      isVector ? get(op, source) : turnReduced(op, op.getAxis(), source);
  if (failed(tile))
    return failure();
  Type element = getElementTypeOrSelf(*tile);
  Value result =
      tile::ScanOp::create(b, *kind, widen(b, *tile),
                           /*dim=*/isVector ? 0 : 1, op.getReverse());
  result = narrow(b, result, element);
  if (!isVector && op.getAxis() == 0)
    result = tile::TransposeOp::create(b, op->getResult(0).getType(), result,
                                       ArrayRef<int64_t>{1, 0});
  values.map(op->getResult(0), result);
  return success();
}

/// One bin after the other: as many elements as are its number.
LogicalResult TritonLowering::lowerHistogram(triton::HistogramOp op) {
  auto type = cast<RankedTensorType>(op.getSrc().getType());
  auto counts = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType(), count = counts.getElementType();
  auto isNumber = [](Type type) {
    return type.isInteger(32) || type.isInteger(64);
  };
  if (type.getRank() != 1 || !isNumber(element) || !isNumber(count))
    return refuse(op, "expected counts of a vector of integers of 32 or 64 "
                      "bits in such integers, found ")
           << counts << " of " << type;
  FailureOr<Value> numbers = get(op, op.getSrc());
  if (failed(numbers))
    return failure();
  Value mask;
  if (op.getMask()) {
    FailureOr<Value> given = get(op, op.getMask());
    if (failed(given))
      return failure();
    mask = *given;
  }
  auto ones = type.clone(count);
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  };
  Value bins = iota(0, counts.getShape(), count);
  auto loop = scf::ForOp::create(
      b, math.constant(0), math.constant(counts.getDimSize(0)),
      math.constant(1),
      Value(arith::ConstantOp::create(b, b.getZeroAttr(counts))),
      [&](OpBuilder &, Location, Value bin, ValueRange carried) {
        Value number = arith::IndexCastOp::create(b, element, bin);
        Value same = isEqual(*numbers, broadcast(number, type));
        if (mask)
          same = arith::AndIOp::create(b, same, mask);
        Value row = tile::ExpandDimsOp::create(
            b, ones.clone({1, type.getDimSize(0)}),
            arith::ExtUIOp::create(b, ones, same), 0);
        Value found = tile::BroadcastOp::create(
            b, counts, reduceRows(tile::ReduceKind::Add, row), ValueRange());
        Value isHere = isEqual(
            bins, broadcast(arith::IndexCastOp::create(b, count, bin), counts));
        scf::YieldOp::create(
            b, Value(arith::SelectOp::create(b, isHere, found, carried[0])));
      });
  values.map(op, loop.getResult(0));
  return success();
}

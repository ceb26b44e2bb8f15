//===- LowerShapes.cpp - tiles in other shapes ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

using namespace mlir;
using namespace fa;

LogicalResult TritonLowering::lowerSplat(triton::SplatOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Value source = op.getSrc();
  SmallVector<Value> still(type.getRank());
  if (isa<triton::PointerType>(source.getType())) {
    FailureOr<Addresses> from = findAddresses(op, source);
    if (failed(from))
      return failure();
    from->offsets.steps = still;
    addresses[op] = *from;
    return success();
  }
  FailureOr<Value> value = get(op, source);
  if (failed(value))
    return failure();
  if (isa<RankedTensorType>(value->getType())) {
    // A number that was reduced from a tile.
    auto element = cast<RankedTensorType>(value->getType());
    for (int64_t rank = 1; rank < type.getRank(); ++rank)
      *value = tile::ExpandDimsOp::create(
          b, element.clone(SmallVector<int64_t>(rank + 1, 1)), *value, 0);
    values.map(
        op.getResult(),
        tile::BroadcastOp::create(b, type, *value, ValueRange()).getResult());
  } else if (type.getElementType().isInteger(1)) {
    masks[op] = {{allOrNone(0, type.getDimSize(0), *value)}, {}};
  } else if (isa<IntegerType>(type.getElementType())) {
    FailureOr<Value> base = getIndex(op, source);
    if (failed(base))
      return failure();
    integers[op] = {*base, still};
  } else {
    values.map(op.getResult(), broadcast(*value, type));
  }
  return success();
}

LogicalResult TritonLowering::lowerExpandDims(triton::ExpandDimsOp op) {
  auto axis = static_cast<int64_t>(op.getAxis());
  auto expand = [&](Value tile) -> Value {
    auto element = cast<RankedTensorType>(tile.getType()).getElementType();
    return tile::ExpandDimsOp::create(
        b, RankedTensorType::get(shapeOf(op.getResult()), element), tile, axis);
  };
  auto insert = [&](AffineTile tile) {
    tile.steps.insert(tile.steps.begin() + axis, Value());
    return tile;
  };
  if (auto tile = findAffine(op.getSrc())) {
    integers[op] = insert(*tile);
  } else if (auto mask = findMask(op.getSrc())) {
    for (TileMask::Bound &bound : mask->bounds)
      bound.dim += bound.dim >= axis;
    if (mask->rest)
      mask->rest = expand(mask->rest);
    masks[op] = *mask;
  } else if (auto known = addresses.find(op.getSrc());
             known != addresses.end()) {
    Addresses from = known->second;
    if (from.unordered)
      from.unordered = expand(from.unordered);
    else
      from.offsets = insert(from.offsets);
    addresses[op] = from;
  } else {
    FailureOr<Value> tile = get(op, op.getSrc());
    if (failed(tile))
      return failure();
    values.map(op.getResult(), expand(*tile));
  }
  return success();
}

LogicalResult TritonLowering::lowerBroadcast(triton::BroadcastOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getSrc()), to = shapeOf(op.getResult());
  auto spread = [&](Value tile) -> Value {
    auto element = cast<RankedTensorType>(tile.getType()).getElementType();
    return tile::BroadcastOp::create(b, RankedTensorType::get(to, element),
                                     tile, ValueRange());
  };
  auto stay = [&](AffineTile tile) {
    for (auto [dim, step] : llvm::enumerate(tile.steps))
      if (from[dim] != to[dim])
        step = {};
    return tile;
  };
  if (auto tile = findAffine(op.getSrc())) {
    integers[op] = stay(*tile);
  } else if (auto mask = findMask(op.getSrc())) {
    // Of the only element of a dimension: all or none.
    for (TileMask::Bound &bound : mask->bounds)
      if (from[bound.dim] != to[bound.dim])
        bound = repeat(bound, to[bound.dim]);
    if (mask->rest)
      mask->rest = spread(mask->rest);
    masks[op] = *mask;
  } else if (auto known = addresses.find(op.getSrc());
             known != addresses.end()) {
    Addresses all = known->second;
    if (all.unordered)
      all.unordered = spread(all.unordered);
    else
      all.offsets = stay(all.offsets);
    addresses[op] = all;
  } else {
    FailureOr<Value> tile = get(op, op.getSrc());
    if (failed(tile))
      return failure();
    values.map(op.getResult(), spread(*tile));
  }
  return success();
}

triton::ReshapeOp fa::findWhole(Value source) {
  auto reshape = source.getDefiningOp<triton::ReshapeOp>();
  auto isReduction = [](Operation *user) {
    auto reduce = dyn_cast<triton::ReduceOp>(user);
    return reduce && reduce.getSrcs().size() == 1;
  };
  return reshape && shapeOf(reshape.getSrc()).size() == 2 &&
                 shapeOf(source).size() == 1 &&
                 llvm::all_of(source.getUsers(), isReduction)
             ? reshape
             : triton::ReshapeOp();
}

LogicalResult TritonLowering::lowerReshape(triton::ReshapeOp op) {
  if (findWhole(op.getResult())) // whatever reduces it sees to it
    return success();
  if (shapeOf(op.getSrc()) != shapeOf(op.getResult()))
    return refuse(op, "expected the shape that it has, or a tile of two "
                      "dimensions of which all elements are reduced, found ")
           << op.getSrc().getType();
  if (auto tile = findAffine(op.getSrc())) {
    integers[op] = *tile;
    return success();
  }
  FailureOr<Value> tile = get(op, op.getSrc());
  if (failed(tile))
    return failure();
  values.map(op.getResult(), *tile);
  return success();
}

LogicalResult TritonLowering::lowerTrans(triton::TransOp op) {
  if (op.getOrder() == ArrayRef<int32_t>{0, 1} || op.getOrder().size() != 2)
    return refuse(op, "expected an exchange of two dimensions");
  if (auto tile = findAffine(op.getSrc())) {
    std::swap(tile->steps[0], tile->steps[1]);
    integers[op] = *tile;
    return success();
  }
  FailureOr<Value> tile = get(op, op.getSrc());
  if (failed(tile))
    return failure();
  auto type = cast<RankedTensorType>(tile->getType());
  values.map(op.getResult(),
             tile::TransposeOp::create(b, type.clone(shapeOf(op.getResult())),
                                       *tile, ArrayRef<int64_t>{1, 0})
                 .getResult());
  return success();
}

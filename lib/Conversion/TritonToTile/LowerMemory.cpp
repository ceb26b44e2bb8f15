//===- LowerMemory.cpp - views, loads, blocks -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A part of `memory`: dimension d has `sizes[d]` elements or, where that is
/// null, `staticSizes[d]`.
Value TritonLowering::makeView(Value memory, Value offset,
                               ArrayRef<Value> sizes, ArrayRef<Value> strides,
                               ArrayRef<int64_t> staticSizes) {
  SmallVector<OpFoldResult> size, stride;
  SmallVector<int64_t> sizeTypes, strideTypes;
  for (auto [given, number] : llvm::zip_equal(sizes, staticSizes)) {
    size.push_back(given ? getAsOpFoldResult(given) : b.getIndexAttr(number));
    sizeTypes.push_back(
        getConstantIntValue(size.back()).value_or(ShapedType::kDynamic));
  }
  for (Value step : strides) {
    stride.push_back(getAsOpFoldResult(math.orZero(step)));
    strideTypes.push_back(
        getConstantIntValue(stride.back()).value_or(ShapedType::kDynamic));
  }
  auto type = MemRefType::get(
      sizeTypes, cast<MemRefType>(memory.getType()).getElementType(),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic,
                             strideTypes));
  return memref::ReinterpretCastOp::create(
      b, type, memory, OpFoldResult(math.orZero(offset)), size, stride);
}

TritonLowering::TileView TritonLowering::openView(const Addresses &addresses,
                                                  TileMask mask,
                                                  ArrayRef<int64_t> shape) {
  if (guard)
    mask.bounds.push_back(allOrNone(0, shape[0], guard));
  TileView tile;
  for (auto [size, step] : llvm::zip_equal(shape, addresses.offsets.steps))
    tile.shape.push_back(step ? size : 1);
  SmallVector<Value> firsts(shape.size()), sizes(shape.size());
  for (auto [dim, first, limit] : mask.bounds) {
    if (first)
      firsts[dim] = b.createOrFold<arith::MaxSIOp>(
          firsts[dim] ? firsts[dim] : math.constant(0), first);
    if (limit)
      sizes[dim] = sizes[dim]
                       ? b.createOrFold<arith::MinSIOp>(sizes[dim], limit)
                       : limit;
  }
  Value base = addresses.offsets.base;
  tile.inBounds = mask.bounds.empty();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    Value first = firsts[dim];
    if (first) {
      // The view begins there, and the tile before it.
      base = math.add(base, math.mul(first, addresses.offsets.steps[dim]));
      size = math.sub(size ? size : math.constant(tile.shape[dim]), first);
    }
    if (size)
      size = b.createOrFold<arith::MaxSIOp>(size, math.constant(0));
    tile.indices.push_back(math.orZero(math.sub({}, first)));
  }
  // A dimension that does not move has one element.
  SmallVector<Value> strides;
  for (Value step : addresses.offsets.steps)
    strides.push_back(step ? step : math.constant(1));
  tile.view = makeView(addresses.memory, base, sizes, strides, tile.shape);
  return tile;
}

TritonLowering::TileView TritonLowering::openBlock(const TensorBlock &block,
                                                   ArrayRef<int64_t> shape,
                                                   ArrayRef<int32_t> checked) {
  TileView tile;
  tile.shape.assign(shape.begin(), shape.end());
  tile.inBounds = checked.empty();
  SmallVector<Value> sizes(shape.size());
  Value base = block.base;
  for (auto [dim, at] : llvm::enumerate(block.offsets)) {
    if (llvm::is_contained(checked, static_cast<int32_t>(dim))) {
      sizes[dim] = block.sizes[dim];
      tile.indices.push_back(math.orZero(at));
      continue;
    }
    // What is not checked is read where it is.
    base = math.add(base, math.mul(at, block.strides[dim]));
    tile.indices.push_back(math.constant(0));
  }
  if (guard) {
    tile.inBounds = false;
    sizes[0] = arith::SelectOp::create(
        b, guard, sizes[0] ? sizes[0] : math.constant(shape[0]),
        math.constant(0));
  }
  tile.view = makeView(block.memory, base, sizes, block.strides, shape);
  return tile;
}

Value TritonLowering::loadView(const TileView &view, RankedTensorType type) {
  auto part = type.clone(view.shape);
  Value tile =
      tile::LoadOp::create(b, part, view.view, view.indices, view.inBounds);
  if (part == type)
    return tile;
  return tile::BroadcastOp::create(b, type, tile, ValueRange());
}

//===----------------------------------------------------------------------===//
// LoadOp
//===----------------------------------------------------------------------===//

FailureOr<TileMask> TritonLowering::maskOf(Operation *op, Value mask,
                                           Value pointer) {
  if (!mask)
    return TileMask();
  if (auto known = findMask(mask))
    return *known;
  FailureOr<Value> given = get(op, mask);
  if (failed(given))
    return failure();
  TileMask result;
  if (isa<RankedTensorType>(mask.getType())) {
    result.rest = *given;
    return result;
  }
  Value all = scalarOf(*given);
  if (!matchPattern(all, m_One()))
    result.bounds.push_back(allOrNone(0, 1, all));
  return result;
}

/// One element, which all threads read.
LogicalResult TritonLowering::lowerLoadScalar(triton::LoadOp op) {
  FailureOr<Addresses> from = findAddresses(op, op.getPtr());
  if (failed(from))
    return failure();
  Value at = math.orZero(from->offsets.base);
  auto load = [&] {
    return memref::LoadOp::create(b, from->memory, at).getResult();
  };
  Value mask = guard;
  if (op.getMask() && !matchPattern(op.getMask(), m_One())) {
    FailureOr<Value> given = getScalar(op, op.getMask());
    if (failed(given))
      return failure();
    mask = mask ? Value(arith::AndIOp::create(b, mask, *given)) : *given;
  }
  if (!mask) {
    values.map(op.getResult(), load());
    return success();
  }
  Value other;
  if (op.getOther()) {
    FailureOr<Value> given = getScalar(op, op.getOther());
    if (failed(given))
      return failure();
    other = *given;
  }
  auto branch = scf::IfOp::create(
      b, mask, [&](OpBuilder &, Location) { scf::YieldOp::create(b, load()); },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, other ? other
                                      : Value(arith::ConstantOp::create(
                                            b, b.getZeroAttr(op.getType()))));
      });
  values.map(op.getResult(), branch.getResult(0));
  return success();
}

TritonLowering::TilePlaces
TritonLowering::findPlaces(const Addresses &addresses, TileMask mask,
                           ArrayRef<int64_t> shape) {
  if (guard)
    mask.bounds.push_back(allOrNone(0, shape[0], guard));
  TilePlaces places;
  places.offsets = addresses.unordered ? addresses.unordered
                                       : materialize(addresses.offsets, shape,
                                                     b.getIndexType());
  if (!mask.bounds.empty() || mask.rest)
    places.mask = materialize(mask, shape);
  return places;
}

void TritonLowering::lowerGather(triton::LoadOp op, const Addresses &from,
                                 const TileMask &mask) {
  TilePlaces places = findPlaces(from, mask, shapeOf(op.getResult()));
  values.map(op.getResult(),
             tile::GatherOp::create(b, op.getType(), from.memory,
                                    places.offsets, places.mask,
                                    /*in_bounds=*/true)
                 .getResult());
}

LogicalResult TritonLowering::lowerLoad(triton::LoadOp op) {
  if (auto pointer = dyn_cast<triton::PointerType>(op.getPtr().getType())) {
    if (!isa<RankedTensorType>(pointer.getPointeeType()))
      return lowerLoadScalar(op);
    FailureOr<TensorBlock> block = findBlock(op, op.getPtr());
    if (failed(block))
      return failure();
    ArrayRef<int32_t> checked =
        op.getBoundaryCheck().value_or(ArrayRef<int32_t>());
    return loadBlock(op, *block, checked, op.getPadding() == 2);
  }
  FailureOr<Addresses> from = findAddresses(op, op.getPtr());
  if (failed(from))
    return failure();
  FailureOr<TileMask> mask = maskOf(op, op.getMask(), op.getPtr());
  if (failed(mask))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  bool masked = !mask->bounds.empty() || mask->rest;
  // Elements that do not exist are 0 unless they are one element's copies.
  bool zero = true;
  if (from->unordered || mask->rest) {
    lowerGather(op, *from, *mask);
  } else {
    TileView view = openView(*from, *mask, type.getShape());
    zero = llvm::all_of(mask->bounds, [&](TileMask::Bound bound) {
      return view.shape[bound.dim] == type.getDimSize(bound.dim);
    });
    values.map(op.getResult(), loadView(view, type));
  }
  if (!masked || !op.getOther() ||
      (zero && matchPattern(op.getOther(), m_AnyZeroFloat())))
    return success();
  FailureOr<Value> other = get(op, op.getOther());
  if (failed(other))
    return failure();
  values.map(op.getResult(),
             arith::SelectOp::create(b, materialize(*mask, type.getShape()),
                                     values.lookup(op.getResult()), *other)
                 .getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult TritonLowering::loadBlock(Operation *op, const TensorBlock &block,
                                        ArrayRef<int32_t> checked,
                                        bool padsWithNan) {
  if (padsWithNan && !checked.empty())
    return refuse(op, "no kernel has NaN for elements outside, only 0");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() != static_cast<int64_t>(block.strides.size()))
    return refuse(op, "expected a tile of the block's ")
           << block.strides.size() << " dimensions, found " << type;
  values.map(op->getResult(0),
             loadView(openBlock(block, type.getShape(), checked), type));
  return success();
}

/// All dimensions: a descriptor knows where its tensor ends.
static SmallVector<int32_t> allDims(size_t rank) {
  return llvm::to_vector(llvm::seq<int32_t>(0, rank));
}

/// The block of a descriptor that begins at `indices`.
FailureOr<TensorBlock> TritonLowering::findBlockAt(Operation *op,
                                                   Value descriptor,
                                                   ValueRange indices) {
  FailureOr<TensorBlock> block = findBlock(op, descriptor);
  if (failed(block))
    return failure();
  for (Value index : indices) {
    FailureOr<Value> at = getIndex(op, index);
    if (failed(at))
      return failure();
    block->offsets.push_back(*at);
  }
  if (block->offsets.size() == block->strides.size())
    return block;
  return refuse(op, "expected an index for each of ")
         << block->strides.size() << " dimensions of its descriptor, found "
         << block->offsets.size();
}

LogicalResult TritonLowering::lowerDescriptorLoad(triton::DescriptorLoadOp op) {
  FailureOr<TensorBlock> block = findBlockAt(op, op.getDesc(), op.getIndices());
  if (failed(block))
    return failure();
  return loadBlock(op, *block, allDims(block->strides.size()),
                   block->padsWithNan);
}

LogicalResult
TritonLowering::lowerDescriptorStore(triton::DescriptorStoreOp op) {
  FailureOr<TensorBlock> block = findBlockAt(op, op.getDesc(), op.getIndices());
  if (failed(block))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(op.getSrc());
  FailureOr<Value> tile = get(op, op.getSrc());
  if (failed(tile))
    return failure();
  if (block->strides.size() != shape.size())
    return refuse(op, "expected a tile of the block's ")
           << block->strides.size() << " dimensions, found "
           << op.getSrc().getType();
  return storeView(op, openBlock(*block, shape, allDims(shape.size())), *tile);
}

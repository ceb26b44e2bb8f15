//===- LowerStores.cpp - stores and sums in one step ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

using namespace mlir;
using namespace fa;

LogicalResult TritonLowering::storeView(Operation *op, const TileView &view,
                                        Value tile) {
  tile::StoreOp::create(b, tile, view.view, view.indices);
  return success();
}

LogicalResult TritonLowering::lowerStore(triton::StoreOp op) {
  FailureOr<Value> tile = get(op, op.getValue());
  if (failed(tile))
    return failure();
  auto pointer = dyn_cast<triton::PointerType>(op.getPtr().getType());
  if (pointer && isa<RankedTensorType>(pointer.getPointeeType())) {
    FailureOr<TensorBlock> block = findBlock(op, op.getPtr());
    if (failed(block))
      return failure();
    ArrayRef<int64_t> shape = shapeOf(op.getValue());
    if (shape.size() != block->strides.size())
      return refuse(op, "expected a tile of the block's ")
             << block->strides.size() << " dimensions, found "
             << op.getValue().getType();
    return storeView(
        op,
        openBlock(*block, shape,
                  op.getBoundaryCheck().value_or(ArrayRef<int32_t>())),
        *tile);
  }
  return write(op, op.getPtr(), op.getMask(), shapeOf(op.getValue()), *tile,
               /*add=*/false);
}

LogicalResult TritonLowering::write(Operation *op, Value pointers, Value given,
                                    ArrayRef<int64_t> shape, Value tile,
                                    bool add) {
  FailureOr<Addresses> to = findAddresses(op, pointers);
  if (failed(to))
    return failure();
  FailureOr<TileMask> mask = maskOf(op, given, pointers);
  if (failed(mask))
    return failure();
  if (to->unordered || mask->rest) {
    TilePlaces places = findPlaces(*to, *mask, shape);
    tile::ScatterOp::create(b, tile, to->memory, places.offsets, places.mask,
                            /*in_bounds=*/true, add);
    return success();
  }
  FailureOr<TileView> view = openTarget(op, *to, *mask, shape, tile);
  if (failed(view))
    return failure();
  if (!add)
    return storeView(op, *view, tile);
  tile::AtomicAddOp::create(b, tile, view->view, view->indices);
  return success();
}

FailureOr<TritonLowering::TileView>
TritonLowering::openTarget(Operation *op, Addresses to, const TileMask &mask,
                           ArrayRef<int64_t> shape, Value &tile) {
  constexpr int64_t one[] = {1};
  if (shape.empty()) {
    shape = one;
    to.offsets.steps.push_back(math.constant(1));
    if (!isa<RankedTensorType>(tile.getType()))
      tile = broadcast(tile, RankedTensorType::get(1, tile.getType()));
  }
  for (auto [step, size] : llvm::zip_equal(to.offsets.steps, shape))
    if (!step && size > 1)
      return refuse(op, "several elements have one address");
  return openView(to, mask, shape);
}

/// No kernel waits for what others do while it runs, and so the order that an
/// operation has beside its own step is none that could be seen.
LogicalResult TritonLowering::lowerAtomic(triton::AtomicRMWOp op) {
  Type element = getElementTypeOrSelf(op.getVal().getType());
  bool isSum = (op.getKind() == "fadd" && element.isF32()) ||
               (op.getKind() == "add" &&
                (element.isInteger(32) || element.isInteger(64)));
  if (!isSum)
    return refuse(op, "expected a sum of f32, i32 or i64, found ")
           << op.getKind() << " of " << element;
  if (!op.getResult().use_empty())
    return refuse(op, "no kernel reads what was there before");
  FailureOr<Value> tile = get(op, op.getVal());
  if (failed(tile))
    return failure();
  return write(op, op.getPtr(), op.getMask(), shapeOf(op.getVal()), *tile,
               /*add=*/true);
}

//===- ViewAlignment.cpp - what addresses are multiples of ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/ViewAlignment.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

int64_t fa::unitDim(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t dim = type.getRank(); dim-- > 0;)
    if (strides[dim] == 1)
      return dim;
  return -1;
}

int64_t fa::unitDim(Value view) {
  // Of a grouped one they are dimensions 1, beside the heads, and 2.
  if (auto grouped = view.getDefiningOp<GroupedViewOp>())
    return unitDim(grouped.getHeads()) == 2 ? 1 : -1;
  auto paged = view.getDefiningOp<PagedViewOp>();
  if (!paged)
    return unitDim(cast<MemRefType>(view.getType()));
  // Rows and columns of a view are the last dimensions of its pages.
  return std::max<int64_t>(unitDim(paged.getPages()) - 2, -1);
}

/// Whether `part` takes a piece of the last two dimensions of its source, step
/// by step, and one element of each other.
static bool keepsRows(memref::SubViewOp part) {
  int64_t rank = part.getSourceType().getRank();
  llvm::SmallBitVector dropped = part.getDroppedDims();
  return rank >= 2 && part.getType().getRank() == 2 &&
         int64_t(dropped.count()) == rank - 2 && !dropped.test(rank - 1) &&
         !dropped.test(rank - 2) &&
         llvm::all_of(part.getMixedStrides(), [](OpFoldResult stride) {
           return getConstantIntValue(stride) == 1;
         });
}

bool fa::hasCloseRows(Value view, int64_t rows) {
  auto type = cast<MemRefType>(view.getType());
  if (type.getRank() != 2 || unitDim(view) != 1 || type.isDynamicDim(1))
    return false;
  while (auto part = view.getDefiningOp<memref::SubViewOp>()) {
    if (!keepsRows(part))
      return false;
    view = part.getSource();
  }
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : nullptr;
  auto limit = kernel ? kernel->getAttrOfType<IntegerAttr>(
                            tgpu::TileGPUDialect::rowStepLimitAttrName)
                      : IntegerAttr();
  return limit && rows <= (int64_t(1) << 32) / limit.getInt() &&
         kernel.getAlignment(argument.getArgNumber()) > 1;
}

bool fa::loadsCloseLines(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  auto view = cast<MemRefType>(load.getSource().getType());
  if (tile.getRank() != 2 ||
      !hasCloseRows(load.getSource(), tile.getDimSize(0)))
    return false;
  std::optional<int64_t> start = getConstantIntValue(load.getIndices()[1]);
  int64_t line = 16 * 8 / tile.getElementTypeBitWidth();
  return start && *start >= 0 && *start % line == 0 &&
         tile.getDimSize(1) % line == 0 &&
         *start + tile.getDimSize(1) <= view.getDimSize(1) &&
         promisedAlignment(load.getSource()) == 16;
}

/// Where `op` begins in the unit dimension of its source, in elements; dynamic:
/// not known.
static int64_t startInUnitDim(Operation *op) {
  auto part = dyn_cast<memref::SubViewOp>(op);
  int64_t unit = part ? unitDim(part.getSourceType()) : -1;
  return unit < 0 ? 0 : part.getStaticOffsets()[unit];
}

/// Whether `op` makes a step out of the unit dimension that is not static.
static bool stepsUnitDim(Operation *op) {
  if (ShapedType::isDynamic(startInUnitDim(op)))
    return true;
  auto expand = dyn_cast<memref::ExpandShapeOp>(op);
  int64_t unit = expand ? unitDim(expand.getSrcType()) : -1;
  if (unit < 0)
    return false;
  ArrayRef<int64_t> group = expand.getReassociationIndices()[unit];
  return llvm::any_of(group.drop_front(), [&](int64_t dim) {
    return expand.getResultType().isDynamicDim(dim);
  });
}

int64_t fa::promisedAlignment(Value view) {
  int64_t strides = 16;
  int64_t element =
      cast<MemRefType>(view.getType()).getElementTypeBitWidth() / 8;
  if (auto paged = view.getDefiningOp<PagedViewOp>())
    view = paged.getPages();
  if (auto grouped = view.getDefiningOp<GroupedViewOp>())
    view = grouped.getHeads();
  if (auto slot = view.getDefiningOp<SlotViewOp>())
    view = slot.getPages();
  while (Operation *op = view.getDefiningOp()) {
    auto viewLike = dyn_cast<ViewLikeOpInterface>(op);
    // A view at a number that was computed may begin anywhere.
    if (!viewLike || isa<memref::ReinterpretCastOp>(op) || stepsUnitDim(op))
      return 1;
    if (int64_t start = startInUnitDim(op))
      strides = std::min(strides, powerOfTwoPart(start) * element);
    auto type = cast<MemRefType>(view.getType());
    for (int64_t stride : type.getStridesAndOffset().first)
      if (!ShapedType::isDynamic(stride) && stride != 1)
        strides = std::min(strides, powerOfTwoPart(stride) * element);
    view = viewLike.getViewSource();
  }
  auto argument = cast<BlockArgument>(view);
  auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
  return kernel
             ? std::min(strides, kernel.getAlignment(argument.getArgNumber()))
             : 1;
}

int64_t fa::promisedWidth(Value view, ValueRange indices) {
  auto type = cast<MemRefType>(view.getType());
  int64_t unit = unitDim(view), bytes = type.getElementTypeBitWidth() / 8;
  if (unit < 0 || !bytes || type.isDynamicDim(unit))
    return 1;
  std::optional<int64_t> start = getConstantIntValue(indices[unit]);
  int64_t width = std::min<int64_t>(promisedAlignment(view), 16) / bytes;
  while (width > 1 &&
         (!start || *start % width || type.getDimSize(unit) % width))
    width /= 2;
  return std::max<int64_t>(width, 1);
}

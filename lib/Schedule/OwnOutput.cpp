//===- OwnOutput.cpp - memory that a kernel reads and writes --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnOutput.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

/// The kernel's argument that `view` is of.
static Value memoryOf(Value view) {
  while (true) {
    if (auto part = view.getDefiningOp<ViewLikeOpInterface>())
      view = part.getViewSource();
    else if (auto paged = view.getDefiningOp<PagedViewOp>())
      view = paged.getPages();
    else if (auto grouped = view.getDefiningOp<GroupedViewOp>())
      view = grouped.getHeads();
    else if (auto slot = view.getDefiningOp<SlotViewOp>())
      view = slot.getPages();
    else
      return view;
  }
}

/// What `op` reads or writes of global memory; null: nothing.
static Value viewOf(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getDest();
  if (auto sum = dyn_cast<AtomicAddOp>(op))
    return sum.getDest();
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return scatter.getDest();
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getSource();
  if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getSource();
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getSource();
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return load.getMemref();
  return {};
}

OwnOutput::OwnOutput(KernelOp kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (Value view = viewOf(op))
      accesses[memoryOf(view)].push_back(op);
  });
  accesses.remove_if([](const auto &entry) {
    return llvm::none_of(entry.second, llvm::IsaPred<AtomicAddOp, ScatterOp>) &&
           (llvm::none_of(entry.second, llvm::IsaPred<StoreOp>) ||
            llvm::all_of(entry.second, llvm::IsaPred<StoreOp>));
  });
}

bool OwnOutput::contains(Value view) const {
  return accesses.contains(memoryOf(view));
}

//===----------------------------------------------------------------------===//
// Elements of one thread
//===----------------------------------------------------------------------===//

/// Whether `value` is the same each time that both operations run.
static bool isSameForBoth(Value value, Operation *one, Operation *other) {
  for (auto loop = one->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    if (loop->isProperAncestor(other) && !loop.isDefinedOutsideOfLoop(value))
      return false;
  return true;
}

/// Whether elements `first + n·step` for n < `size` of two parts differ.
static bool differ(memref::SubViewOp one, memref::SubViewOp other,
                   unsigned dim) {
  auto numbers = [&](memref::SubViewOp part) {
    return std::tuple(getConstantIntValue(part.getMixedOffsets()[dim]),
                      getConstantIntValue(part.getMixedSizes()[dim]),
                      getConstantIntValue(part.getMixedStrides()[dim]));
  };
  auto [first, size, step] = numbers(one);
  auto [otherFirst, otherSize, otherStep] = numbers(other);
  if (!first || !size || !step || !otherFirst || !otherSize || !otherStep)
    return false;
  return *first + (*size - 1) * *step < *otherFirst ||
         *otherFirst + (*otherSize - 1) * *otherStep < *first ||
         (*step == *otherStep && *step > 1 &&
          (*first - *otherFirst) % *step != 0);
}

/// Whether two parts of one view have no element in common.
static bool areApart(Operation *one, Operation *other) {
  auto part = viewOf(one).getDefiningOp<memref::SubViewOp>(),
       otherPart = viewOf(other).getDefiningOp<memref::SubViewOp>();
  if (!part || !otherPart || part.getSource() != otherPart.getSource() ||
      !isSameForBoth(part.getSource(), one, other))
    return false;
  return llvm::any_of(
      llvm::seq<unsigned>(0, part.getSourceType().getRank()),
      [&](unsigned dim) { return differ(part, otherPart, dim); });
}

/// Where a tile's elements are, and which thread has them.
static std::pair<ValueRange, Value> placeOf(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return {store.getIndices(), store.getValue()};
  if (auto sum = dyn_cast<AtomicAddOp>(op))
    return {sum.getIndices(), sum.getValue()};
  if (auto load = dyn_cast<LoadOp>(op))
    return {load.getIndices(), load.getResult()};
  return {};
}

/// Whether `op` adds, in one step for each element.
static bool isSum(Operation *op) {
  auto scatter = dyn_cast<ScatterOp>(op);
  return isa<AtomicAddOp>(op) || (scatter && scatter.getAdd());
}

bool fa::areOfOneThread(Operation *one, Operation *other) {
  if ((isSum(one) && isSum(other)) || areApart(one, other))
    return true;
  auto [indices, tile] = placeOf(one);
  auto [otherIndices, otherTile] = placeOf(other);
  Value view = viewOf(one);
  if (!tile || !otherTile || view != viewOf(other) || indices != otherIndices ||
      !(layoutOf(tile) == layoutOf(otherTile)) ||
      !isSameForBoth(view, one, other))
    return false;
  LinearLayout layout = layoutOf(tile).base;
  return !copyBits(layout, Axis::Lane) && !copyBits(layout, Axis::Warp) &&
         llvm::all_of(indices, [&](Value index) {
           return isSameForBoth(index, one, other);
         });
}

//===- RowTiles.cpp - rows of a kernel for a matrix unit's warps ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTiles.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Calls `note` with the type of each tile whose rows are reduced, if the
/// kernel gives nothing but vectors of these: a warp has whole rows then.
static void noteReducedRows(KernelOp kernel,
                            llvm::function_ref<void(RankedTensorType)> note) {
  WalkResult walk = kernel.walk([](StoreOp store) {
    return typeOf(store.getValue()).getRank() == 1 ? WalkResult::advance()
                                                   : WalkResult::interrupt();
  });
  if (!walk.wasInterrupted())
    kernel.walk([&](ReduceOp reduce) { note(typeOf(reduce.getInput())); });
}

MatrixUnit fa::chooseUnit(KernelOp kernel, const Machine &machine) {
  int64_t rows = std::numeric_limits<int32_t>::max(), columns = 0;
  auto note = [&](RankedTensorType tile) {
    rows = std::min(rows, tile.getDimSize(0));
    columns |= tile.getDimSize(1);
  };
  kernel.walk([&](DotOp dot) { note(typeOf(dot)); });
  kernel.walk([&](OnlineMergeOp merge) { note(typeOf(merge.getAcc())); });
  if (!columns)
    noteReducedRows(kernel, note);
  if (!columns && kernel->hasAttr(KernelOp::warpRowsAttrName))
    kernel.walk([&](StoreOp store) {
      if (typeOf(store.getValue()).getRank() == 2)
        note(typeOf(store.getValue()));
    });
  return MatrixUnit::choose(machine.isAmd() ? MatrixUnit::Mfma
                                            : MatrixUnit::Mma,
                            rows, columns ? columns : 32);
}

bool fa::runsByWarps(KernelOp kernel, const MatrixUnit &unit) {
  return kernel->hasAttr(KernelOp::warpRowsAttrName) && unit.lanes() == 32;
}

int64_t fa::countRowTiles(KernelOp kernel, const MatrixUnit &unit) {
  if (kernel.getParts() > 1 || runsByWarps(kernel, unit))
    return 1;
  int64_t least = std::numeric_limits<int32_t>::max();
  auto note = [&](int64_t tiles) {
    least = std::min(least, std::max<int64_t>(tiles, 1));
  };
  kernel.walk([&](DotOp dot) { note(typeOf(dot).getDimSize(0) / unit.side); });
  kernel.walk([&](OnlineMergeOp merge) {
    RankedTensorType type = typeOf(merge.getAcc());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    note(rows == 1 ? columns / unit.lanes() : rows / unit.side);
  });
  if (least == std::numeric_limits<int32_t>::max())
    noteReducedRows(kernel, [&](RankedTensorType tile) {
      note(tile.getDimSize(0) / unit.side);
    });
  if (least == std::numeric_limits<int32_t>::max() &&
      kernel->hasAttr(KernelOp::warpRowsAttrName))
    return 1;
  return least;
}

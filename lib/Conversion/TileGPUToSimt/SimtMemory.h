//===- SimtMemory.h - addresses in both memories ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTMEMORY_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTMEMORY_H

#include "SimtContext.h"

namespace fa {

//===----------------------------------------------------------------------===//
// Global memory (LowerGlobal.cpp)
//===----------------------------------------------------------------------===//

GlobalView openView(SimtContext &ctx, mlir::Value view);
/// `address` + `step` elements.
mlir::Value stepFrom(SimtContext &ctx, mlir::Value address, mlir::Type element,
                     mlir::Value step);
/// The address of an element, all coordinates as index; `isRowCertain`: the
/// view has its row.
mlir::Value addressOf(SimtContext &ctx, const GlobalView &view,
                      mlir::ValueRange coords, bool isRowCertain = false);
/// The address of the element at `coords`, in the tile at `inTile` but for the
/// thread's part, which is the same for all.
mlir::Value stepTo(SimtContext &ctx, AddressWalk &walk, const GlobalView &view,
                   mlir::ValueRange coords, const Coord &inTile,
                   bool isRowCertain = false);
/// i1: the coordinates are inside the view; null if that is certain.
mlir::Value isInside(SimtContext &ctx, const GlobalView &view,
                     mlir::ValueRange coords, mlir::ArrayRef<bool> certain);
/// Which dimensions of a tile at `indices` cannot leave the view.
mlir::SmallVector<bool> certainDims(const GlobalView &view,
                                    mlir::ValueRange indices,
                                    mlir::ArrayRef<int64_t> tile,
                                    bool inBounds);
/// Elements of `tile` that one access to `view` at `indices` has: as many
/// neighbours as registers hold, as rows are aligned for, and as are inside or
/// outside together.
int64_t accessWidth(mlir::Value view, mlir::ValueRange indices,
                    mlir::Value tile);
/// `isConstant`: nobody writes there while the kernel runs.
mlir::Value loadOrZero(SimtContext &ctx, mlir::Value address, mlir::Type type,
                       mlir::Value condition, bool isConstant = false);
/// Element by element, for targets that have nothing better for a tile.
mlir::LogicalResult lowerLoad(SimtContext &ctx, tile::LoadOp op);
mlir::LogicalResult lowerStore(SimtContext &ctx, tile::StoreOp op);

//===----------------------------------------------------------------------===//
// Rows without a step (LowerPages.cpp, LowerGroups.cpp)
//===----------------------------------------------------------------------===//

/// Where rows of `sequence` are found in `pages`, of rank 4.
GlobalView::Pages openTable(SimtContext &ctx, const GlobalView &pages,
                            mlir::Value table, mlir::Value sequence);
/// The page of a row, and the row's number in it; all are i32. Of what
/// `isInside` says is not there, some page's.
std::pair<mlir::Value, mlir::Value> findPage(SimtContext &ctx,
                                             const GlobalView::Pages &pages,
                                             mlir::Value row,
                                             mlir::Value isInside);
/// Where row `row` of a view of pages begins; `isCertain`: the view has it. Of
/// a row that it has not, some address.
mlir::Value findPagedRow(SimtContext &ctx, const GlobalView &view,
                         mlir::Value row, bool isCertain);
/// Where row `row` of a view of the queries of several heads begins, and
/// whether there is such a row, i1. Of another one, some address.
mlir::Value findGroupedRow(SimtContext &ctx, const GlobalView &view,
                           mlir::Value row);
mlir::Value hasGroupedRow(SimtContext &ctx, const GlobalView &view,
                          mlir::Value row);
/// Which packed sequence a slot belongs to: by each thread for itself.
void lowerSequenceOf(SimtContext &ctx, tile::SequenceOfOp op);

//===----------------------------------------------------------------------===//
// Shared memory (LowerShared.cpp)
//===----------------------------------------------------------------------===//

/// Byte `offset` of the shared memory of the block, or of this part of it, i32.
mlir::Value sharedBase(SimtContext &ctx, int64_t offset);
/// The address of a slot's first byte, i32.
mlir::Value slotAddress(SimtContext &ctx,
                        mlir::TypedValue<tgpu::BufferType> buffer,
                        mlir::Value slot);
/// Pointer to `address` + (thread's part XOR `offset`) bytes.
mlir::Value swizzledAddress(SimtContext &ctx, mlir::Value address,
                            mlir::ArrayRef<uint32_t> threadBases,
                            uint32_t offset);
mlir::Value offsetBy(SimtContext &ctx, mlir::Value address, int64_t bytes);
/// The bytes that each bit of the thread's number steps in a buffer, and those
/// of each register.
std::pair<mlir::SmallVector<uint32_t>, mlir::SmallVector<uint32_t>>
byteOffsets(const LinearLayout &registers, const LinearLayout &shared,
            int64_t bytes);
/// The same of one copy of a tile's layout after the other, each with the bytes
/// in front of it.
struct CopyOffsets {
  int64_t begin = 0;
  mlir::SmallVector<uint32_t> threads, registers;
};
mlir::SmallVector<CopyOffsets> offsetsOfCopies(const TileLayout &registers,
                                               const TileLayout &shared,
                                               int64_t bytes);
/// Element by element, as `lowerLoad`.
void lowerRead(SimtContext &ctx, tgpu::ReadOp op);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTMEMORY_H

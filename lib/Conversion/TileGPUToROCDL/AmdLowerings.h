//===- AmdLowerings.h - what lowerings for AMD share ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERINGS_H
#define FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERINGS_H

#include "../TileGPUToSimt/SimtLowerings.h"
#include "../TileGPUToSimt/SimtMemory.h"
#include "AmdContext.h"

namespace fa {

/// `count` elements as a vector, or the one.
inline mlir::Type vectorOf(int64_t count, mlir::Type element) {
  return count == 1 ? element
                    : mlir::Type(mlir::VectorType::get({count}, element));
}

/// What a load of `count` elements gives: those of 16 and of 8 bits travel as
/// words.
inline mlir::Type loadedType(int64_t count, mlir::Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  int64_t ofWord = bits == 8 || bits == 16 ? 32 / bits : 1;
  return ofWord > 1 && count >= ofWord
             ? vectorOf(count / ofWord,
                        mlir::IntegerType::get(element.getContext(), 32))
             : vectorOf(count, element);
}

//===--- AmdContext.cpp ---===//
/// As SimtContext::opaque, of a number that each lane has its own of.
mlir::Value opaqueInLanes(AmdContext &ctx, mlir::Value number);

//===--- The back end's order (InstructionOrder.cpp) ---===//
/// Nothing before this moves behind it and nothing behind it in front.
void keepOrder(AmdContext &ctx);
/// Behind a dot: its reads of `operand` from LDS come one by one between its
/// `products` mfma, and the dot stays where it is.
void spreadReads(AmdContext &ctx, mlir::Value operand, int64_t products);

//===--- Loads direct to LDS (LowerCopy.cpp) ---===//
mlir::ArrayAttr copyScopes(AmdContext &ctx);
/// Says that `read` is none of bytes that a copy under way writes: barriers see
/// to it, and LLVM would wait for all copies in front of each read.
template <typename Op> void isBesideCopies(AmdContext &ctx, Op read) {
  if (ctx.info.hasDirectLoads)
    read.setNoaliasScopesAttr(copyScopes(ctx));
}
/// Reads a tile transposed (CDNA4 ISA, DS_READ_B64_TR_B16).
void lowerTurnedRead(AmdContext &ctx, tgpu::ReadOp op, const TurnedRead &plan);

//===--- Rows by buffer descriptors (LowerBuffer.cpp) ---===//
/// Loads and stores by a descriptor of the rows: those that do not exist give 0
/// and are not written; `width` elements each.
void lowerBufferLoad(AmdContext &ctx, tile::LoadOp op, const GlobalView &view,
                     int64_t width);
void lowerBufferStore(AmdContext &ctx, tile::StoreOp op, const GlobalView &view,
                      int64_t width);
/// The rows of a tile from `start` on, `rowBytes` long: a descriptor, and the
/// bytes from one to the next.
std::pair<mlir::Value, mlir::Value> describeRows(AmdContext &ctx,
                                                 const GlobalView &view,
                                                 mlir::Value start,
                                                 int64_t rows, bool inBounds);

//===--- Vectors (LowerMemory.cpp) ---===//
/// Keeps vectors of `count` neighbours each as the registers of `tile`.
void setVectors(AmdContext &ctx, mlir::Value tile,
                mlir::ArrayRef<mlir::Value> vectors);

//===--- The lowerings of each file ---===//
/// Those of any GPU, then all of the following.
void addAmdLowerings(AmdContext &ctx);
void addCopyLowerings(AmdContext &ctx);
void addDotLowerings(AmdContext &ctx);
void addMemoryLowerings(AmdContext &ctx);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERINGS_H

//===- NarrowTiles.cpp - tiles of 8 bits that dots read -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowTiles.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

/// `visit` of each tile that dots read.
template <typename Tiles, typename Visit>
static void forEachOperand(Tiles &tiles, Visit visit) {
  llvm::for_each(tiles.own, visit);
  llvm::for_each(tiles.whole, visit);
  for (auto &entry : tiles.loops) {
    llvm::for_each(entry.fetched, visit);
    llvm::for_each(entry.lefts, visit);
  }
}

/// Whether wgmma is to multiply 8 bits there: 32 of a row at a time, of rows
/// along the depth. Its sums keep some 14 bits (docs/numerics.md), which is
/// less than what comes of f16, and more than bf16 has.
static bool isOfCodes(DotOp dot) {
  LoadOp left = loadOf(dot.getA()), right = loadOf(dot.getB());
  return left && right && isStorageFloat(left.getType()) &&
         isStorageFloat(right.getType()) && dot.getTransposeB() &&
         typeOf(dot.getA()).getElementType().isBF16() &&
         typeOf(dot.getA()).getDimSize(1) % 32 == 0;
}

/// Whether a log-sum-exp is made of the kernel's scores, or may be of those of
/// a split: what sums of 8 bits lose shows in it.
static bool showsScores(KernelOp kernel) {
  bool shows = kernel->hasAttr(KernelOp::splitKeysAttrName);
  kernel.walk(
      [&](OnlineFinalizeOp end) { shows |= !end.getLse().use_empty(); });
  return shows;
}

/// Tiles are read as they are if all dots that read them can, and so the others
/// that these dots read.
void fa::markNarrow(KernelOp kernel, FetchedTiles &tiles) {
  if (showsScores(kernel))
    return;
  llvm::SetVector<Operation *> dots;
  kernel.walk([&](DotOp dot) {
    if (isOfCodes(dot))
      dots.insert(dot);
  });
  auto isForOthers = [&](Operation *dot) {
    return llvm::any_of(dot->getOperands().take_front(2), [&](Value operand) {
      return llvm::any_of(operand.getUsers(), [&](Operation *user) {
        return !dots.contains(user);
      });
    });
  };
  while (dots.remove_if(isForOthers)) {
  }
  forEachOperand(tiles, [&](FetchedTile &tile) {
    tile.staysNarrow =
        tile.widening && dots.contains(*tile.tile().getUsers().begin());
  });
}

std::string fa::whyNotWidened(const FetchedTiles &tiles) {
  std::string why;
  forEachOperand(tiles, [&](const FetchedTile &tile) {
    int64_t rows = tile.type().getDimSize(0);
    if (tile.isWidened() && rows % kWidenedRows)
      why = "a tile of 8 bits has " + std::to_string(rows) +
            " rows, where a multiple of " + std::to_string(kWidenedRows) +
            " is widened";
  });
  return why;
}

/// Whether `tile` is multiplied with a number for each column.
static bool isScaledByColumns(Value tile) {
  auto product = tile.getDefiningOp<arith::MulFOp>();
  return product && llvm::any_of(product->getOperands(), [](Value factor) {
           auto repeated = factor.getDefiningOp<BroadcastOp>();
           return repeated && isTile(repeated.getInput());
         });
}

void fa::multiplyInHalves(DotOp dot) {
  auto rounding = dot.getA().getDefiningOp<arith::TruncFOp>();
  // Scales of values may be of any size, which f16 has not.
  if (rounding && isScaledByColumns(rounding.getIn()))
    return;
  auto widening = dot.getB().getDefiningOp<arith::ExtFOp>();
  if (!rounding || !rounding->hasOneUse() || !widening ||
      !widening->hasOneUse() || !loadOf(widening.getOut()))
    return;
  Type half = Float16Type::get(dot.getContext());
  for (Value operand : {rounding.getOut(), widening.getOut()})
    operand.setType(typeOf(operand).clone(half));
}

bool FetchedTiles::areWidened() const {
  bool are = false;
  forEachOperand(*this,
                 [&](const FetchedTile &tile) { are |= tile.isWidened(); });
  return are;
}

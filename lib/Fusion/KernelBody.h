//===- KernelBody.h - what bodies of attention kernels share ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of a forward and of its gradients compute the function's scalars, see
// parts of arguments and evaluate score and mask regions in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KERNELBODY_H
#define FA_LIB_FUSION_KERNELBODY_H

#include "ArgumentView.h"
#include "InlineRegion.h"

#include "Tile/Tile.h"
#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Plan/KernelShape.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

class KernelBody {
protected:
  using Value = mlir::Value;

  KernelBody(mlir::OpBuilder &builder, mlir::Location loc) : b(loc, builder) {}

  //===--- Scalars ---===//
  Value index(int64_t value);
  /// The last multiple of `of` up to `place`, which is at least 0.
  Value multipleBelow(Value place, int64_t of);
  mlir::BlockArgument argument(Value functionArgument);
  /// A scalar of the function, computed again in the kernel.
  Value getScalar(Value value);

  //===--- Views and tiles ---===//
  Value view(Value memref, mlir::ArrayRef<mlir::OpFoldResult> offsets,
             mlir::ArrayRef<mlir::OpFoldResult> sizes,
             mlir::ArrayRef<int64_t> keptShape);
  mlir::RankedTensorType tile(mlir::ArrayRef<int64_t> sizes,
                              mlir::Type element) {
    return mlir::RankedTensorType::get(sizes, element);
  }
  Value broadcast(Value value, mlir::RankedTensorType type) {
    return tile::BroadcastOp::create(b, type, value, mlir::ValueRange{});
  }

  //===--- Packed sequences ---===//
  /// Rows of one sequence among all that are packed; a null `first`: those of
  /// a batch, from its first on.
  struct Sequence {
    Value first, count;
  };
  /// The tile of `rows` rows of a sequence, among those of its own, that slot
  /// `slot` of all is for; sets `batch` to the sequence.
  Value findTile(const ArgumentView &view, Value slot, int64_t rows);
  /// The rows of sequence `batch` among all of `memref`, [heads, rows, dim].
  Sequence findSequence(const ArgumentView &view, Value memref);

  //===--- Regions ---===//
  /// Sets `captures` to what `operands` are in the kernel; `views` are those of
  /// the tensors among them.
  void mapCaptures(mlir::OperandRange operands,
                   mlir::ArrayRef<ArgumentView> views);
  /// A value of the mask region, or of one that has `more` arguments before: at
  /// `row` or, without one, for the whole tile.
  Value materialize(Value regionValue, Value row, unsigned more = 0);
  /// A form without coordinates, of a region with `more` arguments.
  Value evaluate(const AffineForm &form, unsigned more);
  /// How many of `numKeys` keys there are for this batch and head. Those beyond
  /// a bound that holds for every row do not exist: they are not read, whatever
  /// they hold.
  Value countKeys(const MaskRule &rule, Value numKeys);

  //===--- Dropout (DropoutFactors.cpp) ---===//
  /// Reads what dropout of `p` by `rng`, if there is a `p`, begins with, in a
  /// kernel of `heads` query heads and `shape`.
  void openDropout(mlir::FloatAttr p, const std::optional<ArgumentView> &rng,
                   Value heads, const KernelShape &shape);
  /// Where tiles of rows or columns begin that would begin at `place`: with
  /// dropout at a multiple of 16, so that each call of Philox is made once.
  Value beginOfBlock(Value place);
  /// Multiplies the tile `x` with the factors of dropout, if there is one;
  /// `place` are batch, head, query and key of its elements. Its rows and
  /// columns begin where `beginOfBlock` says or whole tiles behind.
  Value applyDropout(Value x, mlir::ArrayRef<RegionValue> place);

  mlir::ImplicitLocOpBuilder b;
  tile::KernelOp kernel;
  mlir::IRMapping scalars;     ///< scalars of the function
  mlir::IRMapping maskScalars; ///< uniform values of the mask region
  mlir::SmallVector<RegionValue> captures; ///< as the regions see them
  Value batch, head; ///< of this program; the first head of a packed tile
  mlir::FloatAttr dropProbability; ///< null: there is no dropout
  Value dropSeed, dropOffset, dropHeads;
  bool dropsInBlocks = false; ///< tiles are whole blocks of 16
};

} // namespace fa

#endif // FA_LIB_FUSION_KERNELBODY_H

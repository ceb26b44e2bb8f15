//===- AttentionBuilder.h - builds an attention kernel at S3 ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ATTENTIONBUILDER_H
#define FA_LIB_FUSION_ATTENTIONBUILDER_H

#include "KeyDistances.h"
#include "KeyLoops.h"
#include "ProgramBuilder.h"
#include "RampBias.h"

namespace fa {

/// Builds a kernel that attends to all keys or to a split of them: what is the
/// same for all keys (AttentionBuilder.cpp) and the way along them
/// (AttentionLoops.cpp).
class AttentionBuilder : ProgramBuilder {
public:
  using ProgramBuilder::ProgramBuilder;
  tile::KernelOp build(mlir::StringRef name, mlir::StringRef entry);

private:
  //===--- Prologue ---===//
  void buildCoordinates();
  void buildRamp();
  Value keyView(Value memref);

  //===--- Loops ---===//
  mlir::SmallVector<Value> buildLoops();
  mlir::SmallVector<Value> buildListedLoops();
  std::pair<Value, Value> findShare();
  /// The keys that rows `first` to `last` see.
  mlir::SmallVector<KeyRange> rangesOf(Value first, Value last);
  KeyRange ownRange();
  mlir::SmallVector<Value> buildLoop(const KeyLoop &keys,
                                     mlir::ValueRange state);
  /// Of a dot whose operands have elements of this type.
  tile::DotPrecision precisionFor(mlir::Type element);
  /// `rows` of 8 bits as `element`s, which have all of their numbers.
  Value widened(Value rows, mlir::Type element);
  /// Multiplies `scale` with what keys of this batch and head are multiplied
  /// with.
  void takeKeyScales();
  /// Splits `scale` into its magnitude and its sign.
  void takeSign();
  /// What a tile of keys reads of scales that are for some keys each.
  struct ScalesOfKeys {
    Value all; ///< [n] of this batch and KV head, as far as there are keys
    /// Of a tile that has few of them: these, and the column where each ends.
    mlir::SmallVector<Value> numbers, ends;
    bool isInside; ///< there is one for each column
  };
  /// Begins to read those of the tile from `key` on: at the start of a step, so
  /// that nothing waits for them later.
  ScalesOfKeys openScales(const ArgumentView &scales, Value key, bool partial);
  /// One a column of `x`, times `factor`: numbers where there are no keys.
  Value scalesOf(const ScalesOfKeys &scales, Value key, Value factor,
                 mlir::RankedTensorType x);
  Value gatherScales(Value numbers, Value key, mlir::RankedTensorType columns);
  std::pair<Value, Value> buildScores(Value kTile, Value key, bool partial);
  mlir::SmallVector<RegionValue> regionArguments(Value key);
  int64_t findKeyMultiple();
  void buildEpilogue(mlir::ValueRange state);

  /// Of a scale with `foldsMagnitude`: 1 or -1, and `scale` is its magnitude.
  Value scaleSign;
  Value scale;
  Value firstRow, lastRow;             ///< queries of this tile
  PackedRows packed;                   ///< of each row, if queries are packed
  Value length;                        ///< of the keys that there are
  Value split, numSplits;              ///< of a kernel on part of the keys
  Value keysEnd;                       ///< where this program's keys end
  mlir::SmallVector<ScalesOfKeys> scalesOfKeys; ///< of the tile that is built
  std::optional<ScalesOfKeys> scalesOfValues;   ///< the same
  mlir::SmallVector<WholeTiles> whole; ///< of one loop
  int64_t keyMultiple = 1;             ///< at which tiles of keys begin
  std::optional<BlockWalk> walk;       ///< over blocks that are listed
  std::optional<LinearBias> bias;      ///< what the score region is, if that
  std::optional<RampBias> ramp;        ///< the same, as what the dot adds to
  Value q, k, v;                       ///< a tile of rows; views of one head
  MaskRule rule;
};

} // namespace fa

#endif // FA_LIB_FUSION_ATTENTIONBUILDER_H

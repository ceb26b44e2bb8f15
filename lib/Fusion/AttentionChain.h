//===- AttentionChain.h - dot, elementwise, softmax, dot --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ATTENTIONCHAIN_H
#define FA_LIB_FUSION_ATTENTIONCHAIN_H

#include "Tile/Tile.h"

#include <string>

namespace fa {

/// What rows of K or V are multiplied with, in f32.
struct RowScales {
  mlir::Value numbers; ///< [b, hkv], or [b, hkv, n]
  int64_t keys = 0;    ///< that each of n is for
};

/// One chain dot -> elementwise -> softmax -> dot, as found. Leading dimensions
/// are all but the last two of the scores.
struct AttentionChain {
  struct Mask {
    mlir::Value condition; ///< of the shape of the scores
    bool negated;
    bool sentinel; ///< a finite number stands for −inf
  };

  tile::DotOp scoreDot, outputDot;
  tile::SoftmaxOp softmax;
  tile::LogSumExpOp lse;   ///< of the same scores, or null
  tile::DropoutOp dropout; ///< of the probabilities, or null
  mlir::Value q, k, v; ///< [leading.., s, d]; of k and v, leading dimensions
                       ///< may divide those of q
  mlir::Value scores;  ///< what the score region starts from: scaled
  mlir::SmallVector<mlir::Value> factors; ///< scalars; the scale's
  /// What K and V are multiplied with, in the program's order.
  mlir::SmallVector<RowScales> keyScales, valueScales;
  int64_t scaleKeys = 0; ///< keys of those that are for some keys
  mlir::Value sink;     ///< [hq], or null
  mlir::Value modified; ///< what the score region yields, as a tensor
  mlir::SmallVector<Mask> masks;
  bool wideP = false;  ///< P is f32, V was widened
  mlir::Type roundedP; ///< that of P's elements, before any widening
  /// Of the dots, where they multiply f32 numbers.
  tile::DotPrecision precision = tile::DotPrecision::Ieee;
  mlir::Operation *result = nullptr; ///< the dot, or the conversion of its
                                     ///< result

  int64_t numLeading() const {
    return tile::SoftmaxOp(softmax).getType().getRank() - 2;
  }
  /// The order in which q, k and v have the leading dimensions of the scores.
  mlir::SmallVector<int64_t> order;
  /// Whether that is the scores' own.
  bool isOrdered() const { return llvm::is_sorted(order); }
  /// The first leading dimension of q that is part of the heads; those before
  /// it are batches.
  int64_t firstHeadDim = 0;

  /// Finds the chain around `softmax`; the reason if there is none. May add
  /// operations before the chain's (views of operands, scalars). With
  /// `takeSentinels`, finite numbers that are meant as −inf are masks.
  static std::string match(tile::SoftmaxOp softmax, bool takeSentinels,
                           AttentionChain &chain);
};

} // namespace fa

#endif // FA_LIB_FUSION_ATTENTIONCHAIN_H

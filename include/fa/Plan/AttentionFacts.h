//===- AttentionFacts.h - what a plan must know of a problem ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_ATTENTIONFACTS_H
#define FA_PLAN_ATTENTIONFACTS_H

#include <cstdint>
#include <optional>

namespace fa {

/// What a mask says of the keys that a row sees.
struct MaskFacts {
  int64_t intervals = 1; ///< lists of keys between two bounds
  /// Between the bounds of every interval, every key is seen.
  bool isComplete = true;
  bool growsWithQuery = false; ///< later rows see further
  bool hasLowerBound = false;  ///< there may be keys before those of a row
  bool readsRows = false;      ///< a bound is read for each row
  /// Upper bounds that all rows of a batch and head have, and whether the first
  /// interval has no others.
  int64_t lengths = 0;
  bool hasLengthsAlone = true;
  /// Keys that a row of the first interval sees at most, where that is known.
  std::optional<int64_t> width;

  /// One interval between whose bounds nothing is left out.
  bool isInterval() const { return intervals == 1 && isComplete; }
  /// Every row sees all keys.
  bool leavesOutNothing() const {
    return isInterval() && !growsWithQuery && !hasLowerBound && !readsRows &&
           !lengths && !width;
  }
};

/// A factor of the head times the distance of key and query.
struct LinearBiasFacts {
  bool isRamp = false;     ///< the dot of the scores can add to it
  bool isAbsolute = false; ///< times the size of the distance
};

/// One attention, as far as its kernels' shapes depend on it.
struct AttentionFacts {
  enum Element { F32, F16, BF16 };

  int64_t headDim = 0, valueDim = 0; ///< columns of Q and K, and of V
  Element element = F32;
  bool allowsTf32 = false; ///< dots of f32 may round their operands
  MaskFacts mask;
  bool modifiesScores = false; ///< there is a score region
  /// Of gradients: scores read an element of a tensor each; they do, or their
  /// derivative is not 1.
  bool readsByScore = false, hasCostlyScores = false;
  bool hasFoldableScale = false;
  /// It would be foldable, but keys are multiplied with numbers, too, of any
  /// sign.
  bool hasFoldableMagnitude = false;
  bool hasShortCap = false; ///< the score region is a softcap with a short tanh
  std::optional<LinearBiasFacts> bias;
  /// Captured tensors that a tile of scores reads a tile of, and bytes of an
  /// element of each of them together.
  int64_t scoreTiles = 0, scoreBytes = 0;
  int64_t results = 1; ///< 2 with the log-sum-exp
  /// Queries or keys are sequences that lie one behind the other.
  bool isPacked = false;
  bool hasPages = false;           ///< rows of keys are found through a table
  bool dropsProbabilities = false; ///< there is dropout
  /// Probabilities and values are multiplied in f32, whatever type these have.
  bool hasWideProbabilities = false;
  bool hasNarrowKeys = false;    ///< keys and values have 8 bits
  bool hasNarrowQueries = false; ///< and queries, too, which else have 16
  /// Values are most of the first columns of the keys: a tile of keys can be
  /// the tile of values as well, whose further columns add up to what is
  /// dropped.
  bool sharesTiles = false;
  /// Rows of queries, keys and values may begin and end inside of an argument,
  /// as those of a projection's result do.
  bool beginsInside = false;
  int64_t keys = 0; ///< how many there are; 0: known at launch
  /// Above 0: splits have so many keys, and no kernel is chosen by how many
  /// programs a launch has, so that results do not depend on the batch.
  int64_t splitKeys = 0;

  /// How many queries and keys a block of those has that are listed, of keys
  /// for blocks of queries and, where gradients walk them, the other way
  /// around.
  struct Blocks {
    int64_t queries = 0, keys = 0; ///< 0: none are listed
  };
  Blocks keyLists, queryLists;

  bool hasBlockLists() const { return keyLists.queries > 0; }
  /// Rows of a tile are queries of one head, keys are not split, and programs
  /// are not equally long.
  bool hasHeadsApart() const { return isPacked || hasBlockLists(); }
  int64_t bytes() const { return element == F32 ? 4 : 2; }
  int64_t keyBytes() const { return hasNarrowKeys ? 1 : bytes(); }
};

} // namespace fa

#endif // FA_PLAN_ATTENTIONFACTS_H

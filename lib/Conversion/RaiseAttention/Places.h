//===- Places.h - where Q, K, V and the output are --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra of a loop says nothing of what it reads. Attention it is if, with
// one of the program's coordinates for the rows and at most two for batches and
// heads,
//
//  - queries and outputs are rows BM · coordinate + i, keys and values rows
//    counter + j, of tensors that are stepped through by batch, head, row and
//    column;
//  - every key that the mask lets pass is visited once, and no other.
//
// Or keys and values lie in pages: key j in slot j mod P of the page whose
// number a table has at the batch and j ÷ P.
//
// What depends on the numbers of a launch is a condition for it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_PLACES_H
#define FA_LIB_CONVERSION_RAISEATTENTION_PLACES_H

#include "Conditions.h"
#include "LoopProof.h"
#include "Scores.h"

#include <set>

namespace fa::raise {

/// A tensor [batch, head, row, column] in an argument of the kernel.
struct TensorPlace {
  mlir::Operation *op = nullptr; ///< that reads or writes it
  unsigned argument = 0;
  mlir::Type element;
  int64_t columns = 0;
  Number offset, sizes[4], strides[4];
};

/// A tensor of which the scores read one element each: at those of the
/// coordinates batch, head, row and key (0 to 3) that are its dimensions.
struct ElementPlace {
  mlir::Operation *op = nullptr;
  unsigned argument = 0;
  mlir::Type element;
  Number offset;
  std::vector<unsigned> coordinates;
  std::vector<Number> sizes, strides;
};

/// Rows of a table of pages, one for each batch.
struct PageTable {
  ElementPlace rows;
  Number page; ///< keys in a page
};

/// What a launch must be for the raised kernel to do what the kernel does:
/// number >= 0, or = 0.
struct Precondition {
  Number number;
  bool isZero;
  std::string text;
};

/// A kernel that is attention.
struct PlacedAttention {
  TensorPlace q, k, v, output;
  std::optional<TensorPlace> lse;
  double lseBase = 1;
  Scores scores;
  /// What `scores.change` reads, by its factors: numbers of places, elements.
  std::map<unsigned, Number> scoreNumbers;
  std::map<unsigned, ElementPlace> scoreElements;
  std::optional<ElementPlace> sink;
  std::vector<Condition> mask; ///< all of them
  /// What masks and scores read of memory by the batch alone, by variable.
  std::map<unsigned, ElementPlace> sequenceNumbers;
  std::optional<Number> keyLengths;    ///< what of them ends the keys
  unsigned keyNumber = 0;              ///< the variable of a key
  std::optional<PageTable> table;      ///< of keys and values that lie in pages
  std::optional<unsigned> batch, head; ///< variables
  std::vector<Precondition> preconditions;
  std::vector<unsigned> positiveArguments; ///< of the kernel
  /// What it asserts or promises and no launch is checked for, by message.
  std::set<std::string> unchecked;
  std::optional<double> finiteMask;
  bool isWide = false; ///< P is not rounded
  bool isTf32 = false;
  std::string form;
};

/// Finds out where what `proven` reads and writes is.
std::optional<PlacedAttention>
placeAttention(const ProvenLoops &proven, ExponentialSums &sums,
               const TileReader &reader, LaunchNumbers &numbers,
               tile::KernelOp kernel, Refusal &refusal);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_PLACES_H

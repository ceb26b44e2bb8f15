//===- Access.h - what one load or store touches ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_ACCESS_H
#define FA_LIB_CONVERSION_RAISEATTENTION_ACCESS_H

#include "LaunchNumbers.h"
#include "LoopProof.h"

namespace fa::raise {

/// A load or a store of a tile: element (i, j, ..) is at base + Σ step · i of
/// an argument, and exists if i is below all limits of its axis. Where
/// addresses are computed, i may occur within quotients, remainders and
/// elements of the base.
struct Access {
  mlir::Operation *op = nullptr;
  unsigned argument = 0;
  mlir::Type element;
  Number base;
  std::map<int, Number> steps;
  std::map<int, int64_t> extents;
  std::map<int, std::vector<Number>> limits;
  /// Of keys that lie in pages: the page's number, an element of a table, and
  /// the step from one page to the next.
  std::optional<unsigned> page;
  Number pageStep;

  void forEachNumber(llvm::function_ref<void(Number &)> visit);
};

/// Reads `op`, a tile.load, tile.gather or tile.store of a tile with `axes`;
/// `what` names it in a refusal.
std::optional<Access> readAccess(LaunchNumbers &numbers, mlir::Operation *op,
                                 llvm::ArrayRef<int> axes, llvm::StringRef what,
                                 Refusal &refusal);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_ACCESS_H

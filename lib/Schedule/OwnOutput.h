//===- OwnOutput.h - memory that a kernel reads and writes ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_OWNOUTPUT_H
#define FA_LIB_SCHEDULE_OWNOUTPUT_H

#include "Tile/Tile.h"

#include "llvm/ADT/MapVector.h"

namespace fa {

/// What a program both reads and writes, or adds to: each such memory with the
/// operations that do so, in the order of the program. What is read there must
/// not be loaded ahead, and other threads may have written it.
class OwnOutput {
public:
  explicit OwnOutput(tile::KernelOp kernel);

  bool empty() const { return accesses.empty(); }
  /// Whether `view` is of such memory.
  bool contains(mlir::Value view) const;

  using Accesses = llvm::SmallVector<mlir::Operation *>;
  auto begin() const { return accesses.begin(); }
  auto end() const { return accesses.end(); }

private:
  llvm::MapVector<mlir::Value, Accesses> accesses;
};

/// Whether threads meet only elements of their own in `one` and `other`, of
/// which one writes to memory that both touch, or nothing that needs an order:
/// they are the same places in the same layout, without copies, or parts that
/// are known to be apart, or both add.
bool areOfOneThread(mlir::Operation *one, mlir::Operation *other);

} // namespace fa

#endif // FA_LIB_SCHEDULE_OWNOUTPUT_H

//===- LeftTiles.h - tiles that a consumer leaves out -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_LEFTTILES_H
#define FA_LIB_SCHEDULE_LEFTTILES_H

#include "FetchedTiles.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Whether the scalar `value` depends on which rows are computed.
bool followsFromOwnRows(mlir::Value value);

/// The tiles before and behind those that a consumer's rows see, which the
/// producer fetches for others. They are steps as well.
class LeftTiles {
public:
  using Pass = llvm::function_ref<void(mlir::Value step)>;

  /// `loops` are still the consumer's, which begin when `steps` have passed.
  LeftTiles(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<FetchingLoop> loops,
            mlir::Value steps);

  /// Whether there may be such tiles.
  bool any() const { return before || behind; }

  /// A loop that calls `pass` for the steps from `step` to the first tile that
  /// is seen; returns that one's step.
  mlir::Value passFirst(mlir::Value step, Pass pass);
  /// Those behind the last one, from `step` on; returns the step behind them.
  mlir::Value passLast(mlir::Value step, Pass pass);

private:
  mlir::Value behindTiles(mlir::Value step, mlir::Value begin, mlir::Value end,
                          mlir::Value size);
  void passTiles(mlir::Value from, mlir::Value to, Pass pass);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Value before, behind; ///< the steps behind them; null: there are none
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_LEFTTILES_H

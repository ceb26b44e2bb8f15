//===- RampBias.h - a linear bias as what a dot adds to ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_RAMPBIAS_H
#define FA_LIB_FUSION_RAMPBIAS_H

#include "KeyDistances.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// A linear bias in a kernel whose scores are scaled behind it.
class RampBias {
public:
  /// Of rows from `firstRow` on. `factor` is the bias's and `rest` its distance
  /// without i and j.
  RampBias(mlir::ImplicitLocOpBuilder &b, const LinearBias &bias,
           mlir::Value factor, mlir::Value rest, mlir::Value firstRow,
           mlir::Value scale);

  /// Whether it rises with the distance before and behind a row.
  bool hasSides() const { return sides; }
  /// The key that is at distance 0 of the first row.
  mlir::Value row() const { return zero; }

  /// What the scores' dot of the tile at `key` adds to. Of a bias with sides
  /// the tile must be on one.
  mlir::Value build(mlir::RankedTensorType type, mlir::Value key);
  /// Adds it to `scores`, those of a tile that may be on both sides of rows.
  mlir::Value addTo(mlir::Value scores, mlir::Value key);

private:
  mlir::Value boundedRatio(mlir::Value factor, mlir::Value scale);

  mlir::ImplicitLocOpBuilder &b;
  bool sides;
  mlir::Value factor, zero;
};

} // namespace fa

#endif // FA_LIB_FUSION_RAMPBIAS_H

//===- NarrowIndices.h - indices that 32 bits hold --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_NARROWINDICES_H
#define FA_LIB_FUSION_NARROWINDICES_H

#include "mlir/IR/Region.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// The ranges of integers of a score or mask region, of which batch, head,
/// query and key, its first four indices, are numbers below 2^31.
class NarrowIndices {
public:
  explicit NarrowIndices(mlir::Region &region);

  /// Whether `op`, an integer operation of one result, gives the same in 32
  /// bits, signed: all of its indices fit.
  bool isSame(mlir::Operation &op) const;

private:
  void infer(mlir::Operation &op);
  bool fits(mlir::Value value) const;
  bool isNatural(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace fa

#endif // FA_LIB_FUSION_NARROWINDICES_H

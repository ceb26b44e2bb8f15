//===- RaiseGeneric.h - one linalg.generic as tile and arith ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_RAISEGENERIC_H
#define FA_LIB_FUSION_RAISEGENERIC_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fa {

/// Builds, before `op`, operations of tile and arith on whole tensors that
/// compute what it does: elementwise operations, reductions, dots. Nothing if
/// it does something else.
mlir::FailureOr<mlir::Value> raiseGeneric(mlir::linalg::GenericOp op);

} // namespace fa

#endif // FA_LIB_FUSION_RAISEGENERIC_H

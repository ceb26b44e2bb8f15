//===- FindSource.h - what a value is computed from -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_FINDSOURCE_H
#define FA_LIB_FUSION_FINDSOURCE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa {

/// The first of `value` and what it is computed from for which `wanted` holds,
/// in order of operands; null if there is none. Operands of operations for
/// which `follows` does not hold are not looked at. Each value is looked at
/// once, however many ways lead to it.
mlir::Value findSource(
    mlir::Value value, llvm::function_ref<bool(mlir::Value)> wanted,
    llvm::function_ref<bool(mlir::Operation *)> follows =
        [](mlir::Operation *) { return true; });

} // namespace fa

#endif // FA_LIB_FUSION_FINDSOURCE_H

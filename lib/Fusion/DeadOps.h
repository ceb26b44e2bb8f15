//===- DeadOps.h - removes what nothing reads -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_DEADOPS_H
#define FA_LIB_FUSION_DEADOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa {

/// Erases the operations of `function` whose results nothing reads, users
/// before what they use.
inline void eraseDeadOps(mlir::func::FuncOp function) {
  function.walk([](mlir::Block *block) {
    for (mlir::Operation &op :
         llvm::make_early_inc_range(llvm::reverse(*block)))
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
  });
}

} // namespace fa

#endif // FA_LIB_FUSION_DEADOPS_H

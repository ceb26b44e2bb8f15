//===- Explain.h - what was fused and what was not --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_OPT_EXPLAIN_H
#define FA_OPT_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa::opt {

/// Runs the passes up to S1 on `module` and writes, for each softmax and each
/// dot, whether it became part of an attention, what that attention is, or why
/// it did not. Fails if the passes do.
mlir::LogicalResult explain(mlir::ModuleOp module, llvm::raw_ostream &out);

} // namespace fa::opt

#endif // FA_OPT_EXPLAIN_H

//===- Passes.h - from attention as written to one kernel -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_PASSES_H
#define FA_FUSION_PASSES_H

#include "fa/Fusion/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace fa {
#define GEN_PASS_DECL
#include "fa/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

#endif // FA_FUSION_PASSES_H

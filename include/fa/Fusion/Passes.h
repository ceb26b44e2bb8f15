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

/// What a program may be taken to mean beyond what it says.
struct FusionOptions {
  bool assumeNoEmptyRows = false; ///< finite sentinels are masks
  bool allowNoMax = false;        ///< exp(x) / Σ exp(x) is a softmax
  bool differentiate = true;      ///< what asks for gradients becomes them
};

/// The program as it was written to S1.
void buildFusionPipeline(mlir::OpPassManager &pm, const FusionOptions &options);

/// A stage ends where its verifier runs.
void addStageEnd(mlir::OpPassManager &pm, Stage stage);
} // namespace fa

#endif // FA_FUSION_PASSES_H

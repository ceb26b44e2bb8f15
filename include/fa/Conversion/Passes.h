//===- Passes.h - passes that leave the tile dialect ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_PASSES_H
#define FA_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace fa {

/// The last stages, those of what one thread does; simt-verify-stage says what
/// they promise.
enum class ThreadStage { S8, S9 };

/// What Triton prints → kernels at S3: what is called is inlined, and
/// `triton-to-tile`.
void buildTritonPipeline(mlir::OpPassManager &pm);

#define GEN_PASS_DECL
#include "fa/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

#endif // FA_CONVERSION_PASSES_H

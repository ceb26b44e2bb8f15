//===- ModifyAttention.h - a mask or score of one's own ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FRONTEND_MODIFYATTENTION_H
#define FA_FRONTEND_MODIFYATTENTION_H

#include "fa/Numerics/AttentionProblem.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa {

/// Adds code of the user's to the one attention of `module`, which is at S0 and
/// is brought to S1. `score` is operations, of one element, that define
/// `%score : f32` from the score `%s : f32`, as it is after everything else,
/// and
/// `%b, %h, %i, %j : index`, batch, query head, query and key; `mask` defines
/// `%keep : i1` from these four: keys are seen that it and all other masks let
/// pass. "" is none. What does not parse is an error at a line of the text.
llvm::Error modifyAttention(mlir::ModuleOp module, llvm::StringRef score,
                            llvm::StringRef mask);

/// Adds the mask of a draft to the one attention of `module`, which is at S0,
/// as `problem` describes it but for that, and is brought to S1: of the last sq
/// keys query i sees those whose bits are set. The words, i32, are the
/// function's last tensor.
llvm::Error addDraftMask(mlir::ModuleOp module,
                         const AttentionProblem &problem);

} // namespace fa

#endif // FA_FRONTEND_MODIFYATTENTION_H

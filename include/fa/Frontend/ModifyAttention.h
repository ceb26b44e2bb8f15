//===- ModifyAttention.h - a mask or score of one's own ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FRONTEND_MODIFYATTENTION_H
#define FA_FRONTEND_MODIFYATTENTION_H

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

} // namespace fa

#endif // FA_FRONTEND_MODIFYATTENTION_H

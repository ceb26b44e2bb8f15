//===- ReadProgram.h - the C interface's programs as modules ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_READPROGRAM_H
#define FA_RUNTIME_READPROGRAM_H

#include "fa/Numerics/AppendProblem.h"
#include "fa/Numerics/AttentionProblem.h"
#include "fa/Numerics/MergeProblem.h"
#include "fa/fa.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa {

/// A module and the context that it lives in. Each has its own, so that
/// compilations share nothing and can run at the same time.
struct Program {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string entry;     ///< "": the only one
  bool isTriton = false; ///< the kernels are what Triton printed
};

/// What a description says. A member that is out of its range is an error.
llvm::Expected<AttentionProblem> readProblem(const faAttentionDesc &desc);

/// The same of gradients of an attention.
llvm::Expected<AttentionProblem> readProblem(const faAttentionDesc &desc,
                                             const faBackwardDesc &backward);

/// The same of what a server runs beside attention.
llvm::Expected<MergeProblem> readProblem(const faMergeDesc &desc);
llvm::Expected<AppendProblem> readProblem(const faAppendDesc &desc);

/// The problem as a program at S0 or, with code of the caller's, at S1.
llvm::Expected<Program> buildProgram(const AttentionProblem &problem,
                                     llvm::StringRef scoreMod,
                                     llvm::StringRef maskMod);

/// The problem as a program at S3.
llvm::Expected<Program> buildProgram(const MergeProblem &problem);
llvm::Expected<Program> buildProgram(const AppendProblem &problem);

/// Parses a module; an error has the parser's messages. What Triton printed
/// becomes kernels.
llvm::Expected<Program> parseProgram(const faModuleDesc &desc);

} // namespace fa

#endif // FA_RUNTIME_READPROGRAM_H

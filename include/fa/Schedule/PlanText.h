//===- PlanText.h - plans of a program's kernels as text --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PLANTEXT_H
#define FA_SCHEDULE_PLANTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa {

/// A line "@NAME plan<...>" for each kernel of `module`. A kernel of a host has
/// a tile and nothing else to plan, one on whole tensors "@NAME unfused".
std::string printPlans(mlir::ModuleOp module);

/// Gives kernels of `module` at S3 the plans of `text`, lines as above; empty
/// ones and those that begin with # say nothing. An error names the line, and
/// the kernels that there are if it names none of them.
llvm::Error givePlans(mlir::ModuleOp module, llvm::StringRef text);

/// Whether kernels of `module` have the plans of `text`, which are not given:
/// those of a host, whose tiles alone are planned. The error is the first line
/// that says another one.
llvm::Error checkPlans(mlir::ModuleOp module, llvm::StringRef text);

} // namespace fa

#endif // FA_SCHEDULE_PLANTEXT_H

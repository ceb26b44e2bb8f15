//===- TritonProgram.h - what Triton printed as a program -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TRITONPROGRAM_H
#define FA_RUNTIME_TRITONPROGRAM_H

#include "fa/Conversion/RaiseAttention.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa {

/// Whether a module is one that Triton printed.
bool isTritonProgram(mlir::ModuleOp module);

/// Makes kernels of such a module. A kernel has one argument more than
/// Triton's: the last one's three sizes are the grid of its launch. An error
/// names the operation that no kernel has, and the line of the Python source.
llvm::Error lowerTritonProgram(mlir::ModuleOp module);

/// The kernel called `entry` of such a module, or, of no name, its only one;
/// null: there is none, or there are several.
tile::KernelOp findTritonKernel(mlir::ModuleOp module, llvm::StringRef entry);

/// The attention that `kernel` of such a module is. Nothing, and `why`, if it
/// is none or not known to be: the place in the Python source and what the
/// proof ends at.
std::optional<RaisedAttention> raiseTritonKernel(tile::KernelOp kernel,
                                                 std::string &why);

/// The location of the Python source where it is known, else of the text.
std::string placeOf(mlir::Location loc);

} // namespace fa

#endif // FA_RUNTIME_TRITONPROGRAM_H

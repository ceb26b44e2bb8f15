//===- FunctionPart.h - a part of a function as one of its own --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_FUNCTIONPART_H
#define FA_LIB_FUSION_FUNCTIONPART_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace fa {

/// Whether `op` moves no data: a transpose, a reshape or a slice.
bool isMemoryView(mlir::Operation *op);

/// Whether each part of a function that reads the result of `op` may make it
/// anew instead of being handed it: a scalar, a view, what is broadcast, and
/// what is computed from constants and indices alone.
bool isCheap(mlir::Operation *op);

/// The most arguments of a kernel (fa/Launch/KernelInfo.h), and how many of
/// them the kernels of one attention's gradients may have in workspace.
constexpr size_t kMostArguments = 64, kMostOfOwn = 4;

/// Whether all of `values`, of `function`, may be in memory between two of its
/// parts: tensors whose sizes follow from those of the arguments.
bool canBeHanded(mlir::func::FuncOp function,
                 mlir::ArrayRef<mlir::Value> values);

/// `wanted`, or that with a number behind it where `module` has such a symbol.
std::string unusedSymbol(mlir::ModuleOp module, const llvm::Twine &wanted);

/// What `op` reads: its operands, and what its regions read from outside.
llvm::SmallVector<mlir::Value> readsOf(mlir::Operation *op);

/// A private function that is made of operations of another one. What these
/// read from outside becomes its arguments, but for what is cheap, which is
/// made anew.
class FunctionPart {
public:
  /// Begins function `name` without results, before `source`. What is in
  /// `handed` becomes an argument, cheap or not.
  FunctionPart(mlir::func::FuncOp source, mlir::StringRef name,
               mlir::Location loc, llvm::DenseSet<mlir::Value> handed);

  /// The value of the part that stands for `value` of the source.
  mlir::Value import(mlir::Value value);

  /// Adds `op` behind those that were added before.
  void add(mlir::Operation *op);

  /// Ends the part, which returns what stands for `values`.
  void finish(mlir::ArrayRef<mlir::Value> values);
  /// Ends the part, which returns values of its own.
  void finishWith(mlir::ValueRange returned);
  /// Where the part goes on.
  mlir::OpBuilder &getBuilder() { return b; }

  /// What the part is given, values of the source.
  mlir::ArrayRef<mlir::Value> getInputs() const { return inputs.getArrayRef(); }
  /// What it was added to return, values of the source.
  mlir::ArrayRef<mlir::Value> getResults() const { return results; }

  mlir::func::FuncOp function;

private:
  llvm::DenseSet<mlir::Value> handed;
  mlir::OpBuilder b;
  mlir::IRMapping mapping;
  llvm::SetVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace fa

#endif // FA_LIB_FUSION_FUNCTIONPART_H

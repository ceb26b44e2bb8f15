//===- SiteCalls.h - calls of the emulator in a kernel ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_SITECALLS_H
#define FA_LIB_EMULATOR_SITECALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace fa {

/// Replaces operations of a kernel by calls, the form of which Passes.td says.
class SiteCalls {
public:
  /// `sites` is the table to which entries are added.
  SiteCalls(mlir::LLVM::LLVMFuncOp kernel,
            llvm::SmallVectorImpl<mlir::Attribute> &sites)
      : kernel(kernel), module(kernel->getParentOfType<mlir::ModuleOp>()),
        b(kernel.getLoc(), kernel.getContext()), layout(module), sites(sites) {}

protected:
  using Value = mlir::Value;

  /// Replaces `op` by a call of `function`, its operands in slots.
  mlir::LogicalResult call(mlir::Operation *op, llvm::StringRef function,
                           mlir::ValueRange operands,
                           llvm::ArrayRef<int64_t> attributes = {});
  /// The same of an operation that reports call `name`.
  mlir::LogicalResult callNamed(mlir::Operation *op, llvm::StringRef name,
                                llvm::StringRef function,
                                mlir::ValueRange operands,
                                llvm::ArrayRef<int64_t> attributes);
  /// The call alone, at the insertion point, as one for `op`.
  void insertCall(mlir::Operation *op, llvm::StringRef function,
                  mlir::ValueRange operands,
                  llvm::ArrayRef<int64_t> attributes = {},
                  llvm::StringRef name = "");
  /// Replaces `op` by a function of its operands alone.
  mlir::LogicalResult callPure(mlir::Operation *op, llvm::StringRef function);

  mlir::LLVM::LLVMFuncOp kernel;
  mlir::ModuleOp module;
  mlir::ImplicitLocOpBuilder b;
  mlir::DataLayout layout;
  Value thread; ///< the address of the slots

private:
  /// `name` is what reports call it; "": the operation's own.
  Value addSite(mlir::Operation *op, llvm::StringRef name,
                llvm::ArrayRef<int64_t> attributes);
  void storeOperands(mlir::ValueRange operands);
  Value loadResult(mlir::Type type);
  Value slot(int64_t number);
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type type);

  llvm::SmallVectorImpl<mlir::Attribute> &sites;
};

} // namespace fa

#endif // FA_LIB_EMULATOR_SITECALLS_H

//===- KernelAbi.h - the arguments of a kernel ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the target, a kernel gets its arguments as 64-bit words: the three
// extents of the grid, then the arguments in order; of a memref the pointer to
// its element 0, its sizes and its strides; of a scalar its bits,
// zero-extended.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_KERNELABI_KERNELABI_H
#define FA_LIB_CONVERSION_KERNELABI_KERNELABI_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Builds the reads of the words at an address, one after the other.
class WordReader {
public:
  WordReader(mlir::ImplicitLocOpBuilder &b, mlir::Value words)
      : b(b), words(words) {}

  mlir::Value next();
  /// An extent of the grid, as index.
  mlir::Value nextExtent();
  /// An argument of a kernel of type `type`. Sizes and strides that the type
  /// knows are taken from it, so that address arithmetic sees constants.
  mlir::Value nextArgument(mlir::Type type);

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value words;
  int32_t position = 0;
};

/// How many words a kernel with arguments of `types` gets.
int64_t countWords(llvm::ArrayRef<mlir::Type> types);

/// A memref of `type` from its descriptor in the LLVM dialect.
mlir::Value castDescriptor(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                           mlir::Value descriptor);

} // namespace fa

#endif // FA_LIB_CONVERSION_KERNELABI_KERNELABI_H

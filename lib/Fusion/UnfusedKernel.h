//===- UnfusedKernel.h - one program on whole tensors -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is not one attention on views of its arguments still runs: as a kernel
// of one program, whose tensors are whole. It is right, and slow.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_UNFUSEDKERNEL_H
#define FA_LIB_FUSION_UNFUSEDKERNEL_H

#include "Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa {

/// Builds kernel `name` from `function`, at S2 or S0, before it. Fails with an
/// error if the size of a result, or whether sizes fit together, cannot be told
/// from the arguments' sizes.
mlir::LogicalResult buildUnfusedKernel(mlir::func::FuncOp function,
                                       mlir::StringRef name);

/// A size of an argument.
struct ArgumentSize {
  int64_t argument, dim;
};
/// What dimensions of tensors are as large as, where that is one of an
/// argument.
using ArgumentSizes =
    llvm::DenseMap<std::pair<mlir::Value, int64_t>, ArgumentSize>;

/// What is taken for granted of the sizes of `function`'s arguments and
/// results, as an array of `#tile.size_rule`: results are counted after the
/// arguments. What it calls is looked at, too. Adds to `sizes`, if it is not
/// null, those of all its values. Fails with an error at the operation that is
/// not understood.
mlir::FailureOr<mlir::SmallVector<mlir::Attribute>>
collectSizeRules(mlir::func::FuncOp function, ArgumentSizes *sizes = nullptr);

} // namespace fa

#endif // FA_LIB_FUSION_UNFUSEDKERNEL_H

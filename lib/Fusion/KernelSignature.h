//===- KernelSignature.h - what a kernel is launched with -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KERNELSIGNATURE_H
#define FA_LIB_FUSION_KERNELSIGNATURE_H

#include "KernelBuilder.h"
#include "RuleList.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Whether the variant can be told from the arguments' types: what it promises
/// must be a size or a stride of an argument.
bool hasVariant(const AttentionFunction &source, const KernelShape &shape);

/// The memory of a tensor; a boolean has a byte of its own there.
mlir::MemRefType memoryOf(mlir::Type element, mlir::ArrayRef<int64_t> sizes,
                          mlir::ArrayRef<int64_t> strides);

/// A captured tensor that `region` reads at b, h, i or j has the size there
/// that q and k say. `views` are those of the tensors among `captures`.
void addCaptureRules(RuleList &rules, mlir::OperandRange captures,
                     mlir::ArrayRef<ArgumentView> views, mlir::Region &region,
                     const ArgumentView &q, const ArgumentView &k);

/// Creates kernel `name` without a body: its argument types, its grid, and what
/// it takes for granted of its arguments' sizes. Leaves `b` at the start of its
/// entry block.
tile::KernelOp createKernel(mlir::ImplicitLocOpBuilder &b,
                            const AttentionFunction &source,
                            const KernelShape &shape, mlir::StringRef name,
                            mlir::StringRef entry);

} // namespace fa

#endif // FA_LIB_FUSION_KERNELSIGNATURE_H

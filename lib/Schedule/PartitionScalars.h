//===- PartitionScalars.h - numbers that partitions compute -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_PARTITIONSCALARS_H
#define FA_LIB_SCHEDULE_PARTITIONSCALARS_H

#include "TileGPU/TileGPU.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// `value`, a scalar, where `mapping` has other numbers for what it follows
/// from, that of the consumer or of a loop: computed anew if it is another one,
/// or not computed in `above`, the block that all partitions see.
mlir::Value cloneScalar(mlir::OpBuilder &b, mlir::Value value,
                        mlir::IRMapping &mapping, mlir::Block *above);

/// The step of the slot that consumer `id` of `consumers` owns, when `passed`
/// tiles of each have passed.
mlir::Value ownStep(mlir::ImplicitLocOpBuilder &b, mlir::Value passed,
                    mlir::Value id, int64_t consumers);

/// The number of the consumer, in a kernel whose rows are dealt.
mlir::Value consumerIdOf(tile::KernelOp kernel);

} // namespace fa

#endif // FA_LIB_SCHEDULE_PARTITIONSCALARS_H

//===- Mutate.h - faults planted in kernels ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_MATRIX_MUTATE_H
#define FA_TEST_MATRIX_MUTATE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa {

/// Lowers `module` from S0 to S3 and plants `fault` in every kernel:
/// drop-rescale (the accumulator keeps its old maximum), mask-off-by-one (<=
/// becomes <), skip-last-tile (the loop over the mask's upper edge ends before
/// it begins), swap-precision (tf32 and not); of gradients drop-dlse (delta is
/// without it), drop-scale (dq and dk are), drop-head (the first of a group
/// adds nothing), unmask-ds; of packed sequences drop-ends (views go on beyond
/// theirs); of pages first-sequence
/// (every sequence has those of the first), past-lengths (a view has as many
/// rows as the table has entries for); keep-all (dropout scales and drops
/// nothing); of scales next-scale (those of the next head), no-scales (they are
/// 1) and next-scales (of some keys those of the next ones); halve-codes (those
/// of 8 bits are read as fnuz); of drafts next-bit (of the next key). An
/// unknown name is an error.
llvm::Error mutateKernels(mlir::ModuleOp module, llvm::StringRef fault);

} // namespace fa

#endif // FA_TEST_MATRIX_MUTATE_H

//===- BackwardSignature.h - what gradient kernels are launched with ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_BACKWARDSIGNATURE_H
#define FA_LIB_FUSION_BACKWARDSIGNATURE_H

#include "BackwardFunction.h"

#include "fa/Plan/Backward.h"

namespace fa {

/// Creates kernel `name` of a chain without a body: all kernels of a chain have
/// the same arguments, one more where its programs own heads. `captured` is the
/// gradient that a kernel of `Capture` or `Heads` is for. Leaves `b` at the
/// start of its entry block.
tile::KernelOp createBackwardKernel(
    mlir::ImplicitLocOpBuilder &b, const BackwardFunction &source,
    BackwardPart part, bool ownsHeads, const CapturedGradient *captured,
    const KernelShape &shape, mlir::StringRef name, mlir::StringRef entry);

} // namespace fa

#endif // FA_LIB_FUSION_BACKWARDSIGNATURE_H

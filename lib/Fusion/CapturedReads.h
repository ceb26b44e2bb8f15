//===- CapturedReads.h - how regions read captured tensors ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_CAPTUREDREADS_H
#define FA_LIB_FUSION_CAPTUREDREADS_H

#include "AttentionFunction.h"

namespace fa {

/// The captured tensors of which a tile of scores reads a tile:
/// at its queries and, along the last dimension, at its keys.
mlir::SmallVector<const ArgumentView *>
scoreTiles(const AttentionFunction &source);

/// The captured vectors of integers of which a tile reads a number for each
/// query or for each key.
mlir::SmallVector<const ArgumentView *>
rowNumbers(const AttentionFunction &source);

} // namespace fa

#endif // FA_LIB_FUSION_CAPTUREDREADS_H

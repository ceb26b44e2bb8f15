//===- Stage.h - the stages of a program ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the stages promise is in the description of tile-verify-stage, which
// checks it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_STAGE_H
#define FA_FUSION_STAGE_H

#include "llvm/ADT/StringRef.h"

namespace fa {

enum class Stage { S0, S1, S2, S3 };

/// The attribute of a softmax that stands between two dots and was not fused:
/// the reason, a string.
inline constexpr llvm::StringLiteral notFusedAttr = "tile.not_fused";

} // namespace fa

#endif // FA_FUSION_STAGE_H

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

namespace fa {

enum class Stage { S0, S1, S2, S3 };

} // namespace fa

#endif // FA_FUSION_STAGE_H

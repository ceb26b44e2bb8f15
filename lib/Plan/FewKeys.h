//===- FewKeys.h - what launches of few keys will take ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_PLAN_FEWKEYS_H
#define FA_LIB_PLAN_FEWKEYS_H

#include "TileFit.h"

namespace fa {

/// What launches of at most kFewKeys keys are predicted to take with
/// specialized warps of this shape, whose scores nothing changes; none where
/// such tiles were not measured. A shape with `maxKeys` has two blocks on a
/// processor.
std::optional<FewKeysPrice> predictFewKeys(const KernelShape &shape,
                                           const AttentionFacts &facts,
                                           const TileFit &fit);

} // namespace fa

#endif // FA_LIB_PLAN_FEWKEYS_H

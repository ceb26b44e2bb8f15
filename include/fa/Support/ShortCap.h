//===- ShortCap.h - softcaps with a short form of tanh ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_SHORTCAP_H
#define FA_SUPPORT_SHORTCAP_H

namespace fa {

/// From this cap on four terms of tanh do for most scores, those up to 7 at
/// least, whatever error is allowed: warp-specialized kernels then expect
/// maxima, and have rows for three consumers.
constexpr float kLeastShortCap = 15;

} // namespace fa

#endif // FA_SUPPORT_SHORTCAP_H

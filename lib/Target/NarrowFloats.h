//===- NarrowFloats.h - half and bfloat without a run-time library -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NARROWFLOATS_H
#define FA_LIB_TARGET_NARROWFLOATS_H

#include "fa/Target/HostInfo.h"

namespace llvm {
class Module;
} // namespace llvm

namespace fa {

/// Rewrites what `module` computes with half and bfloat where `host` has no
/// instruction for it: arithmetic becomes that of float, conversions become
/// integer code, and those from double go by float. Without this LLVM calls
/// functions of the compiler's run-time library (__truncsfbf2, __truncdfhf2,
/// __extendhfsf2), which no library of the process has to offer.
///
/// Results are those of IEEE 754 with rounding to nearest even; of float and
/// double one rounding, never two. A NaN stays a quiet NaN: half keeps the top
/// bits of its payload as F16C does, bfloat becomes 0x7fc0.
void expandNarrowFloats(llvm::Module &module, const HostInfo &host);

} // namespace fa

#endif // FA_LIB_TARGET_NARROWFLOATS_H

//===- LibraryFunctions.h - functions of device libraries -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TRITONTOTILE_LIBRARYFUNCTIONS_H
#define FA_LIB_CONVERSION_TRITONTOTILE_LIBRARYFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace fa {

/// The name of the operation on f32 that `symbol` of libdevice (`__nv_expf`) or
/// of ROCm's device libraries (`__ocml_exp_f32`) is; empty: tiles have none.
llvm::StringRef findLibraryFunction(llvm::StringRef symbol);

} // namespace fa

#endif // FA_LIB_CONVERSION_TRITONTOTILE_LIBRARYFUNCTIONS_H

//===- Npy.h - NumPy's file format ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_NPY_H
#define FA_NUMERICS_NPY_H

#include "fa/Numerics/HostTensor.h"

namespace fa {

/// Reads a .npy file (format versions 1 to 3 of NumPy's NEP 1): little-endian
/// f2 f4 f8 i4 i8 and b1, C or Fortran order; void elements of 1 or 2 bytes
/// (V1, V2) have the type `voidType`; with `takesWords` u4 is i32 of the same
/// bits. The file is not trusted: whatever is wrong with it is an error that
/// names the file, what was found and what was expected.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path,
                                   std::optional<ElementType> voidType = {},
                                   bool takesWords = false);

/// The same of the file's bytes; `path` is for messages.
llvm::Expected<HostTensor> parseNpy(llvm::StringRef path, llvm::StringRef file,
                                    std::optional<ElementType> voidType = {},
                                    bool takesWords = false);

/// Writes a .npy file of format version 1 in C order; bf16 and f8 as void. The
/// file appears under its name only when it is complete.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace fa

#endif // FA_NUMERICS_NPY_H

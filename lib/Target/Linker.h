//===- Linker.h - lld in this process ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_LINKER_H
#define FA_LIB_TARGET_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// Links ELF objects with these options of ld. lld has one context in a
/// process: callers wait for each other. What the host program shares with it -
/// LLVM's options, signal handlers - is as it was.
llvm::Expected<std::string> link(llvm::ArrayRef<const char *> options,
                                 llvm::ArrayRef<std::string> objects);

} // namespace fa

#endif // FA_LIB_TARGET_LINKER_H

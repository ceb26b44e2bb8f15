//===- CacheKey.h - what decides the code of a program ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CACHEKEY_H
#define FA_RUNTIME_CACHEKEY_H

#include "fa/Target/Compile.h"

#include <string>

namespace fa {

/// Everything that the result of a compilation depends on, as text: two
/// compilations with the same key give the same code. docs/cache.md lists it.
struct CacheKey {
  std::string text;

  /// The SHA-256 of the text, 64 hexadecimal digits.
  std::string hash() const;
};

/// The key of `compile(module, entry, options)`, which has not run yet. An
/// unknown architecture or a missing assembler is an error, and so is a build
/// that cannot be told from others, for which nothing may be kept.
llvm::Expected<CacheKey> makeCacheKey(mlir::ModuleOp module,
                                      llvm::StringRef entry,
                                      const CompileOptions &options);
/// The same of a program as it is printed.
llvm::Expected<CacheKey> makeCacheKey(llvm::StringRef program,
                                      llvm::StringRef entry,
                                      const CompileOptions &options);

} // namespace fa

#endif // FA_RUNTIME_CACHEKEY_H

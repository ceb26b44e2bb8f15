//===- CompileCached.h - compiles, or takes it from disk --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_COMPILECACHED_H
#define FA_RUNTIME_COMPILECACHED_H

#include "fa/Runtime/DiskCache.h"

namespace fa {

/// `compile`, unless `cache` has what it would give. `module` is transformed
/// only where it is compiled; `planned` is what planning left of it, if it was
/// planned, and is used up. Of a hit, the time of the compilation is that of
/// finding it. Code for the emulator is not kept.
llvm::Expected<CachedArtifact>
compileCached(DiskCache &cache, mlir::ModuleOp module, llvm::StringRef entry,
              const CompileOptions &options,
              std::optional<PlannedProgram> planned = std::nullopt);

} // namespace fa

#endif // FA_RUNTIME_COMPILECACHED_H

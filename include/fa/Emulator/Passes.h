//===- Passes.h - a GPU program for the host, whole or with a fault -*-C++-*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EMULATOR_PASSES_H
#define FA_EMULATOR_PASSES_H

#include "fa/Emulator/Site.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"

namespace fa {

#define GEN_PASS_DECL
#include "fa/Emulator/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Emulator/Passes.h.inc"

/// Whether `tgpu-mutate` plants `fault` at S7 (true) or at S8 (false). A name
/// that is not known is an error that lists those that are.
llvm::Expected<bool> isScheduleFault(llvm::StringRef fault);

/// The sites that `convert-nvvm-to-emulator` has left on the module.
std::vector<EmulatorSite> readEmulatorSites(mlir::ModuleOp module);

} // namespace fa

#endif // FA_EMULATOR_PASSES_H

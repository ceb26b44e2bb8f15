//===- MatrixTiles.cpp - the registers of AMX and the system --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux gives a process the registers of AMX when it asks for them
// (Documentation/arch/x86/xstate.rst): 8 KB more in each thread's signal frame,
// which is why it may refuse one whose alternate signal stacks are small.
// It holds for all threads, those of before included, and to ask again is
// allowed. Code that runs without it ends by SIGILL.
//
//===----------------------------------------------------------------------===//

#include "MatrixTiles.h"

#include "fa/Target/HostInfo.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace llvm;
using namespace fa;

/// arch_prctl's number on x86-64, ARCH_REQ_XCOMP_PERM and the state component
/// of the registers' data.
static constexpr long kArchPrctl = 158, kRequest = 0x1023, kTileData = 18;

bool fa::requestMatrixTiles() {
#if defined(__linux__) && defined(__x86_64__)
  static_assert(SYS_arch_prctl == kArchPrctl);
  return syscall(kArchPrctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

void fa::addTileRequest(Module &module) {
  bool usesTiles = any_of(module, [](const Function &function) {
    return function.isIntrinsic() &&
           function.getName().starts_with("llvm.x86.tile") &&
           !function.use_empty();
  });
  if (!usesTiles || !module.getTargetTriple().isOSLinux())
    return;
  IRBuilder<> b(module.getContext());
  auto *request = Function::Create(FunctionType::get(b.getVoidTy(), false),
                                   GlobalValue::InternalLinkage,
                                   "request_matrix_tiles", module);
  b.SetInsertPoint(BasicBlock::Create(module.getContext(), "entry", request));
  FunctionCallee call = module.getOrInsertFunction(
      "syscall", FunctionType::get(b.getInt64Ty(), b.getInt64Ty(), true));
  b.CreateCall(call, {b.getInt64(kArchPrctl), b.getInt64(kRequest),
                      b.getInt64(kTileData)});
  b.CreateRetVoid();
  appendToGlobalCtors(module, request, /*Priority=*/65535);
}

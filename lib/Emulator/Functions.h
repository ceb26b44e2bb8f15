//===- Functions.h - what emulated code calls -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that `convert-nvvm-to-emulator` names, one list a family of
// operations. A function of a new family needs its line in NVVMToEmulator.cpp,
// its definition in a list, and the list here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_FUNCTIONS_H
#define FA_LIB_EMULATOR_FUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace fa::emu {

struct Thread;

/// Ends copies of the thread, the oldest first, until at most `pending` groups
/// are under way.
void endCopies(Thread &thread, uint32_t pending);

/// An operation: operands, results and attributes as Passes.td says.
using OpFunction = void (*)(Thread *thread, int32_t site);

struct EmulatorFunction {
  llvm::StringLiteral name;
  void *address;

  constexpr EmulatorFunction(llvm::StringLiteral name, void *address)
      : name(name), address(address) {}
  EmulatorFunction(llvm::StringLiteral name, OpFunction function)
      : name(name), address(reinterpret_cast<void *>(function)) {}
};

llvm::ArrayRef<EmulatorFunction> barrierFunctions();
llvm::ArrayRef<EmulatorFunction> bulkCopyFunctions();
llvm::ArrayRef<EmulatorFunction> copyFunctions();
llvm::ArrayRef<EmulatorFunction> mathFunctions();
llvm::ArrayRef<EmulatorFunction> matrixFunctions();
llvm::ArrayRef<EmulatorFunction> memoryFunctions();
llvm::ArrayRef<EmulatorFunction> phaseFunctions();
llvm::ArrayRef<EmulatorFunction> productFunctions();
llvm::ArrayRef<EmulatorFunction> partitionFunctions();
llvm::ArrayRef<EmulatorFunction> shuffleFunctions();
llvm::ArrayRef<EmulatorFunction> waveFunctions();
llvm::ArrayRef<EmulatorFunction> waveMemoryFunctions();

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_FUNCTIONS_H

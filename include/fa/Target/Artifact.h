//===- Artifact.h - what a compilation gives: a plan ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact is a plan (stage S9): kernels with the rule of their grid and
// what they expect of their arguments, and the code for one target. Plain data,
// with no MLIR in it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_ARTIFACT_H
#define FA_TARGET_ARTIFACT_H

#include "fa/Emulator/Site.h"
#include "fa/Launch/KernelInfo.h"
#include "fa/Support/LaunchCosts.h"

namespace fa {

/// Milliseconds.
struct CompileTimes {
  double total = 0, passes = 0, llvm = 0, assembler = 0;
};

struct Artifact {
  std::string target; ///< "cpu", "cuda", "hip" or "emulator"
  std::string arch;   ///< e.g. "znver4" or "sm_80"
  /// Of code that runs on a host: what it may use, in LLVM's spelling, if it is
  /// for this machine; empty if its CPU was named.
  std::string features;
  std::string hostCpu; ///< of code for the emulator; `arch` is the GPU's
  std::vector<KernelInfo> kernels; ///< the first that fits a launch is taken
  LaunchCosts costs; ///< of code for a card: those of the Machine planned for
  /// A relocatable object file, a cubin, a code object or, for the emulator,
  /// LLVM bitcode.
  std::string object;
  std::vector<EmulatorSite> sites; ///< for the emulator
  std::string ptx;                 ///< for the driver, where there is no cubin
  std::string assembler;           ///< version of ptxas; empty: none ran
  CompileTimes compileMs;
};

} // namespace fa

#endif // FA_TARGET_ARTIFACT_H

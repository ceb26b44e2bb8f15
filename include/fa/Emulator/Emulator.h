//===- Emulator.h - runs and checks a GPU program on the host ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EMULATOR_EMULATOR_H
#define FA_EMULATOR_EMULATOR_H

#include "fa/Emulator/Counters.h"
#include "fa/Emulator/Site.h"
#include "fa/Launch/KernelInfo.h"
#include "fa/Launch/LaunchArgument.h"

#include <functional>
#include <memory>

namespace fa {

/// A GPU program as convert-nvvm-to-emulator leaves it, compiled to bitcode.
struct EmulatedCode {
  std::string bitcode;
  std::vector<EmulatorSite> sites;
  std::string arch;     ///< of the GPU
  std::string hostCpu;  ///< that the bitcode is for
  std::string features; ///< that it may use beside those of `hostCpu`
};

/// Such code, to be run. Each kernel is compiled
/// when it is run for the first time. Safe to use from several threads.
class EmulatedProgram {
public:
  struct Options {
    /// Decides what a GPU leaves open: the order of warps, when copies read.
    uint64_t seed = 0;
    /// Memory requests are counted, which takes time.
    bool count = false;
  };

  /// Calls `body(n)` for every n below `count`, in parallel; small n first.
  using ParallelFor = std::function<void(
      int64_t count, const std::function<void(int64_t)> &body)>;

  static llvm::Expected<std::unique_ptr<EmulatedProgram>>
  load(EmulatedCode code);
  ~EmulatedProgram();

  /// Runs `blocks` blocks of `kernel` on `words`, the kernel's ABI of
  /// `arguments`, which are in host memory. What a program may not do is an
  /// error: the first fault of each kind, one a line, of the first block that
  /// has any.
  llvm::Expected<EmulatorCounters> run(const KernelInfo &kernel,
                                       llvm::ArrayRef<LaunchArgument> arguments,
                                       llvm::ArrayRef<int64_t> words,
                                       int64_t blocks, const Options &options,
                                       const ParallelFor &parallelFor) const;

private:
  class Impl;
  explicit EmulatedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace fa

#endif // FA_EMULATOR_EMULATOR_H

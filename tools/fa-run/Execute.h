//===- Execute.h - a compiled program on a device ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUN_EXECUTE_H
#define FA_RUN_EXECUTE_H

#include "Options.h"

#include "fa/Emulator/Counters.h"
#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/TargetName.h"
#include "fa/Runtime/DiskCache.h"
#include "fa/Target/Artifact.h"

namespace fa::run {

struct Timing {
  double median = 0, min = 0, max = 0; ///< milliseconds
  int64_t runs = 0;
};

/// What a run was.
struct Execution {
  Artifact artifact;
  std::vector<KernelInfo> kernels; ///< that ran, one after the other
  int64_t splits = 1;              ///< of the keys
  size_t workspaceBytes = 0;
  std::string device; ///< "4 threads", or the card's name and driver
  Timing timing;
  std::optional<EmulatorCounters> counters; ///< in the emulator, if asked for
  CacheOutcome cache = CacheOutcome::Off;
};

/// Where a program can run: the architecture to compile for, and its name.
struct RunTarget {
  std::string target; ///< cpu, cuda, hip or emulator
  TargetName name;    ///< of a card: its driver and number
  std::string arch;
  LaunchMachine machine = kHost;
  int64_t residentBlocks = 1; ///< of a processor, at most
  int64_t dies = 0;           ///< of an AMD card; 0: not known
};

/// The place that `target` names (cpu, cuda, cuda:N, hip, hip:N,
/// emulator:ARCH); "" is the best present. `hostCpu` is the CPU that host code
/// is for, host if it is this one, and `threads` are the host's, 0: one a core.
llvm::Expected<RunTarget> findRunTarget(llvm::StringRef target,
                                        llvm::StringRef hostCpu,
                                        unsigned threads);

/// One line for each target, of cards for each card: what is there, or why it
/// is not.
std::string listPlaces();

/// Loads and launches, once or, to measure, at least seven times and for half a
/// second. Arguments are in host memory.
llvm::Expected<Execution> execute(const RunTarget &place, Artifact artifact,
                                  llvm::ArrayRef<LaunchArgument> arguments,
                                  const Options &options);

} // namespace fa::run

#endif // FA_RUN_EXECUTE_H

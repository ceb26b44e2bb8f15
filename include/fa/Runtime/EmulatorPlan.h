//===- EmulatorPlan.h - an artifact, loaded in the emulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_EMULATORPLAN_H
#define FA_RUNTIME_EMULATORPLAN_H

#include "fa/Emulator/Emulator.h"
#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/HostDevice.h"
#include "fa/Target/Artifact.h"

namespace fa {

/// An artifact for a GPU, run and checked on the host. Launches from several
/// threads at the same time are legal.
class EmulatorPlan {
public:
  /// Multiprocessors of the card that is emulated, each of which runs one block
  /// at a time: few, so that a block of a persistent kernel runs several
  /// programs.
  static constexpr int64_t numProcessors = 3;

  /// A kernel that needs more shared memory than the architecture has is an
  /// error, as on a card.
  static llvm::Expected<std::unique_ptr<EmulatorPlan>>
  load(Artifact artifact, std::shared_ptr<HostDevice> device,
       EmulatedProgram::Options options = {});

  const Artifact &artifact() const { return plan; }

  /// Whether launches count their requests.
  bool isCounting() const { return options.count; }

  /// The kernels that a launch with these arguments runs.
  llvm::Expected<LaunchChoice>
  choose(llvm::ArrayRef<LaunchArgument> arguments) const;

  /// Brings workspace of its own, runs on tensors in host memory and returns
  /// when the outputs are written. What the program may not do on the card is
  /// an error.
  llvm::Expected<EmulatorCounters>
  launch(llvm::ArrayRef<LaunchArgument> arguments) const;

private:
  EmulatorPlan() = default;
  llvm::Expected<EmulatorCounters>
  run(const KernelInfo &kernel, llvm::ArrayRef<LaunchArgument> arguments) const;

  Artifact plan;
  std::shared_ptr<HostDevice> device;
  EmulatedProgram::Options options;
  std::unique_ptr<EmulatedProgram> program;
};

} // namespace fa

#endif // FA_RUNTIME_EMULATORPLAN_H

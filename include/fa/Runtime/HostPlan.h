//===- HostPlan.h - an artifact, loaded and ready to launch -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_HOSTPLAN_H
#define FA_RUNTIME_HOSTPLAN_H

#include "fa/Launch/HostLaunch.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/Artifact.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace fa {

/// An artifact loaded on the host. Launches from several threads at the same
/// time are legal.
class HostPlan {
public:
  static llvm::Expected<std::unique_ptr<HostPlan>>
  load(Artifact artifact, std::shared_ptr<HostDevice> device);
  ~HostPlan();

  const Artifact &artifact() const;

  /// What a launch with these arguments runs. An error says for which argument
  /// what was found and what was expected.
  llvm::Expected<LaunchChoice>
  choose(llvm::ArrayRef<LaunchArgument> arguments) const;

  /// Runs and returns when the outputs are written. Outputs must not overlap
  /// inputs. A grid without programs is a success.
  llvm::Error launch(llvm::ArrayRef<LaunchArgument> arguments) const;
  /// The same of what `choose` gave for these arguments.
  llvm::Error launch(const LaunchChoice &choice,
                     llvm::ArrayRef<LaunchArgument> arguments) const;

private:
  class Impl;
  explicit HostPlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace fa

#endif // FA_RUNTIME_HOSTPLAN_H

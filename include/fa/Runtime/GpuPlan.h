//===- GpuPlan.h - an artifact, loaded on a card ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_GPUPLAN_H
#define FA_RUNTIME_GPUPLAN_H

#include "fa/Launch/GpuModule.h"
#include "fa/Runtime/GpuMemory.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/Artifact.h"

#include "llvm/ADT/ArrayRef.h"

namespace fa {

/// The architecture to compile for on a card; one that is too old is an error.
llvm::Expected<std::string> archOf(const GpuDevice &device);

/// The dies of a card that get workgroups in turn, by its processors; 0: of
/// such a card nothing is known (CompileOptions.dies).
int64_t diesOf(const GpuDevice &device);

/// The card, as launches count with it that are planned for its architecture.
LaunchMachine launchMachineOf(const GpuDevice &device);

/// An artifact loaded on a card. Launches from several threads at the same time
/// are legal.
class GpuPlan {
public:
  /// Loads the cubin or code object, or has the driver assemble the PTX.
  static llvm::Expected<std::unique_ptr<GpuPlan>>
  load(Artifact artifact, std::shared_ptr<GpuDevice> device);

  /// A plan without code, whose kernels `add` loads one by one.
  static std::unique_ptr<GpuPlan> create(Artifact artifact,
                                         std::shared_ptr<GpuDevice> device);
  /// Loads kernel `number` of such a plan from its code, while others may be
  /// launched; gives what the driver says of it. One thread at a time, and a
  /// kernel once.
  llvm::Expected<KernelInfo> add(size_t number, const Artifact &code);
  /// Whether one of `kernels` is loaded.
  bool isLoaded(const KernelInfo &kernel) const {
    return module->isLoaded(kernel);
  }

  /// Those that choices are made of.
  const std::vector<KernelInfo> &kernels() const { return module->kernels(); }

  const Artifact &artifact() const { return plan; }
  const GpuDevice &device() const { return module->device(); }

  /// The kernels that a launch with these arguments and this workspace runs, of
  /// which a plan that `create` made may lack some.
  llvm::Expected<LaunchChoice> choose(llvm::ArrayRef<LaunchArgument> arguments,
                                      const Workspace &workspace = {}) const;

  /// Enqueues the kernels on `stream` (a CUstream or hipStream_t; null: the
  /// default one) and returns. Tensors and workspace are on the card. Nothing
  /// is allocated on the card, nothing waited for: legal while a graph is
  /// captured.
  llvm::Error launch(llvm::ArrayRef<LaunchArgument> arguments,
                     void *stream = nullptr,
                     const Workspace &workspace = {}) const;
  /// The same of what `choose` gave for these arguments and this workspace.
  llvm::Error launch(const LaunchChoice &choice,
                     llvm::ArrayRef<LaunchArgument> arguments,
                     void *stream = nullptr,
                     const Workspace &workspace = {}) const;

  /// Waits for everything on `stream`.
  llvm::Error synchronize(void *stream) const;

  /// Runs on tensors in host memory: copies them to the card and, of outputs,
  /// back. For checks and tests.
  llvm::Error
  launchOnHostMemory(llvm::ArrayRef<LaunchArgument> arguments) const;

  /// The arguments of a launch on copies on the card, which `buffers` keeps.
  llvm::Expected<llvm::SmallVector<LaunchArgument>>
  copyToDevice(llvm::ArrayRef<LaunchArgument> arguments,
               std::vector<GpuBuffer> &buffers) const;
  /// Copies outputs back, of arguments that `copyToDevice` made.
  llvm::Error copyToHost(llvm::ArrayRef<LaunchArgument> arguments,
                         const std::vector<GpuBuffer> &buffers) const;

private:
  GpuPlan() = default;
  Artifact plan;
  std::unique_ptr<GpuModule> module;
};

/// The workspace that a launch wants. For checks and tests: a host program
/// brings its own.
class GpuWorkspace {
public:
  static llvm::Expected<GpuWorkspace>
  create(const GpuPlan &plan, llvm::ArrayRef<LaunchArgument> arguments);
  Workspace get() const {
    return buffer ? Workspace{buffer->data(), bytes} : Workspace();
  }

private:
  GpuWorkspace() = default;
  std::optional<GpuBuffer> buffer;
  size_t bytes = 0;
};

} // namespace fa

#endif // FA_RUNTIME_GPUPLAN_H

//===- CudaPlan.h - an artifact, loaded on a card ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDAPLAN_H
#define FA_RUNTIME_CUDAPLAN_H

#include "fa/Launch/CudaModule.h"
#include "fa/Runtime/CudaMemory.h"
#include "fa/Runtime/SelectKernel.h"

namespace fa {

/// The architecture to compile for on a card; one that is too old is an error.
llvm::Expected<std::string> archOf(const CudaDevice &device);

/// An artifact loaded on a card. Launches from several threads at the same time
/// are legal.
class CudaPlan {
public:
  /// Loads the cubin, or has the driver assemble the PTX.
  static llvm::Expected<std::unique_ptr<CudaPlan>>
  load(Artifact artifact, std::shared_ptr<CudaDevice> device);

  const Artifact &artifact() const { return plan; }
  const CudaDevice &device() const { return module->device(); }

  /// The kernels that a launch with these arguments and this workspace runs.
  llvm::Expected<LaunchChoice> choose(llvm::ArrayRef<LaunchArgument> arguments,
                                      const Workspace &workspace = {}) const;

  /// Enqueues the kernels on `stream` (a CUstream; null: the default one) and
  /// returns. Tensors and workspace are on the card. Nothing is allocated on
  /// the card, nothing waited for: legal while a graph is captured.
  llvm::Error launch(llvm::ArrayRef<LaunchArgument> arguments,
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
               std::vector<CudaBuffer> &buffers) const;
  /// Copies outputs back, of arguments that `copyToDevice` made.
  llvm::Error copyToHost(llvm::ArrayRef<LaunchArgument> arguments,
                         const std::vector<CudaBuffer> &buffers) const;

private:
  CudaPlan() = default;
  Artifact plan;
  std::unique_ptr<CudaModule> module;
};

/// The workspace that a launch wants. For checks and tests: a host program
/// brings its own.
class CudaWorkspace {
public:
  static llvm::Expected<CudaWorkspace>
  create(const CudaPlan &plan, llvm::ArrayRef<LaunchArgument> arguments);
  Workspace get() const {
    return buffer ? Workspace{buffer->data(), bytes} : Workspace();
  }

private:
  CudaWorkspace() = default;
  std::optional<CudaBuffer> buffer;
  size_t bytes = 0;
};

} // namespace fa

#endif // FA_RUNTIME_CUDAPLAN_H

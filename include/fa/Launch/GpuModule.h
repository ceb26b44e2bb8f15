//===- GpuModule.h - a plan's kernels on a card -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_GPUMODULE_H
#define FA_LAUNCH_GPUMODULE_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/GpuDevice.h"
#include "fa/Launch/TensorMap.h"

namespace fa {

/// Kernels loaded on a card, ready to launch. Launches from several threads at
/// the same time are legal.
class GpuModule {
public:
  /// Loads `image`, a cubin, PTX with a 0 behind it or a code object, for
  /// `arch`. Every one of `kernels` is in it and has passed `checkKernel`.
  static Result<std::unique_ptr<GpuModule>>
  load(std::vector<KernelInfo> kernels, std::string_view arch,
       const void *image, std::shared_ptr<GpuDevice> device);
  ~GpuModule();

  /// With the registers and stacks that the driver reports.
  const std::vector<KernelInfo> &kernels() const { return infos; }
  const GpuDevice &device() const { return *card; }

  /// What a launch with these arguments runs.
  Result<LaunchChoice> choose(std::span<const LaunchArgument> arguments,
                              const Workspace &workspace) const {
    return chooseLaunch(infos, arguments, card->numProcessors(), workspace);
  }

  /// Enqueues the kernels of `choice`, which `choose` gave for the same
  /// arguments, on `stream` (a CUstream or hipStream_t; null: the default one)
  /// and returns. Tensors and workspace are on the card. Nothing is allocated
  /// and nothing waited for: legal while a graph is captured.
  Failure launch(const LaunchChoice &choice,
                 std::span<const LaunchArgument> arguments,
                 const Workspace &workspace, void *stream) const;

  /// Asks the driver whether the card can reach what tensors point to: a
  /// pointer into memory of the host alone is a failure.
  Failure checkPointers(std::span<const LaunchArgument> arguments) const;

private:
  GpuModule() = default;
  Failure loadImage(std::string_view arch, const void *image);
  Failure prepare(KernelInfo &kernel);
  /// Bytes of shared memory that a launch asks for. Only CUDA's do: a code
  /// object says how much LDS its kernels have.
  unsigned askedShared(const KernelInfo &kernel) const;
  Failure allowShared(void *function, const KernelInfo &kernel) const;
  struct Grid {
    int64_t extents[3];
    int64_t blocks;
    /// Whether the kernel before it, of the same launch, may still run.
    bool isEarly = false;
  };
  /// Whether the driver can launch kernels that begin early.
  bool hasEarlyLaunch() const;
  Failure enqueue(const KernelInfo &kernel,
                  std::span<const LaunchArgument> arguments, const Grid &grid,
                  void *stream) const;

  std::vector<KernelInfo> infos;
  std::vector<void *> functions; ///< of `infos`
  std::shared_ptr<GpuDevice> card;
  void *module = nullptr;
  mutable TensorMapCache tensorMaps;
};

} // namespace fa

#endif // FA_LAUNCH_GPUMODULE_H

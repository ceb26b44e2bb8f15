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

/// The card, as launches of plans that were made with `costs` count with it:
/// the card's own costs, where it is known, else `costs` scaled to it.
LaunchMachine launchMachineOf(const GpuDevice &card, const LaunchCosts &costs);

/// Kernels loaded on a card, ready to launch. Launches from several threads at
/// the same time are legal.
class GpuModule {
public:
  /// Loads `image`, a cubin, PTX with a 0 behind it or a code object, for
  /// `arch`. Every one of `kernels` is in it and has passed `checkKernel`.
  /// `costs` are those that the plan was made with: a launch counts with the
  /// card's (`launchMachineOf`).
  static Result<std::unique_ptr<GpuModule>>
  load(std::vector<KernelInfo> kernels, std::string_view arch,
       const void *image, std::shared_ptr<GpuDevice> device,
       const LaunchCosts &costs);
  /// The same with none of `kernels` loaded, which `add` does one by one.
  static std::unique_ptr<GpuModule> create(std::vector<KernelInfo> kernels,
                                           std::shared_ptr<GpuDevice> device,
                                           const LaunchCosts &costs);
  ~GpuModule();

  /// Loads kernel `number` from `image`, which has it, while others may be
  /// launched; gives what is known of it with what the driver reports. One
  /// thread at a time, and a kernel once.
  Result<KernelInfo> add(size_t number, std::string_view arch,
                         const void *image);
  bool isLoaded(const KernelInfo &kernel) const {
    return functions[&kernel - infos.data()].load(std::memory_order_acquire);
  }

  /// With the registers and stacks that the driver reports, if all were loaded
  /// at once.
  const std::vector<KernelInfo> &kernels() const { return infos; }
  const GpuDevice &device() const { return *card; }

  /// What a launch with these arguments runs, which may be kernels that are not
  /// loaded, or the question for one that is not.
  Result<LaunchChoice> choose(std::span<const LaunchArgument> arguments,
                              const Workspace &workspace) const {
    return chooseLaunch(infos, arguments, machine, workspace, residentBlocks);
  }

  /// Enqueues the kernels of `choice`, which `choose` gave for the same
  /// arguments and which are loaded, on `stream` (a CUstream or hipStream_t;
  /// null: the default one) and returns. Tensors and workspace are on the card.
  /// Nothing is allocated and nothing waited for: legal while a graph is
  /// captured.
  Failure launch(const LaunchChoice &choice,
                 std::span<const LaunchArgument> arguments,
                 const Workspace &workspace, void *stream) const;

  /// Asks the driver whether the card can reach what tensors point to: a
  /// pointer into memory of the host alone is a failure.
  Failure checkPointers(std::span<const LaunchArgument> arguments) const;

private:
  GpuModule(std::vector<KernelInfo> kernels, std::shared_ptr<GpuDevice> device,
            const LaunchCosts &costs);
  /// The driver's module of the image, which is kept.
  Result<void *> loadImage(std::string_view arch, const void *image);
  /// The function of a kernel; fills in what the driver says of it.
  Result<void *> prepare(void *module, KernelInfo &kernel);
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
  /// Blocks of the kernel that the card runs at a time.
  int64_t countPlaces(const KernelInfo &kernel) const;
  /// Whether the driver can launch kernels that begin early.
  bool hasEarlyLaunch() const;
  /// Sets the counter of a kernel that has one to 0.
  Failure resetCounter(const KernelInfo &kernel,
                       std::span<const LaunchArgument> arguments,
                       void *stream) const;
  Failure enqueue(const KernelInfo &kernel,
                  std::span<const LaunchArgument> arguments, const Grid &grid,
                  void *stream) const;

  std::vector<KernelInfo> infos;
  std::shared_ptr<GpuDevice> card;
  LaunchMachine machine;
  std::vector<std::atomic<void *>> functions; ///< of `infos`; null: not loaded
  /// Of `infos`, where they are loaded one by one.
  std::vector<std::atomic<int64_t>> residentBlocks;
  std::vector<void *> modules; ///< of the driver
  mutable TensorMapCache tensorMaps;
};

} // namespace fa

#endif // FA_LAUNCH_GPUMODULE_H

//===- CudaModule.h - a plan's kernels on a card ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CUDAMODULE_H
#define FA_LAUNCH_CUDAMODULE_H

#include "fa/Launch/CudaDevice.h"
#include "fa/Launch/Launch.h"

namespace fa {

/// Kernels loaded on a card, ready to launch. Launches from several threads at
/// the same time are legal.
class CudaModule {
public:
  /// Loads `image`, a cubin or PTX with a 0 behind it, for `arch`. Every one of
  /// `kernels` is in it and has passed `checkKernel`.
  static Result<std::unique_ptr<CudaModule>>
  load(std::vector<KernelInfo> kernels, std::string_view arch,
       const void *image, std::shared_ptr<CudaDevice> device);
  ~CudaModule();

  /// With the registers and stacks that the driver reports.
  const std::vector<KernelInfo> &kernels() const { return infos; }
  const CudaDevice &device() const { return *card; }

  /// Enqueues the kernel that takes the arguments on `stream` (a CUstream;
  /// null: the default one) and returns. Tensors are on the card. Nothing is
  /// allocated and nothing waited for: legal while a graph is captured.
  Failure launch(const KernelInfo &kernel,
                 std::span<const LaunchArgument> arguments, void *stream) const;

  /// Asks the driver whether the card can reach what tensors point to: a
  /// pointer into memory of the host alone is a failure.
  Failure checkPointers(std::span<const LaunchArgument> arguments) const;

private:
  CudaModule() = default;
  Failure loadImage(std::string_view arch, const void *image);
  Failure prepare(KernelInfo &kernel);

  std::vector<KernelInfo> infos;
  std::vector<void *> functions; ///< of `infos`
  std::shared_ptr<CudaDevice> card;
  void *module = nullptr;
};

} // namespace fa

#endif // FA_LAUNCH_CUDAMODULE_H

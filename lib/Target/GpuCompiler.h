//===- GpuCompiler.h - a program to a GPU's LLVM dialect --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_GPUCOMPILER_H
#define FA_LIB_TARGET_GPUCOMPILER_H

#include "CompileSteps.h"

#include "fa/Conversion/TileGPUToSimt.h"
#include "fa/Plan/Machine.h"

namespace fa {

/// What differs from GPU to GPU on the way to S8.
struct GpuTarget {
  using Build = void (*)(mlir::OpPassManager &, const GpuPipelineOptions &);

  Machine machine;
  Build kernels = nullptr, schedule = nullptr, lowering = nullptr;
};

/// The target that `arch` names, NVIDIA's or AMD's.
llvm::Expected<GpuTarget> getGpuTarget(llvm::StringRef arch);

/// A compilation under way, S0 to S8: what cards and the emulator share.
class GpuCompiler {
public:
  GpuCompiler(mlir::ModuleOp module, const CompileOptions &options,
              GpuTarget target)
      : module(module), options(options), target(std::move(target)) {}

  llvm::Error toKernels();
  /// S3 to S7, with the fault of `options.mutate` if that is its stage. Not yet
  /// verified.
  llvm::Error toSchedule();
  /// S7 to S8, likewise.
  llvm::Error toDialect();
  /// S0 to S7 of the kernels of `entry` (empty: all), which are left in the
  /// module; gives what launches must know of them.
  llvm::Expected<std::vector<KernelInfo>> plan(llvm::StringRef entry);
  /// Erases those of `kernels`, the module's at S7, that `options.kernels` does
  /// not name: an artifact for the driver `driver`, which lacks the code.
  llvm::Expected<Artifact> keep(std::vector<KernelInfo> kernels,
                                llvm::StringRef driver);
  /// S7 to S8 with each kernel in a module of its own, in their order, side by
  /// side: a program has a dozen kernels. What holds more than kernels
  /// (globals), or a planted fault, stays together. Not yet verified.
  llvm::Expected<std::vector<mlir::OwningOpRef<mlir::ModuleOp>>>
  toDialectEach();

  /// Compiles those of `kernels`, the module's at S7, that `options.kernels`
  /// names as far as `form`: tgpu or one to which `toLLVM` brings what is at
  /// S8.
  llvm::Expected<std::string>
  emit(std::vector<KernelInfo> kernels, Emit form,
       llvm::function_ref<llvm::Expected<std::string>()> toLLVM);

private:
  /// Erases those of `kernels` that `options.kernels` does not name, and
  /// verifies the others.
  llvm::Error keepWanted(std::vector<KernelInfo> &kernels);
  /// Adds `build`'s passes, with the options of this compilation.
  void add(mlir::OpPassManager &pm, GpuTarget::Build build) const;
  /// Plants the fault of `options.mutate` in `where`, if this is its stage.
  llvm::Error mutate(mlir::ModuleOp where, bool atSchedule) const;
  void fill(GpuPipelineOptions &pipeline) const;

  mlir::ModuleOp module;
  const CompileOptions &options;
  GpuTarget target;
};

} // namespace fa

#endif // FA_LIB_TARGET_GPUCOMPILER_H

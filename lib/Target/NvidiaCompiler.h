//===- NvidiaCompiler.h - a program to NVIDIA's LLVM dialect ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVIDIACOMPILER_H
#define FA_LIB_TARGET_NVIDIACOMPILER_H

#include "CompileSteps.h"

#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Target/NvidiaInfo.h"

namespace fa {

/// A compilation under way, S0 to S8: what a card and the emulator share.
class NvidiaCompiler {
public:
  NvidiaCompiler(mlir::ModuleOp module, const CompileOptions &options,
                 const NvidiaInfo &info)
      : module(module), options(options), info(info) {}

  llvm::Error toKernels();
  /// S3 to S7, with the fault of `options.mutate` if that is its stage.
  llvm::Error toSchedule();
  /// S7 to S8, likewise.
  llvm::Error toDialect();
  /// S0 to S8 of the kernels of `entry` (empty: all), which are left in the
  /// module; gives what launches must know of them.
  llvm::Expected<std::vector<KernelInfo>> run(llvm::StringRef entry);

private:
  using Build = void (*)(mlir::OpPassManager &, const GpuPipelineOptions &);
  llvm::Error runPipeline(Build build);
  /// Plants the fault of `options.mutate`, if this is its stage.
  llvm::Error mutate(bool atSchedule);
  void fill(GpuPipelineOptions &pipeline) const;

  mlir::ModuleOp module;
  const CompileOptions &options;
  NvidiaInfo info;
};

} // namespace fa

#endif // FA_LIB_TARGET_NVIDIACOMPILER_H

//===- Compile.cpp - for whatever is named --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSteps.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Machine/NvidiaInfo.h"
#include "fa/Plan/Machine.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fa;

bool fa::isNvidiaArch(StringRef arch) { return arch.starts_with("sm_"); }

bool fa::isAmdArch(StringRef arch) { return arch.starts_with("gfx"); }

/// Faults are those of GPU programs.
static llvm::Error checkNoFault(const CompileOptions &options) {
  if (options.mutate.empty() || isNvidiaArch(options.arch) ||
      isAmdArch(options.arch))
    return llvm::Error::success();
  return llvm::createStringError(
      "the fault '" + options.mutate + "' is one of GPU programs: expected " +
      listGpuMachines() + ", found '" + options.arch + "'");
}

/// Some forms are those of one kind of target.
static llvm::Error checkForm(StringRef arch, Emit form) {
  bool fits = true;
  StringRef name;
  std::string expected;
  switch (form) {
  case Emit::TileGPU:
    fits = isNvidiaArch(arch) || isAmdArch(arch);
    expected = listGpuMachines();
    name = "tgpu";
    break;
  case Emit::PTX:
  case Emit::Cubin:
    name = form == Emit::PTX ? "ptx" : "cubin";
    fits = isNvidiaArch(arch);
    expected = listNvidiaArchs();
    break;
  case Emit::Hsaco:
    fits = isAmdArch(arch);
    expected = listAmdArchs();
    name = "hsaco";
    break;
  case Emit::Tile:
  case Emit::Kernel:
  case Emit::Plan:
  case Emit::LLVM:
  case Emit::Asm:
  case Emit::Object:
    break;
  }
  if (fits)
    return llvm::Error::success();
  return llvm::createStringError("expected one of " + expected + " for " +
                                 name + ", found '" + arch + "'");
}

llvm::Expected<Artifact> fa::compilePlanned(ModuleOp module,
                                            std::vector<KernelInfo> kernels,
                                            const CompileOptions &options) {
  auto compile = options.emulate              ? compileForEmulator
                 : isAmdArch(options.arch)    ? compileForAmd
                 : isNvidiaArch(options.arch) ? compileForNvidia
                                              : compileForHost;
  return compile(module, std::move(kernels), options);
}

llvm::Expected<Artifact> fa::compile(ModuleOp module, StringRef entry,
                                     const CompileOptions &options) {
  Stopwatch planning;
  auto kernels = planKernels(module, entry, options);
  if (!kernels)
    return kernels.takeError();
  double ms = planning.elapsed();
  auto artifact = compilePlanned(module, std::move(*kernels), options);
  if (artifact) {
    artifact->compileMs.passes += ms;
    artifact->compileMs.total += ms;
  }
  return artifact;
}

llvm::Expected<std::vector<KernelInfo>>
fa::planKernels(ModuleOp module, StringRef entry,
                const CompileOptions &options) {
  if (auto error = checkNoFault(options))
    return error;
  return isNvidiaArch(options.arch) || isAmdArch(options.arch)
             ? planForGpu(module, entry, options)
             : planForHost(module, entry, options);
}

/// The forms before planning: S0 of an architecture that is known, and S3 of
/// the kernels of `entry` (empty: all that the module has).
static llvm::Expected<std::string> emitEarly(ModuleOp module, StringRef entry,
                                             const CompileOptions &options,
                                             Emit form) {
  bool isGpu = isNvidiaArch(options.arch) || isAmdArch(options.arch);
  if (auto error = isGpu ? findGpuMachine(options.arch).takeError()
                         : checkHostArch(options.arch))
    return error;
  if (form == Emit::Tile)
    return print(module);
  if (auto error = isGpu ? toKernelsForGpu(module, options)
                         : toKernelsForHost(module, options))
    return error;
  if (!entry.empty())
    if (auto error = keepEntry(module, entry))
      return error;
  DiagnosticText text(module.getContext());
  if (failed(verify(module)))
    return text.take("the passes to kernels failed");
  return print(module);
}

llvm::Expected<std::string> fa::emitPlanned(ModuleOp module,
                                            std::vector<KernelInfo> kernels,
                                            const CompileOptions &options,
                                            Emit form) {
  if (auto error = checkForm(options.arch, form))
    return error;
  auto emit = isAmdArch(options.arch)      ? emitForAmd
              : isNvidiaArch(options.arch) ? emitForNvidia
                                           : emitForHost;
  return emit(module, std::move(kernels), options, form);
}

llvm::Expected<std::string> fa::emit(ModuleOp module, StringRef entry,
                                     const CompileOptions &options, Emit form) {
  if (auto error = checkNoFault(options))
    return error;
  if (auto error = checkForm(options.arch, form))
    return error;
  if (form == Emit::Tile || form == Emit::Kernel)
    return emitEarly(module, entry, options, form);
  auto kernels = planKernels(module, entry, options);
  if (!kernels)
    return kernels.takeError();
  return emitPlanned(module, std::move(*kernels), options, form);
}

//===- CompileNvidia.cpp - a program to an artifact for NVIDIA ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSteps.h"
#include "Ptxas.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Schedule/Passes.h"
#include "fa/Target/NvidiaInfo.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace fa;

static void initializeNvidiaTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

namespace {

/// A compilation under way.
struct NvidiaCompiler {
  ModuleOp module;
  const CompileOptions &options;
  NvidiaInfo info;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;

  void fill(NvidiaPipelineOptions &pipeline) {
    pipeline.arch = info.name.str();
    pipeline.qTile = options.qTile;
    pipeline.kvTile = options.kvTile;
    pipeline.stages = options.stages;
    pipeline.warps = options.warps;
    pipeline.sharedLimit = info.sharedLimit;
    pipeline.assumeNoEmptyRows = options.fusion.assumeNoEmptyRows;
    pipeline.allowNoMax = options.fusion.allowNoMax;
  }

  llvm::Error toKernels() {
    return lowerToKernels(module, [&](OpPassManager &pm) {
      NvidiaPipelineOptions pipeline;
      fill(pipeline);
      buildNvidiaKernelPipeline(pm, pipeline);
    });
  }

  llvm::Error run(void (*build)(OpPassManager &,
                                const NvidiaPipelineOptions &)) {
    return runPasses(module, "the passes to LLVM failed",
                     [&](OpPassManager &pm) {
                       NvidiaPipelineOptions pipeline;
                       fill(pipeline);
                       build(pm, pipeline);
                     });
  }

  llvm::Expected<std::unique_ptr<llvm::Module>> toLLVM() {
    llvm::TargetOptions target;
    target.MCOptions.ABIName = "shortptr"; // 32-bit shared addresses
    // A program's products are rounded where it says so: bias + scale * s with
    // one rounding is another number. What shall be one operation is written
    // so.
    target.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    auto created = createTargetMachine("nvptx64-nvidia-cuda", info.name,
                                       info.ptxVersion, target);
    if (!created)
      return created.takeError();
    machine = std::move(*created);
    return translate(module, context, *machine, [](llvm::Module &) {});
  }
};

} // namespace

/// Takes from the kernels at S7 what a launch must know.
static void readPlan(ModuleOp module, std::vector<KernelInfo> &kernels) {
  // Of alternatives the schedule keeps one.
  llvm::erase_if(kernels, [&](const KernelInfo &info) {
    return !module.lookupSymbol<tile::KernelOp>(info.symbol);
  });
  for (KernelInfo &info : kernels) {
    auto kernel = module.lookupSymbol<tile::KernelOp>(info.symbol);
    auto number = [&](StringRef name) {
      auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
      return attribute ? attribute.getInt() : 0;
    };
    info.threads = countThreads(kernel);
    info.tensorMaps = collectTensorMaps(kernel);
    info.sharedBytes = number(tgpu::TileGPUDialect::sharedBytesAttrName);
    for (auto alloc : kernel.getBody().getOps<tgpu::AllocOp>())
      info.stages = std::max(info.stages, alloc.getType().getSlots());
    for (auto channel : kernel.getBody().getOps<tgpu::ChannelOp>())
      info.stages =
          std::max(info.stages, channel.getType().getBuffer().getSlots());
  }
}

llvm::Expected<Artifact> fa::compileForNvidia(ModuleOp module, StringRef entry,
                                              const CompileOptions &options) {
  Stopwatch total;
  initializeNvidiaTarget();
  auto info = getNvidiaInfo(options.arch);
  if (!info)
    return info.takeError();
  NvidiaCompiler compiler{module, options, *info, {}, {}};
  if (auto error = compiler.toKernels())
    return error;
  if (auto error = keepEntry(module, entry))
    return error;
  Artifact artifact;
  artifact.target = "cuda";
  artifact.arch = info->name.str();
  auto kernels = extractKernels(module);
  if (!kernels)
    return kernels.takeError();
  artifact.kernels = std::move(*kernels);
  if (auto error = compiler.run(buildNvidiaSchedulePipeline))
    return error;
  readPlan(module, artifact.kernels);
  if (auto error = compiler.run(buildNvidiaLoweringPipeline))
    return error;
  artifact.compileMs.passes = total.elapsed();
  auto translated = compiler.toLLVM();
  if (!translated)
    return translated.takeError();
  auto ptx = generate(**translated, *compiler.machine,
                      llvm::CodeGenFileType::AssemblyFile);
  if (!ptx)
    return ptx.takeError();
  artifact.ptx = std::move(*ptx);
  artifact.compileMs.llvm = total.elapsed() - artifact.compileMs.passes;
  Stopwatch assembling;
  if (options.ptxas != "none")
    if (auto error = assemble(artifact, options.ptxas))
      return error;
  artifact.compileMs.assembler = assembling.elapsed();
  artifact.compileMs.total = total.elapsed();
  return artifact;
}

llvm::Expected<std::string>
fa::emitForNvidia(ModuleOp module, const CompileOptions &options, Emit form) {
  initializeNvidiaTarget();
  auto info = getNvidiaInfo(options.arch);
  if (!info)
    return info.takeError();
  NvidiaCompiler compiler{module, options, *info, {}, {}};
  if (form == Emit::Tile)
    return print(module);
  if (form == Emit::PTX || form == Emit::Cubin || form == Emit::Asm ||
      form == Emit::Object) {
    bool wantsText = form == Emit::PTX || form == Emit::Asm;
    CompileOptions how = options;
    if (wantsText)
      how.ptxas = "none";
    auto artifact = compileForNvidia(module, "", how);
    if (!artifact)
      return artifact.takeError();
    if (!wantsText && artifact->object.empty())
      return llvm::createStringError(
          "expected an assembler for a cubin, found no ptxas on PATH");
    return wantsText ? artifact->ptx : artifact->object;
  }
  if (auto error = compiler.toKernels())
    return error;
  if (form == Emit::Kernel)
    return print(module);
  if (auto error = keepEntry(module, ""))
    return error;
  if (auto error = compiler.run(buildNvidiaSchedulePipeline))
    return error;
  if (form == Emit::TileGPU)
    return print(module);
  if (auto error = compiler.run(buildNvidiaLoweringPipeline))
    return error;
  auto translated = compiler.toLLVM();
  if (!translated)
    return translated.takeError();
  return print(**translated);
}

bool fa::isNvidiaArch(StringRef arch) { return arch.starts_with("sm_"); }

llvm::Expected<Artifact> fa::compile(ModuleOp module, StringRef entry,
                                     const CompileOptions &options) {
  return isNvidiaArch(options.arch) ? compileForNvidia(module, entry, options)
                                    : compileForHost(module, entry, options);
}

llvm::Expected<std::string> fa::emit(ModuleOp module,
                                     const CompileOptions &options, Emit form) {
  return isNvidiaArch(options.arch) ? emitForNvidia(module, options, form)
                                    : emitForHost(module, options, form);
}

//===- CompileEmulator.cpp - a GPU program to code for the emulator -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "NarrowFloats.h"

#include "fa/Emulator/Passes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace fa;

/// The module as LLVM IR for `host`, not optimised: code is generated for the
/// kernels that run.
static llvm::Expected<std::string> toBitcode(ModuleOp module,
                                             const HostInfo &host) {
  DiagnosticText text(module.getContext());
  llvm::LLVMContext context;
  auto translated = translateModuleToLLVMIR(module, context, "flashtile");
  if (!translated)
    return text.take("the translation to LLVM IR failed");
  expandNarrowFloats(*translated, host);
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  llvm::WriteBitcodeToFile(*translated, out);
  return bytes;
}

llvm::Error fa::lowerForEmulator(ModuleOp module, StringRef hostCpu,
                                 Artifact &artifact) {
  llvm::InitializeNativeTarget();
  auto host = getHostInfo(hostCpu);
  if (!host)
    return host.takeError();
  artifact.hostCpu = host->cpu;
  artifact.features = host->features;
  if (auto error = runPasses(
          module, "the emulator cannot run this program",
          [](OpPassManager &pm) { pm.addPass(createConvertNVVMToEmulator()); }))
    return error;
  artifact.target = "emulator";
  artifact.sites = readEmulatorSites(module);
  auto bitcode = toBitcode(module, *host);
  if (!bitcode)
    return bitcode.takeError();
  artifact.object = std::move(*bitcode);
  return llvm::Error::success();
}

llvm::Expected<Artifact> fa::compileForEmulator(ModuleOp module,
                                                std::vector<KernelInfo> kernels,
                                                const CompileOptions &options) {
  Stopwatch total;
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  GpuCompiler compiler(module, options, *target);
  auto artifact = compiler.keep(std::move(kernels), "emulator");
  if (!artifact)
    return artifact;
  if (auto error = compiler.toDialect())
    return error;
  artifact->compileMs.passes = total.elapsed();
  if (auto error = beginPhase(options, "optimization"))
    return error;
  if (auto error = lowerForEmulator(module, options.hostCpu, *artifact))
    return error;
  artifact->compileMs.total = total.elapsed();
  artifact->compileMs.llvm =
      artifact->compileMs.total - artifact->compileMs.passes;
  return artifact;
}

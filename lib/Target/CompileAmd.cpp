//===- CompileAmd.cpp - a program to an artifact for AMD ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Hsaco.h"

#include "fa/Conversion/Passes.h"

#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace fa;

static void initializeAmdTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
  });
}

namespace {

/// LLVM's part, in a context of its own.
class AmdModule {
public:
  /// S8 as optimised LLVM IR.
  llvm::Error create(ModuleOp module, const GpuTarget &target) {
    initializeAmdTarget();
    llvm::TargetOptions options;
    // As for NVIDIA: a program's products are rounded where it says so.
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    auto created = createTargetMachine("amdgcn-amd-amdhsa", target.machine.name,
                                       "", options);
    if (!created)
      return created.takeError();
    machine = std::move(*created);
    // Version 5 of code objects: what ROCm loads since 5.5.
    auto prepare = [](llvm::Module &code) {
      code.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version",
                         500);
    };
    DiagnosticText text(module.getContext());
    if (failed(tryPasses(module, [](OpPassManager &pm) {
          pm.addPass(createDropSimtAsserts());
        })))
      return text.take("the passes to LLVM failed");
    auto translated = translate(module, context, *machine, prepare);
    if (!translated)
      return text.take(toString(translated.takeError()));
    code = std::move(*translated);
    return llvm::Error::success();
  }

  std::string text() const { return print(*code); }
  llvm::Expected<std::string> generate(llvm::CodeGenFileType form) {
    return fa::generate(*code, *machine, form);
  }

private:
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> code;
};

} // namespace

llvm::Expected<Artifact> fa::compileForAmd(ModuleOp module,
                                           std::vector<KernelInfo> kernels,
                                           const CompileOptions &options) {
  Stopwatch total;
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  GpuCompiler compiler(module, options, *target);
  auto artifact = compiler.keep(std::move(kernels), "hip");
  if (!artifact)
    return artifact;
  // All kernels in one module: a code object has one note that describes them.
  if (auto error = compiler.toDialect())
    return error;
  artifact->compileMs.passes = total.elapsed();
  if (auto error = beginPhase(options, "optimization"))
    return error;
  AmdModule code;
  if (auto error = code.create(module, *target))
    return error;
  auto object = code.generate(llvm::CodeGenFileType::ObjectFile);
  if (!object)
    return object.takeError();
  artifact->compileMs.llvm = total.elapsed() - artifact->compileMs.passes;
  if (auto error = beginPhase(options, "assembly"))
    return error;
  Stopwatch linking;
  auto linked = linkHsaco(*object);
  if (!linked)
    return linked.takeError();
  artifact->object = std::move(*linked);
  if (auto error = readResources(artifact->object, artifact->kernels))
    return error;
  artifact->compileMs.assembler = linking.elapsed();
  artifact->compileMs.total = total.elapsed();
  return artifact;
}

llvm::Expected<std::string> fa::emitForAmd(ModuleOp module,
                                           std::vector<KernelInfo> kernels,
                                           const CompileOptions &options,
                                           Emit form) {
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  auto toCode = [&]() -> llvm::Expected<std::string> {
    AmdModule code;
    if (auto error = code.create(module, *target))
      return error;
    if (form == Emit::LLVM)
      return code.text();
    if (form == Emit::Asm)
      return code.generate(llvm::CodeGenFileType::AssemblyFile);
    auto object = code.generate(llvm::CodeGenFileType::ObjectFile);
    if (!object || form == Emit::Object)
      return object;
    return linkHsaco(*object);
  };
  return GpuCompiler(module, options, *target)
      .emit(std::move(kernels), form, toCode);
}

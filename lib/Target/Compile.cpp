//===- Compile.cpp - a program to an artifact -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Compile.h"

#include "KernelInfo.h"

#include "Tile/Tile.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Conversion/TileToLinalg.h"
#include "fa/Target/HostInfo.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>
#include <mutex>

using namespace mlir;
using namespace fa;

llvm::StringRef fa::llvmVersion() { return LLVM_VERSION_STRING; }

void fa::registerDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              LLVM::LLVMDialect, math::MathDialect, linalg::LinalgDialect,
              memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
              tile::TileDialect, vector::VectorDialect>();
  registerBufferization(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {

/// Milliseconds since its construction.
class Stopwatch {
public:
  double elapsed() const {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Collects errors and, as their explanation, remarks and notes.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          llvm::raw_string_ostream out(text);
          if (!text.empty())
            out << "\n";
          if (!isa<UnknownLoc>(diagnostic.getLocation()))
            out << diagnostic.getLocation() << ": ";
          out << diagnostic;
          return success();
        }) {}

  /// What was reported, and then `conclusion`.
  llvm::Error take(StringRef conclusion) {
    return llvm::createStringError(
        (llvm::Twine(text) + (text.empty() ? "" : "\n") + conclusion).str());
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

} // namespace

static void initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const HostInfo &host) {
  std::string problem;
  llvm::Triple triple(host.triple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return llvm::createStringError(problem);
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, host.cpu, host.features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static HostPipelineOptions *fill(HostPipelineOptions *options,
                                 const CompileOptions &from,
                                 const HostInfo &host) {
  options->qTile = from.qTile;
  options->kvTile = from.kvTile;
  options->assumeNoEmptyRows = from.fusion.assumeNoEmptyRows;
  options->allowNoMax = from.fusion.allowNoMax;
  options->vectorBits = host.vectorBits;
  options->vectorRegisters = host.vectorRegisters;
  return options;
}

static bool hasKernels(ModuleOp module) {
  return !module.getOps<tile::KernelOp>().empty();
}

/// Runs S0 to S3, unless the program is at S3 already.
static llvm::Error lowerToKernels(ModuleOp module, const CompileOptions &from,
                                  const HostInfo &host) {
  DiagnosticText text(module.getContext());
  if (failed(verify(module)))
    return text.take("the module is not valid");
  if (!hasKernels(module)) {
    PassManager pm(module.getContext());
    HostPipelineOptions options;
    buildHostKernelPipeline(pm, *fill(&options, from, host));
    if (failed(pm.run(module)))
      return text.take("the passes to kernels failed");
  }
  if (!hasKernels(module))
    return text.take("expected a function or a tile.kernel, found neither");
  return llvm::Error::success();
}

static llvm::Error lowerToLLVM(ModuleOp module, const CompileOptions &from,
                               const HostInfo &host) {
  DiagnosticText text(module.getContext());
  PassManager pm(module.getContext());
  HostPipelineOptions options;
  buildHostLoweringPipeline(pm, *fill(&options, from, host));
  if (failed(pm.run(module)))
    return text.take("the passes to LLVM failed");
  return llvm::Error::success();
}

/// Kernels of other entries, and functions that are references, are not
/// compiled.
static llvm::Error keepEntry(ModuleOp module, StringRef entry) {
  std::string found;
  bool any = false;
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
    found += (" @" + kernel.getEntryName()).str();
    if (!entry.empty() && kernel.getEntryName() != entry)
      kernel.erase();
    else
      any = true;
  }
  if (!any)
    return llvm::createStringError("expected a program named '" + entry +
                                   "', found" + found);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    function.erase();
  return llvm::Error::success();
}

static void addTargetAttributes(llvm::Module &module, const HostInfo &host) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", host.cpu);
    function.addFnAttr("target-features", host.features);
    // Without it LLVM may split vectors of 512 bits on CPUs that it thinks
    // clock down; the IR is written for the full width.
    function.addFnAttr("prefer-vector-width", std::to_string(host.vectorBits));
    function.addFnAttr("min-legal-vector-width",
                       std::to_string(host.vectorBits));
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // The loops are blocked and unrolled already.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context, const HostInfo &host,
          llvm::TargetMachine &machine) {
  DiagnosticText text(module.getContext());
  auto translated = translateModuleToLLVMIR(module, context, "flashtile");
  if (!translated)
    return text.take("the translation to LLVM IR failed");
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  addTargetAttributes(*translated, host);
  optimize(*translated, machine);
  return translated;
}

static llvm::Expected<std::string> generate(llvm::Module &module,
                                            llvm::TargetMachine &machine,
                                            llvm::CodeGenFileType form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, form))
    return llvm::createStringError("the target cannot write this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

/// Takes the scratch that the lowering found to be needed.
static void readScratch(ModuleOp module, std::vector<KernelInfo> &kernels) {
  for (KernelInfo &kernel : kernels)
    if (auto function = module.lookupSymbol(kernel.symbol))
      if (auto bytes = function->getAttrOfType<IntegerAttr>("fa.scratch_bytes"))
        kernel.scratchBytes = bytes.getInt();
}

llvm::Expected<Artifact> fa::compileForHost(ModuleOp module, StringRef entry,
                                            const CompileOptions &options) {
  Stopwatch total;
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  if (auto error = lowerToKernels(module, options, *host))
    return error;
  if (auto error = keepEntry(module, entry))
    return error;
  Artifact artifact;
  artifact.target = "cpu";
  artifact.arch = host->cpu;
  artifact.features = host->features;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    auto info = extractKernelInfo(kernel);
    if (!info)
      return info.takeError();
    artifact.kernels.push_back(std::move(*info));
  }
  if (auto error = lowerToLLVM(module, options, *host))
    return error;
  readScratch(module, artifact.kernels);
  artifact.compileMs.passes = total.elapsed();
  auto machine = createTargetMachine(*host);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto translated = translate(module, context, *host, **machine);
  if (!translated)
    return translated.takeError();
  auto object =
      generate(**translated, **machine, llvm::CodeGenFileType::ObjectFile);
  if (!object)
    return object.takeError();
  artifact.object = std::move(*object);
  artifact.compileMs.total = total.elapsed();
  artifact.compileMs.llvm =
      artifact.compileMs.total - artifact.compileMs.passes;
  return artifact;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  out << "\n";
  return text;
}

llvm::Expected<std::string>
fa::emitForHost(ModuleOp module, const CompileOptions &options, Emit form) {
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  if (form == Emit::Tile)
    return print(module);
  if (auto error = lowerToKernels(module, options, *host))
    return error;
  if (form == Emit::Kernel)
    return print(module);
  if (auto error = keepEntry(module, ""))
    return error;
  if (auto error = lowerToLLVM(module, options, *host))
    return error;
  auto machine = createTargetMachine(*host);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto translated = translate(module, context, *host, **machine);
  if (!translated)
    return translated.takeError();
  if (form == Emit::LLVM) {
    std::string text;
    llvm::raw_string_ostream out(text);
    (*translated)->print(out, nullptr);
    return text;
  }
  return generate(**translated, **machine,
                  form == Emit::Asm ? llvm::CodeGenFileType::AssemblyFile
                                    : llvm::CodeGenFileType::ObjectFile);
}

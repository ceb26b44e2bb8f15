//===- CompileHost.cpp - a program to an artifact for the host ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSteps.h"
#include "Linker.h"
#include "MatrixTiles.h"
#include "NarrowFloats.h"

#include "Tile/Tile.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Schedule/PlanText.h"
#include "fa/Target/HostInfo.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace fa;

static void initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

static HostPipelineOptions *fill(HostPipelineOptions *options,
                                 const CompileOptions &from,
                                 const HostInfo &host) {
  options->constraints = printConstraints(from.asked);
  options->assumeNoEmptyRows = from.fusion.assumeNoEmptyRows;
  options->allowNoMax = from.fusion.allowNoMax;
  options->vectorBits = host.vectorBits;
  options->vectorRegisters = host.vectorRegisters;
  options->pairDots = host.pairDots;
  options->tileDots = host.tileDots;
  options->emulatesTiles = host.emulatesTiles;
  return options;
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

/// Takes the scratch that the lowering found to be needed.
static void readScratch(ModuleOp module, std::vector<KernelInfo> &kernels) {
  for (KernelInfo &kernel : kernels)
    if (auto function = module.lookupSymbol(kernel.symbol))
      if (auto bytes = function->getAttrOfType<IntegerAttr>("fa.scratch_bytes"))
        kernel.scratchBytes = bytes.getInt();
}

/// What kernels need of opt: their loops are blocked, unrolled and free of
/// calls as they come. O2 takes five times as long and gives the same inner
/// loops.
static constexpr llvm::StringLiteral kOptimizations =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-simplify,lcssa,loop-mssa(loop-rotate,licm),early-cse<memssa>,"
    "simplifycfg)";

static constexpr llvm::StringLiteral kLoweringFailed =
    "the passes to LLVM failed";

namespace {

/// A compilation under way.
struct HostCompiler {
  ModuleOp module;
  const CompileOptions &options;
  HostInfo host;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;

  llvm::Error toKernels() {
    return lowerToKernels(module, [&](OpPassManager &pm) {
      HostPipelineOptions pipeline;
      buildHostKernelPipeline(pm, *fill(&pipeline, options, host));
    });
  }

  /// S0 to S3 of the kernels of `entry`.
  llvm::Expected<std::vector<KernelInfo>> plan(StringRef entry) {
    if (auto error = beginPhase(options, "fusion"))
      return error;
    if (auto error = toKernels())
      return error;
    if (auto error = keepEntry(module, entry))
      return error;
    if (auto error = checkPlans(module, options.plans))
      return error;
    return extractKernels(module);
  }

  /// The passes from S3 to the LLVM dialect.
  void addLowering(OpPassManager &pm) {
    HostPipelineOptions pipeline;
    fill(&pipeline, options, host)->unfused =
        llvm::any_of(module.getOps<tile::KernelOp>(),
                     [](tile::KernelOp kernel) { return kernel.getUnfused(); });
    buildHostLoweringPipeline(pm, pipeline);
  }

  /// What fails is reported to the context's handlers, as in `toLLVM` and
  /// `toObject`: kernels may be compiled side by side.
  LogicalResult toLLVMDialect() {
    if (failed(tryPasses(
            module, [&](OpPassManager &pm) { addLowering(pm); },
            /*verifyEach=*/false)))
      return failure();
    // Not internal: code for a caller may be generated apart.
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function.isPrivate() && !function.isExternal())
        function.setVisibility_(LLVM::Visibility::Hidden);
    return success();
  }

  llvm::Expected<std::unique_ptr<llvm::Module>> toLLVM() {
    llvm::TargetOptions target;
    target.UseInitArray = true; // lld leaves .ctors out
    auto created =
        createTargetMachine(host.triple, host.cpu, host.features, target);
    if (!created)
      return created.takeError();
    machine = std::move(*created);
    return translate(
        module, context, *machine,
        [&](llvm::Module &code) {
          expandNarrowFloats(code, host);
          addTargetAttributes(code, host);
          addTileRequest(code);
        },
        kOptimizations);
  }

  llvm::Expected<std::string> toObject() {
    auto translated = toLLVM();
    if (!translated)
      return translated.takeError();
    return generate(**translated, *machine, llvm::CodeGenFileType::ObjectFile);
  }
};

} // namespace

using Parts = std::vector<OwningOpRef<ModuleOp>>;

/// S3 to the LLVM dialect, the parts side by side.
static llvm::Error lowerEach(Parts &parts, const CompileOptions &options,
                             const HostInfo &host) {
  MLIRContext *context = parts.front()->getContext();
  DiagnosticText text(context, /*remarks=*/false);
  for (auto &part : parts)
    loadDialects(context, [&](OpPassManager &pm) {
      HostCompiler{*part, options, host, {}, {}}.addLowering(pm);
    });
  auto lower = [&](size_t number) {
    return HostCompiler{*parts[number], options, host, {}, {}}.toLLVMDialect();
  };
  if (failed(runSideBySide(context, parts.size(), lower)))
    return text.take(kLoweringFailed);
  return llvm::Error::success();
}

/// Each function of the parts in a module of its own, with declarations of
/// those that it calls. What else there is, a constant table say, may be any
/// function's: then a part stays as it is.
static Parts splitFunctions(Parts parts) {
  Parts result;
  for (auto &part : parts) {
    auto functions = llvm::filter_to_vector(
        part->getOps<LLVM::LLVMFuncOp>(),
        [](LLVM::LLVMFuncOp function) { return !function.isExternal(); });
    if (functions.size() == 1 ||
        !llvm::all_of(*part->getBody(), llvm::IsaPred<LLVM::LLVMFuncOp>)) {
      result.push_back(std::move(part));
      continue;
    }
    for (LLVM::LLVMFuncOp function : functions) {
      OwningOpRef<ModuleOp> own = ModuleOp::create(part->getLoc());
      own->getOperation()->setAttrs((*part)->getAttrs());
      OpBuilder b = OpBuilder::atBlockBegin(own->getBody());
      b.clone(*function);
      for (auto other : part->getOps<LLVM::LLVMFuncOp>())
        if (other != function &&
            !SymbolTable::symbolKnownUseEmpty(other, function)) {
          auto declaration =
              cast<LLVM::LLVMFuncOp>(b.insert(other->cloneWithoutRegions()));
          declaration.setLinkage(LLVM::Linkage::External);
        }
      result.push_back(std::move(own));
    }
  }
  return result;
}

/// One object of the parts, whose code is generated side by side.
static llvm::Expected<std::string> generateEach(Parts &parts,
                                                const CompileOptions &options,
                                                const HostInfo &host) {
  MLIRContext *context = parts.front()->getContext();
  DiagnosticText text(context);
  std::vector<std::string> objects(parts.size());
  auto generateOne = [&](size_t number) {
    ModuleOp part = *parts[number];
    auto object = HostCompiler{part, options, host, {}, {}}.toObject();
    if (!object)
      return LogicalResult(part->emitError() << toString(object.takeError()));
    objects[number] = std::move(*object);
    return success();
  };
  if (failed(runSideBySide(context, parts.size(), generateOne)))
    return text.take("the generation of code failed");
  if (objects.size() == 1)
    return std::move(objects.front());
  return link({"-r"}, objects);
}

llvm::Expected<std::vector<KernelInfo>>
fa::planForHost(ModuleOp module, StringRef entry,
                const CompileOptions &options) {
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  return HostCompiler{module, options, *host, {}, {}}.plan(entry);
}

llvm::Expected<Artifact> fa::compileForHost(ModuleOp module,
                                            std::vector<KernelInfo> kernels,
                                            const CompileOptions &options) {
  Stopwatch total;
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  Artifact artifact;
  artifact.target = "cpu";
  artifact.arch = host->cpu;
  artifact.features = host->features;
  if (auto error = keepKernels(module, options.kernels, kernels))
    return error;
  artifact.kernels = std::move(kernels);
  if (auto error = beginPhase(options, "lowering"))
    return error;
  auto parts = splitKernels(module);
  if (auto error = lowerEach(parts, options, *host))
    return error;
  for (auto &part : parts)
    readScratch(*part, artifact.kernels);
  artifact.compileMs.passes = total.elapsed();
  if (auto error = beginPhase(options, "optimization"))
    return error;
  parts = splitFunctions(std::move(parts));
  auto object = generateEach(parts, options, *host);
  if (!object)
    return object.takeError();
  artifact.object = std::move(*object);
  artifact.compileMs.total = total.elapsed();
  artifact.compileMs.llvm =
      artifact.compileMs.total - artifact.compileMs.passes;
  return artifact;
}

llvm::Error fa::checkHostArch(StringRef arch) {
  initializeHostTarget();
  return getHostInfo(arch).takeError();
}

llvm::Error fa::toKernelsForHost(ModuleOp module,
                                 const CompileOptions &options) {
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  return HostCompiler{module, options, *host, {}, {}}.toKernels();
}

llvm::Expected<std::string> fa::emitForHost(ModuleOp module,
                                            std::vector<KernelInfo> kernels,
                                            const CompileOptions &options,
                                            Emit form) {
  initializeHostTarget();
  auto host = getHostInfo(options.arch);
  if (!host)
    return host.takeError();
  HostCompiler compiler{module, options, *host, {}, {}};
  if (auto error = keepKernels(module, options.kernels, kernels))
    return error;
  if (form == Emit::Plan)
    return printPlans(module);
  DiagnosticText text(module.getContext());
  if (failed(compiler.toLLVMDialect()))
    return text.take(kLoweringFailed);
  auto translated = compiler.toLLVM();
  if (!translated)
    return text.take(toString(translated.takeError()));
  if (form == Emit::LLVM)
    return print(**translated);
  return generate(**translated, *compiler.machine,
                  form == Emit::Asm ? llvm::CodeGenFileType::AssemblyFile
                                    : llvm::CodeGenFileType::ObjectFile);
}

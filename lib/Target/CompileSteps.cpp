//===- CompileSteps.cpp - what compiling for any target takes -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSteps.h"
#include "ExtractKernelInfo.h"
#include "ShareBits.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "fa/Fusion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace mlir;
using namespace fa;

llvm::StringRef fa::llvmVersion() { return LLVM_VERSION_STRING; }

void fa::registerDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect,
              ROCDL::ROCDLDialect, linalg::LinalgDialect, memref::MemRefDialect,
              scf::SCFDialect, tensor::TensorDialect, tgpu::TileGPUDialect,
              tile::TileDialect, vector::VectorDialect>();
  func::registerInlinerExtension(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerROCDLDialectTranslation(registry);
}

char CancelledError::ID = 0;

void CancelledError::log(llvm::raw_ostream &out) const {
  out << "the compilation was cancelled";
}

std::error_code CancelledError::convertToErrorCode() const {
  return std::make_error_code(std::errc::operation_canceled);
}

llvm::Error fa::beginPhase(const CompileOptions &options, StringRef phase) {
  if (!options.progress || options.progress(phase))
    return llvm::Error::success();
  return llvm::make_error<CancelledError>();
}

void fa::loadDialects(MLIRContext *context,
                      llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(context);
  build(pm);
  DialectRegistry made;
  pm.getDependentDialects(made);
  context->appendDialectRegistry(made);
  for (StringRef name : made.getDialectNames())
    context->getOrLoadDialect(name);
}

LogicalResult fa::runSideBySide(MLIRContext *context, size_t count,
                                llvm::function_ref<LogicalResult(size_t)> run) {
  if (count == 1)
    return run(0);
  // A thread cannot load one while others run.
  context->loadAllAvailableDialects();
  bool hadThreads = context->isMultithreadingEnabled();
  context->enableMultithreading();
  llvm::scope_exit restore([&] { context->enableMultithreading(hadThreads); });
  return failableParallelForEachN(context, 0, count, run);
}

static LogicalResult runAll(ModuleOp module,
                            llvm::function_ref<void(OpPassManager &)> build,
                            bool verifyEach) {
  PassManager pm(module.getContext());
  pm.enableVerifier(verifyEach);
  build(pm);
  return pm.run(module);
}

LogicalResult fa::tryPasses(ModuleOp module,
                            llvm::function_ref<void(OpPassManager &)> build,
                            bool verifyEach) {
  return failure(failed(runAll(module, build, verifyEach)) ||
                 (!verifyEach && failed(verify(module))));
}

LogicalResult
fa::tryUnverified(ModuleOp module,
                  llvm::function_ref<void(OpPassManager &)> build) {
  return runAll(module, build, /*verifyEach=*/false);
}

llvm::Error fa::runPasses(ModuleOp module, StringRef failure,
                          llvm::function_ref<void(OpPassManager &)> build,
                          bool verifyEach) {
  // A kernel that is not warp-specialized does not explain why another step
  // failed.
  DiagnosticText text(module.getContext(), /*remarks=*/false);
  if (failed(tryPasses(module, build, verifyEach)))
    return text.take(failure);
  return llvm::Error::success();
}

static bool hasKernels(ModuleOp module) {
  return !module.getOps<tile::KernelOp>().empty();
}

static bool isNarrow(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 16;
}

/// Whether `op` computes with its operands, and does more than widen them.
static bool computes(Operation *op) {
  if (auto attention = dyn_cast<tile::AttentionOp>(op)) // of K and V it may be
    return isNarrow(attention.getQ().getType());
  if (isa<tile::DotOp, tile::SoftmaxOp, tile::LogSumExpOp, tile::ReduceOp,
          tile::ScanOp, tile::DropoutOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) && !isa<arith::ExtFOp>(op);
}

/// Narrow floats are types of the dialect that no lowering knows, but for those
/// that is widened: it is said here, before one fails in the middle.
static LogicalResult checkElementTypes(ModuleOp module) {
  auto check = [&](Operation *op) {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    auto found = llvm::find_if(types, [](Type type) {
      return isNarrow(type) && !tile::isStorageFloat(type);
    });
    if (found != types.end()) {
      op->emitError() << "expected elements that a target computes with, found "
                      << getElementTypeOrSelf(*found)
                      << ", which none does yet";
      return WalkResult::interrupt();
    }
    types.assign(op->operand_type_begin(), op->operand_type_end());
    llvm::append_range(types, op->getResultTypes());
    auto stored = llvm::find_if(types, tile::isStorageFloat);
    if (!computes(op) || stored == types.end())
      return WalkResult::advance();
    op->emitError("expected elements of ")
        << getElementTypeOrSelf(*stored)
        << " to be widened by arith.extf and no others, found '"
        << op->getName() << "'";
    return WalkResult::interrupt();
  };
  return failure(module.walk<WalkOrder::PreOrder>(check).wasInterrupted());
}

llvm::Error
fa::lowerToKernels(ModuleOp module,
                   llvm::function_ref<void(OpPassManager &)> build) {
  DiagnosticText text(module.getContext());
  if (failed(verify(module)))
    return text.take("the module is not valid");
  if (failed(checkElementTypes(module)))
    return text.take("the module is not supported");
  auto addPasses = [&](OpPassManager &pm) {
    if (hasKernels(module))
      pm.addPass(createTileInlineCalls());
    else
      build(pm);
  };
  // A program becomes a dozen kernels, and to verify them takes longer than
  // most of these passes: those that are kept are verified further down.
  if (failed(tryUnverified(module, addPasses)))
    return text.take("the passes to kernels failed");
  if (!hasKernels(module))
    return text.take("expected a function or a tile.kernel, found neither");
  return llvm::Error::success();
}

llvm::Error fa::keepEntry(ModuleOp module, StringRef entry) {
  std::vector<std::string> programs;
  bool any = false;
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
    std::string name = ("@" + kernel.getEntryName()).str();
    if (!llvm::is_contained(programs, name))
      programs.push_back(name);
    if (!entry.empty() && kernel.getEntryName() != entry)
      kernel.erase();
    else
      any = true;
  }
  if (!any)
    return llvm::createStringError("expected a program named '" + entry +
                                   "', found " + llvm::join(programs, " "));
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    function.erase();
  return llvm::Error::success();
}

/// A kernel that follows another one stands behind it, `chain`, or behind
/// others that do.
static llvm::Error checkFollows(tile::KernelOp kernel, StringRef chain) {
  auto follows =
      kernel->getAttrOfType<FlatSymbolRefAttr>(tile::KernelOp::followsAttrName);
  if (!follows || follows.getValue() == chain)
    return llvm::Error::success();
  return llvm::createStringError(
      "@" + kernel.getSymName() + ": expected to follow " +
      (chain.empty() ? "a kernel before it" : "@" + chain.str()) + ", found @" +
      follows.getValue());
}

llvm::Expected<std::vector<KernelInfo>> fa::extractKernels(ModuleOp module) {
  std::vector<KernelInfo> kernels;
  StringRef chain; // the kernel that others may follow
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (auto error = checkFollows(kernel, chain))
      return error;
    if (!kernel->hasAttr(tile::KernelOp::followsAttrName))
      chain = kernel.getSymName();
    auto info = extractKernelInfo(kernel);
    if (!info)
      return info.takeError();
    kernels.push_back(std::move(*info));
  }
  return kernels;
}

static std::string namesOf(ArrayRef<KernelInfo> kernels) {
  std::string names;
  for (const KernelInfo &info : kernels)
    names += (names.empty() ? "@" : ", @") + info.symbol;
  return names;
}

llvm::Error fa::keepKernels(ModuleOp module, ArrayRef<std::string> wanted,
                            std::vector<KernelInfo> &kernels) {
  if (wanted.empty())
    return llvm::Error::success();
  for (const std::string &name : wanted)
    if (llvm::none_of(kernels, [&](const KernelInfo &info) {
          return info.symbol == name;
        }))
      return llvm::createStringError("expected one of the kernels " +
                                     namesOf(kernels) + ", found '" + name +
                                     "'");
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<tile::KernelOp>()))
    if (!llvm::is_contained(wanted, kernel.getSymName()))
      kernel.erase();
  llvm::erase_if(kernels, [&](const KernelInfo &info) {
    return !llvm::is_contained(wanted, info.symbol);
  });
  return llvm::Error::success();
}

std::vector<OwningOpRef<ModuleOp>> fa::splitKernels(ModuleOp module,
                                                    bool apart) {
  apart &= llvm::all_of(*module.getBody(), llvm::IsaPred<tile::KernelOp>);
  std::vector<OwningOpRef<ModuleOp>> parts;
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    if (parts.empty() || apart) {
      parts.emplace_back(ModuleOp::create(module.getLoc()));
      parts.back()->getOperation()->setAttrs(module->getAttrs());
    }
    Block *body = parts.back()->getBody();
    op.moveBefore(body, body->end());
  }
  return parts;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
fa::createTargetMachine(StringRef tripleName, StringRef cpu, StringRef features,
                        const llvm::TargetOptions &options) {
  std::string problem;
  llvm::Triple triple(tripleName);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return llvm::createStringError(problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

namespace {

/// slp-vectorizer for a machine with registers of 32 bits: it pairs halves that
/// go around loops, and looks at all others in vain. Bits are in registers of
/// their own, predicates.
struct PairRegisters : llvm::PassInfoMixin<PairRegisters> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses) {
    bool hasNarrow = llvm::any_of(function, [](llvm::BasicBlock &block) {
      return llvm::any_of(block.phis(), [](llvm::PHINode &phi) {
        unsigned bits = phi.getType()->getScalarSizeInBits();
        return bits > 1 && bits <= 16; // a pointer has none
      });
    });
    return hasNarrow ? llvm::SLPVectorizerPass().run(function, analyses)
                     : llvm::PreservedAnalyses::all();
  }
};

} // namespace

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine,
                            StringRef pipeline) {
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
  builder.registerPipelineParsingCallback(
      [](StringRef name, llvm::FunctionPassManager &passes,
         llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name == "pair-registers")
          passes.addPass(PairRegisters());
        else if (name == "share-bits")
          passes.addPass(ShareBits());
        else
          return false;
        return true;
      });
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::Module>> fa::translate(
    ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine,
    llvm::function_ref<void(llvm::Module &)> prepare, StringRef pipeline) {
  auto translated = translateModuleToLLVMIR(module, context, "flashtile");
  if (!translated)
    return llvm::createStringError("the translation to LLVM IR failed");
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  prepare(*translated);
  if (auto error = optimize(*translated, machine, pipeline))
    return error;
  return translated;
}

llvm::Expected<std::string> fa::generate(llvm::Module &module,
                                         llvm::TargetMachine &machine,
                                         llvm::CodeGenFileType form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  // The translation has verified the module.
  if (machine.addPassesToEmitFile(passes, out, nullptr, form,
                                  /*DisableVerify=*/true))
    return llvm::createStringError("the target cannot write this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

std::string fa::print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  out << "\n";
  return text;
}

std::string fa::print(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

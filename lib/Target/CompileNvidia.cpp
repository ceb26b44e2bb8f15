//===- CompileNvidia.cpp - a program to an artifact for NVIDIA ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Ptxas.h"

#include "fa/Conversion/Passes.h"
#include "fa/Machine/NvidiaInfo.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
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

/// What kernels need of opt: of O2's passes those without which some PTX is
/// another one. Nothing is left to inline or to unroll or in memory.
/// - The numbers of threads in a block bound those of a thread
///   (nvvm-intr-range); what is constant is found first, also that arguments of
///   a kernel are what they are (ipsccp).
/// - Addresses and positions: sums in the order that shares most (reassociate),
///   what does not change outside of loops (licm, loop-rotate), counters
///   (indvars), what is computed twice (early-cse, gvn), what ranges and bits
///   say (constraint-elimination, sccp, bdce, correlated-propagation).
/// - Branches of a few operations are selections (speculative-execution,
///   simplifycfg); quotient and remainder are one division (div-rem-pairs).
/// - Bits of positions are moved once for all elements (share-bits).
/// - Pairs of registers go around loops together (pair-registers): fewer moves.
static constexpr llvm::StringLiteral kOptimizations =
    "function(nvvm-intr-range,simplifycfg,early-cse),ipsccp,"
    "function(instcombine<no-verify-fixpoint>,simplifycfg,early-cse<memssa>,"
    "speculative-execution<only-if-divergent-target>,aggressive-instcombine,"
    "reassociate,constraint-elimination,"
    "loop-mssa(licm<no-allowspeculation>,loop-rotate,licm),simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion),gvn,sccp,bdce,"
    "instcombine<no-verify-fixpoint>,correlated-propagation,share-bits,"
    "simplifycfg<hoist-common-insts;sink-common-insts>,pair-registers,"
    "loop-simplify,lcssa,infer-alignment,instcombine<no-verify-fixpoint>,"
    "div-rem-pairs),globaldce";

/// Says of what is loaded through `record`, whose words a launch writes, that
/// it is defined.
static void markDefined(llvm::Value &record) {
  for (llvm::User *user : record.users()) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(user))
      load->setMetadata(llvm::LLVMContext::MD_noundef,
                        llvm::MDNode::get(load->getContext(), {}));
    else if (llvm::isa<llvm::GetElementPtrInst>(user))
      markDefined(*user);
  }
}

/// The same of all arguments. What addresses and sizes are computed from may be
/// poison otherwise, and the straight-line strength reduction of LLVM's back
/// end asks that of each of its expressions, for more than half of the time
/// from IR to PTX where loops over head dimensions are unrolled
/// (bench/results/2026-11-29-compile-defined.md).
static void markArgumentsDefined(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Argument &argument : function.args())
      if (argument.hasByValAttr())
        markDefined(argument);
}

/// S8 as optimised LLVM IR; `machine` becomes the generator of its code. What
/// fails is reported to the context's handlers.
static llvm::Expected<std::unique_ptr<llvm::Module>>
toLLVM(ModuleOp module, const NvidiaInfo &info, llvm::LLVMContext &context,
       std::unique_ptr<llvm::TargetMachine> &machine) {
  llvm::TargetOptions target;
  target.MCOptions.ABIName = "shortptr"; // 32-bit shared addresses
  // A program's products are rounded where it says so: bias + scale * s with
  // one rounding is another number. What shall be one operation is written so.
  target.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto created = createTargetMachine("nvptx64-nvidia-cuda", info.name,
                                     info.ptxVersion, target);
  if (!created)
    return created.takeError();
  machine = std::move(*created);
  if (failed(tryPasses(module, [](OpPassManager &pm) {
        pm.addPass(createConvertTileGPUSimtToNVVM());
      })))
    return llvm::createStringError("the passes to LLVM failed");
  auto translated = translate(
      module, context, *machine, [](llvm::Module &) {}, kOptimizations);
  if (translated)
    markArgumentsDefined(**translated);
  return translated;
}

static llvm::Expected<std::string> toPtx(ModuleOp module,
                                         const NvidiaInfo &info) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  auto translated = toLLVM(module, info, context, machine);
  if (!translated)
    return translated.takeError();
  return generate(**translated, *machine, llvm::CodeGenFileType::AssemblyFile);
}

/// One text of several for the same target: it has one head, which ends with
/// the size of addresses. Each of them may declare the shared memory.
static std::string joinPtx(ArrayRef<std::string> parts) {
  std::string all = parts.front();
  for (StringRef part : parts.drop_front())
    all += part.split(".address_size").second.split('\n').second;
  return all;
}

/// Whether `module` converts elements of 8 bits in instructions.
static bool convertsNarrow(ModuleOp module) {
  return module
      .walk([](LLVM::CallIntrinsicOp call) {
        return call.getIntrin().contains("e4m3x2") ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// PTX of all parts, side by side; they are erased.
static llvm::Expected<std::string>
toPtx(std::vector<OwningOpRef<ModuleOp>> parts, NvidiaInfo info) {
  MLIRContext *context = parts.front()->getContext();
  // They are joined: what one asks for all have.
  if (llvm::any_of(parts, [](auto &part) { return convertsNarrow(*part); }))
    info.ptxVersion = kNarrowPtxVersion;
  DiagnosticText text(context);
  std::vector<std::string> ptx(parts.size());
  auto generateOne = [&](size_t number) {
    OwningOpRef<ModuleOp> part = std::move(parts[number]);
    auto code = toPtx(*part, info);
    if (!code)
      return LogicalResult(part->emitError() << toString(code.takeError()));
    ptx[number] = std::move(*code);
    return success();
  };
  if (failed(runSideBySide(context, parts.size(), generateOne)))
    return text.take("the generation of code failed");
  return joinPtx(ptx);
}

llvm::Expected<Artifact> fa::compileForNvidia(ModuleOp module,
                                              std::vector<KernelInfo> kernels,
                                              const CompileOptions &options) {
  Stopwatch total;
  initializeNvidiaTarget();
  auto info = getNvidiaInfo(options.arch);
  if (!info)
    return info.takeError();
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  GpuCompiler compiler(module, options, *target);
  auto artifact = compiler.keep(std::move(kernels), "cuda");
  if (!artifact)
    return artifact;
  auto parts = compiler.toDialectEach();
  if (!parts)
    return parts.takeError();
  artifact->compileMs.passes = total.elapsed();
  if (auto error = beginPhase(options, "optimization"))
    return error;
  auto ptx = toPtx(std::move(*parts), *info);
  if (!ptx)
    return ptx.takeError();
  artifact->ptx = std::move(*ptx);
  artifact->compileMs.llvm = total.elapsed() - artifact->compileMs.passes;
  Stopwatch assembling;
  if (options.ptxas != "none")
    if (auto error = assemble(*artifact, options))
      return error;
  artifact->compileMs.assembler = assembling.elapsed();
  artifact->compileMs.total = total.elapsed();
  return artifact;
}

llvm::Expected<std::string> fa::emitForNvidia(ModuleOp module,
                                              std::vector<KernelInfo> kernels,
                                              const CompileOptions &options,
                                              Emit form) {
  initializeNvidiaTarget();
  auto info = getNvidiaInfo(options.arch);
  if (!info)
    return info.takeError();
  if (form == Emit::PTX || form == Emit::Cubin || form == Emit::Asm ||
      form == Emit::Object) {
    bool wantsText = form == Emit::PTX || form == Emit::Asm;
    CompileOptions how = options;
    if (wantsText)
      how.ptxas = "none";
    auto artifact = compileForNvidia(module, std::move(kernels), how);
    if (!artifact)
      return artifact.takeError();
    if (!wantsText && artifact->object.empty())
      return llvm::createStringError(
          "expected an assembler for a cubin, found no ptxas on PATH");
    return wantsText ? artifact->ptx : artifact->object;
  }
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  auto toText = [&]() -> llvm::Expected<std::string> {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::TargetMachine> machine;
    DiagnosticText text(module.getContext());
    if (convertsNarrow(module))
      info->ptxVersion = kNarrowPtxVersion;
    auto translated = toLLVM(module, *info, context, machine);
    if (!translated)
      return text.take(toString(translated.takeError()));
    return print(**translated);
  };
  return GpuCompiler(module, options, *target)
      .emit(std::move(kernels), form, toText);
}

//===- fa-opt.cpp - runs passes on textual IR -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "PrintAttributes.h"
#include "PrintLayouts.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "Triton/Triton.h"
#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Conversion/TileGPUToROCDL.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Emulator/Passes.h"
#include "fa/Fusion/Passes.h"
#include "fa/Schedule/Passes.h"
#include "fa/Schedule/PlanText.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

// Options of the tool, not of any library.
static llvm::cl::opt<bool> explainOption(
    "explain",
    llvm::cl::desc("Say for each softmax and dot whether it is fused, and if "
                   "not, why; gives the report, not the program"));
static llvm::cl::opt<bool> printStagesOption(
    "fa-print-stages",
    llvm::cl::desc("Print the program to stderr after each stage"));
static llvm::cl::opt<bool> printPlanOption(
    "print-plan",
    llvm::cl::desc("Print the plan of each kernel, a line each, where "
                   "tgpu-plan-kernels has run, instead of the program"));
static llvm::cl::opt<bool> printAttributesOption(
    "print-attributes",
    llvm::cl::desc("Print the attributes that the dialects have and the facts "
                   "of a launch, as Markdown; reads no program"));
static llvm::cl::opt<std::string> printLayoutOption(
    "fa-print-layout", llvm::cl::ValueOptional,
    llvm::cl::desc("Show each layout of tiles and buffers once, to stderr as "
                   "text or as pictures in a folder (=svg:DIR)"));

namespace {

/// Prints the program where a stage ends: after the stage's verifier.
class StagePrinter final : public PassInstrumentation {
public:
  void runAfterPass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().ends_with("-verify-stage"))
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    pass->printAsTextualPipeline(stream);
    StringRef stage = StringRef(text).split("stage=").second.take_front(2);
    llvm::errs() << "// -----// " << stage << " //----- //\n" << *op << '\n';
  }
};

/// Prints plans where they were made.
class PlanPrinter final : public PassInstrumentation {
public:
  explicit PlanPrinter(raw_ostream &out) : out(out) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() == "tgpu-plan-kernels")
      out << fa::printPlans(cast<ModuleOp>(op));
  }

private:
  raw_ostream &out;
};

} // namespace

/// Parses what is in `buffer` and explains it.
static LogicalResult explainBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                   const DialectRegistry &registry,
                                   raw_ostream &out) {
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  return module ? fa::opt::explain(*module, out) : failure();
}

static LogicalResult run(StringRef input, StringRef output,
                         DialectRegistry &registry) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> out;
  if (buffer)
    out = openOutputFile(output, &error);
  if (!out) {
    llvm::errs() << "fa-opt: error: " << error << '\n';
    return failure();
  }
  LogicalResult result = failure();
  if (explainOption) {
    result = explainBuffer(std::move(buffer), registry, out->os());
  } else {
    std::unique_ptr<PassInstrumentation> layouts;
    if (printLayoutOption.getNumOccurrences()) {
      auto created = fa::opt::createLayoutPrinter(printLayoutOption);
      if (!created) {
        llvm::errs() << "fa-opt: error: " << toString(created.takeError())
                     << '\n';
        return failure();
      }
      layouts = std::move(*created);
    }
    MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
    MlirOptMainConfig asGiven = config;
    config.setPassPipelineSetupFn([&](PassManager &pm) {
      if (printStagesOption) {
        pm.getContext()->disableMultithreading();
        pm.addInstrumentation(std::make_unique<StagePrinter>());
      }
      if (printPlanOption) {
        pm.getContext()->disableMultithreading();
        pm.addInstrumentation(std::make_unique<PlanPrinter>(out->os()));
      }
      if (layouts) {
        pm.getContext()->disableMultithreading();
        pm.addInstrumentation(std::move(layouts));
      }
      return asGiven.setupPassPipeline(pm);
    });
    raw_ostream &program = printPlanOption ? llvm::nulls() : out->os();
    result = MlirOptMain(program, std::move(buffer), registry, config);
  }
  if (succeeded(result))
    out->keep();
  return result;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv); // a crash says where
  // Whatever a pass of ours leaves can be read again.
  DialectRegistry registry;
  registry.insert<fa::tile::TileDialect, fa::tgpu::TileGPUDialect,
                  amx::AMXDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
                  ROCDL::ROCDLDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect, x86vector::X86VectorDialect>();
  fa::triton::registerDialects(registry);
  func::registerInlinerExtension(registry);
  registerTransformsPasses();
  mlir::registerConversionPasses();
  memref::registerMemRefPasses();
  fa::registerEmulatorPasses();
  fa::registerFusionPasses();
  fa::registerConversionPasses();
  fa::registerSchedulePasses();
  fa::registerHostPipelines();
  fa::registerNvidiaPipelines();
  fa::registerAmdPipelines();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "FlashTile's optimiser driver\n", registry);
  if (printAttributesOption) {
    fa::opt::printAttributes(llvm::outs());
    return 0;
  }
  // Exit code 2: bad input; what was found has been said.
  return failed(run(input, output, registry)) ? 2 : 0;
}

//===- CompileKernel.cpp - one kernel of a planned program ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CompileKernel.h"

#include "CompileSteps.h"

#include "Tile/Tile.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace fa;

/// Drops what a launch must know and the code does not depend on: problems that
/// differ in it alone, such as a scale that must be above 0, share the code.
static void dropLaunchFacts(tile::KernelOp kernel) {
  kernel->removeAttr(tile::KernelOp::followsAttrName);
  for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
    kernel.removeArgAttr(n, tile::KernelOp::positiveAttrName);
}

std::vector<std::string> fa::printKernels(ModuleOp module,
                                          ArrayRef<KernelInfo> kernels) {
  std::vector<std::string> texts;
  for (const KernelInfo &kernel : kernels) {
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    part->getOperation()->setAttrs(module->getAttrs());
    // What else there is, a constant table say, may be any kernel's.
    for (Operation &op : *module.getBody()) {
      auto other = dyn_cast<tile::KernelOp>(op);
      if (!other || other.getSymName() == kernel.symbol)
        part->push_back(op.clone());
    }
    dropLaunchFacts(part->lookupSymbol<tile::KernelOp>(kernel.symbol));
    texts.push_back(print(*part));
  }
  return texts;
}

llvm::Expected<Artifact> fa::compileKernel(StringRef text, KernelInfo kernel,
                                           const CompileOptions &options) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  DiagnosticText problems(&context);
  // What this compiler printed: that it was valid, planning has found out.
  auto module = parseSourceString<ModuleOp>(
      text, ParserConfig(&context, /*verifyAfterParse=*/false), kernel.symbol);
  if (!module)
    return problems.take("the kernel's text cannot be read");
  CompileOptions how = options;
  how.kernels.clear();
  std::vector<KernelInfo> kernels = {std::move(kernel)};
  return compilePlanned(*module, std::move(kernels), how);
}

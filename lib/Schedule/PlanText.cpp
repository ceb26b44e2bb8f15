//===- PlanText.cpp - plans of a program's kernels as text ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/PlanText.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fa;

/// Of the dialect, which lines do not repeat.
static constexpr llvm::StringLiteral kPrefix = "#tgpu.";

static void printPlan(tile::KernelOp kernel, llvm::raw_ostream &out) {
  if (kernel.getUnfused()) {
    out << "unfused";
    return;
  }
  Attribute plan = kernel->getAttr(tgpu::TileGPUDialect::planAttrName);
  if (!plan) {
    auto tile =
        kernel->getAttrOfType<DenseI64ArrayAttr>(tile::KernelOp::tileAttrName);
    out << "plan<tile " << (tile ? tile[0] : 0) << 'x' << (tile ? tile[1] : 0)
        << '>';
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  out << StringRef(text).drop_front(kPrefix.size());
}

std::string fa::printPlans(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    out << '@' << kernel.getSymName() << ' ';
    printPlan(kernel, out);
    out << '\n';
  }
  return text;
}

static llvm::Error givePlan(ModuleOp module, StringRef line) {
  auto [name, plan] = line.split(' ');
  auto kernel = name.consume_front("@")
                    ? module.lookupSymbol<tile::KernelOp>(name)
                    : tile::KernelOp();
  if (!kernel) {
    std::string known;
    for (auto each : module.getOps<tile::KernelOp>())
      known += (" @" + each.getSymName()).str();
    return llvm::createStringError("expected one of the kernels" + known +
                                   ", found '" + name + "'");
  }
  std::string problem;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &each) {
    problem += (problem.empty() ? "" : "; ") + each.str();
    return success();
  });
  Attribute attribute =
      parseAttribute((kPrefix + plan.trim()).str(), module.getContext());
  auto given = dyn_cast_if_present<tgpu::PlanAttr>(attribute);
  if (!given)
    return llvm::createStringError("expected plan<...>, found '" + plan.trim() +
                                   "': " + problem);
  kernel->setAttr(tgpu::TileGPUDialect::planAttrName, given);
  return llvm::Error::success();
}

llvm::Error fa::givePlans(ModuleOp module, StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    if (llvm::Error error = givePlan(module, line))
      return llvm::createStringError("plan, line " + Twine(number + 1) + ": " +
                                     toString(std::move(error)));
  }
  return llvm::Error::success();
}

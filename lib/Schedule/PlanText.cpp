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

/// The kernel of a line, "@NAME".
static llvm::Expected<tile::KernelOp> findKernel(ModuleOp module,
                                                 StringRef name) {
  if (name.consume_front("@"))
    if (auto kernel = module.lookupSymbol<tile::KernelOp>(name))
      return kernel;
  std::string known;
  for (auto each : module.getOps<tile::KernelOp>())
    known += (" @" + each.getSymName()).str();
  return llvm::createStringError("expected one of the kernels" + known +
                                 ", found '" + name + "'");
}

static llvm::Error givePlan(ModuleOp module, StringRef line) {
  auto [name, plan] = line.split(' ');
  auto kernel = findKernel(module, name);
  if (!kernel)
    return kernel.takeError();
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
  (*kernel)->setAttr(tgpu::TileGPUDialect::planAttrName, given);
  return llvm::Error::success();
}

/// Calls `read` with each line of `text` that says something. An error gets the
/// number of its line.
static llvm::Error readLines(StringRef text,
                             llvm::function_ref<llvm::Error(StringRef)> read) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    if (llvm::Error error = read(line))
      return llvm::createStringError("plan, line " + Twine(number + 1) + ": " +
                                     toString(std::move(error)));
  }
  return llvm::Error::success();
}

llvm::Error fa::givePlans(ModuleOp module, StringRef text) {
  return readLines(text,
                   [&](StringRef line) { return givePlan(module, line); });
}

llvm::Error fa::checkPlans(ModuleOp module, StringRef text) {
  return readLines(text, [&](StringRef line) -> llvm::Error {
    auto kernel = findKernel(module, line.split(' ').first);
    if (!kernel)
      return kernel.takeError();
    std::string is;
    llvm::raw_string_ostream out(is);
    printPlan(*kernel, out);
    StringRef said = line.split(' ').second.trim();
    if (said == is)
      return llvm::Error::success();
    return llvm::createStringError("expected " + is +
                                   ", as it is on a host, "
                                   "found " +
                                   said);
  });
}

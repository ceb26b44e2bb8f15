//===- DescribePlan.cpp - what a plan is, for the C interface -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/DescribePlan.h"

#include "fa/Fusion/Passes.h"
#include "fa/Fusion/QueryRange.h"
#include "fa/Target/Bundle.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fa;

static json::Object describeKernel(const KernelInfo &kernel) {
  json::Object object{{"name", kernel.symbol},
                      {"entry", kernel.entry},
                      {"tile", formatSizes(kernel.tile)},
                      {"unfused", kernel.unfused},
                      {"scratch_bytes", kernel.scratchBytes}};
  if (kernel.threads) {
    object["block"] = kernel.threads;
    object["shared_bytes"] = kernel.sharedBytes;
    object["stages"] = kernel.stages;
    object["registers"] = kernel.registers;
    object["stack_bytes"] = kernel.stackBytes;
    object["spill_bytes"] = kernel.spillBytes;
  }
  return object;
}

std::string fa::describePlan(const LoadedPlan &plan, const TritonPlan *triton) {
  const Artifact &artifact = plan.artifact();
  json::Array kernels;
  for (const KernelInfo &kernel : artifact.kernels)
    kernels.push_back(describeKernel(kernel));
  json::Object object{{"target", artifact.target},
                      {"arch", artifact.arch},
                      {"kernels", std::move(kernels)},
                      {"object_bytes", int64_t(artifact.object.size())},
                      {"compile_ms", artifact.compileMs.total},
                      {"passes_ms", artifact.compileMs.passes},
                      {"llvm_ms", artifact.compileMs.llvm},
                      {"assembler_ms", artifact.compileMs.assembler},
                      {"assembler", artifact.assembler},
                      {"cache", name(plan.cache)},
                      {"llvm", llvmVersion()}};
  if (triton) {
    if (!triton->report().empty())
      object["raised"] = json::Array(triton->report());
    if (std::string why = triton->notRaised(); !why.empty())
      object["not_raised"] = std::move(why);
  }
  return formatv("{0}", json::Value(std::move(object))).str();
}

faPlanInfo fa::planInfo(const LoadedPlan &plan, unsigned threads) {
  const Artifact &artifact = plan.artifact();
  faPlanInfo info{};
  info.size = sizeof info;
  info.target = artifact.target.c_str();
  info.arch = artifact.arch.c_str();
  info.llvm = llvmVersion().data(); // a literal
  info.assembler = artifact.assembler.c_str();
  info.numKernels = static_cast<uint32_t>(artifact.kernels.size());
  info.cache = static_cast<faCacheOutcome>(plan.cache);
  info.compileMs = artifact.compileMs.total;
  info.passesMs = artifact.compileMs.passes;
  info.llvmMs = artifact.compileMs.llvm;
  info.assemblerMs = artifact.compileMs.assembler;
  info.codeSize = codeOf(artifact).size();
  for (const KernelInfo &kernel : artifact.kernels)
    if (plan.host)
      info.workspaceSize = std::max<size_t>(
          info.workspaceSize, size_t(kernel.scratchBytes) * threads);
  return info;
}

faKernelInfo fa::kernelInfo(const KernelInfo &kernel) {
  faKernelInfo info{};
  info.size = sizeof info;
  info.name = kernel.symbol.c_str();
  info.unfused = kernel.unfused;
  if (kernel.tile.size() == 2) {
    info.tileQ = kernel.tile[0];
    info.tileKv = kernel.tile[1];
  }
  info.scratchBytes = kernel.scratchBytes;
  info.threads = kernel.threads;
  info.sharedBytes = kernel.sharedBytes;
  info.stages = kernel.stages;
  info.registers = kernel.registers;
  info.stackBytes = kernel.stackBytes;
  info.spillBytes = kernel.spillBytes;
  return info;
}

/// Whether each interval has an upper or a lower bound that `counts`.
static bool isBounded(const MaskRule &rule, bool upper,
                      function_ref<bool(const KeyBound &)> counts) {
  return all_of(rule.intervals, [&](const KeyInterval &interval) {
    return any_of(interval.bounds, [&](const KeyBound &bound) {
      return bound.upper == upper && counts(bound);
    });
  });
}

/// What a kernel knows of the keys that its queries see, and one of gradients
/// of keys of the queries that see them.
static json::Object describeMask(tile::AttentionOp op) {
  if (op.getMask().empty())
    return json::Object{{"mask", "none"}};
  MaskRule rule = analyzeMask(op.getMask()),
           ofKeys = analyzeMaskOfKeys(op.getMask());
  auto any = [](const KeyBound &) { return true; };
  auto turned = [](const KeyBound &bound) {
    return all_of(bound.forms, isTurned);
  };
  auto kind = [](bool isIntervals) {
    return isIntervals ? "intervals" : "elements";
  };
  return json::Object{
      {"mask", kind(rule.isIntervals())},
      {"has_lower_bound", isBounded(rule, /*upper=*/false, any)},
      {"has_upper_bound", isBounded(rule, /*upper=*/true, any)},
      {"queries", kind(hasQueryIntervals(ofKeys))},
      {"has_lower_query_bound", isBounded(ofKeys, /*upper=*/true, turned)},
      {"has_upper_query_bound", isBounded(ofKeys, /*upper=*/false, turned)}};
}

Expected<std::string> fa::describeModule(mlir::ModuleOp module) {
  mlir::PassManager pm(module.getContext());
  buildFusionPipeline(pm, FusionOptions());
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          errors += diagnostic.str() + "\n";
        return mlir::success();
      });
  if (failed(pm.run(module)))
    return createStringError(StringRef(errors).rtrim());
  json::Array attentions;
  module.walk([&](tile::AttentionOp op) {
    auto function = op->getParentOfType<mlir::FunctionOpInterface>();
    json::Object found = describeMask(op);
    found["function"] = function.getName();
    attentions.push_back(std::move(found));
  });
  json::Object object{{"attentions", std::move(attentions)}};
  return formatv("{0}", json::Value(std::move(object))).str();
}

std::string fa::explainUnfused(mlir::ModuleOp module) {
  std::string reasons;
  raw_string_ostream out(reasons);
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        out << (reasons.empty() ? "" : "\n") << diagnostic.getLocation() << ": "
            << diagnostic;
        return mlir::success();
      });
  mlir::PassManager pm(module.getContext());
  buildFusionPipeline(pm, FusionOptions());
  pm.addPass(createTileOnlineSoftmax());
  pm.addPass(createTileSplitFunction());
  pm.addPass(createTileSplitTensors());
  if (failed(pm.run(module)) || reasons.empty())
    return "no attention was found";
  return reasons;
}

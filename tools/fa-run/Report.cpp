//===- Report.cpp - what fa-run says --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace fa;
using namespace fa::run;

static std::string gridOf(const Report &report, const KernelInfo &kernel) {
  const Execution &execution = report.execution;
  KernelArguments all(
      {execution.kernels, execution.splits, execution.workspaceBytes},
      report.job.arguments, Workspace());
  std::string text;
  for (const SizeExpr &extent : kernel.grid) {
    auto value = extent.evaluate([&](int64_t argument, int64_t dim) {
      return all.get()[argument].sizes[dim];
    });
    text += (text.empty() ? "" : "x") + std::to_string(value.value_or(0));
  }
  return text;
}

/// What a launch chooses from.
static int64_t countVariants(const Artifact &artifact) {
  return count_if(artifact.kernels,
                  [](const KernelInfo &kernel) { return !kernel.follows; });
}

static void printKernel(const Report &report, const KernelInfo &kernel,
                        raw_ostream &out) {
  out << "kernel   @" << kernel.symbol;
  if (kernel.unfused)
    out << ", not fused: one program on whole tensors, slow (fa-opt --explain)";
  if (kernel.noAttention)
    out << ", no attention found (fa-opt --explain)";
  out << ", grid " << gridOf(report, kernel);
  if (!kernel.tile.empty())
    out << ", tile " << formatSizes(kernel.tile);
  if (kernel.threads)
    out << ", " << kernel.threads << " threads, " << kernel.stages
        << " stages, " << kernel.sharedBytes << " bytes shared";
  else
    out << ", scratch " << kernel.scratchBytes / 1024 << " KiB a thread";
  if (kernel.registers >= 0)
    out << ", " << kernel.registers << " registers";
  if (kernel.follows)
    out << ", after the one above\n";
  else
    out << ", one of " << countVariants(report.execution.artifact)
        << " variants\n";
}

static void printWorkspace(const Execution &execution, raw_ostream &out) {
  if (execution.splits == 1 && execution.workspaceBytes)
    out << "memory   workspace " << execution.workspaceBytes << " bytes\n";
  if (execution.splits > 1)
    out << "splits   " << execution.splits << " of the keys, workspace "
        << execution.workspaceBytes << " bytes\n";
}

/// Where most bank conflicts are.
static void printConflicts(const EmulatorCounters &counters, raw_ostream &out) {
  constexpr size_t kMostPlaces = 8;
  SmallVector<std::pair<int64_t, StringRef>> places;
  for (const auto &entry : counters.conflictsAt)
    places.push_back({-entry.second, entry.first()});
  llvm::sort(places);
  for (auto [conflicts, place] : ArrayRef(places).take_front(kMostPlaces))
    out << "conflicts " << -conflicts << " at " << place << "\n";
  if (places.size() > kMostPlaces)
    out << "conflicts at " << places.size() - kMostPlaces << " other places\n";
}

static void printCounters(const Report &report, raw_ostream &out) {
  if (!report.execution.counters)
    return;
  const EmulatorCounters &c = *report.execution.counters;
  out << "counters shared: " << c.sharedRequests << " requests, "
      << c.bankConflicts << " bank conflicts; global: " << c.globalRequests
      << " requests, " << c.globalSectors << " sectors; " << c.mma << " mma, "
      << c.matrixLoads << " ldmatrix, " << c.asyncCopies << " cp.async, "
      << c.shuffles << " shuffles, " << c.barriers << " barriers";
  if (c.boxes)
    out << "; " << c.boxes << " boxes of " << c.boxBytes << " bytes";
  if (c.mmaTf32)
    out << "; " << c.mmaTf32 << " mma m16n8k8";
  for (auto [n, count] : enumerate(c.products))
    if (count)
      out << ", " << count << " wgmma m64n" << 8 * n << "k16";
  out << "\n";
  printConflicts(c, out);
}

static json::Value jsonCounters(const Report &report) {
  if (!report.execution.counters)
    return nullptr;
  return toJson(*report.execution.counters);
}

static void printCompilation(const Execution &execution, raw_ostream &out) {
  const CompileTimes &times = execution.artifact.compileMs;
  if (execution.cache == CacheOutcome::Hit) {
    out << format("compile  none: found in the cache in %.1f ms\n",
                  times.total);
    return;
  }
  out << format("compile  %.0f ms (passes %.0f, LLVM %.0f", times.total,
                times.passes, times.llvm);
  if (!execution.artifact.assembler.empty())
    out << format(", ptxas %.0f", times.assembler);
  out << ")\n";
}

void fa::run::printReport(const Report &report, raw_ostream &out) {
  const Artifact &artifact = report.execution.artifact;
  out << "program  " << report.job.program << "\n";
  out << "target   " << artifact.target << " (" << artifact.arch << "), "
      << report.execution.device << ", LLVM " << llvmVersion();
  if (!artifact.assembler.empty())
    out << ", ptxas " << artifact.assembler;
  out << "\n";
  for (const KernelInfo &kernel : report.execution.kernels)
    printKernel(report, kernel, out);
  printWorkspace(report.execution, out);
  if (!report.job.tuned.empty())
    out << "tuning   " << report.job.tuned << ", of " << report.options.tuning
        << "\n";
  printCompilation(report.execution, out);
  const Timing &t = report.execution.timing;
  out << format("time     %.3f ms", t.median);
  if (t.runs > 1)
    out << " median of " << t.runs << format(" (%.3f to %.3f)", t.min, t.max);
  if (report.job.problem && t.median > 0)
    out << format(", %.1f GFLOP/s",
                  report.job.problem->flops() / t.median / 1e6);
  out << "\n";
  printCounters(report, out);
  for (const OutputCheck &check : report.checks) {
    out << "check    " << check.name
        << format(": max error %.3g (unfused %.3g, bound %.3g), mean %.3g "
                  "(unfused %.3g) ",
                  check.max, check.e0Max, check.bound, check.mean, check.e0Mean)
        << (check.pass ? "PASS" : "FAIL");
    if (check.contractOnly)
      out << " (special values only: the type is too narrow for this input)";
    out << "\n";
    if (!check.pass)
      out << "         " << check.why << "\n";
  }
}

/// NaN and infinities are not JSON.
static json::Value number(double x) {
  return std::isfinite(x) ? json::Value(x) : json::Value(nullptr);
}

static json::Object jsonProblem(const AttentionProblem &p) {
  json::Object object{{"b", p.batch},        {"hq", p.numHeads},
                      {"hkv", p.numKvHeads}, {"sq", p.seqQ},
                      {"sk", p.seqKv},       {"d", p.headDim},
                      {"dv", p.headDimV},    {"type", StringRef(name(p.type))},
                      {"spec", p.str()}};
  return object;
}

static json::Object jsonKernel(const Report &report, const KernelInfo &kernel) {
  bool isGpu = kernel.threads;
  auto known = [](int64_t value) {
    return value >= 0 ? json::Value(value) : json::Value(nullptr);
  };
  return json::Object{
      {"name", kernel.symbol},
      {"grid", gridOf(report, kernel)},
      {"block", isGpu ? json::Value(kernel.threads) : nullptr},
      {"tile", formatSizes(kernel.tile)},
      {"stages", isGpu ? json::Value(kernel.stages) : nullptr},
      {"registers", known(kernel.registers)},
      {"shared_bytes", isGpu ? kernel.sharedBytes : kernel.scratchBytes},
      {"stack_bytes", known(kernel.stackBytes)},
      {"spill_bytes", known(kernel.spillBytes)}};
}

/// What did not run was not measured.
static json::Object jsonCompilation(const Execution &execution) {
  const CompileTimes &times = execution.artifact.compileMs;
  auto measured = [&](double ms, bool ran = true) {
    return ran && execution.cache != CacheOutcome::Hit ? json::Value(ms)
                                                       : json::Value(nullptr);
  };
  return json::Object{
      {"total", times.total},
      {"passes", measured(times.passes)},
      {"llvm", measured(times.llvm)},
      {"assembler",
       measured(times.assembler, !execution.artifact.assembler.empty())}};
}

void fa::run::printJson(const Report &report, raw_ostream &out) {
  const Timing &t = report.execution.timing;
  bool isAttention = report.job.problem.has_value() && t.median > 0;
  json::Array outputs, kernels;
  for (const KernelInfo &kernel : report.execution.kernels)
    kernels.push_back(jsonKernel(report, kernel));
  bool pass = true;
  for (const OutputCheck &check : report.checks) {
    pass &= check.pass;
    outputs.push_back(json::Object{{"name", check.name},
                                   {"pass", check.pass},
                                   {"max", number(check.max)},
                                   {"mean", number(check.mean)},
                                   {"e0_max", number(check.e0Max)},
                                   {"e0_mean", number(check.e0Mean)},
                                   {"bound", number(check.bound)}});
  }
  auto perSecond = [&](double amount, double unit) {
    return isAttention ? number(amount / t.median / unit)
                       : json::Value(nullptr);
  };
  json::Array variants;
  for (const KernelInfo &kernel : report.execution.artifact.kernels)
    variants.push_back(kernel.symbol);
  const std::string &assembler = report.execution.artifact.assembler;
  const AttentionProblem p = report.job.problem.value_or(AttentionProblem());
  json::Object object{
      {"program", report.job.program},
      {"target", report.execution.artifact.target},
      {"arch", report.execution.artifact.arch},
      {"problem",
       report.job.problem ? json::Value(jsonProblem(p)) : json::Value(nullptr)},
      {"time_ms", json::Object{{"median", t.median},
                               {"min", t.min},
                               {"max", t.max},
                               {"runs", t.runs}}},
      {"tflops", perSecond(p.flops(), 1e9)},
      {"gbps", perSecond(p.kvBytes(), 1e6)},
      {"peak_share", nullptr},
      {"launch_us", nullptr},
      {"compile_ms", jsonCompilation(report.execution)},
      {"cache", name(report.execution.cache)},
      {"pass",
       report.checks.empty() ? json::Value(nullptr) : json::Value(pass)},
      {"outputs", std::move(outputs)},
      {"kernels", std::move(kernels)},
      {"variants", std::move(variants)},
      {"splits", report.execution.splits},
      {"workspace_bytes", int64_t(report.execution.workspaceBytes)},
      {"counters", jsonCounters(report)},
      {"tools",
       json::Object{{"llvm", llvmVersion()},
                    {"ptxas", assembler.empty() ? json::Value(nullptr)
                                                : json::Value(assembler)}}}};
  out << json::Value(std::move(object)) << "\n";
}

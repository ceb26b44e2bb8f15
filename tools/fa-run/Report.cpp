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

static std::string gridOf(const Report &report) {
  std::string text;
  for (const SizeExpr &extent : report.kernel.grid) {
    auto value = extent.evaluate([&](int64_t argument, int64_t dim) {
      return report.job.arguments[argument].sizes[dim];
    });
    text += (text.empty() ? "" : "x") + std::to_string(value.value_or(0));
  }
  return text;
}

void fa::run::printReport(const Report &report, raw_ostream &out) {
  const Artifact &artifact = report.artifact;
  out << "program  " << report.job.program << "\n";
  out << "target   " << artifact.target << " (" << artifact.arch << "), "
      << report.threads << " threads, LLVM " << llvmVersion() << "\n";
  out << "kernel   @" << report.kernel.symbol;
  if (report.kernel.unfused)
    out << ", not fused: one program on whole tensors, slow (fa-opt --explain)";
  out << ", grid " << gridOf(report);
  if (!report.kernel.tile.empty())
    out << ", tile " << formatSizes(report.kernel.tile);
  out << ", scratch " << report.kernel.scratchBytes / 1024
      << " KiB a thread, one of " << artifact.kernels.size() << " variants\n";
  out << format("compile  %.0f ms (passes %.0f, LLVM %.0f)\n",
                artifact.compileMs.total, artifact.compileMs.passes,
                artifact.compileMs.llvm);
  const Timing &t = report.timing;
  out << format("time     %.3f ms", t.median);
  if (t.runs > 1)
    out << " median of " << t.runs << format(" (%.3f to %.3f)", t.min, t.max);
  if (report.job.problem && t.median > 0)
    out << format(", %.1f GFLOP/s",
                  report.job.problem->flops() / t.median / 1e6);
  out << "\n";
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
  json::Object object{
      {"b", p.batch},     {"hq", p.numHeads},     {"hkv", p.numKvHeads},
      {"sq", p.seqQ},     {"sk", p.seqKv},        {"d", p.headDim},
      {"dv", p.headDimV}, {"type", name(p.type)}, {"spec", p.str()}};
  return object;
}

static json::Object jsonKernel(const Report &report) {
  const KernelInfo &kernel = report.kernel;
  return json::Object{{"name", kernel.symbol},
                      {"grid", gridOf(report)},
                      {"block", nullptr},
                      {"tile", formatSizes(kernel.tile)},
                      {"stages", nullptr},
                      {"registers", nullptr},
                      {"shared_bytes", kernel.scratchBytes},
                      {"stack_bytes", nullptr},
                      {"spill_bytes", nullptr}};
}

void fa::run::printJson(const Report &report, raw_ostream &out) {
  const Timing &t = report.timing;
  bool isAttention = report.job.problem.has_value() && t.median > 0;
  json::Array outputs;
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
  const AttentionProblem p = report.job.problem.value_or(AttentionProblem());
  json::Object object{
      {"program", report.job.program},
      {"target", report.artifact.target},
      {"arch", report.artifact.arch},
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
      {"compile_ms", json::Object{{"total", report.artifact.compileMs.total},
                                  {"passes", report.artifact.compileMs.passes},
                                  {"llvm", report.artifact.compileMs.llvm},
                                  {"assembler", nullptr}}},
      {"cache", "off"},
      {"pass",
       report.checks.empty() ? json::Value(nullptr) : json::Value(pass)},
      {"outputs", std::move(outputs)},
      {"kernels", json::Array{jsonKernel(report)}},
      {"tools", json::Object{{"llvm", llvmVersion()}, {"ptxas", nullptr}}}};
  out << json::Value(std::move(object)) << "\n";
}

//===- ParseBundle.cpp - bundle.json as a plan ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "fa/Launch/BundleFormat.h"
#include "fa/Loader/Bundle.h"

using namespace fa;

/// A name of an enum, by its own parser.
template <typename T>
static T parseName(const JsonCursor &json,
                   std::optional<T> (*parse)(std::string_view)) {
  auto value = parse(json.string());
  if (!value)
    json.fail("'", json.string(), "' is not known");
  return value.value_or(T());
}

/// Sizes or strides; null is one that only a launch knows.
static std::vector<int64_t> parseSizes(const JsonCursor &json) {
  std::vector<int64_t> sizes;
  sizes.reserve(json.size());
  for (size_t d = 0; d < json.size(); ++d)
    sizes.push_back(json[d].isNull() ? kDynamic : json[d].integer(0));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Facts: an overload for each type that KernelFacts.def has
//===----------------------------------------------------------------------===//

static void readFact(const JsonCursor &json, std::string &text, FactRange) {
  text = json.string();
}

static void readFact(const JsonCursor &json, bool &flag, FactRange) {
  flag = json.boolean();
}

static void readFact(const JsonCursor &json, int64_t &number, FactRange range) {
  number = json.integer(range.least);
  if (number > range.most)
    json.fail("expected at most ", range.most, ", found ", number);
}

static void readFact(const JsonCursor &json, std::vector<int64_t> &sizes,
                     FactRange) {
  sizes = parseSizes(json);
}

static void readFact(const JsonCursor &json, ArgumentInfo &info, FactRange) {
  info.type = parseName(json["type"], parseElementType);
  const std::string &kind = json["kind"].string();
  info.isMemRef = kind == "tensor";
  if (!info.isMemRef) {
    if (kind != "scalar")
      json["kind"].fail("expected tensor or scalar, found '", kind, "'");
    info.positive = json["positive"].boolean();
    return;
  }
  info.sizes = parseSizes(json["sizes"]);
  info.strides = parseSizes(json["strides"]);
  info.alignment = json["alignment"].integer(1);
  info.access = parseName(json["access"], parseAccess);
}

static void readFact(const JsonCursor &json, SizeRule &rule, FactRange) {
  rule = {parseName(json["kind"], parseRuleKind),
          json["argument"].integer(),
          json["dim"].integer(),
          json["other"].integer(),
          json["other_dim"].integer(),
          json["factor"].integer()};
}

static void readFact(const JsonCursor &json, TensorMapInfo &map, FactRange) {
  map = {json["argument"].integer(),
         json["row_dim"].integer(),
         json["rows"].integer(),
         json["columns"].integer(),
         json.has("joined") && json["joined"].boolean(),
         json.has("paged") && json["paged"].boolean(),
         json.has("head_dim") ? json["head_dim"].integer() : -1};
}

/// A postfix program: numbers, ["size", argument, dim] and names of operations.
static void readFact(const JsonCursor &json, SizeExpr &expr, FactRange) {
  for (size_t n = 0; n < json.size(); ++n) {
    JsonCursor step = json[n];
    if (step.isInteger()) {
      expr.steps.push_back({SizeExpr::Const, step.integer()});
    } else if (step.isArray()) {
      if (step[size_t(0)].string() != name(SizeExpr::Size) || step.size() != 3)
        step.fail("expected [\"size\", argument, dimension]");
      expr.steps.push_back(
          {SizeExpr::Size, step[1].integer(0), step[2].integer(0)});
    } else {
      expr.steps.push_back({parseName(step, parseOpcode)});
    }
  }
}

static void readFact(const JsonCursor &json, WorkspaceInfo &workspace,
                     FactRange range);

template <typename T>
static void readFact(const JsonCursor &json, std::vector<T> &list,
                     FactRange range) {
  list.resize(json.size());
  for (size_t n = 0; n < list.size(); ++n)
    readFact(json[n], list[n], range);
}

static void readFact(const JsonCursor &json, WorkspaceInfo &workspace,
                     FactRange range) {
  readFact(json, workspace.sizes, range);
}

static KernelInfo parseKernel(const JsonCursor &json) {
  KernelInfo kernel;
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  if (FactSince::SINCE == FactSince::Always || json.has(KEY))                  \
    readFact(json[KEY], kernel.MEMBER, RANGE);
#include "fa/Launch/KernelFacts.def"
  return kernel;
}

/// Before `kCostsVersion` they were the H200's, whatever the card, and what
/// later versions brought is so in older ones.
static LaunchCosts parseCosts(const JsonCursor &json, int64_t version) {
  LaunchCosts costs;
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  if (version >= SINCE)                                                        \
    readFact(json[KEY], costs.MEMBER, between(LEAST, MOST));
#include "fa/Support/LaunchCosts.def"
  return costs;
}

/// A name without a folder in it: a bundle does not reach out of its own.
static std::string parseFileName(const JsonCursor &json) {
  const std::string &file = json.string();
  if (file.empty() || file[0] == '.' ||
      file.find_first_of("/\\") != file.npos || file.find('\0') != file.npos)
    json.fail("expected the name of a file in the bundle, found '", file, "'");
  return file;
}

/// Whether code of this form is what the target runs.
static bool hasForm(const BundleTarget &target) {
  if (target.target == "cuda")
    return target.form == "cubin" || target.form == "ptx";
  return target.target == "hip"
             ? target.form == "hsaco"
             : target.target == "cpu" && target.form == "object";
}

static BundleTarget parseTarget(const JsonCursor &json, int64_t version) {
  BundleTarget target;
  target.target = json["target"].string();
  target.arch = json["arch"].string();
  target.features = json["features"].string();
  target.assembler = json["assembler"].string();
  target.form = json["form"].string();
  target.file = parseFileName(json["file"]);
  target.computeCapability = json["compute_capability"].integer(0);
  target.archSpecific = json["arch_specific"].boolean();
  target.bytes = json["bytes"].integer(0);
  target.sum = json["checksum"].string();
  if (!hasForm(target))
    json.fail("expected a cubin or ptx for cuda, an hsaco for hip or an object "
              "for cpu, found '",
              target.form, "' for '", target.target, "'");
  if (target.target != "cpu" && version >= kCostsVersion)
    target.costs = parseCosts(json["costs"], version);
  JsonCursor kernels = json["kernels"];
  for (size_t n = 0; n < kernels.size(); ++n) {
    KernelInfo kernel = parseKernel(kernels[n]);
    if (target.target != "cpu" && kernel.threads < 1)
      kernels[n].fail("expected at least 1 thread, found ", kernel.threads);
    // What every bundle for such a card has had: without it a launch would take
    // arguments that the code does not reach.
    if (target.target == "hip")
      (void)kernels[n]["row_step_limit"].integer();
    target.kernels.push_back(std::move(kernel));
  }
  if (target.kernels.empty())
    kernels.fail("expected at least one kernel, found none");
  else if (Failure failure = checkPlan(target.kernels))
    kernels.fail(failure.message());
  return target;
}

Result<Bundle> fa::parseBundleMetadata(std::string text) {
  auto value = parseJson(text);
  if (!value)
    return makeFailure(kBundleMetadata, ": ", value.takeFailure().message());
  Failure failure;
  JsonCursor json(*value, failure);
  int64_t version = json["flashtile_bundle"].integer();
  if (version < kOldestBundleVersion || version > kBundleVersion)
    json.fail("expected a bundle of version ", kOldestBundleVersion, " to ",
              kBundleVersion, ", found version ", version);
  Bundle bundle;
  bundle.entry = json["entry"].string();
  if (json["select"].string() != kBundleSelection)
    json["select"].fail("expected '", kBundleSelection, "', found '",
                        json["select"].string(), "'");
  JsonCursor targets = json["targets"];
  for (size_t n = 0; n < targets.size(); ++n)
    bundle.targets.push_back(parseTarget(targets[n], version));
  if (bundle.targets.empty())
    targets.fail("expected at least one target, found none");
  if (failure)
    return failure;
  bundle.metadata = std::move(text);
  return bundle;
}

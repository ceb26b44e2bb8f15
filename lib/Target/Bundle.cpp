//===- Bundle.cpp - artifacts as files of an application ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Bundle.h"

#include "BundleHeader.h"

#include "fa/Launch/BundleFormat.h"
#include "fa/Launch/Checksum.h"
#include "fa/Machine/NvidiaInfo.h"
#include "fa/Target/Compile.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

// What a fact is in JSON: an overload for each type that KernelFacts.def has.

static json::Value toJson(const std::string &text) { return text; }
static json::Value toJson(bool flag) { return flag; }
static json::Value toJson(int64_t number) { return number; }

/// Sizes or strides; null is one that only a launch knows.
static json::Value toJson(const std::vector<int64_t> &sizes) {
  json::Array array;
  for (int64_t size : sizes)
    array.push_back(size == kDynamic ? json::Value(nullptr)
                                     : json::Value(size));
  return array;
}

static json::Value toJson(const ArgumentInfo &info) {
  StringRef type = name(info.type), access = name(info.access);
  if (!info.isMemRef)
    return json::Object{
        {"kind", "scalar"}, {"type", type}, {"positive", info.positive}};
  return json::Object{{"kind", "tensor"},
                      {"type", type},
                      {"sizes", toJson(info.sizes)},
                      {"strides", toJson(info.strides)},
                      {"alignment", info.alignment},
                      {"access", access}};
}

static json::Value toJson(const SizeRule &rule) {
  return json::Object{{"kind", StringRef(name(rule.kind))},
                      {"argument", rule.argument},
                      {"dim", rule.dim},
                      {"other", rule.other},
                      {"other_dim", rule.otherDim},
                      {"factor", rule.factor}};
}

static json::Value toJson(const TensorMapInfo &map) {
  json::Object object{{"argument", map.argument},
                      {"row_dim", map.rowDim},
                      {"rows", map.rows},
                      {"columns", map.columns}};
  if (map.joined)
    object["joined"] = true;
  if (map.headDim >= 0)
    object["head_dim"] = map.headDim;
  if (map.paged)
    object["paged"] = true;
  return object;
}

/// A postfix program: numbers, ["size", argument, dim] and names of operations.
static json::Value toJson(const SizeExpr &expr) {
  json::Array steps;
  for (const SizeExpr::Step &step : expr.steps) {
    StringRef opcode = name(step.opcode);
    if (step.opcode == SizeExpr::Const)
      steps.push_back(step.a);
    else if (step.opcode == SizeExpr::Size)
      steps.push_back(json::Array{opcode, step.a, step.b});
    else
      steps.push_back(opcode);
  }
  return steps;
}

static json::Value toJson(const WorkspaceInfo &workspace);

template <typename T> static json::Value toJson(const std::vector<T> &list) {
  json::Array array;
  for (const T &element : list)
    array.push_back(toJson(element));
  return array;
}

static json::Value toJson(const WorkspaceInfo &workspace) {
  return toJson(workspace.sizes);
}

static json::Object jsonCosts(const LaunchCosts &costs) {
  json::Object object;
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  object[KEY] = costs.MEMBER;
#include "fa/Support/LaunchCosts.def"
  return object;
}

static json::Object jsonKernel(const KernelInfo &kernel) {
  json::Object object;
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  object[KEY] = toJson(kernel.MEMBER);
#include "fa/Launch/KernelFacts.def"
  return object;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

static StringRef formOf(const Artifact &artifact) {
  if (artifact.target == "cpu")
    return "object";
  if (artifact.target == "hip")
    return "hsaco";
  return artifact.object.empty() ? "ptx" : "cubin";
}

/// A build system knows an object's name without knowing the CPU.
static std::string codeName(const Artifact &artifact) {
  std::string entry = artifact.kernels.back().entry;
  if (artifact.target == "cpu")
    return entry + ".cpu.o";
  return entry + "." + artifact.arch + "." + formOf(artifact).str();
}

const std::string &fa::codeOf(const Artifact &artifact) {
  return formOf(artifact) == "ptx" ? artifact.ptx : artifact.object;
}

static Expected<json::Object> jsonTarget(const Artifact &artifact,
                                         const BundleFile &code) {
  int64_t capability = 0;
  bool archSpecific = false;
  if (isNvidiaArch(artifact.arch)) {
    auto info = getNvidiaInfo(artifact.arch);
    if (!info)
      return info.takeError();
    capability = info->computeCapability;
    archSpecific = info->hasWarpgroups;
  }
  json::Array kernels;
  for (const KernelInfo &kernel : artifact.kernels)
    kernels.push_back(jsonKernel(kernel));
  json::Object target{{"target", artifact.target},
                      {"arch", artifact.arch},
                      {"features", artifact.features},
                      {"compute_capability", capability},
                      {"arch_specific", archSpecific},
                      {"form", formOf(artifact)},
                      {"file", code.name},
                      {"bytes", int64_t(code.bytes.size())},
                      {"checksum", checksum(code.bytes)},
                      {"assembler", artifact.assembler},
                      {"kernels", std::move(kernels)}};
  if (artifact.target != "cpu")
    target["costs"] = jsonCosts(artifact.costs);
  return target;
}

/// One program's functions have one name each: two CPUs in one program would be
/// two definitions of it.
static Error checkArtifacts(ArrayRef<Artifact> artifacts) {
  StringSet<> seen;
  for (const Artifact &artifact : artifacts)
    if (!seen.insert(artifact.target == "cpu" ? "a CPU" : artifact.arch).second)
      return createStringError(
          "a bundle: expected each architecture once and one CPU at most, "
          "found another " +
          artifact.arch);
  return Error::success();
}

static std::string printMetadata(StringRef entry, json::Array targets) {
  json::Object metadata{{"flashtile_bundle", kBundleVersion},
                        {"entry", entry},
                        {"select", kBundleSelection},
                        {"llvm", llvmVersion()},
                        {"targets", std::move(targets)}};
  return formatv("{0:2}\n", json::Value(std::move(metadata))).str();
}

Expected<std::string> fa::makeBundleMetadata(const Artifact &artifact) {
  assert(!artifact.kernels.empty() && "a bundle has kernels");
  auto target = jsonTarget(artifact, {codeName(artifact), codeOf(artifact)});
  if (!target)
    return target.takeError();
  return printMetadata(artifact.kernels.back().entry,
                       json::Array{std::move(*target)});
}

Expected<std::vector<BundleFile>> fa::makeBundle(ArrayRef<Artifact> artifacts) {
  assert(!artifacts.empty() && "a bundle has code");
  if (Error error = checkArtifacts(artifacts))
    return error;
  const std::string &entry = artifacts.front().kernels.back().entry;
  std::vector<BundleFile> objects, files;
  json::Array targets;
  for (const Artifact &artifact : artifacts) {
    bool isObject = artifact.target == "cpu";
    const BundleFile &code =
        (isObject ? objects : files)
            .emplace_back(BundleFile{codeName(artifact), codeOf(artifact)});
    auto target = jsonTarget(artifact, code);
    if (!target)
      return target.takeError();
    targets.push_back(std::move(*target));
  }
  files.push_back({kBundleMetadata, printMetadata(entry, std::move(targets))});
  objects.push_back({entry + ".h", bundleHeader(artifacts, files)});
  append_range(objects, files);
  return objects;
}

Error fa::writeBundle(StringRef directory, ArrayRef<BundleFile> files) {
  if (std::error_code error = sys::fs::create_directories(directory))
    return createStringError(error, "cannot create '" + directory +
                                        "': " + error.message());
  for (const BundleFile &file : files) {
    SmallString<128> path(directory);
    sys::path::append(path, file.name);
    if (Error error = writeToOutput(path, [&](raw_ostream &out) {
          out << file.bytes;
          return Error::success();
        }))
      return error;
  }
  return Error::success();
}

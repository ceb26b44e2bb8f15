//===- HostInfo.cpp - facts about host architectures ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/HostInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <memory>

using namespace llvm;
using namespace fa;

namespace {
/// One line a vector extension, widest first: the first that a CPU has counts.
struct VectorFacts {
  Triple::ArchType arch;
  StringLiteral feature;
  int64_t bits, registers;
};
} // namespace

static constexpr VectorFacts kVectors[] = {
    {Triple::x86_64, "avx512f", 512, 32},
    {Triple::x86_64, "avx2", 256, 16},
    {Triple::x86_64, "sse2", 128, 16},
    {Triple::aarch64, "neon", 128, 32},
};

/// The features of this machine in LLVM's spelling, "+a,-b,...", without AMX
/// where the system does not grant its registers.
static std::string hostFeatures() {
  auto has = sys::getHostCPUFeatures();
  bool tiles = has.lookup("amx-tile") && requestMatrixTiles();
  SubtargetFeatures features;
  for (auto &feature : has)
    features.AddFeature(feature.first(),
                        feature.second &&
                            (tiles || !feature.first().starts_with("amx-")));
  return features.getString();
}

/// Of x86's features those that code has without asking for one by name; others
/// (of protection keys, say) are the system's.
static bool isUsedByCode(StringRef feature) {
  constexpr StringLiteral families[] = {
      "amx-",   "avx", "bmi",  "f16c", "fma",  "gfni",       "lzcnt", "movbe",
      "popcnt", "sse", "ssse", "tbm",  "vaes", "vpclmulqdq", "xop"};
  return llvm::any_of(
      families, [&](StringRef family) { return feature.starts_with(family); });
}

/// What code for `cpu` may use and this machine has not: names of features with
/// commas between; empty where the code runs here.
static std::string findMissingFeatures(StringRef cpu) {
  Triple triple(sys::getProcessTriple());
  std::string problem, missing;
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return problem;
  std::unique_ptr<MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, cpu, ""));
  std::map<StringRef, bool> has; // in alphabetical order
  auto host = sys::getHostCPUFeatures();
  for (auto &feature : host)
    has[feature.first()] = feature.second;
  for (auto [feature, isThere] : has)
    if (!isThere && (!triple.isX86() || isUsedByCode(feature)) &&
        subtarget->checkFeatures(("+" + feature).str()))
      missing += (missing.empty() ? "" : ", ") + feature.str();
  return missing;
}

Error fa::checkRunsHere(StringRef cpu, StringRef features) {
  if (!features.empty())
    return Error::success();
  cpu.consume_back(kEmulatedAmx);
  InitializeNativeTarget();
  if (std::string missing = findMissingFeatures(cpu); !missing.empty())
    return createStringError("code for '" + cpu + "' needs " + missing +
                             ", which this machine has not");
  return Error::success();
}

/// The products of tiles that `info` has with kEmulatedAmx.
static Error emulateTiles(HostInfo &info) {
  if (!info.pairDots)
    return createStringError("'" + kEmulatedAmx +
                             "' needs a CPU with AVX512_BF16, found '" +
                             info.cpu + "'");
  info.emulatesTiles = true;
  info.tileDots = true;
  return Error::success();
}

Expected<HostInfo> fa::getHostInfo(StringRef arch) {
  bool emulates = arch.consume_back(kEmulatedAmx);
  HostInfo info;
  info.triple = sys::getProcessTriple();
  bool isHost = arch == "host";
  info.cpu = isHost ? sys::getHostCPUName().str() : arch.str();
  info.features = isHost ? hostFeatures() : "";
  Triple triple(info.triple);
  std::string problem;
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return createStringError("no code generator for the host " + info.triple +
                             ": " + problem);
  std::unique_ptr<MCSubtargetInfo> generic(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!generic->isCPUStringValid(info.cpu))
    return createStringError(
        "unknown architecture '" + arch + "', expected host or a CPU of " +
        triple.getArchName() + " such as " +
        (triple.isX86() ? "x86-64-v3 or znver4" : "neoverse-n1"));
  std::unique_ptr<MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, info.cpu, info.features));
  if (triple.isX86()) {
    info.convertsHalf = subtarget->checkFeatures("+f16c");
    info.convertsBfloat = subtarget->checkFeatures("+avx512bf16");
  } else {
    info.convertsBfloat = subtarget->checkFeatures("+bf16");
  }
  for (const VectorFacts &facts : kVectors)
    if (facts.arch == triple.getArch() &&
        subtarget->checkFeatures(("+" + facts.feature).str())) {
      info.vectorBits = facts.bits;
      info.vectorRegisters = facts.registers;
      info.pairDots = facts.bits == 512 && triple.isX86() &&
                      subtarget->checkFeatures("+avx512bf16");
      info.tileDots = info.pairDots &&
                      subtarget->checkFeatures("+avx512dq,+amx-tile,+amx-bf16");
      if (emulates)
        if (Error error = emulateTiles(info))
          return error;
      return info;
    }
  return createStringError("the CPU '" + info.cpu +
                           "' has no vector extension that is known here");
}

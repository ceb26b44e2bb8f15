//===- Machine.cpp - what a plan must know of a machine -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Machine.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Machine/NvidiaInfo.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// Of a host's name.
static constexpr StringLiteral kHostPrefix = "cpu-", kPairs = "-pairs",
                               kTiles = "-tiles";

DotBlock fa::chooseDotBlock(int64_t vectorBits, int64_t vectorRegisters) {
  if (vectorRegisters < 32)
    return {3, 12};
  return vectorBits >= 512 ? DotBlock{3, 24} : DotBlock{4, 16};
}

static Machine toMachine(const NvidiaInfo &info) {
  Machine machine;
  machine.name = info.name.str();
  machine.dots = info.hasWarpgroups ? DotUnit::Warpgroup : DotUnit::Warp;
  machine.sharedBytes = info.sharedLimit;
  machine.hasEarlyLaunch = info.hasEarlyLaunch;
  machine.hasDirectLoads = true; // cp.async
  machine.processors = info.processors;
  return machine;
}

static Machine toMachine(const AmdInfo &info) {
  Machine machine;
  machine.name = info.name.str();
  machine.dots = DotUnit::MatrixCore;
  machine.sharedBytes = info.sharedLimit;
  machine.hasDirectLoads = info.hasDirectLoads;
  machine.processors = int64_t(info.dies) * info.processorsOfDie;
  return machine;
}

template <typename Info>
static Expected<Machine> toMachine(Expected<Info> info) {
  if (!info)
    return info.takeError();
  return toMachine(*info);
}

Expected<Machine> fa::findNvidiaMachine(StringRef name) {
  return toMachine(getNvidiaInfo(name));
}

Expected<Machine> fa::findAmdMachine(StringRef name) {
  return toMachine(getAmdInfo(name));
}

Expected<Machine> fa::findGpuMachine(StringRef name) {
  return name.starts_with("gfx") ? findAmdMachine(name)
                                 : findNvidiaMachine(name);
}

std::string fa::listGpuMachines() {
  return listNvidiaArchs() + ", " + listAmdArchs();
}

Machine fa::hostMachine(const VectorUnit &vectors) {
  Machine machine;
  machine.name =
      formatv("{0}{1}x{2}{3}", kHostPrefix, vectors.bits, vectors.registers,
              vectors.tileDots   ? kTiles
              : vectors.pairDots ? kPairs
                                 : StringLiteral(""));
  machine.dots = DotUnit::Vector;
  machine.vectors = vectors;
  return machine;
}

static Expected<Machine> findHost(StringRef name) {
  VectorUnit vectors;
  StringRef size = name.drop_front(kHostPrefix.size());
  vectors.tileDots = size.consume_back(kTiles);
  vectors.pairDots = vectors.tileDots || size.consume_back(kPairs);
  auto [bits, registers] = size.split('x');
  if (bits.getAsInteger(10, vectors.bits) ||
      registers.getAsInteger(10, vectors.registers) || vectors.bits < 128 ||
      !isPowerOf2_64(vectors.bits) || vectors.registers < 1)
    return createStringError("expected a host as cpu-512x32, cpu-512x32-pairs "
                             "or cpu-512x32-tiles, found '" +
                             name + "'");
  return hostMachine(vectors);
}

Expected<Machine> fa::findMachine(StringRef name) {
  if (name == "any") {
    Machine machine;
    machine.name = name.str();
    return machine;
  }
  if (name.starts_with(kHostPrefix))
    return findHost(name);
  return findGpuMachine(name);
}

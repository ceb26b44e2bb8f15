//===- Machine.h - what a plan must know of a machine -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine as data. What is planned for it follows from these facts and from
// those of the problem; no rule asks for an architecture by name.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_MACHINE_H
#define FA_PLAN_MACHINE_H

#include "fa/Support/LaunchCosts.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// The vector unit of a host.
struct VectorUnit {
  int64_t bits = 512;
  int64_t registers = 32;
  /// An instruction adds the products of pairs of bf16 to f32 (AVX512_BF16).
  bool pairDots = false;
  /// There are products of tiles of bf16 (AMX); needs `pairDots`.
  bool tileDots = false;
};

/// How many registers a block of a host's dot fills.
struct DotBlock {
  int64_t vectors;      ///< across the queries
  int64_t accumulators; ///< vectors times columns
};

/// The block for a vector unit of so many registers: beside its accumulators it
/// needs one register for each of its vectors and one for a broadcast. Where a
/// broadcast is a load, high blocks cost less than wide ones: Intel's cores
/// lose half a multiply-add for each vector that is read and a fifth for each
/// broadcast. NEON broadcasts lanes of registers, of which it needs more.
DotBlock chooseDotBlock(int64_t vectorBits, int64_t vectorRegisters);

/// What computes products of tiles.
enum class DotUnit {
  Any,        ///< nothing is known: tiles of the passes' own tests
  Vector,     ///< a host's vector unit
  Warp,       ///< NVIDIA's mma.sync, one warp each
  Warpgroup,  ///< also Hopper's wgmma, four warps each, fed by TMA
  MatrixCore, ///< AMD's mfma, one wave each
};

struct Machine {
  std::string name;
  DotUnit dots = DotUnit::Any;
  /// Bytes of shared memory a block may have; 0: there is none, or any.
  int64_t sharedBytes = 0;
  /// A kernel can begin before the one before it has ended.
  bool hasEarlyLaunch = false;
  /// Tiles go from memory to shared memory past the registers.
  bool hasDirectLoads = false;
  /// Multiprocessors of the architecture's largest card; 0: a host, or any.
  int64_t processors = 0;
  /// What launches cost on a card of it. Of other architectures than the H200's
  /// none were measured yet: they have the H200's, which a launch scales to the
  /// card that it finds (fa/Launch/CardCosts.h).
  LaunchCosts costs;
  /// Of `DotUnit::Vector`.
  VectorUnit vectors;

  bool isHost() const { return dots == DotUnit::Vector; }
  bool hasWarpgroups() const { return dots == DotUnit::Warpgroup; }
  bool isAmd() const { return dots == DotUnit::MatrixCore; }
};

/// The machine of an architecture of NVIDIA's ("sm_90a") or AMD's ("gfx942").
/// Another name is an error that lists those that there are.
llvm::Expected<Machine> findNvidiaMachine(llvm::StringRef name);
llvm::Expected<Machine> findAmdMachine(llvm::StringRef name);

/// The machine of an architecture of either vendor. An architecture that is in
/// neither table is an error that lists those of the vendor that its name is
/// spelt like.
llvm::Expected<Machine> findGpuMachine(llvm::StringRef name);

/// The names of all architectures, with commas between.
std::string listGpuMachines();

/// A host with such a vector unit. Its name is "cpu-BITSxREGISTERS", with
/// "-pairs" or "-tiles" behind it where there are products of them.
Machine hostMachine(const VectorUnit &vectors);

/// The machine of that name: one of those above or "any", of which nothing is
/// known. Another one is an error that says what was expected.
llvm::Expected<Machine> findMachine(llvm::StringRef name);

} // namespace fa

#endif // FA_PLAN_MACHINE_H

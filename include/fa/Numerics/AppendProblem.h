//===- AppendProblem.h - tokens that a cache is to keep ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_APPENDPROBLEM_H
#define FA_NUMERICS_APPENDPROBLEM_H

#include "fa/Numerics/ErrorRule.h"

#include <string>
#include <vector>

namespace fa {

/// Which two elements of a row a rotation of RoPE takes: neighbours, or one of
/// each half of the rotary dimensions (docs/numerics.md, line 16).
enum class RopeKind { None, Interleaved, Halves };

/// Keys and values of tokens, which are written to slots of a cache; keys, and
/// queries beside them, may be rotated by their positions.
struct AppendProblem {
  int64_t tokens = 32, numKvHeads = 8, headDim = 64, headDimV = -1;
  int64_t numHeads = 0; ///< of queries, which are rotated; 0: there are none
  int64_t page = 16;    ///< rows of a page
  int64_t pages = -1;   ///< -1: as many as the tokens fill, and two
  ElementType type = ElementType::F16;
  RopeKind rope = RopeKind::None;
  int64_t rotary = -1; ///< dimensions that are rotated; -1: headDim
  ElementType tableType = ElementType::F32; ///< of the cosines and sines
  bool widePositions = false;               ///< i64, not i32
  /// In memory [n, hkv, page, d], [n, page, hkv, d], or K beside V of each
  /// token, [n, hkv, page, d + dv].
  enum PoolLayout { Hnd, Nhd, Beside } layout = Hnd;

  /// Sets the sizes that are -1.
  void applyDefaults();
  /// An error that names what is wrong, if the problem is not one.
  llvm::Error verify() const;
  /// The SPEC that gives this problem again.
  std::string str() const;
};

/// Parses `key[=value]` separated by spaces (docs/fa-run.md).
llvm::Expected<AppendProblem> parseAppendSpec(llvm::StringRef spec);

/// k [t, hkv, d], v [t, hkv, dv], slots i64 [t], the pages of both [n, hkv,
/// page, ..], with RoPE positions [t] and tables [positions, rotary / 2] of
/// cosines and sines, and queries [t, hq, d] if there are any.
struct AppendInputs {
  HostTensor k, v, slots, kPages, vPages;
  std::optional<HostTensor> positions, cosines, sines, q;
};

/// Seeded inputs: slots in random order, of some tokens none; positions in
/// random order; pages full of NaN. The same seed gives the same numbers in
/// memory of their own.
llvm::Expected<AppendInputs> makeRandomInputs(const AppendProblem &problem,
                                              uint64_t seed);

/// What is written: the pages as they are then, and the rotated queries.
struct AppendResult {
  HostTensor kPages, vPages;
  std::optional<HostTensor> q;
};

/// The reference: everything in float64. A slot that there is not is an error.
llvm::Expected<AppendResult> appendF64(const AppendProblem &problem,
                                       const AppendInputs &inputs);

/// The same formula in f32, rounded to the type: e0 of the error rule.
llvm::Expected<AppendResult> unfusedAppend(const AppendProblem &problem,
                                           const AppendInputs &inputs);

/// Compares what was written with the reference. `inputs` are those before.
llvm::Expected<std::vector<OutputCheck>>
checkAppend(const AppendProblem &problem, const AppendInputs &inputs,
            const AppendResult &result);

} // namespace fa

#endif // FA_NUMERICS_APPENDPROBLEM_H

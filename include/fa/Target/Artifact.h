//===- Artifact.h - what a compilation gives: a plan ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact is a plan (stage S9): kernels with the rule of their grid and
// what they expect of their arguments, and the code for one target. Plain data,
// with no MLIR in it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_ARTIFACT_H
#define FA_TARGET_ARTIFACT_H

#include "fa/Emulator/Site.h"
#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace fa {

/// A size or stride that the compiler does not know.
inline constexpr int64_t kDynamic = INT64_MIN;

/// An integer expression over the sizes of the arguments, as a postfix program.
struct SizeExpr {
  enum Opcode { Const, Size, Add, Mul, FloorDiv, CeilDiv, Mod };
  struct Step {
    Opcode opcode;
    int64_t a = 0; ///< Const: the value; Size: the argument
    int64_t b = 0; ///< Size: the dimension
  };
  llvm::SmallVector<Step, 4> steps;

  /// The value, or nothing if it overflows. A division by 0 gives 0: there is
  /// no work in an empty dimension.
  std::optional<int64_t>
  evaluate(llvm::function_ref<int64_t(int64_t, int64_t)> sizeOf) const;
};

enum class Access { In, Out, InOut };

/// What a kernel expects of one argument.
struct ArgumentInfo {
  bool isMemRef = false;
  ElementType type = ElementType::F32; ///< index is I64
  llvm::SmallVector<int64_t, 4> sizes, strides;
  /// Bytes of which the address and all steps but those of stride 1 are
  /// multiples.
  int64_t alignment = 1;
  bool positive = false; ///< a scalar that must be above 0
  Access access = Access::In;
};

/// What a kernel takes for granted of its arguments: `#tile.size_rule`.
struct SizeRule {
  enum Kind { Equal, Multiple, Divisible, Packed } kind;
  int64_t argument, dim, other, otherDim, factor;
};

struct KernelInfo {
  std::string symbol, entry;
  std::vector<ArgumentInfo> args;
  std::vector<SizeRule> rules;
  llvm::SmallVector<SizeExpr, 3> grid;
  int64_t scratchBytes = 0;           ///< for one running program
  bool unfused = false;               ///< one program on whole tensors
  llvm::SmallVector<int64_t, 2> tile; ///< queries, keys; empty if unknown
  // On a GPU:
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< dynamic, of a block
  int64_t stages = 0;
  /// What the assembler said; -1: not assembled.
  int64_t registers = -1, stackBytes = -1, spillBytes = -1;
};

/// Milliseconds.
struct CompileTimes {
  double total = 0, passes = 0, llvm = 0, assembler = 0;
};

struct Artifact {
  std::string target; ///< "cpu", "cuda" or "emulator"
  std::string arch;   ///< e.g. "znver4" or "sm_80"
  std::string features;
  std::vector<KernelInfo> kernels; ///< the first that fits a launch is taken
  /// A relocatable object file, a cubin or, for the emulator, LLVM bitcode.
  std::string object;
  std::vector<EmulatorSite> sites; ///< for the emulator
  std::string ptx;                 ///< for the driver, where there is no cubin
  std::string assembler;           ///< version of ptxas; empty: none ran
  CompileTimes compileMs;
};

} // namespace fa

#endif // FA_TARGET_ARTIFACT_H

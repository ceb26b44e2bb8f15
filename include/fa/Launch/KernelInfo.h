//===- KernelInfo.h - what a launch must know of a kernel -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan of a launch (stage S9) as plain data: the compiler extracts it from
// a tile.kernel, a bundle carries it as JSON, and it is evaluated here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_KERNELINFO_H
#define FA_LAUNCH_KERNELINFO_H

#include "fa/Launch/ElementType.h"
#include "fa/Launch/Text.h"

#include <functional>
#include <string>
#include <vector>

namespace fa {

/// A size or stride that the compiler does not know.
inline constexpr int64_t kDynamic = INT64_MIN;

/// What a launch keeps in place instead of allocating it.
inline constexpr size_t kMaxRank = 8, kMaxArguments = 64;

/// The most splits of the keys.
inline constexpr int64_t kMaxSplits = 1024;

/// An integer expression over the sizes of the arguments, as a postfix program.
struct SizeExpr {
  enum Opcode { Const, Size, Add, Mul, FloorDiv, CeilDiv, Mod };
  struct Step {
    Opcode opcode;
    int64_t a = 0; ///< Const: the value; Size: the argument
    int64_t b = 0; ///< Size: the dimension
    bool operator==(const Step &) const = default;
  };
  std::vector<Step> steps;

  /// Operands that a program may hold at a time.
  static constexpr size_t maxDepth = 32;

  /// The value, or nothing if it overflows. A division by 0 gives 0: there is
  /// no work in an empty dimension. The program must be sound (`checkKernel`).
  std::optional<int64_t>
  evaluate(const std::function<int64_t(int64_t argument, int64_t dim)> &sizeOf)
      const;

  bool operator==(const SizeExpr &) const = default;
};

enum class Access { In, Out, InOut };

/// What a kernel expects of one argument.
struct ArgumentInfo {
  bool isMemRef = false;
  ElementType type = ElementType::F32; ///< index is I64
  std::vector<int64_t> sizes, strides;
  /// Bytes of which the address and all steps but those of stride 1 are
  /// multiples.
  int64_t alignment = 1;
  bool positive = false; ///< a scalar that must be above 0
  Access access = Access::In;

  bool operator==(const ArgumentInfo &) const = default;
};

/// What a kernel takes for granted of its arguments: `#tile.size_rule`. Of a
/// variant, `Packed` and `AtMost` (`tile.at_most`: the size is `factor` or
/// less) are reasons to take another one.
struct SizeRule {
  enum Kind { Equal, Multiple, Divisible, Packed, AtMost } kind;
  int64_t argument, dim, other, otherDim, factor;

  bool operator==(const SizeRule &) const = default;
};

/// What a tensor map (CUDA Driver API, cuTensorMapEncodeTiled) is made of:
/// boxes of `rows` x `columns` of a memref argument, whose last dimension has
/// the columns and dimension `rowDim` the rows; all others are one element
/// wide. The rows of a box are 128 bytes, swizzled as a whole; what is outside
/// of the argument is read as 0 and not written. `joined`: the rows are those
/// of dimension `rowDim` and the one before it, which have no gap, as one.
struct TensorMapInfo {
  int64_t argument = 0, rowDim = 0, rows = 0, columns = 0;
  bool joined = false;

  bool operator==(const TensorMapInfo &) const = default;
};

/// The most tensor maps of a kernel.
inline constexpr size_t kMaxTensorMaps = 12;

/// Memory of a launch that its kernels hand results over in: a row-major tensor
/// whose dimension 0 is the number of splits.
struct WorkspaceInfo {
  std::vector<SizeExpr> sizes; ///< behind dimension 0

  bool operator==(const WorkspaceInfo &) const = default;
};

struct KernelInfo {
  std::string symbol, entry;
  std::vector<ArgumentInfo> args;
  /// The last of `args`: those that the launch makes, not its caller.
  std::vector<WorkspaceInfo> workspace;
  /// Runs behind the kernel before it in the plan, with the same arguments; a
  /// launch never begins with it.
  bool follows = false;
  /// Waits by itself for the end of the kernel before it in the stream, so that
  /// it may begin before that.
  bool beginsEarly = false;
  /// Of a kernel that splits keys: how many there are. No steps: of no other.
  SizeExpr splitKeys;
  int64_t splits = 0; ///< of the keys; 0: a launch chooses
  std::vector<SizeRule> rules;
  /// Of small tiles, with which a launch of few programs has more of them: it
  /// is taken where there are at most so many for each processor (of parts also
  /// where they pay) or where no other kernel fits; 0: wherever it fits.
  int64_t fewPrograms = 0;
  /// It is taken where its tiles have fewer rows in all, counting those that
  /// are none, than those of the kernel that the launch would take otherwise;
  /// where that one is for few programs, no more rows and lower costs by the
  /// rule for splits (Splits.h); and where no other kernel fits.
  bool fewerRows = false;
  /// Warps of a block that run a program, each on keys of its own.
  int64_t parts = 1;
  std::vector<SizeExpr> grid;
  int64_t scratchBytes = 0;  ///< for one running program
  bool unfused = false;      ///< one program on whole tensors
  std::vector<int64_t> tile; ///< queries, keys; empty if unknown
  // On a GPU:
  int64_t programs = 1;    ///< of a block that is not persistent, side by side
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< dynamic, of a block
  int64_t stages = 0;
  /// Bytes that a step from row to row (along the dimension before the last) of
  /// an argument of aligned rows stays below, and is at least a row; 0: any.
  int64_t rowStepLimit = 0;
  bool persistent = false; ///< a block runs programs until there are no more
  /// Of a persistent kernel: blocks of a cluster, which run as many programs
  /// that are neighbours on the first axis of the grid. Where clusters lack
  /// more than a few, one of the same tiles for blocks alone is taken if there
  /// is any.
  int64_t cluster = 1;
  std::vector<TensorMapInfo> tensorMaps; ///< parameters behind the words
  /// What the assembler said; -1: not assembled.
  int64_t registers = -1, stackBytes = -1, spillBytes = -1;
  /// What the driver said: blocks that a multiprocessor holds at a time.
  int64_t residentBlocks = 1;

  /// How many arguments its caller gives.
  size_t numGiven() const { return args.size() - workspace.size(); }
  bool operator==(const KernelInfo &) const = default;
};

/// Checks what every evaluation of a plan takes for granted: ranks and numbers
/// of arguments within the limits above, rules and grids that speak of sizes
/// that there are, grid programs that leave one value.
Failure checkKernel(const KernelInfo &kernel);

/// The same of all kernels of a plan, at least one: the first and the last
/// begin a launch, a kernel that follows has the workspace of the one before
/// it, and all are given the same kinds of arguments.
Failure checkPlan(std::span<const KernelInfo> kernels);

/// Names in bundles and reports: "in", "out", "inout"; "equal", ...; "add", ...
std::string_view name(Access access);
std::string_view name(SizeRule::Kind kind);
std::string_view name(SizeExpr::Opcode opcode);
std::optional<Access> parseAccess(std::string_view name);
std::optional<SizeRule::Kind> parseRuleKind(std::string_view name);
/// Of an operation on two operands.
std::optional<SizeExpr::Opcode> parseOpcode(std::string_view name);

} // namespace fa

#endif // FA_LAUNCH_KERNELINFO_H

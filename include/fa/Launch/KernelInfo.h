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
#include "fa/Support/LaunchLimits.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fa {

/// A size or stride that the compiler does not know.
inline constexpr int64_t kDynamic = INT64_MIN;

/// What a launch keeps in place instead of allocating it.
inline constexpr size_t kMaxRank = 8, kMaxArguments = 64;

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
  enum Kind {
    Equal,
    Multiple,
    Divisible,
    Packed,
    AtMost,
    OneMore,
    AtLeast,
    Covers
  } kind;
  int64_t argument, dim, other, otherDim, factor;

  bool operator==(const SizeRule &) const = default;
};

/// What a tensor map (CUDA Driver API, cuTensorMapEncodeTiled) is made of:
/// boxes of `rows` x `columns` of a memref argument, whose last dimension has
/// the columns and dimension `rowDim` the rows; all others are one element
/// wide. The rows of a box are 128 bytes, swizzled as a whole; what is outside
/// of the argument is read as 0 and not written. `joined`: the rows are those
/// of dimension `rowDim` and the one before it, which have no gap, as one
/// (bundles of versions before 8). `headDim`, −1 where there is none: rows are
/// those of a tile.grouped_view, whose group is the size of that dimension by
/// what the kernel's rules say that it is a multiple of; a box has as many of
/// these heads as there are, up to `rows`, and as many queries as have room.
/// `paged`: dimension `rowDim` are the rows of a page, a multiple of 8, and a
/// box has as many as the largest power of two that divides them and `rows`.
struct TensorMapInfo {
  int64_t argument = 0, rowDim = 0, rows = 0, columns = 0;
  bool joined = false, paged = false;
  int64_t headDim = -1;

  bool operator==(const TensorMapInfo &) const = default;
};

/// Sorts `dims`, one for each of the argument's with the innermost first, as
/// the map has them: rows go from head to head, and then to the next query.
template <typename Dims> void sortDims(const TensorMapInfo &map, Dims &dims) {
  if (map.headDim >= 0 && map.headDim < map.rowDim)
    std::swap(dims[dims.size() - 1 - map.headDim],
              dims[dims.size() - 1 - map.rowDim]);
}

/// The most tensor maps of a kernel: 128 bytes each of its parameters.
/// Gradients of packed queries have 15, with those of boxes of one row.
inline constexpr size_t kMaxTensorMaps = 24;

/// Memory of a launch that its kernels hand results over in: a row-major tensor
/// whose dimension 0 is the number of splits.
struct WorkspaceInfo {
  std::vector<SizeExpr> sizes; ///< behind dimension 0

  bool operator==(const WorkspaceInfo &) const = default;
};

/// The numbers that a fact may be, both ends included.
struct FactRange {
  int64_t least = INT64_MIN, most = INT64_MAX;
};
constexpr FactRange anyValue() { return {}; }
constexpr FactRange atLeast(int64_t least) { return {.least = least}; }
constexpr FactRange between(int64_t least, int64_t most) {
  return {least, most};
}

/// Whether every bundle that is read has a fact, or its default where it is not
/// there.
enum class FactSince { Always, Later };

/// The facts of KernelFacts.def, which says what each means.
struct KernelInfo {
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  TYPE MEMBER = DEFAULT;
#include "fa/Launch/KernelFacts.def"
  /// What the driver said: blocks that a multiprocessor holds at a time. No
  /// bundle says it.
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

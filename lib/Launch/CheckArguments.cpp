//===- CheckArguments.cpp - do arguments fit a kernel? --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/CheckArguments.h"

#include "fa/Launch/TensorMap.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

using namespace fa;

static Failure argumentError(size_t number, const auto &...parts) {
  return makeFailure("argument ", number, ": ", parts...);
}

/// The bytes from element 0 to the end of the last one fit in 63 bits.
static bool extentFits(const LaunchArgument &argument) {
  int64_t extent = 1;
  for (size_t d = 0; d < argument.sizes.size(); ++d) {
    int64_t reach;
    if (__builtin_mul_overflow(argument.sizes[d] - 1, argument.strides[d],
                               &reach) ||
        __builtin_add_overflow(extent, reach, &extent))
      return false;
  }
  return !__builtin_mul_overflow(extent, byteSize(argument.type), &extent);
}

static std::string hexadecimal(uint64_t address) {
  char digits[16];
  return "0x" +
         std::string(digits,
                     std::to_chars(digits, digits + 16, address, 16).ptr);
}

static Failure checkDimensions(size_t number, const ArgumentInfo &info,
                               const LaunchArgument &argument) {
  for (size_t d = 0; d < argument.sizes.size(); ++d) {
    int64_t size = argument.sizes[d], stride = argument.strides[d];
    if (size < 0)
      return argumentError(number, "expected sizes of at least 0, found ",
                           argument.sizes);
    // The stride of a dimension of one element is never used.
    if (stride < 0 && size > 1)
      return argumentError(number, "expected strides of at least 0, found ",
                           stride);
    if (info.access != Access::In && stride == 0 && size > 1)
      return argumentError(number,
                           "an output cannot have stride 0 in a dimension of "
                           "size ",
                           size);
  }
  return {};
}

static Failure checkMemory(size_t number, const ArgumentInfo &info,
                           const LaunchArgument &argument) {
  if (std::ranges::find(argument.sizes, 0) != argument.sizes.end())
    return {};
  if (!argument.data)
    return argumentError(number, "expected a buffer of ", argument.sizes,
                         ", found a null pointer");
  uint64_t address = reinterpret_cast<uintptr_t>(argument.data);
  if (address % byteSize(info.type))
    return argumentError(number, "expected an address that is a multiple of ",
                         byteSize(info.type), " (elements are ",
                         name(info.type), "), found ", hexadecimal(address));
  if (!extentFits(argument))
    return argumentError(number, "sizes ", argument.sizes, " and strides ",
                         argument.strides, " reach beyond 64-bit addresses");
  return {};
}

static Failure checkTensor(size_t number, const ArgumentInfo &info,
                           const LaunchArgument &argument) {
  if (argument.type != info.type)
    return argumentError(number, "expected elements of type ", name(info.type),
                         ", found ", name(argument.type));
  if (argument.sizes.size() != info.sizes.size() ||
      argument.strides.size() != info.sizes.size())
    return argumentError(number, "expected rank ", info.sizes.size(),
                         ", found ", argument.sizes.size(), " sizes and ",
                         argument.strides.size(), " strides");
  if (Failure failure = checkDimensions(number, info, argument))
    return failure;
  return checkMemory(number, info, argument);
}

static bool isPacked(const SizeRule &rule, const LaunchArgument &argument,
                     const LaunchArgument &second) {
  int64_t other = second.sizes[rule.otherDim], packed;
  return argument.sizes[rule.dim] <= 1 || other == 0 ||
         (!__builtin_mul_overflow(other, second.strides[rule.otherDim],
                                  &packed) &&
          argument.strides[rule.dim] == packed);
}

static Failure checkPacked(const SizeRule &rule, const LaunchArgument &argument,
                           const LaunchArgument &second) {
  if (isPacked(rule, argument, second))
    return {};
  return argumentError(rule.argument, "expected dimensions ", rule.dim, " and ",
                       rule.otherDim, " without a gap between them: sizes ",
                       argument.sizes, ", found strides ", argument.strides);
}

/// The message of a broken rule, or nothing.
static Failure checkRule(const SizeRule &rule,
                         std::span<const LaunchArgument> arguments) {
  const LaunchArgument &argument = arguments[rule.argument];
  int64_t size = argument.sizes[rule.dim];
  if (rule.kind == SizeRule::Divisible) {
    if (size % rule.factor == 0)
      return {};
    return argumentError(rule.argument, "expected a multiple of ", rule.factor,
                         " in dimension ", rule.dim, ", found ", size);
  }
  if (rule.kind == SizeRule::AtMost) {
    if (size <= rule.factor)
      return {};
    return argumentError(rule.argument, "expected at most ", rule.factor,
                         " in dimension ", rule.dim, ", found ", size);
  }
  if (rule.kind == SizeRule::AtLeast) {
    if (size >= rule.factor)
      return {};
    return argumentError(rule.argument, "expected at least ", rule.factor,
                         " in dimension ", rule.dim, ", found ", size);
  }
  const LaunchArgument &second = arguments[rule.other];
  if (rule.kind == SizeRule::Packed)
    return checkPacked(rule, argument, second);
  if (rule.kind == SizeRule::OneMore) {
    if (size == second.sizes[rule.otherDim] + 1)
      return {};
    return argumentError(rule.argument, "expected one more than dimension ",
                         rule.otherDim, " of argument ", rule.other, ", ",
                         second.sizes[rule.otherDim] + 1, ", in dimension ",
                         rule.dim, ", found ", size);
  }
  if (rule.kind == SizeRule::Covers) {
    int64_t covered = second.sizes[rule.otherDim];
    int64_t needed = covered / rule.factor + (covered % rule.factor != 0);
    if (size >= needed)
      return {};
    return argumentError(
        rule.argument, "expected at least ", needed, " in dimension ", rule.dim,
        ", one for each ", rule.factor, " of the ", covered, " of dimension ",
        rule.otherDim, " of argument ", rule.other, ", found ", size);
  }
  bool multiple = rule.kind == SizeRule::Multiple;
  int64_t other;
  if (__builtin_mul_overflow(second.sizes[rule.otherDim], rule.factor, &other))
    other = std::numeric_limits<int64_t>::max();
  if (multiple ? (other == 0 ? size == 0 : size % other == 0) : size == other)
    return {};
  return argumentError(
      rule.argument, "expected ", multiple ? "a multiple of " : "size ", other,
      " in dimension ", rule.dim, " as in dimension ", rule.otherDim,
      " of argument ", rule.other, ", found ", size);
}

Failure fa::checkArguments(const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments) {
  if (arguments.size() != kernel.numGiven())
    return makeFailure("expected ", kernel.numGiven(), " arguments, found ",
                       arguments.size());
  for (size_t n = 0; n < arguments.size(); ++n) {
    const ArgumentInfo &info = kernel.args[n];
    if (arguments[n].isTensor != info.isMemRef)
      return argumentError(n, info.isMemRef
                                  ? "expected a tensor, found a scalar"
                                  : "expected a scalar, found a tensor");
    if (info.isMemRef) {
      if (Failure failure = checkTensor(n, info, arguments[n]))
        return failure;
    } else if (arguments[n].type != info.type) {
      return argumentError(n, "expected a scalar of type ", name(info.type),
                           ", found ", name(arguments[n].type));
    }
  }
  for (const SizeRule &rule : kernel.rules)
    if (Failure failure = checkRule(rule, arguments))
      return failure;
  return {};
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

/// Always false; says why where that is wanted.
static bool refuse(std::string *why, size_t number, const auto &...parts) {
  if (why)
    *why = makeText("argument ", number, ": ", parts...);
  return false;
}

/// The address and the steps that are ever taken are multiples of what the
/// kernel counts on.
static bool isAligned(size_t number, const ArgumentInfo &info,
                      const LaunchArgument &argument, std::string *why) {
  int64_t bytes = byteSize(info.type);
  if (reinterpret_cast<uintptr_t>(argument.data) % info.alignment)
    return refuse(why, number, "expected an address that is a multiple of ",
                  info.alignment);
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    int64_t step; // wraps at most where the tensor is empty
    (void)__builtin_mul_overflow(argument.strides[d], bytes, &step);
    if (info.strides[d] != 1 && argument.sizes[d] > 1 && step % info.alignment)
      return refuse(why, number, "expected steps of multiples of ",
                    info.alignment, " bytes in dimension ", d, ", found ",
                    step);
  }
  return true;
}

/// Rows lie behind each other, none further from the next than the kernel
/// counts on. A step that is never taken may be any.
static bool hasCloseRows(size_t number, const KernelInfo &kernel,
                         const LaunchArgument &argument, std::string *why) {
  const ArgumentInfo &info = kernel.args[number];
  size_t rank = info.sizes.size();
  if (!kernel.rowStepLimit || info.alignment <= 1 || rank < 2 ||
      argument.sizes[rank - 2] <= 1)
    return true;
  int64_t bytes = byteSize(info.type), row = argument.sizes[rank - 1] * bytes,
          step;
  if (!__builtin_mul_overflow(argument.strides[rank - 2], bytes, &step) &&
      step >= row && step < kernel.rowStepLimit)
    return true;
  return refuse(why, number, "expected steps of ", row, " to ",
                kernel.rowStepLimit - 1, " bytes from row to row, found ",
                argument.strides[rank - 2], " elements");
}

static bool hasStrides(size_t number, const ArgumentInfo &info,
                       const LaunchArgument &argument, std::string *why) {
  for (size_t d = 0; d < info.sizes.size(); ++d)
    if (info.strides[d] != kDynamic && info.strides[d] != argument.strides[d] &&
        argument.sizes[d] > 1)
      return refuse(why, number, "expected stride ", info.strides[d],
                    " in dimension ", d, ", found ", argument.strides[d]);
  return true;
}

static bool hasNoGaps(const KernelInfo &kernel,
                      std::span<const LaunchArgument> arguments,
                      std::string *why) {
  for (const SizeRule &rule : kernel.rules)
    if (rule.kind == SizeRule::Packed &&
        !isPacked(rule, arguments[rule.argument], arguments[rule.other]))
      return refuse(why, rule.argument, "expected no gap between dimensions ",
                    rule.dim, " and ", rule.otherDim);
  return true;
}

bool fa::fitsSizes(const KernelInfo &kernel,
                   std::span<const LaunchArgument> arguments,
                   std::string *why) {
  for (const SizeRule &rule : kernel.rules)
    if (rule.kind == SizeRule::AtMost &&
        arguments[rule.argument].sizes[rule.dim] > rule.factor)
      return refuse(why, rule.argument, "expected at most ", rule.factor,
                    " in dimension ", rule.dim);
  for (size_t n = 0; n < kernel.numGiven(); ++n) {
    const ArgumentInfo &info = kernel.args[n];
    for (size_t d = 0; d < info.sizes.size(); ++d)
      if (info.sizes[d] != kDynamic && info.sizes[d] != arguments[n].sizes[d])
        return refuse(why, n, "expected size ", info.sizes[d], " in dimension ",
                      d, ", found ", arguments[n].sizes[d]);
  }
  return true;
}

bool fa::fitsVariant(const KernelInfo &kernel,
                     std::span<const LaunchArgument> arguments,
                     std::string *why) {
  if (!fitsSizes(kernel, arguments, why) || !hasNoGaps(kernel, arguments, why))
    return false;
  // Workspace fits: its rows have no gaps, and there are as many as the
  // caller's tensors have.
  for (const TensorMapInfo &map : kernel.tensorMaps)
    if (map.argument < int64_t(kernel.numGiven()) &&
        !fitsTensorMap(map, arguments[map.argument]))
      return refuse(
          why, map.argument,
          "expected sizes below 2^32, steps above 0 and below 2^40 bytes",
          map.paged ? " and pages of a multiple of 8 rows" : "");
  for (size_t n = 0; n < kernel.numGiven(); ++n) {
    const ArgumentInfo &info = kernel.args[n];
    if (info.isMemRef && !(isAligned(n, info, arguments[n], why) &&
                           hasCloseRows(n, kernel, arguments[n], why)))
      return false;
    float scalar = std::bit_cast<float>(uint32_t(arguments[n].bits));
    if (info.positive && !(scalar > 0))
      return refuse(why, n, "expected a number above 0, found ",
                    std::to_string(scalar));
    if (!hasStrides(n, info, arguments[n], why))
      return false;
  }
  return true;
}

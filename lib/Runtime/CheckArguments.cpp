//===- CheckArguments.cpp - do arguments fit a kernel? --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckArguments.h"

#include "fa/Numerics/HostTensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <limits>

using namespace llvm;
using namespace fa;

static Error argumentError(size_t number, const Twine &what) {
  return createStringError("argument " + Twine(number) + ": " + what);
}

/// The bytes from element 0 to the end of the last one fit in 63 bits.
static bool extentFits(const LaunchArgument &argument) {
  int64_t extent = 1;
  for (auto [size, stride] : zip(argument.sizes, argument.strides)) {
    int64_t reach;
    if (MulOverflow(size - 1, stride, reach) ||
        AddOverflow(extent, reach, extent))
      return false;
  }
  return !MulOverflow(extent, byteSize(argument.type), extent);
}

static Error checkTensor(size_t number, const ArgumentInfo &info,
                         const LaunchArgument &argument) {
  if (argument.type != info.type)
    return argumentError(number, "expected elements of type " +
                                     name(info.type) + ", found " +
                                     name(argument.type));
  if (argument.sizes.size() != info.sizes.size() ||
      argument.strides.size() != info.sizes.size())
    return argumentError(
        number, "expected rank " + Twine(info.sizes.size()) + ", found " +
                    Twine(argument.sizes.size()) + " sizes and " +
                    Twine(argument.strides.size()) + " strides");
  bool empty = is_contained(argument.sizes, 0);
  for (auto [size, stride] : zip(argument.sizes, argument.strides)) {
    if (size < 0)
      return argumentError(number, "expected sizes of at least 0, found " +
                                       formatSizes(argument.sizes));
    // The stride of a dimension of one element is never used.
    if (stride < 0 && size > 1)
      return argumentError(number, "expected strides of at least 0, found " +
                                       Twine(stride));
    if (info.access != Access::In && stride == 0 && size > 1)
      return argumentError(number, "an output cannot have stride 0 in a "
                                   "dimension of size " +
                                       Twine(size));
  }
  if (empty)
    return Error::success();
  if (!argument.data)
    return argumentError(number, "expected a buffer of " +
                                     formatSizes(argument.sizes) +
                                     ", found a null pointer");
  uint64_t address = reinterpret_cast<uintptr_t>(argument.data);
  if (address % byteSize(info.type))
    return argumentError(number, "expected an address that is a multiple of " +
                                     Twine(byteSize(info.type)) +
                                     " (elements are " + name(info.type) +
                                     "), found 0x" + Twine::utohexstr(address));
  if (!extentFits(argument))
    return argumentError(number, "sizes " + formatSizes(argument.sizes) +
                                     " and strides " +
                                     formatSizes(argument.strides) +
                                     " reach beyond 64-bit addresses");
  return Error::success();
}

/// The message of a broken rule, or nothing.
static Error checkRule(const SizeRule &rule,
                       ArrayRef<LaunchArgument> arguments) {
  const LaunchArgument &argument = arguments[rule.argument];
  int64_t size = argument.sizes[rule.dim];
  if (rule.kind == SizeRule::Divisible) {
    if (size % rule.factor == 0)
      return Error::success();
    return argumentError(rule.argument, "expected a multiple of " +
                                            Twine(rule.factor) +
                                            " in dimension " + Twine(rule.dim) +
                                            ", found " + Twine(size));
  }
  const LaunchArgument &second = arguments[rule.other];
  int64_t other = second.sizes[rule.otherDim];
  if (rule.kind == SizeRule::Packed) {
    int64_t packed;
    if (size <= 1 || other == 0 ||
        (!MulOverflow(other, second.strides[rule.otherDim], packed) &&
         argument.strides[rule.dim] == packed))
      return Error::success();
    return argumentError(rule.argument,
                         "expected dimensions " + Twine(rule.dim) + " and " +
                             Twine(rule.otherDim) +
                             " without a gap between them: sizes " +
                             formatSizes(argument.sizes) + ", found strides " +
                             formatSizes(argument.strides));
  }
  bool multiple = rule.kind == SizeRule::Multiple;
  if (MulOverflow(other, rule.factor, other))
    other = std::numeric_limits<int64_t>::max();
  if (multiple ? (other == 0 ? size == 0 : size % other == 0) : size == other)
    return Error::success();
  return argumentError(
      rule.argument,
      "expected " + Twine(multiple ? "a multiple of " : "size ") +
          Twine(other) + " in dimension " + Twine(rule.dim) +
          " as in dimension " + Twine(rule.otherDim) + " of argument " +
          Twine(rule.other) + ", found " + Twine(size));
}

static Error checkRules(const KernelInfo &kernel,
                        ArrayRef<LaunchArgument> arguments) {
  for (const SizeRule &rule : kernel.rules)
    if (Error error = checkRule(rule, arguments))
      return error;
  return Error::success();
}

Error fa::checkArguments(const KernelInfo &kernel,
                         ArrayRef<LaunchArgument> arguments) {
  if (arguments.size() != kernel.args.size())
    return createStringError("expected " + Twine(kernel.args.size()) +
                             " arguments, found " + Twine(arguments.size()));
  for (size_t n = 0; n < arguments.size(); ++n) {
    const ArgumentInfo &info = kernel.args[n];
    if (arguments[n].isTensor != info.isMemRef)
      return argumentError(n, info.isMemRef
                                  ? "expected a tensor, found a scalar"
                                  : "expected a scalar, found a "
                                    "tensor");
    if (info.isMemRef) {
      if (Error error = checkTensor(n, info, arguments[n]))
        return error;
    } else if (arguments[n].type != info.type) {
      return argumentError(n, "expected a scalar of type " + name(info.type) +
                                  ", found " + name(arguments[n].type));
    }
  }
  return checkRules(kernel, arguments);
}

/// The address and the steps that are ever taken are multiples of what the
/// kernel counts on.
static Error checkAlignment(size_t number, const ArgumentInfo &info,
                            const LaunchArgument &argument) {
  int64_t bytes = byteSize(info.type);
  if (reinterpret_cast<uintptr_t>(argument.data) % info.alignment)
    return argumentError(number, "expected an address that is a multiple of " +
                                     Twine(info.alignment));
  for (size_t d = 0; d < info.sizes.size(); ++d)
    if (info.strides[d] != 1 && argument.sizes[d] > 1 &&
        argument.strides[d] * bytes % info.alignment)
      return argumentError(
          number, "expected steps of multiples of " + Twine(info.alignment) +
                      " bytes in dimension " + Twine(d) + ", found " +
                      Twine(argument.strides[d] * bytes));
  return Error::success();
}

Error fa::checkVariant(const KernelInfo &kernel,
                       ArrayRef<LaunchArgument> arguments) {
  for (auto [n, info] : enumerate(kernel.args)) {
    if (info.isMemRef)
      if (Error error = checkAlignment(n, info, arguments[n]))
        return error;
    float scalar = std::bit_cast<float>(uint32_t(arguments[n].bits));
    if (info.positive && !(scalar > 0))
      return argumentError(n, "expected a number above 0, found " +
                                  std::to_string(scalar));
    for (size_t d = 0; d < info.sizes.size(); ++d) {
      int64_t size = arguments[n].sizes[d], stride = arguments[n].strides[d];
      if (info.sizes[d] != kDynamic && info.sizes[d] != size)
        return argumentError(n, "expected size " + Twine(info.sizes[d]) +
                                    " in dimension " + Twine(d) + ", found " +
                                    Twine(size));
      if (info.strides[d] != kDynamic && info.strides[d] != stride && size > 1)
        return argumentError(n, "expected stride " + Twine(info.strides[d]) +
                                    " in dimension " + Twine(d) + ", found " +
                                    Twine(stride));
    }
  }
  return Error::success();
}

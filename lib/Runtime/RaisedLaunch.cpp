//===- RaisedLaunch.cpp - launches of a kernel as its attention -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/RaisedLaunch.h"

#include "fa/Launch/CheckArguments.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/KernelAccess.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <optional>

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// What `kernel` takes, as far as arguments are made of it.
static Expected<KernelInfo> describeArguments(tile::KernelOp kernel) {
  KernelInfo info;
  info.entry = kernel.getSymName();
  for (auto [number, type] : enumerate(kernel.getArgumentTypes())) {
    std::string text;
    raw_string_ostream(text) << mlir::getElementTypeOrSelf(type);
    auto element = parseElementType(text);
    if (!element)
      return createStringError("argument " + Twine(number) + " of @" +
                               info.entry +
                               " has an element type that no "
                               "buffer has: " +
                               text);
    ArgumentInfo argument;
    argument.type = *element;
    if (auto memory = dyn_cast<mlir::MemRefType>(type)) {
      argument.isMemRef = true;
      argument.sizes.assign(memory.getRank(), kDynamic);
      argument.strides.assign(memory.getRank(), kDynamic);
      // Nothing is written to the last one, the grid.
      if (number + 1 < kernel.getNumArguments())
        argument.access = accessOf(kernel, number);
    }
    info.args.push_back(argument);
  }
  return info;
}

Expected<RaisedLaunch> RaisedLaunch::create(tile::KernelOp kernel,
                                            const RaisedAttention &raised) {
  auto info = describeArguments(kernel);
  if (!info)
    return info.takeError();
  RaisedLaunch launch;
  launch.info = std::move(*info);
  launch.arguments = raised.arguments;
  mlir::func::FuncOp function = raised.function;
  launch.numInputs = function.getNumArguments();
  launch.conditions = raised.conditions;
  launch.positiveArguments = raised.positiveArguments;
  return launch;
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

namespace {

/// The numbers of one launch of a kernel.
class LaunchValues {
public:
  explicit LaunchValues(ArrayRef<LaunchArgument> given) {
    for (const LaunchArgument &argument : given.drop_back())
      symbols.push_back(integerOf(argument));
    append_range(symbols, given.back().sizes);
  }

  /// Nothing where it divides by what is not above 0, or overflows.
  std::optional<int64_t> evaluate(mlir::AffineExpr expression) const;
  /// Sets the sizes that follow from the memory of `given`. The first argument
  /// that has room for none, if one has.
  std::optional<unsigned> measure(ArrayRef<RaisedArgument> arguments,
                                  ArrayRef<LaunchArgument> given);

private:
  /// A scalar of 32 bits may have anything above them.
  static int64_t integerOf(const LaunchArgument &argument) {
    if (argument.isTensor)
      return 0;
    return argument.type == ElementType::I32
               ? static_cast<int32_t>(argument.bits)
               : static_cast<int64_t>(argument.bits);
  }

  SmallVector<int64_t> symbols;
  SmallVector<std::optional<int64_t>> open; ///< by dimension
};

} // namespace

std::optional<int64_t>
LaunchValues::evaluate(mlir::AffineExpr expression) const {
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expression))
    return dim.getPosition() < open.size() ? open[dim.getPosition()]
                                           : std::nullopt;
  auto binary = cast<mlir::AffineBinaryOpExpr>(expression);
  std::optional<int64_t> x = evaluate(binary.getLHS()),
                         y = evaluate(binary.getRHS());
  if (!x || !y)
    return std::nullopt;
  int64_t result;
  switch (binary.getKind()) {
  case mlir::AffineExprKind::Add:
    return AddOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  case mlir::AffineExprKind::Mul:
    return MulOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  case mlir::AffineExprKind::FloorDiv:
    return *y > 0 ? std::optional(divideFloorSigned(*x, *y)) : std::nullopt;
  case mlir::AffineExprKind::CeilDiv:
    return *y > 0 ? std::optional(divideCeilSigned(*x, *y)) : std::nullopt;
  case mlir::AffineExprKind::Mod:
    return *y > 0 ? std::optional(mod(*x, *y)) : std::nullopt;
  default:
    return std::nullopt; // there are no others
  }
}

/// How large dimension `dim` of `argument` may be in `memory`: to its end, and
/// to where the next one of another dimension begins. Nothing if its other
/// sizes are no sizes.
static std::optional<int64_t> roomFor(size_t dim,
                                      const RaisedArgument &argument,
                                      const LaunchArgument &memory,
                                      const LaunchValues &values) {
  std::optional<int64_t> offset = values.evaluate(argument.offset),
                         step = values.evaluate(argument.strides[dim]);
  if (!offset || !step || *offset < 0 || *step < 1)
    return std::nullopt;
  int64_t last = *offset, room = std::numeric_limits<int64_t>::max();
  for (size_t other = 0; other < argument.sizes.size(); ++other) {
    if (other == dim)
      continue;
    std::optional<int64_t> size = values.evaluate(argument.sizes[other]),
                           stride = values.evaluate(argument.strides[other]);
    int64_t length;
    if (!size || !stride || *size < 1 || *stride < 0 ||
        MulOverflow(*size - 1, *stride, length) ||
        AddOverflow(last, length, last))
      return std::nullopt;
    if (*size > 1 && *stride >= *step)
      room = std::min(room, *stride / *step);
  }
  if (last >= memory.sizes[0])
    return 0;
  return std::min(room, (memory.sizes[0] - 1 - last) / *step + 1);
}

std::optional<unsigned>
LaunchValues::measure(ArrayRef<RaisedArgument> arguments,
                      ArrayRef<LaunchArgument> given) {
  std::optional<unsigned> full;
  for (const RaisedArgument &argument : arguments)
    for (auto [n, size] : enumerate(argument.sizes)) {
      auto dim = dyn_cast<mlir::AffineDimExpr>(size);
      if (!dim)
        continue;
      if (open.size() <= dim.getPosition())
        open.resize(dim.getPosition() + 1);
      std::optional<int64_t> &least = open[dim.getPosition()];
      int64_t room =
          roomFor(n, argument, given[argument.from], *this).value_or(0);
      least = std::min(least.value_or(room), room);
      if (room < 1 && !full)
        full = argument.from;
    }
  return full;
}

static bool holds(const LaunchCondition &condition,
                  const LaunchValues &values) {
  std::optional<int64_t> value = values.evaluate(condition.expression);
  return value && (condition.isZero ? *value == 0 : *value >= 0);
}

/// A view of the memory of `argument`; nothing if it would leave it.
static std::optional<LaunchArgument> viewOf(const LaunchArgument &memory,
                                            const RaisedArgument &argument,
                                            const LaunchValues &values) {
  std::optional<int64_t> offset = values.evaluate(argument.offset);
  if (!offset || *offset < 0)
    return std::nullopt;
  SmallVector<int64_t> sizes, strides;
  int64_t last = *offset;
  for (auto [size, stride] : zip_equal(argument.sizes, argument.strides)) {
    std::optional<int64_t> n = values.evaluate(size),
                           step = values.evaluate(stride);
    int64_t length;
    if (!n || !step || *n < 1 || *step < 0 ||
        MulOverflow(*n - 1, *step, length) || AddOverflow(last, length, last))
      return std::nullopt;
    sizes.push_back(*n);
    strides.push_back(*step);
  }
  if (last >= memory.sizes[0])
    return std::nullopt;
  auto *data =
      static_cast<char *>(memory.data) + *offset * byteSize(memory.type);
  return LaunchArgument::tensor(data, memory.type, sizes, strides);
}

/// Whether no two elements of `view` are one in memory, by its strides: each is
/// beyond all that the smaller ones reach.
static bool isWithoutOverlap(const LaunchArgument &view) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : zip_equal(view.sizes, view.strides))
    if (size > 1)
      dims.push_back({stride, size});
  sort(dims);
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach)
      return false;
    reach += (size - 1) * stride;
  }
  return true;
}

/// The bytes from a view's first element to behind its last one.
static std::pair<uintptr_t, uintptr_t> bytesOf(const LaunchArgument &view) {
  auto first = reinterpret_cast<uintptr_t>(view.data);
  int64_t last = 0;
  for (auto [size, stride] : zip_equal(view.sizes, view.strides))
    last += (size - 1) * stride;
  return {first, first + (last + 1) * byteSize(view.type)};
}

/// Whether the memory between the first and the last elements of two views has
/// a part in common. Elements that lie between each other's are not told apart.
static bool shareMemory(const LaunchArgument &x, const LaunchArgument &y) {
  auto [xBegin, xEnd] = bytesOf(x);
  auto [yBegin, yEnd] = bytesOf(y);
  return xBegin < yEnd && yBegin < xEnd;
}

Expected<std::vector<LaunchArgument>>
RaisedLaunch::bind(ArrayRef<LaunchArgument> given) const {
  if (Failure failure = checkArguments(info, given))
    return toError(failure);
  for (auto [number, argument] : enumerate(given.drop_back()))
    if (argument.isTensor && argument.sizes[0] > 1 && argument.strides[0] != 1)
      return createStringError("argument " + Twine(number) +
                               ": expected elements one behind the other, "
                               "found stride " +
                               Twine(argument.strides[0]));
  LaunchValues values(given);
  std::optional<unsigned> full = values.measure(arguments, given);
  for (const LaunchCondition &condition : conditions)
    if (!holds(condition, values))
      return createStringError("this launch breaks: " + condition.text);
  for (unsigned n : positiveArguments)
    if (!(bit_cast<float>(static_cast<uint32_t>(given[n].bits)) > 0))
      return createStringError("this launch breaks: argument " + Twine(n) +
                               " is above 0");
  auto tooSmall = [](unsigned argument) {
    return createStringError("argument " + Twine(argument) +
                             " is smaller than what is read or written");
  };
  if (full)
    return tooSmall(*full);
  std::vector<LaunchArgument> bound;
  bound.reserve(arguments.size());
  for (const RaisedArgument &argument : arguments) {
    if (argument.kind == RaisedArgument::Same) {
      bound.push_back(given[argument.from]);
      continue;
    }
    if (argument.kind == RaisedArgument::Index) {
      std::optional<int64_t> value = values.evaluate(argument.offset);
      if (!value)
        return createStringError("this launch divides by 0");
      bound.push_back(LaunchArgument::index(*value));
      continue;
    }
    std::optional<LaunchArgument> view =
        viewOf(given[argument.from], argument, values);
    if (!view)
      return tooSmall(argument.from);
    if (bound.size() >= numInputs && !isWithoutOverlap(*view))
      return createStringError("several programs write the same elements of "
                               "argument " +
                               Twine(argument.from));
    bound.push_back(*view);
  }
  // What is written is nothing else's memory.
  for (size_t out = numInputs; out < bound.size(); ++out)
    for (size_t n = 0; n < out; ++n)
      if (bound[n].isTensor && shareMemory(bound[n], bound[out]))
        return createStringError(
            "argument " + Twine(arguments[out].from) +
            ", which is written, shares memory with argument " +
            Twine(arguments[n].from));
  return bound;
}

Expected<std::vector<LaunchArgument>>
RaisedLaunch::bindPlanned(ArrayRef<LaunchArgument> given) const {
  constexpr uintptr_t kAlignment = 256; // as any driver's memory has
  // Where no process has memory, and far from each other.
  constexpr uintptr_t kFirst = uintptr_t(1) << 48;
  std::vector<LaunchArgument> placed(given);
  uintptr_t next = kFirst;
  for (LaunchArgument &argument : placed) {
    if (!argument.isTensor || argument.data)
      continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    argument.data = reinterpret_cast<void *>(next);
    int64_t bytes = byteSize(argument.type);
    for (int64_t size : argument.sizes)
      if (size < 0 || MulOverflow(bytes, size, bytes))
        return createStringError("expected sizes that memory can have");
    next += alignTo(uintptr_t(bytes) + 1, kAlignment);
  }
  return bind(placed);
}

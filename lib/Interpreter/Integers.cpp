//===- Integers.cpp - arith on integers -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Integers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace fa::interp;

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

static unsigned widthOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return isa<IndexType>(element) ? 64 : element.getIntOrFloatBitWidth();
}

/// The low `width` bits as a tensor holds them.
static int64_t wrap(uint64_t bits, unsigned width) {
  if (width == 1)
    return static_cast<int64_t>(bits & 1);
  return width >= 64 ? static_cast<int64_t>(bits)
                     : llvm::SignExtend64(bits, width);
}

namespace {

/// One number of an operand.
struct Integer {
  int64_t value; ///< as a tensor holds it
  unsigned width;

  int64_t asSigned() const { return width == 1 ? -value : value; }
  uint64_t asUnsigned() const {
    uint64_t bits = value;
    return width >= 64 ? bits : bits & llvm::maskTrailingOnes<uint64_t>(width);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Gives bits of which those of the result's width count.
using Unary = uint64_t (*)(Integer);
using Binary = uint64_t (*)(Integer, Integer);

static const llvm::StringMap<Unary> &unaryIntegers() {
  static const llvm::StringMap<Unary> table = {
      {"arith.extsi", [](Integer x) { return uint64_t(x.asSigned()); }},
      {"arith.extui", [](Integer x) { return x.asUnsigned(); }},
      {"arith.trunci", [](Integer x) { return x.asUnsigned(); }},
      {"arith.index_cast", [](Integer x) { return uint64_t(x.asSigned()); }},
      {"arith.index_castui", [](Integer x) { return x.asUnsigned(); }},
      {"math.absi",
       [](Integer x) {
         uint64_t bits = x.asSigned();
         return x.asSigned() < 0 ? 0 - bits : bits;
       }},
  };
  return table;
}

static uint64_t divide(int64_t x, int64_t y) {
  if (y == -1) // the smallest number has no opposite
    return 0 - uint64_t(x);
  return y ? x / y : 0;
}

static uint64_t remainder(int64_t x, int64_t y) {
  return y && y != -1 ? x % y : 0;
}

static const llvm::StringMap<Binary> &binaryIntegers() {
  using X = Integer;
  static const llvm::StringMap<Binary> table = {
      {"arith.addi", [](X x, X y) { return x.asUnsigned() + y.asUnsigned(); }},
      {"arith.subi", [](X x, X y) { return x.asUnsigned() - y.asUnsigned(); }},
      {"arith.muli", [](X x, X y) { return x.asUnsigned() * y.asUnsigned(); }},
      {"arith.andi", [](X x, X y) { return x.asUnsigned() & y.asUnsigned(); }},
      {"arith.ori", [](X x, X y) { return x.asUnsigned() | y.asUnsigned(); }},
      {"arith.xori", [](X x, X y) { return x.asUnsigned() ^ y.asUnsigned(); }},
      {"arith.divsi",
       [](X x, X y) { return divide(x.asSigned(), y.asSigned()); }},
      {"arith.remsi",
       [](X x, X y) { return remainder(x.asSigned(), y.asSigned()); }},
      {"arith.divui",
       [](X x, X y) {
         return y.value ? x.asUnsigned() / y.asUnsigned() : uint64_t(0);
       }},
      {"arith.remui",
       [](X x, X y) {
         return y.value ? x.asUnsigned() % y.asUnsigned() : uint64_t(0);
       }},
      {"arith.maxsi",
       [](X x, X y) { return uint64_t(std::max(x.asSigned(), y.asSigned())); }},
      {"arith.minsi",
       [](X x, X y) { return uint64_t(std::min(x.asSigned(), y.asSigned())); }},
      {"arith.maxui",
       [](X x, X y) { return std::max(x.asUnsigned(), y.asUnsigned()); }},
      {"arith.minui",
       [](X x, X y) { return std::min(x.asUnsigned(), y.asUnsigned()); }},
      {"arith.shli",
       [](X x, X y) {
         return y.asUnsigned() < x.width ? x.asUnsigned() << y.asUnsigned()
                                         : uint64_t(0);
       }},
      {"arith.shrui",
       [](X x, X y) {
         return y.asUnsigned() < x.width ? x.asUnsigned() >> y.asUnsigned()
                                         : uint64_t(0);
       }},
      {"arith.shrsi",
       [](X x, X y) {
         uint64_t by = std::min<uint64_t>(y.asUnsigned(), x.width - 1);
         return uint64_t(x.asSigned() >> by);
       }},
  };
  return table;
}

static bool compare(arith::CmpIPredicate predicate, Integer x, Integer y) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case eq:
    return x.value == y.value;
  case ne:
    return x.value != y.value;
  case slt:
    return x.asSigned() < y.asSigned();
  case sle:
    return x.asSigned() <= y.asSigned();
  case sgt:
    return x.asSigned() > y.asSigned();
  case sge:
    return x.asSigned() >= y.asSigned();
  case ult:
    return x.asUnsigned() < y.asUnsigned();
  case ule:
    return x.asUnsigned() <= y.asUnsigned();
  case ugt:
    return x.asUnsigned() > y.asUnsigned();
  case uge:
    return x.asUnsigned() >= y.asUnsigned();
  }
  llvm_unreachable("every predicate is handled");
}

/// The nearest number towards 0 that 64 bits hold.
static uint64_t toInteger(double x, bool isSigned) {
  if (isSigned ? x >= -0x1p63 && x < 0x1p63 : x > -1 && x < 0x1p64)
    return isSigned || x < 0 ? uint64_t(int64_t(x)) : uint64_t(x);
  return 0;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::optional<Tensor>
fa::interp::evaluateIntegers(Operation *op, ArrayRef<const Tensor *> operands) {
  StringRef name = op->getName().getStringRef();
  Value first = op->getOperand(0), result = op->getResult(0);
  const Tensor &x = *operands[0];
  auto integer = [&](const Tensor &tensor, int64_t n) {
    return Integer{tensor.ints[n], widthOf(first)};
  };
  auto makeInts = [&](llvm::function_ref<uint64_t(int64_t)> f) {
    Tensor tensor(x.sizes, /*isFloat=*/false);
    unsigned width = widthOf(result);
    for (size_t n = 0; n < tensor.ints.size(); ++n)
      tensor.ints[n] = wrap(f(n), width);
    return tensor;
  };
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Tensor tensor(x.sizes, /*isFloat=*/true);
    for (size_t n = 0; n < tensor.floats.size(); ++n)
      tensor.floats[n] = isa<arith::SIToFPOp>(op)
                             ? static_cast<double>(integer(x, n).asSigned())
                             : static_cast<double>(integer(x, n).asUnsigned());
    return tensor;
  }
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return makeInts([&](int64_t n) {
      return toInteger(x.floats[n], isa<arith::FPToSIOp>(op));
    });
  if (Unary f = unaryIntegers().lookup(name))
    return makeInts([&](int64_t n) { return f(integer(x, n)); });
  if (operands.size() != 2)
    return std::nullopt;
  const Tensor &y = *operands[1];
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return makeInts([&](int64_t n) {
      return compare(cmp.getPredicate(), integer(x, n), integer(y, n));
    });
  if (Binary f = binaryIntegers().lookup(name))
    return makeInts([&](int64_t n) { return f(integer(x, n), integer(y, n)); });
  return std::nullopt;
}

//===- Integers.cpp - arith on rows of integers --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

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

/// `f` of each element gives bits, of which those of the result's width count.
template <auto f>
static void unary(const Elementwise &op, ArrayRef<ConstRow> operands,
                  Row result, int64_t count) {
  const int64_t *x = operands[0].ints;
  for (int64_t n = 0; n < count; ++n)
    result.ints[n] = wrap(f(Integer{x[n], op.width}), op.resultWidth);
}

template <auto f>
static void binary(const Elementwise &op, ArrayRef<ConstRow> operands,
                   Row result, int64_t count) {
  const int64_t *x = operands[0].ints, *y = operands[1].ints;
  for (int64_t n = 0; n < count; ++n)
    result.ints[n] = wrap(f(Integer{x[n], op.width}, Integer{y[n], op.width}),
                          op.resultWidth);
}

static uint64_t divide(int64_t x, int64_t y) {
  if (y == -1) // the smallest number has no opposite
    return 0 - uint64_t(x);
  return y ? x / y : 0;
}

static uint64_t remainder(int64_t x, int64_t y) {
  return y && y != -1 ? x % y : 0;
}

/// The nearest number towards 0 that 64 bits hold.
template <bool isSigned>
static void toIntegers(const Elementwise &op, ArrayRef<ConstRow> operands,
                       Row result, int64_t count) {
  for (int64_t n = 0; n < count; ++n) {
    double x = operands[0].floats[n];
    uint64_t bits = 0;
    if (isSigned ? x >= -0x1p63 && x < 0x1p63 : x > -1 && x < 0x1p64)
      bits = isSigned || x < 0 ? uint64_t(int64_t(x)) : uint64_t(x);
    result.ints[n] = wrap(bits, op.resultWidth);
  }
}

template <bool isSigned>
static void toFloats(const Elementwise &op, ArrayRef<ConstRow> operands,
                     Row result, int64_t count) {
  for (int64_t n = 0; n < count; ++n) {
    Integer x{operands[0].ints[n], op.width};
    result.floats[n] = isSigned ? static_cast<double>(x.asSigned())
                                : static_cast<double>(x.asUnsigned());
  }
}

static const llvm::StringMap<Elementwise::Kernel> &integerKernels() {
  using X = Integer;
  static const llvm::StringMap<Elementwise::Kernel> table = {
      {"arith.extsi", unary<[](Integer x) { return uint64_t(x.asSigned()); }>},
      {"arith.extui", unary<[](Integer x) { return x.asUnsigned(); }>},
      {"arith.trunci", unary<[](Integer x) { return x.asUnsigned(); }>},
      {"arith.index_cast",
       unary<[](Integer x) { return uint64_t(x.asSigned()); }>},
      {"arith.index_castui", unary<[](Integer x) { return x.asUnsigned(); }>},
      {"math.absi", unary<[](Integer x) {
         uint64_t bits = x.asSigned();
         return x.asSigned() < 0 ? 0 - bits : bits;
       }>},
      {"arith.addi",
       binary<[](X x, X y) { return x.asUnsigned() + y.asUnsigned(); }>},
      {"arith.subi",
       binary<[](X x, X y) { return x.asUnsigned() - y.asUnsigned(); }>},
      {"arith.muli",
       binary<[](X x, X y) { return x.asUnsigned() * y.asUnsigned(); }>},
      {"arith.andi",
       binary<[](X x, X y) { return x.asUnsigned() & y.asUnsigned(); }>},
      {"arith.ori",
       binary<[](X x, X y) { return x.asUnsigned() | y.asUnsigned(); }>},
      {"arith.xori",
       binary<[](X x, X y) { return x.asUnsigned() ^ y.asUnsigned(); }>},
      {"arith.divsi",
       binary<[](X x, X y) { return divide(x.asSigned(), y.asSigned()); }>},
      {"arith.remsi",
       binary<[](X x, X y) { return remainder(x.asSigned(), y.asSigned()); }>},
      {"arith.divui", binary<[](X x, X y) {
         return y.value ? x.asUnsigned() / y.asUnsigned() : uint64_t(0);
       }>},
      {"arith.remui", binary<[](X x, X y) {
         return y.value ? x.asUnsigned() % y.asUnsigned() : uint64_t(0);
       }>},
      {"arith.maxsi", binary<[](X x, X y) {
         return uint64_t(std::max(x.asSigned(), y.asSigned()));
       }>},
      {"arith.minsi", binary<[](X x, X y) {
         return uint64_t(std::min(x.asSigned(), y.asSigned()));
       }>},
      {"arith.maxui", binary<[](X x, X y) {
         return std::max(x.asUnsigned(), y.asUnsigned());
       }>},
      {"arith.minui", binary<[](X x, X y) {
         return std::min(x.asUnsigned(), y.asUnsigned());
       }>},
      {"arith.shli", binary<[](X x, X y) {
         return y.asUnsigned() < x.width ? x.asUnsigned() << y.asUnsigned()
                                         : uint64_t(0);
       }>},
      {"arith.shrui", binary<[](X x, X y) {
         return y.asUnsigned() < x.width ? x.asUnsigned() >> y.asUnsigned()
                                         : uint64_t(0);
       }>},
      {"arith.shrsi", binary<[](X x, X y) {
         uint64_t by = std::min<uint64_t>(y.asUnsigned(), x.width - 1);
         return uint64_t(x.asSigned() >> by);
       }>},
      {"arith.sitofp", toFloats<true>},
      {"arith.uitofp", toFloats<false>},
      {"arith.fptosi", toIntegers<true>},
      {"arith.fptoui", toIntegers<false>},
  };
  return table;
}

/// Of arith.cmpi, in the order of its predicates.
static Elementwise::Kernel comparison(arith::CmpIPredicate predicate) {
  using X = Integer;
  static constexpr Elementwise::Kernel kernels[] = {
      binary<[](X x, X y) { return uint64_t(x.value == y.value); }>,
      binary<[](X x, X y) { return uint64_t(x.value != y.value); }>,
      binary<[](X x, X y) { return uint64_t(x.asSigned() < y.asSigned()); }>,
      binary<[](X x, X y) { return uint64_t(x.asSigned() <= y.asSigned()); }>,
      binary<[](X x, X y) { return uint64_t(x.asSigned() > y.asSigned()); }>,
      binary<[](X x, X y) { return uint64_t(x.asSigned() >= y.asSigned()); }>,
      binary<[](X x, X y) {
        return uint64_t(x.asUnsigned() < y.asUnsigned());
      }>,
      binary<[](X x, X y) {
        return uint64_t(x.asUnsigned() <= y.asUnsigned());
      }>,
      binary<[](X x, X y) {
        return uint64_t(x.asUnsigned() > y.asUnsigned());
      }>,
      binary<[](X x, X y) {
        return uint64_t(x.asUnsigned() >= y.asUnsigned());
      }>,
  };
  return kernels[static_cast<size_t>(predicate)];
}

Elementwise::Kernel interp::findIntegerKernel(Operation *op) {
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return comparison(cmp.getPredicate());
  return integerKernels().lookup(op->getName().getStringRef());
}

//===- Elementwise.cpp - arith and math on rows of elements ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

//===----------------------------------------------------------------------===//
// Rows of floats
//===----------------------------------------------------------------------===//

/// `f` of each element.
template <auto f>
static void unary(const Elementwise &, ArrayRef<ConstRow> operands, Row result,
                  int64_t count) {
  const double *x = operands[0].floats;
  for (int64_t n = 0; n < count; ++n)
    result.floats[n] = f(x[n]);
}

template <auto f>
static void binary(const Elementwise &, ArrayRef<ConstRow> operands, Row result,
                   int64_t count) {
  const double *x = operands[0].floats, *y = operands[1].floats;
  for (int64_t n = 0; n < count; ++n)
    result.floats[n] = f(x[n], y[n]);
}

/// NaN if one is: std::fmax would drop it.
static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y)
             ? std::numeric_limits<double>::quiet_NaN()
             : std::fmax(x, y);
}

static double minimum(double x, double y) { return -maximum(-x, -y); }

static void multiplyAdd(const Elementwise &, ArrayRef<ConstRow> operands,
                        Row result, int64_t count) {
  for (int64_t n = 0; n < count; ++n)
    result.floats[n] = std::fma(operands[0].floats[n], operands[1].floats[n],
                                operands[2].floats[n]);
}

/// Of arith.cmpf, in the order of its predicates: whether it holds for equal,
/// greater, less, unordered numbers, from bit 0 on.
static constexpr unsigned kRelations[] = {0, 1,  2,  3,  4,  5,  6, 7,
                                          9, 10, 11, 12, 13, 14, 8, 15};

static void compare(const Elementwise &op, ArrayRef<ConstRow> operands,
                    Row result, int64_t count) {
  const double *x = operands[0].floats, *y = operands[1].floats;
  for (int64_t n = 0; n < count; ++n) {
    unsigned relation = x[n] == y[n]  ? 0
                        : x[n] > y[n] ? 1
                        : x[n] < y[n] ? 2
                                      : 3;
    result.ints[n] = op.relations >> relation & 1;
  }
}

static void select(const Elementwise &, ArrayRef<ConstRow> operands, Row result,
                   int64_t count) {
  const int64_t *condition = operands[0].ints;
  auto choose = [&](const auto *x, const auto *y, auto *chosen) {
    for (int64_t n = 0; n < count; ++n)
      chosen[n] = condition[n] ? x[n] : y[n];
  };
  if (result.floats)
    choose(operands[1].floats, operands[2].floats, result.floats);
  else
    choose(operands[1].ints, operands[2].ints, result.ints);
}

static const llvm::StringMap<Elementwise::Kernel> &floatKernels() {
  static const llvm::StringMap<Elementwise::Kernel> table = {
      {"arith.negf", unary<[](double x) { return -x; }>},
      {"arith.extf", unary<[](double x) { return x; }>},
      {"arith.truncf", unary<[](double x) { return x; }>},
      {"math.absf", unary<[](double x) { return std::fabs(x); }>},
      {"math.exp", unary<[](double x) { return std::exp(x); }>},
      {"math.exp2", unary<[](double x) { return std::exp2(x); }>},
      {"math.log", unary<[](double x) { return std::log(x); }>},
      {"math.log2", unary<[](double x) { return std::log2(x); }>},
      {"math.tanh", unary<[](double x) { return std::tanh(x); }>},
      {"math.sqrt", unary<[](double x) { return std::sqrt(x); }>},
      {"math.rsqrt", unary<[](double x) { return 1 / std::sqrt(x); }>},
      {"math.sin", unary<[](double x) { return std::sin(x); }>},
      {"math.cos", unary<[](double x) { return std::cos(x); }>},
      {"math.erf", unary<[](double x) { return std::erf(x); }>},
      {"math.expm1", unary<[](double x) { return std::expm1(x); }>},
      {"math.log1p", unary<[](double x) { return std::log1p(x); }>},
      {"math.sinh", unary<[](double x) { return std::sinh(x); }>},
      {"math.cosh", unary<[](double x) { return std::cosh(x); }>},
      {"math.atan", unary<[](double x) { return std::atan(x); }>},
      {"math.floor", unary<[](double x) { return std::floor(x); }>},
      {"math.ceil", unary<[](double x) { return std::ceil(x); }>},
      {"math.trunc", unary<[](double x) { return std::trunc(x); }>},
      {"math.round", unary<[](double x) { return std::round(x); }>},
      {"math.roundeven", unary<[](double x) { return std::nearbyint(x); }>},
      {"arith.addf", binary<[](double x, double y) { return x + y; }>},
      {"arith.subf", binary<[](double x, double y) { return x - y; }>},
      {"arith.mulf", binary<[](double x, double y) { return x * y; }>},
      {"arith.divf", binary<[](double x, double y) { return x / y; }>},
      {"arith.maximumf", binary<maximum>},
      {"arith.minimumf", binary<minimum>},
      {"arith.maxnumf",
       binary<[](double x, double y) { return std::fmax(x, y); }>},
      {"arith.minnumf",
       binary<[](double x, double y) { return std::fmin(x, y); }>},
      {"math.powf", binary<[](double x, double y) { return std::pow(x, y); }>},
      {"math.fma", multiplyAdd},
      {"arith.cmpf", compare},
      {"arith.select", select},
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The width of an integer's type; 64 of any other.
static unsigned widthOf(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type ? type.getWidth() : 64;
}

std::optional<Elementwise> interp::findElementwise(Operation *op) {
  Elementwise result;
  result.kernel = floatKernels().lookup(op->getName().getStringRef());
  if (!result.kernel)
    result.kernel = findIntegerKernel(op);
  if (!result.kernel)
    return std::nullopt;
  result.width = widthOf(op->getOperand(0));
  result.resultWidth = widthOf(op->getResult(0));
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    result.relations = kRelations[static_cast<size_t>(cmp.getPredicate())];
  return result;
}

bool interp::isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

ElementType interp::roundingOf(Type type, Precision precision) {
  Type element = getElementTypeOrSelf(type);
  if (precision == Precision::Float64)
    return ElementType::F64;
  if (element.isF16())
    return ElementType::F16;
  if (element.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(element))
    return ElementType::F8E4M3;
  if (isa<Float8E5M2Type>(element))
    return ElementType::F8E5M2;
  return element.isF32() ? ElementType::F32 : ElementType::F64;
}

void interp::roundAll(MutableArrayRef<double> elements, ElementType type) {
  if (type == ElementType::F64)
    return;
  if (type == ElementType::F32) {
    for (double &x : elements)
      x = static_cast<float>(x);
    return;
  }
  for (double &x : elements)
    x = roundTo(type, x);
}

//===- Elementwise.cpp - arith and math, element by element ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Integers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa::interp;

using Unary = double (*)(double);
using Binary = double (*)(double, double);

static const llvm::StringMap<Unary> &unaryFloats() {
  static const llvm::StringMap<Unary> table = {
      {"arith.negf", [](double x) { return -x; }},
      {"arith.extf", [](double x) { return x; }},
      {"arith.truncf", [](double x) { return x; }},
      {"math.absf", [](double x) { return std::fabs(x); }},
      {"math.exp", [](double x) { return std::exp(x); }},
      {"math.exp2", [](double x) { return std::exp2(x); }},
      {"math.log", [](double x) { return std::log(x); }},
      {"math.log2", [](double x) { return std::log2(x); }},
      {"math.tanh", [](double x) { return std::tanh(x); }},
      {"math.sqrt", [](double x) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"math.sin", [](double x) { return std::sin(x); }},
      {"math.cos", [](double x) { return std::cos(x); }},
      {"math.erf", [](double x) { return std::erf(x); }},
      {"math.floor", [](double x) { return std::floor(x); }},
      {"math.ceil", [](double x) { return std::ceil(x); }},
  };
  return table;
}

/// NaN if one is: std::fmax would drop it.
static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y)
             ? std::numeric_limits<double>::quiet_NaN()
             : std::fmax(x, y);
}

static double minimum(double x, double y) { return -maximum(-x, -y); }

static const llvm::StringMap<Binary> &binaryFloats() {
  static const llvm::StringMap<Binary> table = {
      {"arith.addf", [](double x, double y) { return x + y; }},
      {"arith.subf", [](double x, double y) { return x - y; }},
      {"arith.mulf", [](double x, double y) { return x * y; }},
      {"arith.divf", [](double x, double y) { return x / y; }},
      {"arith.maximumf", maximum},
      {"arith.minimumf", minimum},
      {"arith.maxnumf", [](double x, double y) { return std::fmax(x, y); }},
      {"arith.minnumf", [](double x, double y) { return std::fmin(x, y); }},
      {"math.powf", [](double x, double y) { return std::pow(x, y); }},
  };
  return table;
}

/// The predicate's bits say for which of equal, greater, less, unordered it
/// holds.
static int64_t compare(arith::CmpFPredicate predicate, double x, double y) {
  using enum arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case AlwaysFalse:
    return 0;
  case OEQ:
    return !unordered && x == y;
  case OGT:
    return !unordered && x > y;
  case OGE:
    return !unordered && x >= y;
  case OLT:
    return !unordered && x < y;
  case OLE:
    return !unordered && x <= y;
  case ONE:
    return !unordered && x != y;
  case ORD:
    return !unordered;
  case UEQ:
    return unordered || x == y;
  case UGT:
    return unordered || x > y;
  case UGE:
    return unordered || x >= y;
  case ULT:
    return unordered || x < y;
  case ULE:
    return unordered || x <= y;
  case UNE:
    return unordered || x != y;
  case UNO:
    return unordered;
  case AlwaysTrue:
    return 1;
  }
  llvm_unreachable("every predicate is handled");
}

Tensor::Tensor(ArrayRef<int64_t> sizes, bool isFloat)
    : sizes(sizes), isFloat(isFloat) {
  if (isFloat)
    floats.resize(count());
  else
    ints.resize(count());
}

int64_t Tensor::count() const {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

static Tensor makeFloats(ArrayRef<int64_t> sizes,
                         llvm::function_ref<double(int64_t)> f) {
  Tensor result(sizes, /*isFloat=*/true);
  for (size_t n = 0; n < result.floats.size(); ++n)
    result.floats[n] = f(n);
  return result;
}

static Tensor makeInts(ArrayRef<int64_t> sizes,
                       llvm::function_ref<int64_t(int64_t)> f) {
  Tensor result(sizes, /*isFloat=*/false);
  for (size_t n = 0; n < result.ints.size(); ++n)
    result.ints[n] = f(n);
  return result;
}

static Tensor select(const Tensor &condition, const Tensor &x,
                     const Tensor &y) {
  // A scalar condition chooses between tensors.
  auto isTrue = [&](int64_t n) {
    return condition.ints[condition.sizes.empty() ? 0 : n] != 0;
  };
  if (x.isFloat)
    return makeFloats(x.sizes, [&](int64_t n) {
      return isTrue(n) ? x.floats[n] : y.floats[n];
    });
  return makeInts(x.sizes,
                  [&](int64_t n) { return isTrue(n) ? x.ints[n] : y.ints[n]; });
}

std::optional<Tensor>
fa::interp::evaluateElementwise(Operation *op,
                                ArrayRef<const Tensor *> operands) {
  StringRef name = op->getName().getStringRef();
  const Tensor &x = *operands[0];
  if (Unary f = unaryFloats().lookup(name))
    return makeFloats(x.sizes, [&](int64_t n) { return f(x.floats[n]); });
  if (std::optional<Tensor> integers = evaluateIntegers(op, operands))
    return integers;
  if (operands.size() < 2)
    return std::nullopt;
  const Tensor &y = *operands[1];
  if (Binary f = binaryFloats().lookup(name))
    return makeFloats(x.sizes,
                      [&](int64_t n) { return f(x.floats[n], y.floats[n]); });
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return makeInts(x.sizes, [&](int64_t n) {
      return compare(cmp.getPredicate(), x.floats[n], y.floats[n]);
    });
  if (operands.size() < 3)
    return std::nullopt;
  const Tensor &z = *operands[2];
  if (isa<arith::SelectOp>(op))
    return select(x, y, z);
  if (name == "math.fma")
    return makeFloats(x.sizes, [&](int64_t n) {
      return std::fma(x.floats[n], y.floats[n], z.floats[n]);
    });
  return std::nullopt;
}

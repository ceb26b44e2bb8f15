//===- IndexMath.cpp - sums of steps and how far they go ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;

Value IndexMath::constant(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value IndexMath::add(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return b.createOrFold<arith::AddIOp>(x, y);
}

Value IndexMath::sub(Value x, Value y) {
  if (!y)
    return x;
  return b.createOrFold<arith::SubIOp>(orZero(x), y);
}

Value IndexMath::mul(Value x, Value y) {
  if (!x || !y)
    return {};
  return b.createOrFold<arith::MulIOp>(x, y);
}

AffineTile IndexMath::add(const AffineTile &x, const AffineTile &y) {
  AffineTile sum = {add(x.base, y.base), {}};
  for (auto [p, q] : llvm::zip_equal(x.steps, y.steps))
    sum.steps.push_back(add(p, q));
  return sum;
}

AffineTile IndexMath::sub(const AffineTile &x, const AffineTile &y) {
  AffineTile difference = {sub(x.base, y.base), {}};
  for (auto [p, q] : llvm::zip_equal(x.steps, y.steps))
    difference.steps.push_back(isSameNumber(p, q) ? Value() : sub(p, q));
  return difference;
}

AffineTile IndexMath::scale(const AffineTile &x, Value factor) {
  AffineTile product = {mul(x.base, factor), {}};
  for (Value step : x.steps)
    product.steps.push_back(mul(step, factor));
  return product;
}

bool fa::isSameNumber(Value x, Value y) {
  if (x == y)
    return true;
  if (!x || !y)
    return isConstantIntValue(x ? x : y, 0);
  std::optional<int64_t> p = getConstantIntValue(x), q = getConstantIntValue(y);
  return p && q && *p == *q;
}

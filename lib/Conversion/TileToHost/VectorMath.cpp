//===- VectorMath.cpp - the few functions that softmax needs --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

static Value splat(ImplicitLocOpBuilder &b, VectorType type, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type,
                                b.getFloatAttr(type.getElementType(), value)));
}

/// exp(x) = 2^(x log2 e) by range reduction: x log2 e = n + f with n integer
/// and |f| <= 1/2, 2^f by a polynomial of degree 5 (a Chebyshev fit with
/// relative weights and 1 at 0, error 9.2e-8 before rounding; that of log2 e in
/// f32 adds 1.4e-8 |x|), 2^n by its bits; x of 89 or less. The magic
/// number 1.5 * 2^23 + 127 makes the addition round to an integer and leaves n
/// + 127, a biased exponent, in the low bits; x log2 e is part of two fused
/// operations and never rounded. The product with 2^n, unlike an addition to
/// the exponent field, keeps a NaN. math.exp would become scalar library calls.
Value fa::emitExp(ImplicitLocOpBuilder &b, Value x) {
  static constexpr double kLog2e = 1.4426950408889634;
  static constexpr double coefficients[] = {1.0,
                                            0.6931469775976158,
                                            0.24022242082829878,
                                            0.0555073374437742,
                                            0.009671512806157068,
                                            0.0013264727361823984};
  auto type = cast<VectorType>(x.getType());
  auto ints = VectorType::get(type.getShape(), b.getI32Type());
  Value magic = splat(b, type, 12582912.0 + 127.0);
  Value log2e = splat(b, type, kLog2e);
  Value shifted = vector::FMAOp::create(b, x, log2e, magic);
  Value negatedWhole = arith::SubFOp::create(b, magic, shifted);
  Value fraction = vector::FMAOp::create(b, x, log2e, negatedWhole);
  Value poly = splat(b, type, coefficients[5]);
  for (int i = 4; i >= 0; --i)
    poly = vector::FMAOp::create(b, poly, fraction,
                                 splat(b, type, coefficients[i]));
  Value bits = vector::BitCastOp::create(b, ints, shifted);
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(ints, b.getI32IntegerAttr(23)));
  Value power = vector::BitCastOp::create(
      b, type, Value(arith::ShLIOp::create(b, bits, shift)));
  Value result = arith::MulFOp::create(b, poly, power);
  // Unordered: a NaN is not "at or below".
  Value normal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, x,
                                       splat(b, type, -126.0 / kLog2e));
  return arith::SelectOp::create(b, normal, result, splat(b, type, 0.0));
}

Value fa::emitMax(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value larger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, larger, x, y);
}

Value fa::emitRound(ImplicitLocOpBuilder &b, Value x, Type element) {
  Type wide = x.getType(), narrow = element;
  if (auto vector = dyn_cast<VectorType>(wide))
    narrow = VectorType::get(vector.getShape(), element);
  Value rounded = arith::TruncFOp::create(b, narrow, x);
  return arith::ExtFOp::create(b, wide, rounded);
}

//===- VectorMath.cpp - the few functions that attention needs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// 2^f with f in [0, 1], 1 and 2 at the ends, so that there is no step between
/// one power of two and the next. Relative errors before rounding are 3.4e-6
/// and 9.3e-8.
static constexpr double kFour[] = {1.0, 0.6930321208, 0.2413797629,
                                   0.05203236901, 0.01355574723};
static constexpr double kFive[] = {1.0,           0.69315173883,
                                   0.24015927146, 0.055818675961,
                                   0.00899099510, 0.0018793186483};

static Value emitPolynomial(ImplicitLocOpBuilder &b, Value x,
                            ArrayRef<double> coefficients) {
  auto type = cast<VectorType>(x.getType());
  Value poly = splat(b, type, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    poly = vector::FMAOp::create(b, poly, x, splat(b, type, coefficient));
  return poly;
}

/// 2^x = 2^f 2^n with x = n + f, f in [0, 1), 2^n by its bits, as in emitExp.
/// From 128 on n is 128, whose bits are infinity's. math.exp2 would become a
/// call of the library for each lane.
Value fa::emitExp2(ImplicitLocOpBuilder &b, Value x) {
  auto type = cast<VectorType>(x.getType());
  auto ints = VectorType::get(type.getShape(), b.getI32Type());
  Value most = splat(b, type, 128.0);
  // Ordered: a NaN stays.
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, most);
  Value exponent = arith::SelectOp::create(b, isLarge, most, x);
  Value whole = math::FloorOp::create(b, exponent);
  Value poly =
      emitPolynomial(b, arith::SubFOp::create(b, exponent, whole), kFive);
  Value bits = vector::BitCastOp::create(
      b, ints,
      arith::AddFOp::create(b, whole, splat(b, type, 12582912.0 + 127.0)));
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(ints, b.getI32IntegerAttr(23)));
  Value power = vector::BitCastOp::create(
      b, type, Value(arith::ShLIOp::create(b, bits, shift)));
  Value result = arith::MulFOp::create(b, poly, power);
  // Unordered: a NaN is not below.
  Value normal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, x,
                                       splat(b, type, -126.0));
  return arith::SelectOp::create(b, normal, result, splat(b, type, 0.0));
}

/// 2^x = 2^f 2^n with x = n + f. The comparison becomes a mask of the scaling,
/// which takes 200 cycles where a power is denormal and not masked.
Value fa::emitShortExp2(ImplicitLocOpBuilder &b, Value x, bool narrow) {
  static constexpr int32_t kFloor = 9;
  auto type = cast<VectorType>(x.getType());
  auto constant = [&](IntegerAttr value) -> Value {
    return arith::ConstantOp::create(b, value);
  };
  Value zero = splat(b, type, 0.0);
  // All lanes, none of `zero`'s, and the rounding that is set.
  SmallVector<Value> rest = {zero, constant(b.getI16IntegerAttr(-1)),
                             constant(b.getI32IntegerAttr(4))};
  auto call = [&](StringRef name, Value x, Value y) -> Value {
    SmallVector<Value> operands = {x, y};
    operands.append(rest);
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                         operands)
        .getResult(0);
  };
  Value fraction = call("llvm.x86.avx512.mask.reduce.ps.512", x,
                        constant(b.getI32IntegerAttr(kFloor)));
  Value poly =
      emitPolynomial(b, fraction, narrow ? ArrayRef(kFour) : ArrayRef(kFive));
  Value scaled = call("llvm.x86.avx512.mask.scalef.ps.512", poly, x);
  // Unordered: a NaN is not "at or below".
  Value normal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, x,
                                       splat(b, type, -126.0));
  return arith::SelectOp::create(b, normal, scaled, zero);
}

/// The rounding of x log2 e adds 6e-8 |x|: with degree 4 the error is 3.5e-6
/// near 0 and 7.2e-6 near 2^-126, where half a unit in the last place of bf16
/// is 2e-3 or more, of 15 bits 1.5e-5.
Value fa::emitShortExp(ImplicitLocOpBuilder &b, Value x, bool narrow) {
  auto type = cast<VectorType>(x.getType());
  return emitShortExp2(
      b, arith::MulFOp::create(b, x, splat(b, type, 1.4426950408889634)),
      narrow);
}

Value fa::emitMax(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value larger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, larger, x, y);
}

static Value splat(ImplicitLocOpBuilder &b, VectorType type, int32_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getI32IntegerAttr(value)));
}

/// A shift and bits of one or the other. LLVM would make vpermt2w of them,
/// which is half as fast.
Value fa::emitUpperPairs(ImplicitLocOpBuilder &b, Value even, Value odd) {
  static constexpr int32_t kBothOrThird = 0xEA; // (x & y) | z
  auto type = cast<VectorType>(even.getType());
  Value low = arith::ShRUIOp::create(b, even, splat(b, type, 16));
  Value function =
      arith::ConstantOp::create(b, b.getI32IntegerAttr(kBothOrThird));
  return LLVM::CallIntrinsicOp::create(
             b, type, b.getStringAttr("llvm.x86.avx512.pternlog.d.512"),
             ValueRange{odd, splat(b, type, -0x10000), low, function})
      .getResult(0);
}

/// 0.4 of 7.2 cycles of an exponential less than vcvtne2ps2bf16 and vpermw.
Value fa::emitNearestPairs(ImplicitLocOpBuilder &b, Value even, Value odd) {
  auto type = VectorType::get(cast<VectorType>(even.getType()).getShape(),
                              b.getI32Type());
  auto roundUp = [&](Value x) -> Value {
    Value bits = vector::BitCastOp::create(b, type, x);
    return arith::AddIOp::create(b, bits, splat(b, type, 0x8000));
  };
  Value low = roundUp(even);
  return emitUpperPairs(b, low, roundUp(odd));
}

Value fa::emitRound(ImplicitLocOpBuilder &b, Value x, Type element) {
  Type wide = x.getType(), narrow = element;
  if (auto vector = dyn_cast<VectorType>(wide))
    narrow = VectorType::get(vector.getShape(), element);
  Value rounded = arith::TruncFOp::create(b, narrow, x);
  return arith::ExtFOp::create(b, wide, rounded);
}

//===- RampBias.cpp - a linear bias as what a dot adds to -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RampBias.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Scores that have yet to be scaled take the bias by the scale.
RampBias::RampBias(ImplicitLocOpBuilder &b, const LinearBias &bias,
                   Value factor, Value rest, Value firstRow, Value scale)
    : b(b), sides(bias.isAbsolute) {
  bool isTurned = bias.distance.key == -1;
  if (bias.isSubtracted != (isTurned && !sides))
    factor = arith::NegFOp::create(b, factor);
  this->factor = boundedRatio(factor, scale);
  // ± (j − i) + rest
  zero = isTurned ? Value(arith::AddIOp::create(b, firstRow, rest))
                  : Value(arith::SubIOp::create(b, firstRow, rest));
}

/// factor / scale, where a finite factor gives no more than 2^102: no sum of
/// such ramps is infinite, of which the parts in a dot would make NaN.
Value RampBias::boundedRatio(Value factor, Value scale) {
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto sizeIs = [&](arith::CmpFPredicate predicate, Value x, float y) -> Value {
    return arith::CmpFOp::create(b, predicate, math::AbsFOp::create(b, x),
                                 constant(y));
  };
  Value ratio = arith::DivFOp::create(b, factor, scale);
  Value isLarge = arith::AndIOp::create(
      b, sizeIs(arith::CmpFPredicate::OGT, ratio, 0x1p102f),
      sizeIs(arith::CmpFPredicate::OLT, factor,
             std::numeric_limits<float>::infinity()));
  Value most = math::CopySignOp::create(b, constant(0x1p102f), ratio);
  return arith::SelectOp::create(b, isLarge, most, ratio);
}

Value RampBias::build(RankedTensorType type, Value key) {
  Value slope = factor;
  if (sides) {
    Value isBefore =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, zero);
    slope = arith::SelectOp::create(b, isBefore,
                                    arith::NegFOp::create(b, factor), factor);
  }
  return RampOp::create(b, type, slope, zero, key);
}

Value RampBias::addTo(Value scores, Value key) {
  RankedTensorType type = typeOf(scores);
  auto indices = type.clone(b.getIndexType());
  auto spread = [&](RankedTensorType to, Value value) -> Value {
    return BroadcastOp::create(b, to, value, ValueRange{});
  };
  Value row = IotaOp::create(b, indices, 0, ValueRange{});
  Value column = IotaOp::create(b, indices, 1, ValueRange{});
  Value first = arith::SubIOp::create(b, key, zero);
  Value steps = arith::AddIOp::create(b, arith::SubIOp::create(b, column, row),
                                      spread(indices, first));
  Value number = arith::SIToFPOp::create(
      b, type,
      arith::IndexCastOp::create(b, type.clone(b.getI32Type()), steps));
  Value bias = arith::MulFOp::create(b, spread(type, factor),
                                     math::AbsFOp::create(b, number));
  return arith::AddFOp::create(b, scores, bias);
}

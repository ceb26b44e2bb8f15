//===- Pieces.cpp - elements as sums of bf16 ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pieces.h"

#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// The bits of an f32 that bf16 has.
static constexpr int32_t kUpper = -0x10000;

int64_t fa::countPieces(Type element) {
  return element.isBF16() ? 1 : element.isF16() ? 2 : 0;
}

SmallVector<std::pair<int64_t, int64_t>> fa::pieceProducts(int64_t pieces,
                                                           bool rounded) {
  SmallVector<std::pair<int64_t, int64_t>> products;
  bool skipsLast = rounded && pieces > 1;
  // There and back, so that a piece on the right serves two on the left.
  for (int64_t left = pieces - 1; left >= 0; --left)
    for (int64_t n = 0; n < pieces; ++n) {
      bool back = (pieces - left) % 2;
      int64_t right = back ? pieces - 1 - n : n;
      if (!skipsLast || left + right < 2 * (pieces - 1))
        products.push_back({left, right});
    }
  return products;
}

static Value splat(ImplicitLocOpBuilder &b, Type type, int32_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type),
                                b.getI32IntegerAttr(value)));
}

static Value splat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(
      b,
      DenseElementsAttr::get(cast<VectorType>(type), b.getF32FloatAttr(value)));
}

static VectorType intsLike(Value x) {
  auto type = cast<VectorType>(x.getType());
  return type.clone(IntegerType::get(type.getContext(), 32));
}

/// One exchange brings the first elements of all pairs together.
std::pair<Value, Value> fa::emitWidePairs(ImplicitLocOpBuilder &b, Value pairs,
                                          Type element) {
  int64_t lanes = cast<VectorType>(pairs.getType()).getDimSize(0);
  Value both = vector::BitCastOp::create(
      b, VectorType::get({2 * lanes}, b.getI16Type()), pairs);
  SmallVector<int64_t> order;
  for (int64_t n = 0; n < 2 * lanes; ++n)
    order.push_back(2 * n % (2 * lanes) + n / lanes);
  Value apart = vector::BitCastOp::create(
      b, VectorType::get({2 * lanes}, element),
      Value(vector::ShuffleOp::create(b, both, both, order)));
  auto half = [&](int64_t n) -> Value {
    Value part = vector::ExtractStridedSliceOp::create(
        b, apart, ArrayRef<int64_t>{n * lanes}, ArrayRef<int64_t>{lanes},
        ArrayRef<int64_t>{1});
    return arith::ExtFOp::create(b, VectorType::get({lanes}, b.getF32Type()),
                                 part);
  };
  Value even = half(0);
  return {even, half(1)};
}

/// The float of the upper half of `bits`.
static Value emitUpper(ImplicitLocOpBuilder &b, Type type, Value bits) {
  return vector::BitCastOp::create(
      b, type,
      Value(arith::AndIOp::create(b, bits, splat(b, bits.getType(), kUpper))));
}

/// One unit less before the lower bits are cut off: what is left is never 0,
/// and infinity becomes the largest number.
SmallVector<Value> fa::emitPieces(ImplicitLocOpBuilder &b, Value even,
                                  Value odd, int64_t pieces) {
  Type type = even.getType(), ints = intsLike(even);
  Value rest[] = {even, odd};
  SmallVector<Value> result;
  while (--pieces > 0) {
    Value bits[2];
    for (int side : {0, 1}) {
      Value x = rest[side];
      Value all = vector::BitCastOp::create(b, ints, x);
      Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x,
                                         splat(b, type, 0.0));
      Value less = arith::AddIOp::create(b, all, splat(b, ints, -1));
      bits[side] = arith::SelectOp::create(b, some, less, all);
      rest[side] = arith::SubFOp::create(b, x, emitUpper(b, type, bits[side]));
    }
    result.push_back(emitUpperPairs(b, bits[0], bits[1]));
  }
  result.push_back(
      emitUpperPairs(b, Value(vector::BitCastOp::create(b, ints, rest[0])),
                     Value(vector::BitCastOp::create(b, ints, rest[1]))));
  return result;
}

/// The second piece is cut off, too: 2^-17 of the whole makes up for what that
/// takes on average, and keeps it from 0.
SmallVector<Value> fa::emitRoundedPieces(ImplicitLocOpBuilder &b, Value even,
                                         Value odd, int64_t pieces) {
  if (pieces == 1)
    return {emitNearestPairs(b, even, odd)};
  assert(pieces == 2 && "15 bits");
  Type type = even.getType(), ints = intsLike(even);
  Value bits[2], rest[2];
  for (auto [side, x] : llvm::enumerate(ArrayRef<Value>{even, odd})) {
    bits[side] = vector::BitCastOp::create(b, ints, x);
    Value first = emitUpper(b, type, bits[side]);
    Value low = vector::FMAOp::create(b, x, splat(b, type, 1.0 + 0x1p-17),
                                      Value(arith::NegFOp::create(b, first)));
    rest[side] = vector::BitCastOp::create(b, ints, low);
  }
  return {emitUpperPairs(b, bits[0], bits[1]),
          emitUpperPairs(b, rest[0], rest[1])};
}

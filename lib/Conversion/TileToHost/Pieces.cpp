//===- Pieces.cpp - elements as sums of bf16 ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pieces.h"

#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// The bits of an f32 that bf16 has.
static constexpr int32_t kUpper = -0x10000;

int64_t fa::countPieces(Type element) {
  return element.isBF16() ? 1 : element.isF16() ? 2 : element.isF32() ? 3 : 0;
}

SmallVector<std::pair<int64_t, int64_t>> fa::pieceProducts(int64_t pieces,
                                                           bool rounded) {
  SmallVector<std::pair<int64_t, int64_t>> products;
  // The sum of both numbers says how small a product is.
  int64_t most = 2 * (pieces - 1);
  if (pieces == 3)
    most = 2;
  else if (pieces == 2 && rounded)
    most = 1;
  // The piece on the right that is there comes first, the others behind it,
  // smallest first.
  int64_t held = -1;
  for (int64_t left = pieces - 1; left >= 0; --left) {
    if (held >= 0)
      products.push_back({left, held});
    for (int64_t right = std::min(pieces - 1, most - left); right >= 0; --right)
      if (right != held)
        products.push_back({left, right});
    held = products.back().second;
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

static Value emitBits(ImplicitLocOpBuilder &b, Value x) {
  auto type = cast<VectorType>(x.getType());
  return vector::BitCastOp::create(b, type.clone(b.getI32Type()), x);
}

/// The upper halves of `bits`, with zeros below.
static Value emitUpper(ImplicitLocOpBuilder &b, Value bits) {
  return arith::AndIOp::create(b, bits, splat(b, bits.getType(), kUpper));
}

/// The three bf16 of f32, as bits. The middle one is rounded, so that what is
/// left out of products (pieceProducts) is as often above 0 as below. That of
/// infinity are 1, 0 and infinity, each with its sign: the two others are never
/// multiplied with the last ones of another number.
static SmallVector<Value> emitThreePieces(ImplicitLocOpBuilder &b, Value x,
                                          bool finite) {
  Type type = x.getType();
  Value bits = emitBits(b, x);
  auto emitRest = [&](Value x, Value piece) -> Value {
    return arith::SubFOp::create(
        b, x, Value(vector::BitCastOp::create(b, type, piece)));
  };
  auto emitMiddle = [&](Value rest) {
    Value rounded = emitBits(b, rest);
    return emitUpper(
        b, arith::AddIOp::create(b, rounded, splat(b, bits.getType(), 0x8000)));
  };
  if (finite) {
    Value high = emitUpper(b, bits), rest = emitRest(x, high);
    Value middle = emitMiddle(rest);
    return {high, middle, emitBits(b, emitRest(rest, middle))};
  }
  constexpr int32_t kOneOfInfinity = 0xBF800000;
  Value infinite = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, Value(math::AbsFOp::create(b, x)),
      splat(b, type, std::numeric_limits<double>::infinity()));
  Value high = arith::SelectOp::create(
      b, infinite,
      Value(arith::AndIOp::create(b, bits,
                                  splat(b, bits.getType(), kOneOfInfinity))),
      emitUpper(b, bits));
  Value rest = emitRest(x, high);
  Value middle = arith::SelectOp::create(
      b, infinite, splat(b, bits.getType(), 0), emitMiddle(rest));
  return {high, middle, emitBits(b, emitRest(rest, middle))};
}

static SmallVector<Value> emitThreePieces(ImplicitLocOpBuilder &b, Value even,
                                          Value odd, bool finite) {
  SmallVector<Value> pairs;
  for (auto [x, y] : llvm::zip(emitThreePieces(b, even, finite),
                               emitThreePieces(b, odd, finite)))
    pairs.push_back(fa::emitUpperPairs(b, x, y));
  return pairs;
}

/// One unit less before the lower bits are cut off: what is left is never 0,
/// and infinity becomes the largest number.
SmallVector<Value> fa::emitPieces(ImplicitLocOpBuilder &b, Value even,
                                  Value odd, int64_t pieces) {
  if (pieces == 3)
    return emitThreePieces(b, even, odd, /*finite=*/false);
  Type type = even.getType();
  Value rest[] = {even, odd};
  SmallVector<Value> result;
  while (--pieces > 0) {
    Value upper[2];
    for (auto [side, x] : llvm::enumerate(rest)) {
      Value bits = emitBits(b, x);
      Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x,
                                         splat(b, type, 0.0));
      Value less = arith::AddIOp::create(b, bits, splat(b, bits.getType(), -1));
      // Chosen behind the cut, which LLVM then masks: of a choice before it, it
      // makes a number to add.
      upper[side] = arith::SelectOp::create(b, some, emitUpper(b, less), bits);
      x = arith::SubFOp::create(
          b, x, Value(vector::BitCastOp::create(b, type, upper[side])));
    }
    result.push_back(emitUpperPairs(b, upper[0], upper[1]));
  }
  result.push_back(
      emitUpperPairs(b, emitBits(b, rest[0]), emitBits(b, rest[1])));
  return result;
}

/// The second piece is cut off, too: 2^-17 of the whole makes up for what that
/// takes on average.
SmallVector<Value> fa::emitRoundedPieces(ImplicitLocOpBuilder &b, Value even,
                                         Value odd, int64_t pieces) {
  if (pieces == 1)
    return {emitNearestPairs(b, even, odd)};
  if (pieces == 3)
    return emitThreePieces(b, even, odd, /*finite=*/true);
  assert(pieces == 2 && "15 bits");
  Type type = even.getType();
  auto emitRest = [&](Value x) {
    Value first =
        vector::BitCastOp::create(b, type, emitUpper(b, emitBits(b, x)));
    return emitBits(
        b, vector::FMAOp::create(b, x, splat(b, type, 1.0 + 0x1p-17),
                                 Value(arith::NegFOp::create(b, first))));
  };
  Value low = emitRest(even);
  return {emitUpperPairs(b, emitBits(b, even), emitBits(b, odd)),
          emitUpperPairs(b, low, emitRest(odd))};
}

//===- Dropout.cpp - the factors of tile.dropout --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One call of Philox has the bits of eight elements: rows i and i + 8, columns
// j, j + 1, j + 8 and j + 9 of a tile of 16 x 16, which are what a thread has
// there of the result of an mma or wgmma. The code is that of one element; that
// elements of a call share it is what LLVM's common subexpressions are for.
//
//===----------------------------------------------------------------------===//

#include "Tile/Dropout.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace fa::tile;

int64_t fa::tile::dropoutThreshold(FloatAttr probability) {
  return std::llround(probability.getValueAsDouble() * 65536);
}

namespace {

/// Arithmetic on i32, scalars or tiles.
class WordBuilder {
public:
  WordBuilder(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  using Words = std::array<Value, 4>;

  /// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
  /// 3", SC 2011).
  Words philox(Words counter, Value keyLow, Value keyHigh) {
    for (uint32_t round = 0; round < 10; ++round) {
      auto [low0, high0] = product(counter[0], 0xD2511F53);
      auto [low1, high1] = product(counter[2], 0xCD9E8D57);
      Value key0 = add(keyLow, round * 0x9E3779B9),
            key1 = add(keyHigh, round * 0xBB67AE85);
      counter = {exclusiveOr(exclusiveOr(high1, counter[1]), key0), low1,
                 exclusiveOr(exclusiveOr(high0, counter[3]), key1), low0};
    }
    return counter;
  }

  Value all(Value scalar) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? BroadcastOp::create(b, tile.clone(scalar.getType()), scalar,
                                      ValueRange())
                : scalar;
  }
  Value number(uint32_t x) {
    return splat(b.getI32IntegerAttr(static_cast<int32_t>(x)));
  }
  Value hasBit(Value x, uint32_t bit) {
    Value masked = arith::AndIOp::create(b, x, number(bit));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked,
                                 number(0));
  }
  Value real(float x) { return splat(b.getF32FloatAttr(x)); }

private:
  Type like(Type element) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? Type(tile.clone(element)) : element;
  }
  Value splat(TypedAttr scalar) {
    if (auto tile = dyn_cast<RankedTensorType>(like(scalar.getType())))
      scalar = DenseElementsAttr::get(tile, scalar);
    return arith::ConstantOp::create(b, scalar);
  }
  /// A key of a round is a scalar.
  Value add(Value scalar, uint32_t x) {
    Value addend = arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(x)));
    return all(arith::AddIOp::create(b, scalar, addend));
  }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  /// The low and the high words of a product.
  std::pair<Value, Value> product(Value x, uint32_t factor) {
    Type word = like(b.getI32Type()), wide = like(b.getI64Type());
    Value whole = arith::MulIOp::create(b, arith::ExtUIOp::create(b, wide, x),
                                        splat(b.getI64IntegerAttr(factor)));
    Value high =
        arith::ShRUIOp::create(b, whole, splat(b.getI64IntegerAttr(32)));
    return {arith::TruncIOp::create(b, word, whole),
            arith::TruncIOp::create(b, word, high)};
  }

  ImplicitLocOpBuilder &b;
  Type type;
};

} // namespace

Value fa::tile::buildDropoutFactors(ImplicitLocOpBuilder &b,
                                    const DropoutPlace &place,
                                    FloatAttr probability) {
  WordBuilder words(b, place.head.getType());
  auto low = [&](Value x) -> Value {
    return arith::TruncIOp::create(b, b.getI32Type(), x);
  };
  auto high = [&](Value x) -> Value {
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    return low(arith::ShRUIOp::create(b, x, shift));
  };
  Value keyHigh =
      arith::XOrIOp::create(b, high(place.seed), high(place.offset));
  auto random = words.philox({place.keyOfCall, place.queryOfCall, place.head,
                              words.all(low(place.offset))},
                             low(place.seed), keyHigh);
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value keyBit = words.hasBit(place.key, 8);
  Value word =
      choose(words.hasBit(place.query, 8), choose(keyBit, random[3], random[2]),
             choose(keyBit, random[1], random[0]));
  // The halfword is compared where it is in the upper half: the lower one does
  // not matter.
  Value half = choose(words.hasBit(place.key, 1), word,
                      arith::ShLIOp::create(b, word, words.number(16)));
  int64_t threshold = dropoutThreshold(probability);
  Value kept = arith::CmpIOp::create(
      b, arith::CmpIPredicate::uge, half,
      words.number(static_cast<uint32_t>(threshold) << 16));
  auto factor = static_cast<float>(65536.0 / (65536 - threshold));
  return choose(kept, words.real(factor), words.real(0.0f));
}

//===- DropoutFactors.cpp - dropout in kernels of attention ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "Tile/Dropout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

void KernelBody::openDropout(FloatAttr p,
                             const std::optional<ArgumentView> &rng,
                             Value heads, const KernelShape &shape) {
  dropProbability = p;
  dropsInBlocks = shape.rows % 16 == 0 && shape.columns % 16 == 0 &&
                  shape.endMultiple % 16 == 0;
  if (!p)
    return;
  Value memory = rng->build(b, kernel.getArgument(rng->number));
  dropSeed = memref::LoadOp::create(b, memory, index(0));
  dropOffset = memref::LoadOp::create(b, memory, index(1));
  dropHeads = heads;
}

/// `x`, of index, as i32.
static Value narrowed(ImplicitLocOpBuilder &b, Value x) {
  Type word = b.getI32Type();
  if (auto tile = dyn_cast<RankedTensorType>(x.getType()))
    word = tile.clone(word);
  return arith::IndexCastOp::create(b, word, x);
}

/// The value of `x`, which is of index, in a tile of `type`, i32.
static Value everywhere(ImplicitLocOpBuilder &b, const RegionValue &x,
                        RankedTensorType type) {
  Value base = narrowed(b, x.value);
  if (x.kind == RegionValue::Vector)
    base =
        ExpandDimsOp::create(b, type.clone({type.getDimSize(0), 1}), base, 1);
  return BroadcastOp::create(b, type, base, ValueRange());
}

/// What `x` is of each element of a tile of `type`, i32, and the same without
/// `bits`. Where rows and columns begin at multiples of 16 (`inBlocks`), the
/// bits are those of their numbers in the tile, which a thread of a GPU knows
/// of its registers: so it sees which of them share a call of Philox.
static std::pair<Value, Value> wordsOf(ImplicitLocOpBuilder &b,
                                       const RegionValue &x,
                                       RankedTensorType type, int32_t bits,
                                       bool inBlocks) {
  auto without = [&](Value words) -> Value {
    auto mask = DenseElementsAttr::get(type, b.getI32IntegerAttr(~bits));
    return arith::AndIOp::create(b, words, arith::ConstantOp::create(b, mask));
  };
  Value all = everywhere(b, x, type);
  if (x.kind != RegionValue::Row && x.kind != RegionValue::Column)
    return {all, without(all)};
  unsigned dim = x.kind == RegionValue::Row ? 0 : 1;
  Value number = IotaOp::create(b, type, dim, ValueRange());
  if (inBlocks)
    return {number, arith::AddIOp::create(b, all, without(number))};
  Value words = arith::AddIOp::create(b, all, number);
  return {words, without(words)};
}

Value KernelBody::beginOfBlock(Value place) {
  if (!dropProbability)
    return place;
  return multipleBelow(place, 16);
}

Value KernelBody::applyDropout(Value x, ArrayRef<RegionValue> place) {
  if (!dropProbability)
    return x;
  auto type = typeOf(x).clone(b.getI32Type());
  Value first = arith::MulIOp::create(b, place[0].value, dropHeads);
  Value head = arith::AddIOp::create(
      b, everywhere(b, {RegionValue::Uniform, first}, type),
      wordsOf(b, place[1], type, /*bits=*/0, /*inBlocks=*/false).first);
  auto [query, queryOfCall] =
      wordsOf(b, place[2], type, kDropoutQueryBits, dropsInBlocks);
  auto [key, keyOfCall] =
      wordsOf(b, place[3], type, kDropoutKeyBits, dropsInBlocks);
  Value factors = buildDropoutFactors(
      b, {dropSeed, dropOffset, head, query, key, queryOfCall, keyOfCall},
      dropProbability);
  return arith::MulFOp::create(b, x, factors);
}

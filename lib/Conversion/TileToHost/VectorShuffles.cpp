//===- VectorShuffles.cpp - lanes exchanged, added, in part ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

/// Of `x` and `y` side by side, with each group of `span` units of `unit`
/// elements of the one followed by that of the other, the even units plus the
/// odd ones.
static Value addNeighbours(ImplicitLocOpBuilder &b, Value x, Value y,
                           int64_t unit, int64_t span) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  SmallVector<int64_t> even, odd;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t group = lane / (unit * span), at = lane / unit % span;
    int64_t other = at >= span / 2 ? lanes : 0;
    even.push_back(other + (group * span + 2 * at % span) * unit + lane % unit);
    odd.push_back(even.back() + unit);
  }
  Value sum = vector::ShuffleOp::create(b, x, y, even);
  return arith::AddFOp::create(b, sum, vector::ShuffleOp::create(b, x, y, odd));
}

/// A tree: each step adds neighbours and leaves half as many vectors. First
/// within each 128 bits, which is one instruction everywhere (shufps, uzp),
/// then whole parts of 128 bits (shuff64x2, perm2f128): elements that cross
/// those bounds would take indices in registers.
Value fa::emitSumsOfLanes(ImplicitLocOpBuilder &b, ArrayRef<Value> vectors) {
  SmallVector<Value> sums(vectors);
  int64_t lanes = vectors.size(), part = std::min<int64_t>(lanes, 4);
  for (int64_t left = lanes; left > 1; left /= 2) {
    bool within = left * part > lanes;
    for (int64_t n = 0; n < left / 2; ++n)
      sums[n] = within ? addNeighbours(b, sums[2 * n], sums[2 * n + 1], 1, part)
                       : addNeighbours(b, sums[2 * n], sums[2 * n + 1], part,
                                       lanes / part);
  }
  return sums.front();
}

Value fa::emitConcat(ImplicitLocOpBuilder &b, ArrayRef<Value> vectors) {
  SmallVector<Value> parts(vectors);
  while (parts.size() > 1) {
    int64_t length = cast<VectorType>(parts[0].getType()).getDimSize(0);
    for (size_t n = 0; n < parts.size() / 2; ++n)
      parts[n] = vector::ShuffleOp::create(
          b, parts[2 * n], parts[2 * n + 1],
          llvm::to_vector(llvm::seq<int64_t>(2 * length)));
    parts.truncate(parts.size() / 2);
  }
  return parts.front();
}

/// The first or last half of each group of `size` elements of `x`, each element
/// followed by that of `y`.
static Value interleaveHalves(ImplicitLocOpBuilder &b, Value x, Value y,
                              int64_t size, bool last) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  SmallVector<int64_t> order;
  for (int64_t group = 0; group < lanes; group += size)
    for (int64_t n = 0; n < size / 2; ++n) {
      int64_t lane = group + (last ? size / 2 : 0) + n;
      order.append({lane, lanes + lane});
    }
  return vector::ShuffleOp::create(b, x, y, order);
}

std::pair<Value, Value> fa::emitInterleaved(ImplicitLocOpBuilder &b, Value x,
                                            Value y) {
  constexpr int64_t size = 4;
  Value first = interleaveHalves(b, x, y, size, /*last=*/false);
  return {first, interleaveHalves(b, x, y, size, /*last=*/true)};
}

/// Each step makes the topmost bit of an element's row the lowest of its
/// column, and the topmost of its column the lowest of its row.
void fa::emitTransposeGroups(ImplicitLocOpBuilder &b,
                             MutableArrayRef<Value> rows) {
  size_t size = rows.size();
  for (size_t step = 1; step < size; step *= 2) {
    SmallVector<Value> next;
    for (size_t n = 0; n < size / 2; ++n)
      for (bool last : {false, true})
        next.push_back(
            interleaveHalves(b, rows[n], rows[n + size / 2], size, last));
    llvm::copy(next, rows.begin());
  }
}

Value fa::emitParts(ImplicitLocOpBuilder &b, Value x, Value y, int64_t unit,
                    bool odd) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < 2 * lanes; ++lane)
    if (lane / unit % 2 == odd)
      order.push_back(lane);
  return vector::ShuffleOp::create(b, x, y, order);
}

/// The parts of `unit` lanes at `at` of all `rows`, those at `at` + `step`, ...
static void gatherParts(ImplicitLocOpBuilder &b, ArrayRef<Value> rows,
                        int64_t unit, int64_t at, int64_t step,
                        llvm::function_ref<void(int64_t, Value)> sink) {
  if (rows.size() == 1)
    return sink(at, rows.front());
  for (bool odd : {false, true}) {
    SmallVector<Value> half;
    for (size_t n = 0; n < rows.size(); n += 2)
      half.push_back(fa::emitParts(b, rows[n], rows[n + 1], unit, odd));
    gatherParts(b, half, unit, at + odd * step, 2 * step, sink);
  }
}

/// Squares within 128 bits, then these as wholes: each exchange is an
/// instruction without indices in registers (unpck or zip, shuf64x2,
/// perm2f128), which LLVM need not search for.
void fa::emitTranspose(ImplicitLocOpBuilder &b, MutableArrayRef<Value> rows) {
  size_t lanes = rows.size(), part = std::min<size_t>(lanes, 4);
  for (size_t n = 0; n < lanes; n += part)
    emitTransposeGroups(b, rows.slice(n, part));
  SmallVector<Value> squares(rows);
  for (size_t c = 0; c < part; ++c) {
    SmallVector<Value> parts;
    for (size_t n = c; n < lanes; n += part)
      parts.push_back(squares[n]);
    gatherParts(b, parts, part, 0, 1,
                [&](int64_t at, Value x) { rows[at * part + c] = x; });
  }
}

/// A vector with ones in the first `count` of its lanes.
static Value firstLanes(ImplicitLocOpBuilder &b, int64_t lanes, int64_t count) {
  SmallVector<bool> mask(lanes, false);
  std::fill_n(mask.begin(), count, true);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), mask));
}

Value fa::loadFirst(ImplicitLocOpBuilder &b, Value memory, ValueRange indices,
                    int64_t lanes, int64_t count) {
  auto type = VectorType::get(
      {lanes}, cast<MemRefType>(memory.getType()).getElementType());
  if (count >= lanes)
    return vector::LoadOp::create(b, type, memory, indices);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, memory, indices,
                                      firstLanes(b, lanes, count), zero);
}

void fa::storeFirst(ImplicitLocOpBuilder &b, Value value, Value memory,
                    ValueRange indices, int64_t count) {
  int64_t lanes = cast<VectorType>(value.getType()).getDimSize(0);
  if (count >= lanes)
    vector::StoreOp::create(b, value, memory, indices);
  else
    vector::MaskedStoreOp::create(b, memory, indices,
                                  firstLanes(b, lanes, count), value);
}

Value fa::emitLaneReduction(ImplicitLocOpBuilder &b, Value x,
                            llvm::function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> turned;
    for (int64_t lane = 0; lane < lanes; ++lane)
      turned.push_back((lane + half) % lanes);
    x = combine(x, vector::ShuffleOp::create(b, x, x, turned));
  }
  return vector::ExtractOp::create(b, x, ArrayRef<int64_t>{0});
}

//===- LowerPositions.cpp - positions as floats ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace {

/// A tile of integers that is a sum: coordinates, each so many times, and
/// scalars, added or subtracted. Larger sums are none: a value that is used
/// twice counts twice, and what registers differ by must not leave i32.
struct Position {
  SmallVector<int32_t> times;                  ///< of each dimension
  SmallVector<std::pair<Value, bool>> scalars; ///< and whether subtracted
  int64_t visited = 0;                         ///< operations, up to 32
};

} // namespace

/// Adds `tile` to `sum`, or subtracts it; false if it is no such sum.
static bool addPosition(Value tile, bool minus, Position &sum) {
  if (++sum.visited > 32)
    return false;
  Operation *op = tile.getDefiningOp();
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(op)) {
    sum.times[iota.getDim()] += minus ? -1 : 1;
    return true;
  }
  if (auto spread = dyn_cast_or_null<tile::BroadcastOp>(op)) {
    Type type = spread.getInput().getType();
    if (!type.isIndex() && !type.isInteger(32))
      return false;
    sum.scalars.push_back({spread.getInput(), minus});
    return true;
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return addPosition(op->getOperand(0), minus, sum) &&
           addPosition(op->getOperand(1), minus ^ isa<arith::SubIOp>(op), sum);
  return isa_and_nonnull<arith::IndexCastOp>(op) &&
         addPosition(op->getOperand(0), minus, sum);
}

/// Sums of coordinates, such as the distance of a query and a key, become
/// floats once for a thread: what differs between its registers is a constant
/// below the tile's size, added to the float. Below 2^24 this is exact; above,
/// where the conversion rounds, it rounds once more.
static bool lowerPosition(SimtContext &ctx, arith::SIToFPOp convert) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!getElementTypeOrSelf(convert.getType()).isF32() ||
      !getElementTypeOrSelf(convert.getIn().getType()).isInteger(32))
    return false;
  TileLayout layout = layoutOf(convert.getResult());
  Position sum{SmallVector<int32_t>(layout.rank(), 0), {}};
  if (!addPosition(convert.getIn(), /*minus=*/false, sum))
    return false;
  SmallVector<int32_t> own;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Coord at = coordOf(layout, reg);
    own.push_back(0);
    for (unsigned dim = 0; dim < layout.rank(); ++dim) {
      if (int32_t(at[dim]) & threadBits(layout, dim))
        return false;
      own.back() += sum.times[dim] * int32_t(at[dim]);
    }
  }
  Value shared = ctx.i32(0);
  auto add = [&](Value value, bool minus) {
    shared = minus ? Value(arith::SubIOp::create(b, shared, value))
                   : Value(arith::AddIOp::create(b, shared, value));
  };
  for (auto [scalar, minus] : sum.scalars)
    add(scalar.getType().isIndex() ? ctx.i32Of(ctx.mapped(scalar))
                                   : ctx.mapped(scalar),
        minus);
  for (auto [dim, times] : llvm::enumerate(sum.times))
    if (times)
      add(arith::MulIOp::create(b, ctx.i32Of(ctx.threadCoord(layout, dim)),
                                ctx.i32(times)),
          false);
  shared = arith::SIToFPOp::create(b, b.getF32Type(), shared);
  SmallVector<Value> elements;
  for (int32_t constant : own)
    elements.push_back(arith::AddFOp::create(
        b, shared, arith::ConstantOp::create(b, b.getF32FloatAttr(constant))));
  ctx.setElements(convert.getResult(), elements);
  return true;
}

void fa::addPositionsLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, lowerPosition);
}

//===- TransposeTiles.cpp - rows in memory <-> lanes along rows -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory holds a tile row by row, the kernel holds it with its lanes along the
// rows. Squares of lanes x lanes elements go from one to the other in
// registers: as many loads or stores as there are rows, each of neighbours in
// memory, with log2(lanes) exchanges of halves between them.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
/// Calls `body(row, column, count)` for squares of lanes x lanes, of which
/// `count` columns exist.
static void forSquares(HostContext &ctx, int64_t rows, int64_t columns,
                       llvm::function_ref<void(Value, Value, int64_t)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  OpBuilder::InsertionGuard guard(b);
  auto overRows = scf::ForOp::create(b, ctx.constantIndex(0),
                                     ctx.constantIndex(ctx.paddedRows(rows)),
                                     ctx.constantIndex(ctx.lanes()));
  b.setInsertionPointToStart(overRows.getBody());
  Value row = overRows.getInductionVar();
  int64_t main = columns / ctx.lanes() * ctx.lanes();
  {
    auto overColumns =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                           ctx.constantIndex(ctx.lanes()));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overColumns.getBody());
    body(row, overColumns.getInductionVar(), ctx.lanes());
  }
  if (columns > main) {
    auto [column, count] = lastVector(ctx, columns);
    body(row, ctx.constantIndex(column), count);
  }
}

/// With masks for elements of 16 bits (which the hosts with pair dots have) the
/// elements that are left; else whole vectors that overlap, if a row is as
/// long: LLVM takes masked vectors of bf16 apart and calls a function that may
/// not exist to put them together.
std::pair<int64_t, int64_t> fa::lastVector(HostContext &ctx, int64_t columns) {
  if (columns >= ctx.lanes() && !ctx.shape.pairDots)
    return {columns - ctx.lanes(), ctx.lanes()};
  int64_t main = columns / ctx.lanes() * ctx.lanes();
  return {main, columns - main};
}

bool fa::hasWholeRows(HostContext &ctx, Value view, RankedTensorType tile,
                      Value column, bool inBounds) {
  auto type = cast<MemRefType>(view.getType());
  if (tile.getRank() != 2 || !isa<FloatType>(tile.getElementType()) ||
      (tile.getElementTypeBitWidth() < 32 && !ctx.shape.pairDots &&
       tile.getDimSize(1) < ctx.lanes()))
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[1] == 1 &&
         (inBounds || (type.getDimSize(1) == tile.getDimSize(1) &&
                       isConstantIntValue(column, 0)));
}

bool fa::hasWholeRows(HostContext &ctx, tile::LoadOp load) {
  return hasWholeRows(ctx, load.getSource(),
                      cast<RankedTensorType>(load.getType()),
                      load.getIndices().back(), load.getInBounds());
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value fa::loadRow(HostContext &ctx, tile::LoadOp load, Value row, Value column,
                  int64_t count, int64_t width,
                  std::optional<TileInterval> rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value inside = row;
  if (rows) {
    Value last = arith::SubIOp::create(b, rows->second, ctx.constantIndex(1));
    inside = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, row, last),
                                    rows->first);
  }
  auto at = llvm::map_to_vector(
      llvm::zip(load.getIndices(), ArrayRef<Value>{inside, column}),
      [&](auto pair) -> Value {
        auto [base, offset] = pair;
        return arith::AddIOp::create(b, ctx.mapped(base), offset);
      });
  Value x = loadFirst(b, ctx.mapped(load.getSource()), at, width, count);
  if (!rows)
    return x;
  Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, inside);
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(cast<VectorType>(x.getType())));
  return arith::SelectOp::create(b, same, x, zero);
}

static void loadSquares(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                        std::optional<TileInterval> rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(load.getType());
  // Squares of f32 that go into pairs lie one in the lines of the first piece,
  // the next in those of the second: pairs of columns a register apart.
  bool pairsOfSquares =
      buffer.form == TileForm::LanePairs && type.getElementType().isF32();
  int64_t perLane =
      buffer.form == TileForm::LanePairs && !pairsOfSquares ? 2 : 1;
  Type element = cast<MemRefType>(buffer.memref.getType()).getElementType();
  int64_t columns = llvm::divideCeil(type.getDimSize(1), perLane);
  int64_t missing = columns * perLane - type.getDimSize(1);
  auto body = [&](Value row, Value column, int64_t count) {
    Value from = arith::MulIOp::create(b, column, ctx.constantIndex(perLane));
    SmallVector<Value> square;
    for (int64_t r = 0; r < ctx.lanes(); ++r) {
      Value x = loadRow(ctx, load, ctx.addIndex(row, r), from,
                        count * perLane - (count < ctx.lanes() ? missing : 0),
                        ctx.lanes() * perLane, rows);
      if (perLane == 2)
        x = vector::BitCastOp::create(b, ctx.vectorType(element), x);
      else if (element != type.getElementType() && !pairsOfSquares)
        x = arith::ExtFOp::create(b, ctx.vectorType(element), x);
      square.push_back(x);
      if (ctx.tiles)
        prefetchAt(ctx, load.getSource(), load.getIndices(),
                   ctx.addIndex(row, ctx.lanes() + r), from, /*isWrite=*/false);
    }
    emitTranspose(b, square);
    // Behind the last column there are zeros, which fill a tile.
    int64_t stored = ctx.tiles && perLane == 2 ? ctx.lanes() : count;
    Value line = pairsOfSquares ? lineOfSquare(ctx, buffer, column) : column;
    for (int64_t c = 0; c < stored; ++c) {
      Value x = square[c];
      if (pairsOfSquares)
        x = vector::BitCastOp::create(b, ctx.vectorType(element), x);
      vector::StoreOp::create(b, x, buffer.memref,
                              ValueRange{ctx.addIndex(line, c), row});
    }
  };
  if (pairsOfSquares && columns % kTileDepth)
    fillZero(ctx, buffer);
  forSquares(ctx, type.getDimSize(0), columns, body);
  takeApart(ctx, load, buffer, linesOfPiece(buffer), ctx.constantIndex(0),
            ctx.constantIndex(ctx.paddedRows(type.getDimSize(0))));
}

void fa::loadTransposed(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                        TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(load.getType());
  if (load.getInBounds())
    return loadSquares(ctx, load, buffer,
                       type.getDimSize(0) % ctx.lanes() ? std::optional(rows)
                                                        : std::nullopt);
  using arith::CmpIPredicate;
  auto compare = [&](CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, predicate, x, y);
  };
  auto either = [&](Value condition, llvm::function_ref<void()> then,
                    llvm::function_ref<void()> otherwise) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    then();
    b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  };
  auto loadSome = [&] {
    either(
        compare(CmpIPredicate::slt, rows.first, rows.second),
        [&] { loadSquares(ctx, load, buffer, rows); },
        [&] { fillZero(ctx, buffer); });
  };
  // Once a program a look at each row costs less than a second form.
  if (load->getParentOp() == ctx.kernel)
    return loadSome();
  Value all = arith::AndIOp::create(
      b, compare(CmpIPredicate::eq, rows.first, ctx.constantIndex(0)),
      compare(CmpIPredicate::eq, rows.second,
              ctx.constantIndex(ctx.paddedRows(type.getDimSize(0)))));
  either(all, [&] { loadSquares(ctx, load, buffer, std::nullopt); }, loadSome);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Stores the first `count` elements of `x` if `row` is one of `rows`.
void fa::storeRow(HostContext &ctx, tile::StoreOp store, Value x, Value row,
                  Value column, int64_t count, TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  using arith::CmpIPredicate;
  Value low = arith::CmpIOp::create(b, CmpIPredicate::sge, row, rows.first);
  Value high = arith::CmpIOp::create(b, CmpIPredicate::slt, row, rows.second);
  auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, low, high),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  storeRow(ctx, store, x, row, column, count);
}

void fa::storeRow(HostContext &ctx, tile::StoreOp store, Value x, Value row,
                  Value column, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type element = getElementTypeOrSelf(store.getValue().getType());
  if (getElementTypeOrSelf(x) != element)
    x = arith::TruncFOp::create(b, ctx.vectorType(element), x);
  Value base = ctx.mapped(store.getIndices()[0]);
  Value start = ctx.mapped(store.getIndices()[1]);
  storeFirst(b, x, ctx.mapped(store.getDest()),
             ValueRange{arith::AddIOp::create(b, base, row),
                        arith::AddIOp::create(b, start, column)},
             count);
}

/// The f32 tile `wide` as the bf16 that `store` stores, an even number of
/// columns.
///
/// bf16 leaves as pairs of columns: half as many exchanges. Interleaved within
/// 128 bits before they are narrowed, pairs of rows 2 and 3 of each four come
/// behind the others: a permutation that LLVM need not look for.
static void storePairsTransposed(HostContext &ctx, tile::StoreOp store,
                                 Value wide, TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(store.getValue().getType());
  auto body = [&](Value row, Value pair, int64_t count) {
    Value column = arith::MulIOp::create(b, pair, ctx.constantIndex(2));
    auto read = [&](int64_t c) {
      return ctx.evaluateVector(wide, {{row, true}, {ctx.addIndex(column, c)}});
    };
    SmallVector<Value> square;
    for (int64_t c = 0; c < 2 * count; c += 2) {
      auto [first, last] = emitInterleaved(b, read(c), read(c + 1));
      square.push_back(vector::BitCastOp::create(
          b, ctx.vectorType(b.getI32Type()), narrowBoth(ctx, first, last)));
    }
    square.resize(ctx.lanes(), square.front()); // these are not stored
    emitTranspose(b, square);
    auto elements = VectorType::get({2 * ctx.lanes()}, type.getElementType());
    if (ctx.tiles)
      for (int64_t r = 0; r < ctx.lanes(); ++r)
        prefetchAt(ctx, store.getDest(), store.getIndices(),
                   ctx.addIndex(row, ctx.lanes() + r), column,
                   /*isWrite=*/true);
    for (int64_t r = 0; r < ctx.lanes(); ++r)
      storeRow(ctx, store,
               vector::BitCastOp::create(
                   b, elements, square[r / 4 * 2 + r / 2 % 2 * 8 + r % 2]),
               ctx.addIndex(row, r), column, 2 * count, rows);
  };
  forSquares(ctx, type.getDimSize(0), type.getDimSize(1) / 2, body);
}

void fa::storeTransposed(HostContext &ctx, tile::StoreOp store,
                         TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (auto narrowing = store.getValue().getDefiningOp<arith::TruncFOp>();
      narrowing && !ctx.buffers.count(narrowing.getOut()) &&
      ctx.shape.pairDots && ctx.lanes() == 16 &&
      type.getElementType().isBF16() &&
      getElementTypeOrSelf(narrowing.getIn().getType()).isF32() &&
      type.getDimSize(1) % 2 == 0)
    return storePairsTransposed(ctx, store, narrowing.getIn(), rows);
  auto body = [&](Value row, Value column, int64_t count) {
    SmallVector<Value> square;
    for (int64_t c = 0; c < count; ++c)
      square.push_back(ctx.evaluateVector(
          store.getValue(), {{row, true}, {ctx.addIndex(column, c)}}));
    square.resize(ctx.lanes(), square.front()); // these are not stored
    emitTranspose(b, square);
    for (int64_t r = 0; r < ctx.lanes(); ++r)
      storeRow(ctx, store, square[r], ctx.addIndex(row, r), column, count,
               rows);
  };
  forSquares(ctx, type.getDimSize(0), type.getDimSize(1), body);
}

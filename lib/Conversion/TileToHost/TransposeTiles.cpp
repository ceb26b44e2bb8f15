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

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

void KernelLowering::forSquares(
    int64_t rows, int64_t columns,
    llvm::function_ref<void(Value, Value, int64_t)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto overRows =
      scf::ForOp::create(b, constantIndex(0), constantIndex(paddedRows(rows)),
                         constantIndex(lanes()));
  b.setInsertionPointToStart(overRows.getBody());
  Value row = overRows.getInductionVar();
  int64_t main = columns / lanes() * lanes();
  {
    auto overColumns = scf::ForOp::create(
        b, constantIndex(0), constantIndex(main), constantIndex(lanes()));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overColumns.getBody());
    body(row, overColumns.getInductionVar(), lanes());
  }
  if (columns > main) {
    auto [column, count] = lastVector(columns);
    body(row, constantIndex(column), count);
  }
}

/// With masks for elements of 16 bits (which the hosts with pair dots have) the
/// elements that are left; else whole vectors that overlap, if a row is as
/// long: LLVM takes masked vectors of bf16 apart and calls a function that may
/// not exist to put them together.
std::pair<int64_t, int64_t> KernelLowering::lastVector(int64_t columns) {
  if (columns >= lanes() && !shape.pairDots)
    return {columns - lanes(), lanes()};
  int64_t main = columns / lanes() * lanes();
  return {main, columns - main};
}

bool KernelLowering::hasWholeRows(Value view, RankedTensorType tile,
                                  Value column, bool inBounds) {
  auto type = cast<MemRefType>(view.getType());
  if (tile.getRank() != 2 || !isa<FloatType>(tile.getElementType()) ||
      (tile.getElementTypeBitWidth() < 32 && !shape.pairDots &&
       tile.getDimSize(1) < lanes()))
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[1] == 1 &&
         (inBounds || (type.getDimSize(1) == tile.getDimSize(1) &&
                       isConstantIntValue(column, 0)));
}

bool KernelLowering::hasWholeRows(tile::LoadOp load) {
  return hasWholeRows(load.getSource(), cast<RankedTensorType>(load.getType()),
                      load.getIndices().back(), load.getInBounds());
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value KernelLowering::loadRow(tile::LoadOp load, Value row, Value column,
                              int64_t count, int64_t width,
                              std::optional<Interval> rows) {
  Value inside = row;
  if (rows) {
    Value last = arith::SubIOp::create(b, rows->second, constantIndex(1));
    inside = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, row, last),
                                    rows->first);
  }
  auto at = llvm::map_to_vector(
      llvm::zip(load.getIndices(), ArrayRef<Value>{inside, column}),
      [&](auto pair) -> Value {
        auto [base, offset] = pair;
        return arith::AddIOp::create(b, mapped(base), offset);
      });
  Value x = loadFirst(b, mapped(load.getSource()), at, width, count);
  if (!rows)
    return x;
  Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, inside);
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(cast<VectorType>(x.getType())));
  return arith::SelectOp::create(b, same, x, zero);
}

void KernelLowering::loadSquares(tile::LoadOp load, Buffer buffer,
                                 std::optional<Interval> rows) {
  auto type = cast<RankedTensorType>(load.getType());
  // Squares of f32 that go into pairs lie one in the lines of the first piece,
  // the next in those of the second: pairs of columns a register apart.
  bool pairsOfSquares =
      buffer.form == Form::LanePairs && type.getElementType().isF32();
  int64_t perLane = buffer.form == Form::LanePairs && !pairsOfSquares ? 2 : 1;
  Type element = cast<MemRefType>(buffer.memref.getType()).getElementType();
  int64_t columns = llvm::divideCeil(type.getDimSize(1), perLane);
  int64_t missing = columns * perLane - type.getDimSize(1);
  auto body = [&](Value row, Value column, int64_t count) {
    Value from = arith::MulIOp::create(b, column, constantIndex(perLane));
    SmallVector<Value> square;
    for (int64_t r = 0; r < lanes(); ++r) {
      Value x = loadRow(load, addIndex(row, r), from,
                        count * perLane - (count < lanes() ? missing : 0),
                        lanes() * perLane, rows);
      if (perLane == 2)
        x = vector::BitCastOp::create(b, vectorType(element), x);
      else if (element != type.getElementType() && !pairsOfSquares)
        x = arith::ExtFOp::create(b, vectorType(element), x);
      square.push_back(x);
      if (tiles)
        prefetchAt(load.getSource(), load.getIndices(),
                   addIndex(row, lanes() + r), from, /*isWrite=*/false);
    }
    emitTranspose(b, square);
    // Behind the last column there are zeros, which fill a tile.
    int64_t stored = tiles && perLane == 2 ? lanes() : count;
    Value line = pairsOfSquares ? lineOfSquare(buffer, column) : column;
    for (int64_t c = 0; c < stored; ++c) {
      Value x = square[c];
      if (pairsOfSquares)
        x = vector::BitCastOp::create(b, vectorType(element), x);
      vector::StoreOp::create(b, x, buffer.memref,
                              ValueRange{addIndex(line, c), row});
    }
  };
  if (pairsOfSquares && columns % kTileDepth)
    fillZero(buffer);
  forSquares(type.getDimSize(0), columns, body);
  takeApart(load, buffer, linesOfPiece(buffer), constantIndex(0),
            constantIndex(paddedRows(type.getDimSize(0))));
}

void KernelLowering::loadTransposed(tile::LoadOp load, Buffer buffer,
                                    Interval rows) {
  auto type = cast<RankedTensorType>(load.getType());
  if (load.getInBounds())
    return loadSquares(load, buffer,
                       type.getDimSize(0) % lanes() ? std::optional(rows)
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
        [&] { loadSquares(load, buffer, rows); }, [&] { fillZero(buffer); });
  };
  // Once a program a look at each row costs less than a second form.
  if (load->getParentOp() == kernel)
    return loadSome();
  Value all = arith::AndIOp::create(
      b, compare(CmpIPredicate::eq, rows.first, constantIndex(0)),
      compare(CmpIPredicate::eq, rows.second,
              constantIndex(paddedRows(type.getDimSize(0)))));
  either(all, [&] { loadSquares(load, buffer, std::nullopt); }, loadSome);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Stores the first `count` elements of `x` if `row` is one of `rows`.
void KernelLowering::storeRow(tile::StoreOp store, Value x, Value row,
                              Value column, int64_t count, Interval rows) {
  using arith::CmpIPredicate;
  Value low = arith::CmpIOp::create(b, CmpIPredicate::sge, row, rows.first);
  Value high = arith::CmpIOp::create(b, CmpIPredicate::slt, row, rows.second);
  auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, low, high),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  storeRow(store, x, row, column, count);
}

void KernelLowering::storeRow(tile::StoreOp store, Value x, Value row,
                              Value column, int64_t count) {
  Type element = getElementTypeOrSelf(store.getValue().getType());
  if (getElementTypeOrSelf(x) != element)
    x = arith::TruncFOp::create(b, vectorType(element), x);
  Value base = mapped(store.getIndices()[0]);
  Value start = mapped(store.getIndices()[1]);
  storeFirst(b, x, mapped(store.getDest()),
             ValueRange{arith::AddIOp::create(b, base, row),
                        arith::AddIOp::create(b, start, column)},
             count);
}

/// bf16 leaves as pairs of columns: half as many exchanges. Interleaved within
/// 128 bits before they are narrowed, pairs of rows 2 and 3 of each four come
/// behind the others: a permutation that LLVM need not look for.
void KernelLowering::storePairsTransposed(tile::StoreOp store, Value wide,
                                          Interval rows) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  auto body = [&](Value row, Value pair, int64_t count) {
    Value column = arith::MulIOp::create(b, pair, constantIndex(2));
    auto read = [&](int64_t c) {
      return evaluateVector(wide, {{row, true}, {addIndex(column, c)}});
    };
    SmallVector<Value> square;
    for (int64_t c = 0; c < 2 * count; c += 2) {
      auto [first, last] = emitInterleaved(b, read(c), read(c + 1));
      square.push_back(vector::BitCastOp::create(b, vectorType(b.getI32Type()),
                                                 narrowBoth(first, last)));
    }
    square.resize(lanes(), square.front()); // these are not stored
    emitTranspose(b, square);
    auto elements = VectorType::get({2 * lanes()}, type.getElementType());
    if (tiles)
      for (int64_t r = 0; r < lanes(); ++r)
        prefetchAt(store.getDest(), store.getIndices(),
                   addIndex(row, lanes() + r), column, /*isWrite=*/true);
    for (int64_t r = 0; r < lanes(); ++r)
      storeRow(store,
               vector::BitCastOp::create(
                   b, elements, square[r / 4 * 2 + r / 2 % 2 * 8 + r % 2]),
               addIndex(row, r), column, 2 * count, rows);
  };
  forSquares(type.getDimSize(0), type.getDimSize(1) / 2, body);
}

void KernelLowering::storeTransposed(tile::StoreOp store, Interval rows) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (auto narrowing = store.getValue().getDefiningOp<arith::TruncFOp>();
      narrowing && !buffers.count(narrowing.getOut()) && shape.pairDots &&
      lanes() == 16 && type.getElementType().isBF16() &&
      getElementTypeOrSelf(narrowing.getIn().getType()).isF32() &&
      type.getDimSize(1) % 2 == 0)
    return storePairsTransposed(store, narrowing.getIn(), rows);
  auto body = [&](Value row, Value column, int64_t count) {
    SmallVector<Value> square;
    for (int64_t c = 0; c < count; ++c)
      square.push_back(evaluateVector(store.getValue(),
                                      {{row, true}, {addIndex(column, c)}}));
    square.resize(lanes(), square.front()); // these are not stored
    emitTranspose(b, square);
    for (int64_t r = 0; r < lanes(); ++r)
      storeRow(store, square[r], addIndex(row, r), column, count, rows);
  };
  forSquares(type.getDimSize(0), type.getDimSize(1), body);
}

//===- LowerTileDot.cpp - products of bf16 by matrix units ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX's tdpbf16ps adds the product of two tiles of bf16 to one of f32: 16 rows
// of 32 by 16 columns of 32, each step as vdpbf16ps does it (Intel SDM volume
// 2, "TDPBF16PS"; denormals are flushed). Its first operand has rows of k as
// they lie in memory, its second one pairs of k side by side, [k/2][column].
//
// Tiles are kept transposed, so a product is (right operand)^T by (left
// operand)^T, and what LowerPairDot.cpp has is what the unit wants:
//  - first operand, K: as it lies in memory; V: transposed, once for all rows;
//  - second operand, Q and P: in pairs, as for vdpbf16ps, lanes along rows;
//  - result, S and O: [column][row] as everywhere, softmax is none the wiser.
// A block is two by two tiles of sums: four loads for four products. With the
// four operands they are all eight registers. All tiles are whole: LLVM keeps
// registers of one shape apart from those of another. So head dimensions are
// padded, to multiples of 32 by zeros in Q and K and to multiples of 16 by
// columns of O that nobody reads.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// Which dots
//===----------------------------------------------------------------------===//

bool KernelLowering::isTileDot(tile::DotOp dot) {
  auto isWhole = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim) %
               kTileBlock ==
           0;
  };
  // The right operand is brought to one form for all of them. There may be no
  // memory behind the last key.
  auto suits = [&](tile::DotOp other) {
    if (!isPairDot(other))
      return true;
    if (!other.getType().getElementType().isF32() ||
        !isWhole(other.getResult(), 0) || !isWhole(other.getB(), 0))
      return false;
    tile::OnlineSoftmaxOp softmax = findSoftmax(other);
    if (!softmax)
      return true;
    // Scores stay in the memory of a block where P leaves in pairs.
    arith::TruncFOp narrowing = getOnlyNarrowing(softmax);
    return !other.getAcc() && narrowing && isPairOperand(narrowing.getOut());
  };
  return shape.tileDots && !alongRows && lanes() == kTileRows &&
         isPairDot(dot) &&
         llvm::all_of(dot.getB().getUsers(), [&](Operation *user) {
           auto other = dyn_cast<tile::DotOp>(user);
           return !other || suits(other);
         });
}

bool KernelLowering::hasTileDots() {
  return kernel
      .walk([&](tile::DotOp dot) {
        return isTileDot(dot) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// kTileDepth rows at `row` by `count` columns at `column`. Each register has a
/// group of columns of every eighth row; they are transposed within the groups.
/// What shares rows is read together: rows have addresses of their own.
void KernelLowering::loadColumnGroups(tile::LoadOp load, Buffer buffer,
                                      Value row, Value column, int64_t count,
                                      std::optional<Interval> rows) {
  auto words = [&](int64_t length) {
    return VectorType::get({length}, b.getI16Type());
  };
  auto ints = vectorType(b.getI32Type());
  SmallVector<SmallVector<Value>> groups(llvm::divideCeil(count, kGroup));
  for (int64_t r = 0; r < kGroup; ++r) {
    SmallVector<SmallVector<Value>> parts(groups.size());
    for (int64_t at = r; at < kTileDepth; at += kGroup)
      for (auto [g, part] : llvm::enumerate(parts))
        part.push_back(vector::BitCastOp::create(
            b, words(kGroup),
            loadRow(load, addIndex(row, at), addIndex(column, g * kGroup),
                    std::min<int64_t>(kGroup, count - g * kGroup), kGroup,
                    rows)));
    for (auto [group, part] : llvm::zip(groups, parts))
      group.push_back(emitConcat(b, part));
  }
  for (SmallVector<Value> &group : groups)
    emitTransposeGroups(b, group);
  Value pair = arith::DivUIOp::create(b, row, constantIndex(2));
  for (int64_t c = 0; c < count; ++c)
    vector::StoreOp::create(b,
                            Value(vector::BitCastOp::create(
                                b, ints, groups[c / kGroup][c % kGroup])),
                            buffer.memref,
                            ValueRange{addIndex(column, c), pair});
}

void KernelLowering::loadColumnPairs(tile::LoadOp load, Buffer buffer,
                                     Interval rows) {
  auto type = cast<RankedTensorType>(load.getType());
  int64_t columns = type.getDimSize(1), step = 2 * kGroup;
  int64_t main = columns / step * step;
  Value all = constantIndex(type.getDimSize(0));
  using Body = llvm::function_ref<void(Value, Value, int64_t)>;
  auto forGroups = [&](Value from, Value to, Body body) {
    auto overRows = scf::ForOp::create(b, from, to, constantIndex(kTileDepth));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(overRows.getBody());
    Value row = overRows.getInductionVar();
    auto overColumns = scf::ForOp::create(
        b, constantIndex(0), constantIndex(main), constantIndex(step));
    if (columns > main)
      body(row, constantIndex(main), columns - main);
    b.setInsertionPointToStart(overColumns.getBody());
    body(row, overColumns.getInductionVar(), step);
  };
  auto copy = [&](std::optional<Interval> rows) {
    return [=, this](Value row, Value column, int64_t count) {
      loadColumnGroups(load, buffer, row, column, count, rows);
    };
  };
  Value zero = constantIndex(0);
  if (load.getInBounds())
    return forGroups(zero, all, copy(std::nullopt));
  // Whole blocks of rows that are there, one that ends among its rows, zeros.
  Value depth = constantIndex(kTileDepth);
  Value end = arith::MaxSIOp::create(b, rows.second, zero);
  Value whole = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, end, depth)), depth);
  Value atStart =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rows.first, zero);
  whole = arith::SelectOp::create(b, atStart, whole, zero);
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rows.first,
                                     rows.second);
  Value edge = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, addIndex(end, kTileDepth - 1), depth)),
      depth);
  edge = arith::SelectOp::create(b, some, edge, whole);
  forGroups(zero, whole, copy(std::nullopt));
  forGroups(whole, edge, copy(rows));
  forGroups(edge, all, [&](Value row, Value column, int64_t count) {
    Value none =
        arith::ConstantOp::create(b, b.getZeroAttr(vectorType(b.getI32Type())));
    Value pair = arith::DivUIOp::create(b, row, constantIndex(2));
    for (int64_t c = 0; c < count; ++c)
      vector::StoreOp::create(b, none, buffer.memref,
                              ValueRange{addIndex(column, c), pair});
  });
}

/// Rows of the transposed right operand of `dot` from `n` on, steps from `k`
/// on, as the first operand of a product.
Value KernelLowering::loadRightTile(tile::DotOp dot, Value n, Value k) {
  auto type = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  auto it = pairBuffers.find(dot.getB());
  if (it == pairBuffers.end()) {
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    SmallVector<Value> at;
    for (auto [base, offset] : llvm::zip(load.getIndices(), ValueRange{n, k}))
      at.push_back(arith::AddIOp::create(b, mapped(base), offset));
    return amx::TileLoadOp::create(b, type, mapped(load.getSource()), at);
  }
  if (it->second.form == Form::ColumnPairs)
    k = arith::DivUIOp::create(b, k, constantIndex(2));
  return amx::TileLoadOp::create(b, type, it->second.memref, ValueRange{n, k});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// `sums` of two by two tiles, or of one by two, plus kTileDepth steps from `k`
/// on.
SmallVector<Value> KernelLowering::emitTileStep(tile::DotOp dot,
                                                const TileBlock &block, Value k,
                                                ValueRange sums) {
  SmallVector<Value> left, next;
  Value pair = arith::DivUIOp::create(b, k, constantIndex(2));
  auto type = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  for (int64_t v = 0; v < block.vectors; ++v)
    left.push_back(amx::TileLoadOp::create(
        b, type, pairBuffers.lookup(dot.getA()).memref,
        ValueRange{pair, addIndex(block.row, v * lanes())}));
  for (int64_t n = 0; n < block.columns; n += kTileRows) {
    Value right = loadRightTile(dot, addIndex(block.col, n), k);
    for (Value x : left) {
      Value sum = sums[next.size()];
      next.push_back(amx::TileMulFOp::create(b, sum.getType(), right, x, sum));
    }
  }
  return next;
}

void KernelLowering::emitTiles(tile::DotOp dot, const TileBlock &block,
                               Value depth, Buffer result, Value resultRow) {
  auto forTiles = [&](llvm::function_ref<void(ValueRange)> body) {
    for (int64_t n = 0; n < block.columns; n += kTileRows)
      for (int64_t v = 0; v < block.vectors; ++v)
        body({addIndex(block.col, n), addIndex(resultRow, v * lanes())});
  };
  auto type = amx::TileType::get({kTileRows, lanes()}, b.getF32Type());
  SmallVector<Value> sums;
  forTiles([&](ValueRange at) {
    if (dot.getAcc())
      sums.push_back(amx::TileLoadOp::create(b, type, result.memref, at));
    else
      sums.push_back(amx::TileZeroOp::create(b, type));
  });
  auto loop = scf::ForOp::create(b, constantIndex(0), depth,
                                 constantIndex(kTileDepth), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, emitTileStep(dot, block, loop.getInductionVar(),
                                         loop.getRegionIterArgs()));
  }
  auto sum = loop.getResults().begin();
  forTiles([&](ValueRange at) {
    amx::TileStoreOp::create(b, result.memref, at, Value(*sum++));
  });
}

void KernelLowering::emitTileBlock(tile::DotOp dot, const TileBlock &block,
                                   Buffer result, Value resultRow) {
  int64_t steps = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  Value seen = emitSeenColumns(limitsOf.lookup(dot.getA()), block.row,
                               block.vectors, steps);
  Value depth = seen ? seen : constantIndex(llvm::alignTo(steps, kTileDepth));
  for (int64_t v = 0; v < block.vectors; v += 2)
    emitTiles(dot,
              {addIndex(block.row, v * lanes()), block.col, 2, block.columns},
              depth, result, addIndex(resultRow, v * lanes()));
}

//===----------------------------------------------------------------------===//
// Dots that no softmax takes
//===----------------------------------------------------------------------===//

/// Columns [from, to) of `vectors` registers of the rows of `value` at `row`.
void KernelLowering::evaluateColumns(Value value, Buffer buffer, Value row,
                                     int64_t vectors, Value from, Value to) {
  auto loop = scf::ForOp::create(b, from, to, constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = addIndex(row, v * lanes());
    vector::StoreOp::create(b, evaluateVector(value, {{at, true}, {col}}),
                            buffer.memref, ValueRange{col, at});
  }
}

/// The accumulator of a block is brought to memory while the unit works on the
/// block before: a tile waits until all of it has been stored.
LogicalResult KernelLowering::lowerTileDot(tile::DotOp dot) {
  Buffer result = bufferForResult(dot.getResult());
  int64_t total = dot.getType().getDimSize(1);
  int64_t last = (total - 1) / kTileBlock * kTileBlock;
  auto emitBlocks = [&](Value row, int64_t vectors) {
    auto bringSums = [&](Value from, Value to) {
      if (dot.getAcc())
        evaluateColumns(dot.getAcc(), result, row, vectors, from, to);
    };
    bringSums(constantIndex(0), constantIndex(std::min(total, kTileBlock)));
    if (last) {
      auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(last),
                                     constantIndex(kTileBlock));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar(), next = addIndex(col, kTileBlock);
      emitTileBlock(dot, {row, col, vectors, kTileBlock}, result, row);
      bringSums(next, arith::MinSIOp::create(b, addIndex(next, kTileBlock),
                                             constantIndex(total)));
    }
    emitTileBlock(dot, {row, constantIndex(last), vectors, total - last},
                  result, row);
  };
  forRowBlocks(dot.getType().getDimSize(0), emitBlocks, liveRows);
  buffers[dot.getResult()] = result;
  return success();
}

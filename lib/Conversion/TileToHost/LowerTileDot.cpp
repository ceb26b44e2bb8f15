//===- LowerTileDot.cpp - products by matrix units ------------------------===//
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
// An f16 is the sum of two bf16 (Pieces.h), so a step of its contraction is
// four products of tiles: ten loads for sixteen. Its K is copied in pieces. An
// f32 is the sum of three, a step six products: fourteen loads for twenty-four.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

//===----------------------------------------------------------------------===//
// Which dots
//===----------------------------------------------------------------------===//

/// Of f32.
static constexpr int64_t kSharingRows = 128;

bool KernelLowering::isTileDot(tile::DotOp dot) {
  auto isWhole = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim) %
               kTileBlock ==
           0;
  };
  // The right operand is brought to one form for all of them. There may be no
  // memory behind the last key.
  auto suits = [&](tile::DotOp other) {
    if (!hasPairs(other))
      return true;
    if (!other.getType().getElementType().isF32() ||
        !isWhole(other.getResult(), 0) || !isWhole(other.getB(), 0))
      return false;
    tile::OnlineSoftmaxOp softmax = findSoftmax(other);
    if (!softmax)
      return true;
    // Scores stay in the memory of a block where P leaves in pairs.
    return !other.getAcc() && isPairOperand(getReadP(softmax));
  };
  // What is taken apart into three pieces has to serve many rows.
  bool isShared = !typeOf(dot.getA()).getElementType().isF32() ||
                  dot.getType().getDimSize(0) >= kSharingRows;
  return shape.tileDots && !alongRows && lanes() == kTileRows && isShared &&
         hasPairs(dot) &&
         llvm::all_of(dot.getB().getUsers(), [&](Operation *user) {
           auto other = dyn_cast<tile::DotOp>(user);
           return !other || suits(other);
         });
}

bool KernelLowering::hasTileDots(Type element) {
  return kernel
      .walk([&](tile::DotOp dot) {
        bool suits = !element || getElementTypeOrSelf(dot.getA()) == element;
        return suits && isTileDot(dot) ? WalkResult::interrupt()
                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Rows of the transposed right operand of `dot` from `n` on, steps from `k`
/// on, as the first operand of a product.
Value KernelLowering::loadRightTile(tile::DotOp dot, Value n, Value k,
                                    int64_t piece) {
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
  return amx::TileLoadOp::create(
      b, type, it->second.memref,
      ValueRange{lineOfPiece(it->second, n, piece), k});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// `sums` of two by two tiles, or of one by two, plus kTileDepth steps from `k`
/// on.
SmallVector<Value> KernelLowering::emitTileStep(tile::DotOp dot,
                                                const TileBlock &block, Value k,
                                                ValueRange sums) {
  SmallVector<Value> left(block.vectors),
      right(llvm::divideCeil(block.columns, kTileRows));
  SmallVector<Value> next(sums);
  Buffer rows = pairBuffers.lookup(dot.getA());
  Value pair = arith::DivUIOp::create(b, k, constantIndex(2));
  auto type = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  bool rounded = !dot.getA().getDefiningOp<tile::LoadOp>();
  std::pair<int64_t, int64_t> held = {-1, -1};
  for (auto now : pieceProducts(rows.pieces, rounded)) {
    if (now.first != held.first)
      for (auto [v, x] : llvm::enumerate(left))
        x = amx::TileLoadOp::create(
            b, type, rows.memref,
            ValueRange{lineOfPiece(rows, pair, now.first),
                       addIndex(block.row, v * lanes())});
    auto sum = next.begin();
    for (auto [n, x] : llvm::enumerate(right)) {
      if (now.second != held.second)
        x = loadRightTile(dot, addIndex(block.col, n * kTileRows), k,
                          now.second);
      for (Value y : left) {
        *sum = amx::TileMulFOp::create(b, sum->getType(), x, y, *sum);
        ++sum;
      }
    }
    held = now;
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

/// Two registers of rows a trip, whose products have the same form.
void KernelLowering::emitTileBlock(tile::DotOp dot, const TileBlock &block,
                                   Buffer result, Value resultRow) {
  int64_t steps = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  auto loop = scf::ForOp::create(b, constantIndex(0),
                                 constantIndex(block.vectors * lanes()),
                                 constantIndex(2 * lanes()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value offset = loop.getInductionVar();
  Value row = arith::AddIOp::create(b, block.row, offset);
  Value seen = emitSeenColumns(limitsOf.lookup(dot.getA()), row, 2, steps);
  emitTiles(dot, {row, block.col, 2, block.columns},
            seen ? seen : constantIndex(llvm::alignTo(steps, kTileDepth)),
            result, arith::AddIOp::create(b, resultRow, offset));
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
  int64_t main = total / kTileBlock * kTileBlock;
  auto emitBlocks = [&](Value row, int64_t vectors) {
    auto bringSums = [&](Value from, Value to) {
      if (dot.getAcc())
        evaluateColumns(dot.getAcc(), result, row, vectors, from, to);
    };
    bringSums(constantIndex(0), constantIndex(std::min(total, kTileBlock)));
    if (main) {
      auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(main),
                                     constantIndex(kTileBlock));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar(), next = addIndex(col, kTileBlock);
      emitTileBlock(dot, {row, col, vectors, kTileBlock}, result, row);
      bringSums(next, arith::MinSIOp::create(b, addIndex(next, kTileBlock),
                                             constantIndex(total)));
    }
    if (total > main)
      emitTileBlock(dot, {row, constantIndex(main), vectors, total - main},
                    result, row);
  };
  forRowBlocks(dot.getType().getDimSize(0), emitBlocks, liveRows);
  buffers[dot.getResult()] = result;
  return success();
}

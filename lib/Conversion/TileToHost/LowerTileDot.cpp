//===- LowerTileDot.cpp - products by matrix units ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX's tdpbf16ps adds the product of two tiles of bf16 to one of f32: 16 rows
// of 32 by 16 columns of 32. The products of the first numbers of each pair are
// added up apart from those of the second ones (Intel SDM volume 2,
// "TDPBF16PS"; denormals are flushed). Its first operand has rows of k as they
// lie in memory, its second one pairs of k side by side, [k/2][column].
//
// Tiles are kept transposed, so a product is (right operand)^T by (left
// operand)^T, and what LowerPairDot.cpp has is what the unit wants:
//  - first operand, K: as it lies in memory; V: transposed, once for all rows;
//  - second operand, Q and P: in pairs, as for vdpbf16ps, lanes along rows;
//  - result, S and O: [column][row] as everywhere, softmax is none the wiser.
// P and dS of gradients are either operand (ComputedPairs.cpp).
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

#include "HostDots.h"
#include "HostMemory.h"
#include "Pieces.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

//===----------------------------------------------------------------------===//
// Which dots
//===----------------------------------------------------------------------===//

/// Of f32.
static constexpr int64_t kSharingRows = 128;

bool fa::isTileDot(HostContext &ctx, tile::DotOp dot) {
  auto isWhole = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim) %
               kTileBlock ==
           0;
  };
  // The right operand is brought to one form for all of them. There may be no
  // memory behind the last key.
  auto suits = [&](tile::DotOp other) {
    if (!hasPairs(ctx, other))
      return true;
    if (!other.getType().getElementType().isF32() ||
        !isWhole(other.getResult(), 0) || !isWhole(other.getB(), 0))
      return false;
    tile::OnlineSoftmaxOp softmax = findSoftmax(ctx, other);
    if (!softmax)
      return true;
    // Scores stay in the memory of a block where P leaves in pairs.
    return !other.getAcc() && isPairOperand(ctx, getReadP(softmax));
  };
  // What is taken apart into three pieces has to serve many rows.
  bool isShared = !typeOf(dot.getA()).getElementType().isF32() ||
                  dot.getType().getDimSize(0) >= kSharingRows;
  return ctx.shape.tileDots && !ctx.alongRows && ctx.lanes() == kTileRows &&
         isShared && hasPairs(ctx, dot) &&
         llvm::all_of(dot.getB().getUsers(), [&](Operation *user) {
           auto other = dyn_cast<tile::DotOp>(user);
           return !other || suits(other);
         });
}

bool fa::hasTileDots(HostContext &ctx, Type element) {
  return ctx.kernel
      .walk([&](tile::DotOp dot) {
        bool suits = !element || getElementTypeOrSelf(dot.getA()) == element;
        return suits && isTileDot(ctx, dot) ? WalkResult::interrupt()
                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Rows of the transposed right operand of `dot` from `n` on, steps from `k`
/// on, as the first operand of a product.
static Value loadRightTile(HostContext &ctx, tile::DotOp dot, Value n, Value k,
                           int64_t piece) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  auto it = ctx.pairBuffers.find(dot.getB());
  if (it == ctx.pairBuffers.end()) {
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    SmallVector<Value> at;
    for (auto [base, offset] : llvm::zip(load.getIndices(), ValueRange{n, k}))
      at.push_back(arith::AddIOp::create(b, ctx.mapped(base), offset));
    return amx::TileLoadOp::create(b, type, ctx.mapped(load.getSource()), at);
  }
  if (it->second.form == TileForm::ColumnPairs)
    k = arith::DivUIOp::create(b, k, ctx.constantIndex(2));
  return amx::TileLoadOp::create(
      b, type, it->second.memref,
      ValueRange{lineOfPiece(ctx, it->second, n, piece), k});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether the right operand of `dot` is what other kernels have on the left:
/// dQ = dS K and dQᵀ = Kᵀ dSᵀ add the products of pieces in one order and have
/// the same bits. What is computed comes before what is loaded, which comes in
/// the order of the arguments.
static bool isSecondFirst(tile::DotOp dot) {
  auto place = [](Value operand) -> int64_t {
    auto load = operand.getDefiningOp<tile::LoadOp>();
    auto argument =
        load ? dyn_cast<BlockArgument>(memoryOf(load)) : BlockArgument();
    return argument ? int64_t(argument.getArgNumber()) : -1;
  };
  return place(dot.getB()) < place(dot.getA());
}

/// `sums` of two by two tiles, or of one by two, plus kTileDepth steps from `k`
/// on.
SmallVector<Value> fa::emitTileStep(HostContext &ctx, tile::DotOp dot,
                                    const TileBlock &block, Value k,
                                    ValueRange sums) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> left(block.vectors),
      right(llvm::divideCeil(block.columns, kTileRows));
  SmallVector<Value> next(sums);
  TileBuffer rows = ctx.pairBuffers.lookup(dot.getA());
  Value pair = arith::DivUIOp::create(b, k, ctx.constantIndex(2));
  auto type = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  bool turned = isSecondFirst(dot);
  std::pair<int64_t, int64_t> held = {-1, -1};
  for (auto now : pieceProducts(rows.pieces, isPForOneDot(dot.getA()))) {
    if (turned)
      std::swap(now.first, now.second);
    if (now.first != held.first)
      for (auto [v, x] : llvm::enumerate(left))
        x = amx::TileLoadOp::create(
            b, type, rows.memref,
            ValueRange{lineOfPiece(ctx, rows, pair, now.first),
                       ctx.addIndex(block.row, v * ctx.lanes())});
    auto sum = next.begin();
    for (auto [n, x] : llvm::enumerate(right)) {
      if (now.second != held.second)
        x = loadRightTile(ctx, dot, ctx.addIndex(block.col, n * kTileRows), k,
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

/// Writes a block of two registers of rows, after `depth` steps, to
/// `resultRow` of `result`, plus what is there if `dot` has an accumulator.
static void emitTiles(HostContext &ctx, tile::DotOp dot, const TileBlock &block,
                      Value depth, TileBuffer result, Value resultRow) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto forTiles = [&](llvm::function_ref<void(ValueRange)> body) {
    for (int64_t n = 0; n < block.columns; n += kTileRows)
      for (int64_t v = 0; v < block.vectors; ++v)
        body({ctx.addIndex(block.col, n),
              ctx.addIndex(resultRow, v * ctx.lanes())});
  };
  auto type = amx::TileType::get({kTileRows, ctx.lanes()}, b.getF32Type());
  SmallVector<Value> sums;
  forTiles([&](ValueRange at) {
    if (dot.getAcc())
      sums.push_back(amx::TileLoadOp::create(b, type, result.memref, at));
    else
      sums.push_back(amx::TileZeroOp::create(b, type));
  });
  auto loop = scf::ForOp::create(b, ctx.constantIndex(0), depth,
                                 ctx.constantIndex(kTileDepth), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b,
                         emitTileStep(ctx, dot, block, loop.getInductionVar(),
                                      loop.getRegionIterArgs()));
  }
  auto sum = loop.getResults().begin();
  forTiles([&](ValueRange at) {
    amx::TileStoreOp::create(b, result.memref, at, Value(*sum++));
  });
}

/// Two registers of rows a trip, whose products have the same form.
void fa::emitTileBlock(HostContext &ctx, tile::DotOp dot,
                       const TileBlock &block, TileBuffer result,
                       Value resultRow) {
  ImplicitLocOpBuilder &b = ctx.b;
  assert(block.vectors % 2 == 0 &&
         "a trip would write what is not the block's");
  int64_t steps = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                 ctx.constantIndex(block.vectors * ctx.lanes()),
                                 ctx.constantIndex(2 * ctx.lanes()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value offset = loop.getInductionVar();
  Value row = arith::AddIOp::create(b, block.row, offset);
  Value seen =
      emitSeenColumns(ctx, ctx.limitsOf.lookup(dot.getA()), row, 2, steps);
  emitTiles(ctx, dot, {row, block.col, 2, block.columns},
            seen ? seen : ctx.constantIndex(llvm::alignTo(steps, kTileDepth)),
            result, arith::AddIOp::create(b, resultRow, offset));
}

//===----------------------------------------------------------------------===//
// Dots that no softmax takes
//===----------------------------------------------------------------------===//

/// Columns [from, to) of `vectors` registers of the rows of `value` at `row`.
static void evaluateColumns(HostContext &ctx, Value value, TileBuffer buffer,
                            Value row, int64_t vectors, Value from, Value to) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = scf::ForOp::create(b, from, to, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = ctx.addIndex(row, v * ctx.lanes());
    vector::StoreOp::create(b, ctx.evaluateVector(value, {{at, true}, {col}}),
                            buffer.memref, ValueRange{col, at});
  }
}

/// The accumulator of a block is brought to memory while the unit works on the
/// block before: a tile waits until all of it has been stored.
void fa::lowerTileDot(HostContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileBuffer result = ctx.bufferForResult(dot.getResult());
  int64_t total = dot.getType().getDimSize(1);
  int64_t main = total / kTileBlock * kTileBlock;
  auto emitBlocks = [&](Value row, int64_t vectors) {
    auto bringSums = [&](Value from, Value to) {
      if (dot.getAcc())
        evaluateColumns(ctx, dot.getAcc(), result, row, vectors, from, to);
    };
    bringSums(ctx.constantIndex(0),
              ctx.constantIndex(std::min(total, kTileBlock)));
    if (main) {
      auto loop =
          scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                             ctx.constantIndex(kTileBlock));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar(), next = ctx.addIndex(col, kTileBlock);
      emitTileBlock(ctx, dot, {row, col, vectors, kTileBlock}, result, row);
      bringSums(next, arith::MinSIOp::create(b, ctx.addIndex(next, kTileBlock),
                                             ctx.constantIndex(total)));
    }
    if (total > main)
      emitTileBlock(ctx, dot,
                    {row, ctx.constantIndex(main), vectors, total - main},
                    result, row);
  };
  ctx.forRowBlocks(dot.getType().getDimSize(0), emitBlocks, ctx.liveRows);
  ctx.buffers[dot.getResult()] = result;
}

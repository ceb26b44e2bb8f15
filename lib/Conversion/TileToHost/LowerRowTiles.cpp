//===- LowerRowTiles.cpp - products of few rows by matrix units -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In decode the matrix unit computes S^T = K Q^T of bf16: its first operand are
// 16 keys as they lie in memory, its second one the rows of Q, up to 16, in
// pairs along the depth, made once. So K is not widened, its products for all
// rows take as long as for one, and no lanes are added up; the scores, 16 keys
// by 16 rows, are transposed on their way to where softmax reads them
// (RowForm.cpp).
//
// It computes O = P V, too: its first operand are the rows of P as softmax
// writes them, its second one pairs of keys of V side by side. To make these
// takes a load, a shuffle and a store for each line of V, products for eight
// rows by the vector unit sixteen multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

/// Tiles of sums at once: with an operand of each kind they fit the registers.
static constexpr int64_t kSumTiles = 4;

//===----------------------------------------------------------------------===//
// Which dots
//===----------------------------------------------------------------------===//

/// Whether `operand` is a load of whole rows of bf16, a multiple of `rows` of
/// them, that nothing writes to.
static bool isWholeTileLoad(HostContext &ctx, Value operand, int64_t rows) {
  auto load = operand.getDefiningOp<tile::LoadOp>();
  RankedTensorType type = typeOf(operand);
  return load && type.getElementType().isBF16() &&
         type.getDimSize(0) % rows == 0 &&
         type.getDimSize(1) % kTileDepth == 0 && isReadOnly(ctx, load) &&
         hasWholeRows(ctx, load);
}

bool fa::isRowTileDot(HostContext &ctx, tile::DotOp dot) {
  auto suits = [&](Operation *user) {
    auto other = dyn_cast<tile::DotOp>(user);
    return other && other.getA() == dot.getA() && other.getTransposeB() &&
           other.getB().hasOneUse() &&
           isWholeTileLoad(ctx, other.getB(), kTileBlock);
  };
  if (!ctx.alongRows || !ctx.shape.tileDots || ctx.lanes() != kTileRows ||
      typeOf(dot.getA()).getDimSize(0) != kTileRows)
    return false;
  if (!dot.getTransposeB())
    return typeOf(dot.getA()).getElementType().isBF16() &&
           isPForOneDot(dot.getA()) && dot.getB().hasOneUse() &&
           isWholeTileLoad(ctx, dot.getB(), kTileDepth);
  return isWholeTileLoad(ctx, dot.getA(), kTileRows) &&
         llvm::all_of(dot.getA().getUsers(), suits);
}

tile::DotOp fa::findRowTileDot(HostContext &ctx, tile::LoadOp load) {
  if (load.getResult().use_empty())
    return {};
  auto dot = dyn_cast<tile::DotOp>(*load.getResult().getUsers().begin());
  return dot && isRowTileDot(ctx, dot) ? dot : tile::DotOp();
}

void fa::loadRowTileOperand(HostContext &ctx, tile::LoadOp load,
                            tile::DotOp dot) {
  if (dot.getA() == load.getResult())
    ctx.pairBuffers[load.getResult()] =
        loadTile(ctx, load, TileForm::LanePairs);
  else if (!dot.getTransposeB())
    ctx.pairBuffers[load.getResult()] = loadTile(ctx, load, TileForm::RowPairs);
  else if (!load.getInBounds())
    ctx.pairBuffers[load.getResult()] = {
        viewOrCopyRows(ctx, load, ctx.constantIndex(0),
                       load.getType().getDimSize(0)),
        TileForm::NaturalPairs};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Two tiles of keys for one of Q: three loads for two products.
void fa::emitRowTileScores(HostContext &ctx, tile::DotOp dot,
                           TileBuffer result) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto wide = amx::TileType::get({kTileRows, ctx.lanes()}, b.getF32Type());
  Value scores =
      ctx.allocate(MemRefType::get({kTileBlock, ctx.lanes()}, b.getF32Type()));
  Value zero = ctx.constantIndex(0);
  auto overKeys = scf::ForOp::create(
      b, zero, ctx.constantIndex(dot.getType().getDimSize(1)),
      ctx.constantIndex(kTileBlock));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overKeys.getBody());
  Value col = overKeys.getInductionVar();
  // One each: a copy of a tile goes through memory.
  Value none[] = {amx::TileZeroOp::create(b, wide),
                  amx::TileZeroOp::create(b, wide)};
  auto overDepth = scf::ForOp::create(
      b, zero, ctx.constantIndex(typeOf(dot.getA()).getDimSize(1)),
      ctx.constantIndex(kTileDepth), ValueRange(none));
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overDepth.getBody());
    Value k = overDepth.getInductionVar();
    // As many rows as there are steps of the depth for each: in order, since
    // the memory follows by itself, and there is little time for them.
    int64_t steps = typeOf(dot.getA()).getDimSize(1) / kTileDepth;
    int64_t count = llvm::divideCeil(kTileBlock, steps);
    Value step = arith::DivUIOp::create(b, k, ctx.constantIndex(kTileDepth));
    Value first = arith::AddIOp::create(
        b, col,
        Value(arith::MulIOp::create(b, step, ctx.constantIndex(count))));
    for (int64_t n = 0; n < count; ++n)
      for (int64_t at = 0; at < steps; ++at)
        prefetchBeside(ctx, dot, ctx.addIndex(first, n),
                       ctx.constantIndex(at * kTileDepth));
    TileBlock block = {zero, col, 1, kTileBlock};
    scf::YieldOp::create(
        b, emitTileStep(ctx, dot, block, k, overDepth.getRegionIterArgs()));
  }
  for (auto [n, sum] : llvm::enumerate(overDepth.getResults()))
    amx::TileStoreOp::create(
        b, scores, ValueRange{ctx.constantIndex(n * kTileRows), zero}, sum);
  for (int64_t key = 0; key < kTileBlock; key += ctx.lanes()) {
    SmallVector<Value> square;
    for (int64_t n = 0; n < ctx.lanes(); ++n)
      square.push_back(
          vector::LoadOp::create(b, ctx.vectorType(b.getF32Type()), scores,
                                 ValueRange{ctx.constantIndex(key + n), zero}));
    emitTranspose(b, square);
    for (auto [row, x] : llvm::enumerate(square))
      vector::StoreOp::create(
          b, x, result.memref,
          ValueRange{ctx.constantIndex(row), ctx.addIndex(col, key)});
  }
}

//===----------------------------------------------------------------------===//
// Sums of V
//===----------------------------------------------------------------------===//

static void emitRowTileStrip(HostContext &ctx, tile::DotOp dot,
                             TileBuffer result, Value col, int64_t columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto narrow = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  auto wide = amx::TileType::get({kTileRows, ctx.lanes()}, b.getF32Type());
  Value p = ctx.pairBuffers.lookup(dot.getA()).memref;
  Value v = ctx.pairBuffers.lookup(dot.getB()).memref;
  Value zero = ctx.constantIndex(0);
  SmallVector<Value> sums;
  for (int64_t n = 0; n < columns; n += ctx.lanes())
    sums.push_back(dot.getAcc() ? Value(amx::TileLoadOp::create(
                                      b, wide, result.memref,
                                      ValueRange{zero, ctx.addIndex(col, n)}))
                                : Value(amx::TileZeroOp::create(b, wide)));
  auto overKeys = scf::ForOp::create(
      b, zero, ctx.constantIndex(typeOf(dot.getA()).getDimSize(1)),
      ctx.constantIndex(kTileDepth), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(overKeys.getBody());
    Value key = overKeys.getInductionVar();
    Value pair = arith::DivUIOp::create(b, key, ctx.constantIndex(2));
    Value x = amx::TileLoadOp::create(b, narrow, p, ValueRange{zero, key});
    SmallVector<Value> next;
    for (auto [n, sum] : llvm::enumerate(overKeys.getRegionIterArgs())) {
      Value y = amx::TileLoadOp::create(
          b, narrow, v, ValueRange{pair, ctx.addIndex(col, n * ctx.lanes())});
      next.push_back(amx::TileMulFOp::create(b, wide, x, y, sum));
    }
    scf::YieldOp::create(b, next);
  }
  for (auto [n, sum] : llvm::enumerate(overKeys.getResults()))
    amx::TileStoreOp::create(
        b, result.memref, ValueRange{zero, ctx.addIndex(col, n * ctx.lanes())},
        sum);
}

/// The rows that are kept are rescaled first; what the others hold is anything,
/// before and after.
void fa::emitRowTileOutput(HostContext &ctx, tile::DotOp dot,
                           TileBuffer result) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t columns = dot.getType().getDimSize(1);
  if (dot.getAcc())
    ctx.forLiveRows(kTileRows, 1, [&](Value row) {
      ctx.forVectors(
          columns, {}, [&](Value col, ValueRange) -> SmallVector<Value> {
            vector::StoreOp::create(
                b, ctx.evaluateVector(dot.getAcc(), {{row}, {col, true}}),
                result.memref, ValueRange{row, col});
            return {};
          });
    });
  int64_t width = kSumTiles * ctx.lanes(), main = columns / width * width;
  auto overColumns =
      scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                         ctx.constantIndex(width));
  if (columns > main)
    emitRowTileStrip(ctx, dot, result, ctx.constantIndex(main), columns - main);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overColumns.getBody());
  emitRowTileStrip(ctx, dot, result, overColumns.getInductionVar(), width);
}

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

#include "KernelLowering.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
bool KernelLowering::isWholeTileLoad(Value operand, int64_t rows) {
  auto load = operand.getDefiningOp<tile::LoadOp>();
  RankedTensorType type = typeOf(operand);
  return load && type.getElementType().isBF16() &&
         type.getDimSize(0) % rows == 0 &&
         type.getDimSize(1) % kTileDepth == 0 && isReadOnly(load) &&
         hasWholeRows(load);
}

bool KernelLowering::isRowTileDot(tile::DotOp dot) {
  auto suits = [&](Operation *user) {
    auto other = dyn_cast<tile::DotOp>(user);
    return other && other.getA() == dot.getA() && other.getTransposeB() &&
           other.getB().hasOneUse() &&
           isWholeTileLoad(other.getB(), kTileBlock);
  };
  if (!alongRows || !shape.tileDots || lanes() != kTileRows ||
      typeOf(dot.getA()).getDimSize(0) != kTileRows)
    return false;
  if (!dot.getTransposeB())
    return typeOf(dot.getA()).getElementType().isBF16() &&
           isPForOneDot(dot.getA()) && dot.getB().hasOneUse() &&
           isWholeTileLoad(dot.getB(), kTileDepth);
  return isWholeTileLoad(dot.getA(), kTileRows) &&
         llvm::all_of(dot.getA().getUsers(), suits);
}

tile::DotOp KernelLowering::findRowTileDot(tile::LoadOp load) {
  if (load.getResult().use_empty())
    return {};
  auto dot = dyn_cast<tile::DotOp>(*load.getResult().getUsers().begin());
  return dot && isRowTileDot(dot) ? dot : tile::DotOp();
}

void KernelLowering::loadRowTileOperand(tile::LoadOp load, tile::DotOp dot) {
  if (dot.getA() == load.getResult())
    pairBuffers[load.getResult()] = loadTile(load, Form::LanePairs);
  else if (!dot.getTransposeB())
    pairBuffers[load.getResult()] = loadTile(load, Form::RowPairs);
  else if (!load.getInBounds())
    pairBuffers[load.getResult()] = {
        viewOrCopyRows(load, constantIndex(0), load.getType().getDimSize(0)),
        Form::NaturalPairs};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Two tiles of keys for one of Q: three loads for two products.
void KernelLowering::emitRowTileScores(tile::DotOp dot, Buffer result) {
  auto wide = amx::TileType::get({kTileRows, lanes()}, b.getF32Type());
  Value scores =
      allocate(MemRefType::get({kTileBlock, lanes()}, b.getF32Type()));
  Value zero = constantIndex(0);
  auto overKeys =
      scf::ForOp::create(b, zero, constantIndex(dot.getType().getDimSize(1)),
                         constantIndex(kTileBlock));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overKeys.getBody());
  Value col = overKeys.getInductionVar();
  // One each: a copy of a tile goes through memory.
  Value none[] = {amx::TileZeroOp::create(b, wide),
                  amx::TileZeroOp::create(b, wide)};
  auto overDepth = scf::ForOp::create(
      b, zero, constantIndex(typeOf(dot.getA()).getDimSize(1)),
      constantIndex(kTileDepth), ValueRange(none));
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overDepth.getBody());
    Value k = overDepth.getInductionVar();
    // As many rows as there are steps of the depth for each: in order, since
    // the memory follows by itself, and there is little time for them.
    int64_t steps = typeOf(dot.getA()).getDimSize(1) / kTileDepth;
    int64_t count = llvm::divideCeil(kTileBlock, steps);
    Value step = arith::DivUIOp::create(b, k, constantIndex(kTileDepth));
    Value first = arith::AddIOp::create(
        b, col, Value(arith::MulIOp::create(b, step, constantIndex(count))));
    for (int64_t n = 0; n < count; ++n)
      for (int64_t at = 0; at < steps; ++at)
        prefetchBeside(dot, addIndex(first, n), constantIndex(at * kTileDepth));
    TileBlock block = {zero, col, 1, kTileBlock};
    scf::YieldOp::create(
        b, emitTileStep(dot, block, k, overDepth.getRegionIterArgs()));
  }
  for (auto [n, sum] : llvm::enumerate(overDepth.getResults()))
    amx::TileStoreOp::create(
        b, scores, ValueRange{constantIndex(n * kTileRows), zero}, sum);
  for (int64_t key = 0; key < kTileBlock; key += lanes()) {
    SmallVector<Value> square;
    for (int64_t n = 0; n < lanes(); ++n)
      square.push_back(
          vector::LoadOp::create(b, vectorType(b.getF32Type()), scores,
                                 ValueRange{constantIndex(key + n), zero}));
    emitTranspose(b, square);
    for (auto [row, x] : llvm::enumerate(square))
      vector::StoreOp::create(
          b, x, result.memref,
          ValueRange{constantIndex(row), addIndex(col, key)});
  }
}

//===----------------------------------------------------------------------===//
// Sums of V
//===----------------------------------------------------------------------===//

/// The rows that are kept are rescaled first; what the others hold is anything,
/// before and after.
void KernelLowering::emitRowTileOutput(tile::DotOp dot, Buffer result) {
  int64_t columns = dot.getType().getDimSize(1);
  if (dot.getAcc())
    forLiveRows(kTileRows, 1, [&](Value row) {
      forVectors(columns, {}, [&](Value col, ValueRange) -> SmallVector<Value> {
        vector::StoreOp::create(
            b, evaluateVector(dot.getAcc(), {{row}, {col, true}}),
            result.memref, ValueRange{row, col});
        return {};
      });
    });
  int64_t width = kSumTiles * lanes(), main = columns / width * width;
  auto overColumns = scf::ForOp::create(
      b, constantIndex(0), constantIndex(main), constantIndex(width));
  if (columns > main)
    emitRowTileStrip(dot, result, constantIndex(main), columns - main);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overColumns.getBody());
  emitRowTileStrip(dot, result, overColumns.getInductionVar(), width);
}

void KernelLowering::emitRowTileStrip(tile::DotOp dot, Buffer result, Value col,
                                      int64_t columns) {
  auto narrow = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  auto wide = amx::TileType::get({kTileRows, lanes()}, b.getF32Type());
  Value p = pairBuffers.lookup(dot.getA()).memref;
  Value v = pairBuffers.lookup(dot.getB()).memref;
  Value zero = constantIndex(0);
  SmallVector<Value> sums;
  for (int64_t n = 0; n < columns; n += lanes())
    sums.push_back(dot.getAcc() ? Value(amx::TileLoadOp::create(
                                      b, wide, result.memref,
                                      ValueRange{zero, addIndex(col, n)}))
                                : Value(amx::TileZeroOp::create(b, wide)));
  auto overKeys = scf::ForOp::create(
      b, zero, constantIndex(typeOf(dot.getA()).getDimSize(1)),
      constantIndex(kTileDepth), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(overKeys.getBody());
    Value key = overKeys.getInductionVar();
    Value pair = arith::DivUIOp::create(b, key, constantIndex(2));
    Value x = amx::TileLoadOp::create(b, narrow, p, ValueRange{zero, key});
    SmallVector<Value> next;
    for (auto [n, sum] : llvm::enumerate(overKeys.getRegionIterArgs())) {
      Value y = amx::TileLoadOp::create(
          b, narrow, v, ValueRange{pair, addIndex(col, n * lanes())});
      next.push_back(amx::TileMulFOp::create(b, wide, x, y, sum));
    }
    scf::YieldOp::create(b, next);
  }
  for (auto [n, sum] : llvm::enumerate(overKeys.getResults()))
    amx::TileStoreOp::create(b, result.memref,
                             ValueRange{zero, addIndex(col, n * lanes())}, sum);
}

//===- LowerRowTiles.cpp - scores of few rows by matrix units -------------===//
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
// (RowForm.cpp). P V stays with the vector unit: V would have to be brought to
// pairs of keys, for half a tile of rows.
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

bool KernelLowering::isRowTileDot(tile::DotOp dot) {
  auto isWhole = [&](Value operand, int64_t rows) {
    auto load = operand.getDefiningOp<tile::LoadOp>();
    RankedTensorType type = typeOf(operand);
    return load && type.getElementType().isBF16() &&
           type.getDimSize(0) % rows == 0 &&
           type.getDimSize(1) % kTileDepth == 0 && isReadOnly(load) &&
           hasWholeRows(load);
  };
  auto suits = [&](Operation *user) {
    auto other = dyn_cast<tile::DotOp>(user);
    return other && other.getA() == dot.getA() && other.getTransposeB() &&
           other.getB().hasOneUse() && isWhole(other.getB(), kTileBlock);
  };
  return alongRows && shape.tileDots && lanes() == kTileRows &&
         isWhole(dot.getA(), kTileRows) &&
         typeOf(dot.getA()).getDimSize(0) == kTileRows &&
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
  else if (!load.getInBounds())
    pairBuffers[load.getResult()] = {
        viewOrCopyRows(load, constantIndex(0), load.getType().getDimSize(0)),
        Form::NaturalPairs};
}

/// Two tiles of keys for one of Q: three loads for two products.
void KernelLowering::emitRowTiles(tile::DotOp dot, Buffer result) {
  Buffer rows = pairBuffers.lookup(dot.getA());
  auto narrow = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
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
    Value pair = arith::DivUIOp::create(b, k, constantIndex(2));
    Value y =
        amx::TileLoadOp::create(b, narrow, rows.memref, ValueRange{pair, zero});
    SmallVector<Value> sums;
    for (auto [n, sum] : llvm::enumerate(overDepth.getRegionIterArgs()))
      sums.push_back(amx::TileMulFOp::create(
          b, wide, loadRightTile(dot, addIndex(col, n * kTileRows), k, 0), y,
          sum));
    scf::YieldOp::create(b, sums);
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

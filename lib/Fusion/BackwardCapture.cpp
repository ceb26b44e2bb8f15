//===- BackwardCapture.cpp - the gradient of a tensor that scores read ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program owns a tile of the tensor: of queries and keys where it is read at
// both, or of one of them. It walks all scores that read an element of it:
// batches and heads that share it, and tiles along what it is not read at.
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

BackwardBuilder::CaptureWalk BackwardBuilder::findCaptureWalk() {
  auto reads = [&](int64_t n) { return captured->readsAt(n); };
  auto start = [&](Value tile, int64_t size) -> Value {
    return arith::MulIOp::create(b, tile, index(size));
  };
  auto count = [&](Value size) {
    return countTiles(index(0), size, /*up=*/true);
  };
  Value id = ProgramIdOp::create(b, 0), one = index(1);
  CaptureWalk walk;
  walk.tiles = walk.heads = walk.batches = one;
  if (reads(2) && reads(3)) {
    Value keyTiles = count(keyRows.count);
    walk.query = start(arith::DivUIOp::create(b, id, keyTiles), shape.rows);
    walk.key = start(arith::RemUIOp::create(b, id, keyTiles), shape.columns);
  } else if (reads(2)) {
    walk.query = start(id, shape.rows);
    walk.tiles = count(keyRows.count);
  } else {
    walk.key = start(id, shape.rows);
    walk.tiles = count(queryRows.count);
  }
  if (reads(1))
    walk.ownHead = ProgramIdOp::create(b, 1);
  else
    walk.heads = memref::DimOp::create(b, qMemory, 1);
  if (reads(0))
    walk.ownBatch = ProgramIdOp::create(b, 2);
  else
    walk.batches = memref::DimOp::create(b, qMemory, 0);
  return walk;
}

/// The tile of scores of a step; sets the batch and the heads.
BackwardBuilder::Place
BackwardBuilder::findCaptureStep(Value step, const CaptureWalk &walk) {
  auto split = [&](Value number, Value size) -> std::pair<Value, Value> {
    return {arith::DivUIOp::create(b, number, size),
            arith::RemUIOp::create(b, number, size)};
  };
  auto [rest, tile] = split(step, walk.tiles);
  auto [batchNumber, headNumber] = split(rest, walk.heads);
  batch = walk.ownBatch ? walk.ownBatch : batchNumber;
  head = walk.ownHead ? walk.ownHead : headNumber;
  kvHead = arith::DivUIOp::create(b, head, group);
  Value walked = arith::MulIOp::create(b, tile, index(shape.columns));
  return {walk.query ? walk.query : walked, walk.key ? walk.key : walked,
          /*partial=*/true};
}

/// What the scores of one tile add.
Value BackwardBuilder::buildContribution(const Place &place) {
  int64_t queries = ownsKeys() ? shape.columns : shape.rows;
  int64_t keys = ownsKeys() ? shape.rows : shape.columns;
  auto ofQueries = [&](Value view) { return load(view, queries, place.query); };
  auto ofKeys = [&](Value memory) {
    return load(rowsOf(memory, kvHead, keyRows), keys, place.key);
  };
  Tiles tiles;
  tiles.q = ofQueries(rowsOf(qMemory, head, queryRows));
  tiles.dout = ofQueries(rowsOf(doutMemory, head, queryRows));
  tiles.k = ofKeys(kMemory);
  tiles.v = ofKeys(vMemory);
  tiles.lse = ofQueries(statistics(1));
  tiles.delta = loadDelta(queries, place.query);
  Value mask = buildMask(place);
  Value x = buildX(tiles);
  Value p = buildP(x, tiles, place, mask);
  Value left = ownsKeys() ? tiles.v : tiles.dout;
  Value right = ownsKeys() ? tiles.dout : tiles.v;
  Value dp = DotOp::create(b, scoreType(b.getF32Type()), left, right, Value(),
                           /*transpose_b=*/true, precisionOf(right));
  return timesSlope(buildDs(p, dp, tiles, place), *captured->effect, x, place,
                    mask);
}

void BackwardBuilder::storeCapture(Value sum, const ArgumentView &of,
                                   ArrayRef<int64_t> reads,
                                   ArrayRef<Value> owned) {
  Value memory = of.build(b, kernel.getArgument(source.argumentOf(of)));
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<int64_t> kept;
  SmallVector<Value> at;
  for (auto [dim, n] : llvm::enumerate(reads)) {
    bool isTile = part == BackwardPart::Heads ? n == 1 : n >= 2;
    offsets.push_back(n < 0 || isTile ? OpFoldResult(b.getIndexAttr(0))
                                      : OpFoldResult(owned[n]));
    sizes.push_back(
        isTile ? OpFoldResult(Value(memref::DimOp::create(b, memory, dim)))
               : OpFoldResult(b.getIndexAttr(1)));
    if (!isTile)
      continue;
    kept.push_back(ShapedType::kDynamic);
    at.push_back(owned[n]);
  }
  auto tileType = cast<RankedTensorType>(sum.getType());
  if (type.getElementType() != tileType.getElementType())
    sum =
        arith::TruncFOp::create(b, tileType.clone(type.getElementType()), sum);
  StoreOp::create(b, sum, view(memory, offsets, sizes, kept), at);
}

void BackwardBuilder::buildCaptureGradient() {
  length = keyRows.count; // others are masked
  CaptureWalk walk = findCaptureWalk();
  Value steps = arith::MulIOp::create(
      b, walk.tiles, arith::MulIOp::create(b, walk.heads, walk.batches));
  auto loop = scf::ForOp::create(b, index(0), steps, index(1), filled(0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Place place = findCaptureStep(loop.getInductionVar(), walk);
    Value more = buildContribution(place);
    scf::YieldOp::create(
        b, Value(arith::AddFOp::create(b, loop.getRegionIterArg(0), more)));
  }
  Value sum = loop.getResult(0);
  if (!walk.query || !walk.key)
    sum = ReduceOp::create(b, tile({shape.rows}, b.getF32Type()),
                           ReduceKind::Add, sum, 1);
  storeCapture(sum, captured->view, captured->reads,
               {walk.ownBatch, walk.ownHead, walk.query, walk.key});
}

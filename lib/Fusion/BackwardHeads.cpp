//===- BackwardHeads.cpp - the gradient of what heads have one number of --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program owns heads, or all of them where they share one number, and walks
// the queries of all batches, or of its own: what they add is in workspace, a
// number for each row. Of a sink, which is one
// more score of each row, without a value, that is -exp(sink - lse) delta.
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value BackwardBuilder::headsOf(Value memory) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  auto type = cast<MemRefType>(memory.getType());
  bool isWorkspace = type.getRank() == 4;
  SmallVector<OpFoldResult> offsets = {batch, zero, zero};
  SmallVector<OpFoldResult> sizes = {one, countHeads(), queryRows.count};
  if (queryRows.first) {
    offsets = {zero, zero, isWorkspace ? firstStatistic() : queryRows.first};
    if (!isWorkspace) {
      offsets.erase(offsets.begin());
      sizes.erase(sizes.begin());
    }
  }
  if (isWorkspace) {
    offsets.insert(offsets.begin(), zero);
    sizes.insert(sizes.begin(), one);
  }
  int64_t any = ShapedType::kDynamic;
  return view(memory, offsets, sizes, {any, any});
}

Value BackwardBuilder::countHeads() {
  return memref::DimOp::create(b, qMemory, source.q.offsets ? 0 : 1);
}

/// The slots that tiles of `columns` queries take of all sequences.
Value BackwardBuilder::countSlots() {
  Value offsets = kernel.getArgument(*source.q.offsets);
  Value sequences =
      arith::SubIOp::create(b, memref::DimOp::create(b, offsets, 0), index(1));
  Value tiles =
      arith::DivUIOp::create(b, queryRows.count, index(shape.columns));
  return arith::AddIOp::create(b, tiles, sequences);
}

Value BackwardBuilder::loadHeads(Value memory, Value first) {
  return LoadOp::create(b, scoreType(b.getF32Type()), headsOf(memory),
                        ValueRange{tileStart, first}, /*in_bounds=*/false);
}

Value BackwardBuilder::buildSinkTerm(Value first) {
  auto workspace = [&](unsigned number) -> Value {
    return kernel.getArgument(source.firstOfWorkspace() + number);
  };
  Value delta = loadHeads(workspace(0), first);
  if (source.dlse)
    delta = arith::SubFOp::create(b, delta,
                                  loadHeads(memoryOf(*source.dlse), first));
  auto type = scoreType(b.getF32Type());
  Value sink = load(memoryOf(*source.sink), shape.rows, tileStart);
  Value log2e = arith::ConstantOp::create(
      b, b.getF32FloatAttr(std::numbers::log2e_v<float>));
  Value below = arith::NegFOp::create(b, loadHeads(workspace(1), first));
  Value exponent =
      math::FmaOp::create(b, spread(sink), broadcast(log2e, type), below);
  Value p = math::Exp2Op::create(b, exponent);
  Value term = arith::MulFOp::create(b, p, delta);
  // Of a row that is none the exponential has no bound.
  return arith::SelectOp::create(b, isInside(1, first, queryRows.count),
                                 arith::NegFOp::create(b, term), filled(0.0));
}

Value BackwardBuilder::buildHeadsTerm(Value first) {
  if (!captured)
    return buildSinkTerm(first);
  unsigned number = 2;
  for (const CapturedGradient &gradient : source.dcaptures) {
    if (&gradient == captured)
      break;
    number += gradient.isOfHeads();
  }
  return loadHeads(kernel.getArgument(source.firstOfWorkspace() + number),
                   first);
}

void BackwardBuilder::buildHeadsGradient() {
  bool ownsHeads = !captured || captured->readsAt(1);
  Value ownTile, headTiles = index(1);
  if (ownsHeads)
    ownTile =
        arith::MulIOp::create(b, ProgramIdOp::create(b, 0), index(shape.rows));
  else
    headTiles = arith::CeilDivUIOp::create(b, countHeads(), index(shape.rows));
  Value ownBatch, tiles, steps;
  if (source.q.offsets) {
    steps = countSlots();
  } else {
    Value batches = index(1);
    if (captured && captured->readsAt(0))
      ownBatch = ProgramIdOp::create(b, 2);
    else
      batches = memref::DimOp::create(b, qMemory, 0);
    tiles = countTiles(index(0), queryRows.count, /*up=*/true);
    steps = arith::MulIOp::create(b, tiles, batches);
  }
  if (!ownsHeads)
    steps = arith::MulIOp::create(b, steps, headTiles);
  auto loop = scf::ForOp::create(b, index(0), steps, index(1), filled(0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    tileStart = ownTile;
    if (!ownsHeads) {
      tileStart = arith::MulIOp::create(
          b, arith::RemUIOp::create(b, step, headTiles), index(shape.rows));
      step = arith::DivUIOp::create(b, step, headTiles);
    }
    Value tile;
    if (source.q.offsets) {
      tile = findTile(source.q, step, shape.columns);
      queryRows = findSequence(source.q, qMemory);
    } else {
      batch = ownBatch ? ownBatch
                       : arith::DivUIOp::create(b, step, tiles).getResult();
      tile = arith::RemUIOp::create(b, step, tiles);
    }
    Value first = arith::MulIOp::create(b, tile, index(shape.columns));
    if (source.q.offsets) { // a slot may be in front of the first sequence
      Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, first,
                                            queryRows.count);
      first = arith::SelectOp::create(b, isEmpty, queryRows.count, first);
    }
    Value more = buildHeadsTerm(first);
    if (!ownsHeads)
      more = inFirstColumn(more);
    scf::YieldOp::create(
        b, Value(arith::AddFOp::create(b, loop.getRegionIterArg(0), more)));
  }
  if (!ownsHeads) {
    storeTotal(loop.getResult(0), ownBatch);
    return;
  }
  Value sum = ReduceOp::create(b, tile({shape.rows}, b.getF32Type()),
                               ReduceKind::Add, loop.getResult(0), 1);
  SmallVector<int64_t> ofSink = {1};
  storeCapture(sum, captured ? captured->view : *source.dsink,
               captured ? ArrayRef<int64_t>(captured->reads)
                        : ArrayRef<int64_t>(ofSink),
               {ownBatch, ownTile, Value(), Value()});
}

Value BackwardBuilder::inFirstColumn(Value terms) {
  Type f32 = b.getF32Type();
  Value sum =
      ReduceOp::create(b, tile({shape.rows}, f32), ReduceKind::Add, terms, 1);
  Value line = ExpandDimsOp::create(b, tile({shape.rows, 1}, f32), sum, 1);
  auto indices = scoreType(b.getIndexType());
  Value columns = IotaOp::create(b, indices, 1, ValueRange{});
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columns,
                                        broadcast(index(0), indices));
  return arith::SelectOp::create(b, isFirst, broadcast(line, scoreType(f32)),
                                 filled(0.0));
}

void BackwardBuilder::storeTotal(Value sums, Value ownBatch) {
  Type f32 = b.getF32Type();
  Value turned = TransposeOp::create(b, tile({shape.columns, shape.rows}, f32),
                                     sums, ArrayRef<int64_t>{1, 0});
  auto rows = tile({shape.columns}, f32);
  Value total = ReduceOp::create(b, rows, ReduceKind::Add, turned, 1);
  const ArgumentView &of = captured->view;
  Value memory = kernel.getArgument(source.argumentOf(of));
  if (!of.dims.empty())
    memory = of.build(b, memory);
  auto type = cast<MemRefType>(memory.getType());
  if (!type.getElementType().isF32())
    total =
        arith::TruncFOp::create(b, rows.clone(type.getElementType()), total);
  // All dimensions have one element but that of batches; one of them stays.
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(type.getRank(), b.getIndexAttr(1));
  for (auto [dim, n] : llvm::enumerate(captured->reads))
    if (n == 0)
      offsets[dim] = ownBatch;
  StoreOp::create(b, total, view(memory, offsets, sizes, {1}),
                  ValueRange{index(0)});
}

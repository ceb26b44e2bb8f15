//===- BackwardTable.cpp - the gradient of a table ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores read a table at places that are computed: distances, or the buckets of
// distances. A program owns a tile of places. It walks the scores that may read
// one of them, and adds each score to the sum of its place, always in the same
// order: there is one sum for each query of a tile, which are added at the end.
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// The form of a place that is a distance, j - i or i - j and what is the same
/// for all of a head's scores.
static std::optional<AffineForm> findDistance(Value place) {
  std::optional<AffineForm> form = analyzeForm(place);
  if (!form || !form->rowTerms.empty() || form->query != -form->key ||
      (form->key != 1 && form->key != -1))
    return std::nullopt;
  return form;
}

/// Finds the distances that `walk.place` is: one, or the first of two where a
/// condition holds, as where places below 0 count from the end.
static void findDistances(Value place, SmallVectorImpl<AffineForm> &distances,
                          Value &condition) {
  if (auto distance = findDistance(place)) {
    distances.push_back(*distance);
    return;
  }
  auto select = place.getDefiningOp<arith::SelectOp>();
  if (!select)
    return;
  auto first = findDistance(select.getTrueValue()),
       second = findDistance(select.getFalseValue());
  if (!first || !second)
    return;
  distances.append({*second, *first});
  condition = select.getCondition();
}

BackwardBuilder::TableWalk BackwardBuilder::findTableWalk() {
  TableWalk walk;
  auto count = [&](Value size, int64_t step) -> Value {
    return arith::CeilDivUIOp::create(b, size, index(step));
  };
  walk.queryTiles = count(queryRows.count, shape.rows);
  findDistances(captured->place, walk.distances, walk.condition);
  if (walk.distances.empty()) {
    walk.tilesOfDistance = walk.keyTiles = count(keyRows.count, shape.columns);
    return walk;
  }
  // The rows of a tile have its places at rows + places - 1 keys.
  int64_t keys = shape.rows + shape.columns - 1;
  int64_t tiles = llvm::divideCeil(keys - 1, shape.columns) + 1;
  walk.tilesOfDistance = index(tiles);
  walk.keyTiles = index(tiles * int64_t(walk.distances.size()));
  return walk;
}

/// Where the tiles of keys begin in which queries from `query` on have, by
/// `distance`, a place from `first` on.
Value BackwardBuilder::findFirstKey(AffineForm distance, Value query,
                                    Value first) {
  auto minus = [&](Value x, Value y) -> Value {
    return arith::SubIOp::create(b, x, y);
  };
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  bool grows = distance.key == 1;
  distance.query = distance.key = 0;
  Value other = evaluate(distance, /*more=*/1);
  // place = key - query + other, of the first place; or
  // place = query - key + other, of the last one.
  Value key =
      grows ? minus(plus(query, first), other)
            : minus(plus(query, other), plus(first, index(shape.columns - 1)));
  return beginOfTile(arith::MaxSIOp::create(b, key, index(0)));
}

Value BackwardBuilder::beginOfTile(Value key) {
  Value tile = arith::DivUIOp::create(b, key, index(shape.columns));
  return arith::MulIOp::create(b, tile, index(shape.columns));
}

/// The place of each score of the tile, -1 where it is by another distance than
/// the one with this number.
Value BackwardBuilder::buildPlaces(const TableWalk &walk, const Place &place,
                                   Value number) {
  SmallVector<RegionValue> arguments = {
      {RegionValue::Tile, filled(0.0)}}; // no place depends on the score
  arguments.append(regionArguments(place));
  auto inlined = [&](Value wanted) {
    return inlineRegion(b, op.getScore(), shape.rows, shape.columns, arguments,
                        wanted);
  };
  Value places = inlined(captured->place);
  if (!walk.condition)
    return places;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, number, index(0));
  Value isOther = arith::XOrIOp::create(
      b, inlined(walk.condition), broadcast(isFirst, scoreType(b.getI1Type())));
  Value none = broadcast(index(-1), scoreType(b.getIndexType()));
  return arith::SelectOp::create(b, isOther, none, places);
}

Value BackwardBuilder::addAtPlaces(Value sums, Value terms, Value places,
                                   Value first, Value count) {
  auto type = scoreType(b.getF32Type()), indices = scoreType(b.getIndexType());
  auto loop = scf::ForOp::create(b, index(0), count, index(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar(), old = loop.getRegionIterArg(0);
  auto equals = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x,
                                 broadcast(y, indices));
  };
  Value zero = filled(0.0);
  Value own = arith::SelectOp::create(
      b, equals(places, arith::AddIOp::create(b, first, number)), terms, zero);
  Value sum = ReduceOp::create(b, tile({shape.rows}, b.getF32Type()),
                               ReduceKind::Add, own, 1);
  Value line =
      ExpandDimsOp::create(b, tile({shape.rows, 1}, b.getF32Type()), sum, 1);
  Value columns = IotaOp::create(b, indices, 1, ValueRange{});
  Value more = arith::SelectOp::create(b, equals(columns, number),
                                       broadcast(line, type), zero);
  scf::YieldOp::create(b, Value(arith::AddFOp::create(b, old, more)));
  return loop.getResult(0);
}

void BackwardBuilder::buildTableGradient() {
  length = keyRows.count; // others are masked
  Value first =
      arith::MulIOp::create(b, ProgramIdOp::create(b, 0), index(shape.columns));
  Value ownBatch, ownHead, batches = index(1), heads = index(1);
  if (captured->readsAt(1))
    ownHead = ProgramIdOp::create(b, 1);
  else
    heads = memref::DimOp::create(b, qMemory, 1);
  if (captured->readsAt(0))
    ownBatch = ProgramIdOp::create(b, 2);
  else
    batches = memref::DimOp::create(b, qMemory, 0);
  const auto *at = llvm::find(captured->reads, CapturedGradient::kComputed);
  Value table = captured->view.build(
      b, kernel.getArgument(source.argumentOf(captured->view)));
  Value size = memref::DimOp::create(b, table, at - captured->reads.begin());
  Value count = arith::MinSIOp::create(b, arith::SubIOp::create(b, size, first),
                                       index(shape.columns));
  TableWalk walk = findTableWalk();
  Value tiles = arith::MulIOp::create(b, walk.queryTiles, walk.keyTiles);
  Value steps =
      arith::MulIOp::create(b, tiles, arith::MulIOp::create(b, heads, batches));
  auto loop = scf::ForOp::create(b, index(0), steps, index(1), filled(0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto split = [&](Value number, Value size) -> std::pair<Value, Value> {
      return {arith::DivUIOp::create(b, number, size),
              arith::RemUIOp::create(b, number, size)};
    };
    auto [rest, tileNumber] = split(loop.getInductionVar(), tiles);
    auto [batchNumber, headNumber] = split(rest, heads);
    auto [queryTile, keyNumber] = split(tileNumber, walk.keyTiles);
    auto [number, keyTile] = split(keyNumber, walk.tilesOfDistance);
    batch = ownBatch ? ownBatch : batchNumber;
    head = ownHead ? ownHead : headNumber;
    kvHead = arith::DivUIOp::create(b, head, group);
    Value query = arith::MulIOp::create(b, queryTile, index(shape.rows));
    Value key = arith::MulIOp::create(b, keyTile, index(shape.columns));
    Value begin;
    for (const AffineForm &distance : walk.distances) {
      Value own = findFirstKey(distance, query, first);
      Value isZero =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, index(0));
      begin = begin ? arith::SelectOp::create(b, isZero, begin, own).getResult()
                    : own;
    }
    if (begin)
      key = arith::AddIOp::create(b, begin, key);
    Place place = {query, key, /*partial=*/true};
    Value terms = buildContribution(place);
    Value places = buildPlaces(walk, place, number);
    scf::YieldOp::create(
        b, addAtPlaces(loop.getRegionIterArg(0), terms, places, first, count));
  }
  auto turned = tile({shape.columns, shape.rows}, b.getF32Type());
  Value sums = TransposeOp::create(b, turned, loop.getResult(0),
                                   ArrayRef<int64_t>{1, 0});
  Value sum = ReduceOp::create(b, tile({shape.columns}, b.getF32Type()),
                               ReduceKind::Add, sums, 1);
  storeCapture(sum, captured->view, captured->reads,
               {ownBatch, ownHead, Value(), Value(), first});
}

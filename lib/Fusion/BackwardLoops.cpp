//===- BackwardLoops.cpp - the way along the keys or queries --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"
#include "fa/Fusion/QueryRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

DotPrecision BackwardBuilder::precisionOf(Value operand) {
  return getElementTypeOrSelf(operand.getType()).isF32() ? op.getPrecision()
                                                         : DotPrecision::Ieee;
}

Value BackwardBuilder::filled(double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(scoreType(b.getF32Type()),
                                b.getF32FloatAttr(value)));
}

Value BackwardBuilder::spread(Value queries) {
  int64_t dim = ownsKeys() ? 0 : 1;
  SmallVector<int64_t> sizes = {shape.rows, 1};
  if (ownsKeys())
    sizes = {1, shape.columns};
  Value line =
      ExpandDimsOp::create(b, tile(sizes, b.getF32Type()), queries, dim);
  return broadcast(line, scoreType(b.getF32Type()));
}

SmallVector<RegionValue> BackwardBuilder::regionArguments(const Place &place) {
  auto ofQuery = ownsKeys() ? RegionValue::Column : RegionValue::Row;
  auto ofKey = ownsKeys() ? RegionValue::Row : RegionValue::Column;
  SmallVector<RegionValue> arguments = {{RegionValue::Uniform, batch},
                                        {RegionValue::Uniform, head},
                                        {ofQuery, place.query},
                                        {ofKey, place.key}};
  arguments.append(captures.begin(), captures.end());
  return arguments;
}

Value BackwardBuilder::applyToScores(Region &region, Value x,
                                     const Place &place) {
  SmallVector<RegionValue> arguments = {{RegionValue::Tile, x}};
  arguments.append(regionArguments(place));
  return inlineRegion(b, region, shape.rows, shape.columns, arguments,
                      /*wanted=*/{}, /*isInside=*/walk.has_value());
}

/// Whether a score's row or column, of dimension `dim`, which begins at
/// `first`, is one of `size`.
Value BackwardBuilder::isInside(int64_t dim, Value first, Value size) {
  auto indices = scoreType(b.getIndexType());
  Value number = IotaOp::create(b, indices, dim, ValueRange{});
  Value left = arith::SubIOp::create(b, size, first);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number,
                               broadcast(left, indices));
}

/// Where scores count: null if all do. A key that is none has zeros for K and
/// V, but a P that no log-sum-exp bounds, which may be infinite: it is masked.
/// A query that is none has zeros for dO, too, and a P of 1; it is masked where
/// what changes scores makes something of its zeros.
Value BackwardBuilder::buildMask(const Place &place) {
  bool isAnyQuery = ownsKeys() && op.getMask().empty() && op.getScore().empty();
  bool isAll = !place.partial || isAnyQuery;
  // Of keys that are none, dQ would have their P times zeros, too.
  bool isSumOverOwn = part == BackwardPart::Whole;
  if (isAll && !isSumOverOwn)
    return {};
  int64_t queryDim = ownsKeys() ? 1 : 0, keyDim = 1 - queryDim;
  Value mask;
  auto require = [&](Value more) {
    mask = mask ? arith::AndIOp::create(b, mask, more).getResult() : more;
  };
  // Gradients of rows that are none are not stored, but those of a captured
  // tensor are sums over rows.
  bool isSum = part == BackwardPart::Capture || part == BackwardPart::Table;
  bool isWhole = walk.has_value(); // queries and keys are whole blocks
  if (!isAll && !isWhole && (isSum || ownsKeys()))
    require(isInside(queryDim, place.query, queryRows.count));
  if (!isWhole && (isSum || !ownsKeys() || isSumOverOwn))
    require(isInside(keyDim, place.key, length));
  if (!isAll && !op.getMask().empty())
    require(inlineRegion(b, op.getMask(), shape.rows, shape.columns,
                         regionArguments(place), /*wanted=*/{}, isWhole));
  return mask;
}

/// scale · q kᵀ or, where no region looks at it, q kᵀ.
Value BackwardBuilder::buildX(const Tiles &tiles) {
  Value left = ownsKeys() ? tiles.k : tiles.q;
  Value right = ownsKeys() ? tiles.q : tiles.k;
  Value x = DotOp::create(b, scoreType(b.getF32Type()), left, right, Value(),
                          /*transpose_b=*/true, precisionOf(right));
  return looksAtX() ? scaled(x) : x;
}

/// 2^(s log2 e − lse).
Value BackwardBuilder::buildP(Value x, const Tiles &tiles, const Place &place,
                              Value mask) {
  auto type = scoreType(b.getF32Type());
  Value factor = arith::ConstantOp::create(
      b, b.getF32FloatAttr(std::numbers::log2e_v<float>));
  Value scores = x;
  if (!looksAtX())
    factor = arith::MulFOp::create(b, scale, factor);
  if (!op.getScore().empty())
    scores = applyToScores(op.getScore(), x, place);
  Value below = spread(arith::NegFOp::create(b, tiles.lse));
  Value exponent =
      math::FmaOp::create(b, scores, broadcast(factor, type), below);
  if (mask)
    exponent = arith::SelectOp::create(
        b, mask, exponent, filled(-std::numeric_limits<double>::infinity()));
  return math::Exp2Op::create(b, exponent);
}

Value BackwardBuilder::buildDs(Value p, Value dp, const Tiles &tiles,
                               const Place &place) {
  dp = applyDropout(dp, regionArguments(place));
  Value difference = arith::SubFOp::create(b, dp, spread(tiles.delta));
  return arith::MulFOp::create(b, p, difference);
}

Value BackwardBuilder::timesSlope(Value ds, Region &region, Value x,
                                  const Place &place, Value mask) {
  if (!region.empty())
    ds = arith::MulFOp::create(b, ds, applyToScores(region, x, place));
  if (mask)
    ds = arith::SelectOp::create(b, mask, ds, filled(0.0));
  return ds;
}

void BackwardBuilder::makeAlike(Value &computed, Value &loaded) {
  auto type = cast<RankedTensorType>(loaded.getType());
  Type element = type.getElementType();
  if (!element.isF32() && op.getWideP())
    loaded = arith::ExtFOp::create(b, type.clone(b.getF32Type()), loaded);
  else if (!element.isF32())
    computed = arith::TruncFOp::create(b, scoreType(element), computed);
}

Value BackwardBuilder::accumulate(Value left, Value right, Value sum) {
  makeAlike(left, right);
  return DotOp::create(b, sum.getType(), left, right, sum,
                       /*transpose_b=*/false, precisionOf(right));
}

//===----------------------------------------------------------------------===//
// Along blocks that are listed
//===----------------------------------------------------------------------===//

template <typename BuildLoop>
SmallVector<Value>
BackwardBuilder::walkListed(const BlockLists &lists, Value number, Value block,
                            Value numBlocks, ValueRange initial,
                            BuildLoop buildLoop) {
  int64_t owned = lists.ofQueries ? lists.keys : lists.queries,
          walked = lists.ofQueries ? lists.queries : lists.keys;
  assert(owned % shape.rows == 0 && walked % shape.columns == 0);
  (void)owned;
  walk.emplace(b, walked, captures[lists.blocks].value,
               captures[lists.counts].value,
               ArrayRef<Value>{batch, number, block}, numBlocks);
  Values state = buildLoop({index(0), walk->whole, /*partial=*/false}, initial);
  return buildLoop({walk->whole, walk->all, /*partial=*/true}, state);
}

//===----------------------------------------------------------------------===//
// Along the keys
//===----------------------------------------------------------------------===//

SmallVector<Value> BackwardBuilder::walkKeys(const Tiles &owned,
                                             ValueRange initial) {
  Value k = rowsOf(kMemory, kvHead, {keyRows.first, length});
  Value v = rowsOf(vMemory, kvHead, {keyRows.first, length});
  auto build = [&](const KeyLoop &keys, ValueRange state) -> Values {
    auto loop = scf::ForOp::create(b, keys.begin, keys.end,
                                   index(shape.columns), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Place place = {tileStart, loop.getInductionVar(), keys.partial};
    if (walk)
      place.key =
          walk->rowAt(walk->blockAt(place.key), place.key, shape.columns);
    bool isWhole = !keys.partial || walk;
    Tiles tiles = owned;
    tiles.k = load(k, shape.columns, place.key, isWhole);
    tiles.v = load(v, shape.columns, place.key, isWhole);
    Value mask = buildMask(place);
    Value x = buildX(tiles);
    Value p = buildP(x, tiles, place, mask);
    Value dp =
        DotOp::create(b, scoreType(b.getF32Type()), tiles.dout, tiles.v,
                      Value(), /*transpose_b=*/true, precisionOf(tiles.v));
    Value ds = buildDs(p, dp, tiles, place);
    Values sums(loop.getRegionIterArgs());
    Value *next = sums.begin();
    if (source.dq) {
      Value dx = timesSlope(ds, op.getDerivative(), x, place, mask);
      *next = accumulate(dx, tiles.k, *next);
      ++next;
    }
    for (const CapturedGradient &gradient : source.dcaptures) {
      if (!gradient.isOfHeads())
        continue;
      Value terms = timesSlope(ds, *gradient.effect, x, place, mask);
      Value sum =
          ReduceOp::create(b, next->getType(), ReduceKind::Add, terms, 1);
      *next = arith::AddFOp::create(b, *next, sum);
      ++next;
    }
    scf::YieldOp::create(b, sums);
    return Values(loop.getResults());
  };
  if (source.keyLists) {
    const BlockLists &lists = *source.keyLists;
    auto divide = [&](Value rows, int64_t size) -> Value {
      return arith::DivUIOp::create(b, rows, index(size));
    };
    return walkListed(lists, head, divide(tileStart, lists.queries),
                      divide(keyRows.count, lists.keys), initial, build);
  }
  Value last = arith::AddIOp::create(b, tileStart, index(shape.rows));
  last = arith::MinSIOp::create(b, last, queryRows.count);
  last = arith::SubIOp::create(b, last, index(1));
  SmallVector<KeyRange> ranges = buildKeyRanges(
      b, rule, tileStart, last, length,
      [&](Value value, Value row) { return materialize(value, row); });
  if (rule.hasLowerBound())
    for (KeyRange &keys : ranges)
      keys.begin = beginOfBlock(keys.begin);
  return KeyLoops(b, shape.columns, rule.intervals, build)
      .build(ranges, Values(initial));
}

//===----------------------------------------------------------------------===//
// Along the queries
//===----------------------------------------------------------------------===//

/// Up to three loops: tiles at the lower edge, those that see all of the
/// program's keys, tiles at the upper edge. Each goes through all heads of the
/// group, of which a mask's bounds are the same.
SmallVector<Value> BackwardBuilder::walkQueries(const Tiles &owned,
                                                ValueRange initial) {
  if (source.queryLists) {
    const BlockLists &lists = *source.queryLists;
    Value block = arith::DivUIOp::create(b, tileStart, index(lists.keys));
    Value blocks =
        arith::DivUIOp::create(b, queryRows.count, index(lists.queries));
    return walkListed(lists, kvHead, block,
                      arith::MulIOp::create(b, blocks, group), initial,
                      [&](const KeyLoop &queries, ValueRange state) {
                        return buildQueryLoop(queries, owned, state);
                      });
  }
  Value last = arith::AddIOp::create(b, tileStart, index(shape.rows));
  last = arith::MinSIOp::create(b, last, keyRows.count);
  last = arith::SubIOp::create(b, last, index(1));
  QueryRange range =
      buildQueryRange(b, rule, tileStart, last, queryRows.count,
                      [&](Value value) { return materialize(value, Value()); });
  // Queries that are none are zeros, of which nothing comes unless scores are
  // changed.
  // Numbers of rows are fetched from multiples of 16 bytes.
  range.begin = multipleBelow(beginOfBlock(range.begin), kNumbersTogether);
  bool hasUpperEdge = range.hasUpperEdge || !op.getScore().empty();
  Values state(initial);
  if (!range.hasFull)
    return buildQueryLoop({range.begin, range.end, /*partial=*/true}, owned,
                          state);
  auto tiles = [&](Value from, Value to, bool up) -> Value {
    Value count = countTiles(from, to, up);
    return arith::AddIOp::create(
        b, from, arith::MulIOp::create(b, count, index(shape.columns)));
  };
  Value full = range.begin;
  if (range.hasLowerEdge) {
    Value end = multipleBelow(
        arith::AddIOp::create(b, range.end, index(kNumbersTogether - 1)),
        kNumbersTogether);
    full = arith::MinSIOp::create(
        b, tiles(range.begin, range.fullBegin, /*up=*/true), end);
    state = buildQueryLoop({range.begin, full, /*partial=*/true}, owned, state);
  }
  Value edge = range.end;
  if (hasUpperEdge)
    edge = tiles(full, range.fullEnd, /*up=*/false);
  state = buildQueryLoop({full, edge, /*partial=*/false}, owned, state);
  if (hasUpperEdge)
    state = buildQueryLoop({edge, range.end, /*partial=*/true}, owned, state);
  return state;
}

Value BackwardBuilder::countTiles(Value from, Value to, bool up) {
  Value count = arith::SubIOp::create(b, to, from);
  count = arith::MaxSIOp::create(b, count, index(0));
  if (up)
    count = arith::AddIOp::create(b, count, index(shape.columns - 1));
  return arith::DivUIOp::create(b, count, index(shape.columns));
}

Value BackwardBuilder::findHead(Value number, Value ofEach) {
  // Of 32 bits, which are enough for tiles, a quotient is not slow.
  auto cast = [&](Value value, Type type) -> Value {
    return arith::IndexCastOp::create(b, type, value);
  };
  Type i32 = b.getI32Type(), wide = b.getIndexType();
  Value all = cast(number, i32), count = cast(ofEach, i32);
  Value member = arith::DivUIOp::create(b, all, count);
  Value own =
      arith::SubIOp::create(b, all, arith::MulIOp::create(b, member, count));
  head = arith::AddIOp::create(b, arith::MulIOp::create(b, kvHead, group),
                               cast(member, wide));
  return cast(own, wide);
}

Value BackwardBuilder::firstOfTile(Value number, Value begin) {
  return arith::AddIOp::create(
      b, begin, arith::MulIOp::create(b, number, index(shape.columns)));
}

Value BackwardBuilder::findListedQuery(Value place) {
  Value ofHead = arith::DivUIOp::create(b, queryRows.count,
                                        index(source.queryLists->queries));
  return walk->rowAt(findHead(walk->blockAt(place), ofHead), place,
                     shape.columns);
}

SmallVector<Value> BackwardBuilder::buildQueryLoop(const KeyLoop &queries,
                                                   const Tiles &owned,
                                                   ValueRange state) {
  Value tilesOfHead;
  Value begin = queries.begin, end = queries.end, step = index(shape.columns);
  if (!walk) {
    tilesOfHead = countTiles(begin, end, /*up=*/true);
    end = arith::MulIOp::create(b, tilesOfHead, group);
    begin = index(0);
    step = index(1);
  }
  auto loop = scf::ForOp::create(b, begin, end, step, state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value query = walk
                    ? findListedQuery(loop.getInductionVar())
                    : firstOfTile(findHead(loop.getInductionVar(), tilesOfHead),
                                  queries.begin);
  Place place = {query, tileStart, queries.partial};
  auto ofQueries = [&](Value view) {
    return load(view, shape.columns, place.query);
  };
  Tiles tiles = owned;
  tiles.q = ofQueries(rowsOf(qMemory, head, queryRows));
  tiles.dout = ofQueries(rowsOf(doutMemory, head, queryRows));
  tiles.lse = ofQueries(statistics(1));
  Value mask = buildMask(place);
  Value x = buildX(tiles);
  Value p = buildP(x, tiles, place, mask);
  Values sums(loop.getRegionIterArgs());
  Value dropped = dv ? applyDropout(p, regionArguments(place)) : Value();
  if (dk) {
    tiles.delta = loadDelta(shape.columns, place.query);
    Value dp =
        DotOp::create(b, scoreType(b.getF32Type()), tiles.v, tiles.dout,
                      Value(), /*transpose_b=*/true, precisionOf(tiles.dout));
    if (dv)
      sums.back() = accumulate(dropped, tiles.dout, sums.back());
    Value dx = timesSlope(buildDs(p, dp, tiles, place), op.getDerivative(), x,
                          place, mask);
    sums.front() = accumulate(dx, tiles.q, sums.front());
    if (part == BackwardPart::Whole)
      addToQueries(dx, tiles.turnedK, place.query);
  } else {
    sums.back() = accumulate(dropped, tiles.dout, sums.back());
  }
  scf::YieldOp::create(b, sums);
  return Values(loop.getResults());
}

//===- KeyLoops.cpp - loops over the keys that a tile sees ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

KeyLoops::KeyLoops(ImplicitLocOpBuilder &b, int64_t columns,
                   ArrayRef<KeyInterval> intervals, LoopBuilder buildLoop,
                   bool edgeFirst, bool isLastEdge, bool isAligned)
    : b(b), columns(columns), buildLoop(buildLoop),
      hasLowerEdge(llvm::any_of(
          intervals, [](const KeyInterval &i) { return i.hasLowerBound(); })),
      complete(
          llvm::any_of(intervals, std::mem_fn(&KeyInterval::mayBeComplete))),
      edgeFirst(edgeFirst), isLastEdge(isLastEdge), isAligned(isAligned) {}

Value KeyLoops::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KeyLoops::roundToTiles(Value value, bool up) {
  Value zero = index(0), size = index(columns);
  value = arith::MaxSIOp::create(b, value, zero);
  if (up)
    value = arith::AddIOp::create(b, value, index(columns - 1));
  return arith::MulIOp::create(b, arith::DivUIOp::create(b, value, size), size);
}

/// Up to three loops: tiles at the lower edge of the interval, tiles that every
/// row sees whole, tiles at the upper edge.
SmallVector<Value> KeyLoops::buildInterval(const KeyRange &keys,
                                           bool hasLowerEdge,
                                           ValueRange initial) {
  SmallVector<KeyLoop> loops;
  Value fullBegin = keys.begin;
  if (hasLowerEdge && complete) {
    Value edge = arith::SubIOp::create(b, keys.fullBegin, keys.begin);
    edge = roundToTiles(edge, /*up=*/true);
    fullBegin = arith::AddIOp::create(b, keys.begin, edge);
    Value end = keys.end;
    if (isAligned)
      end = arith::AddIOp::create(
          b, keys.begin,
          roundToTiles(arith::SubIOp::create(b, end, keys.begin), /*up=*/true));
    fullBegin = arith::MinSIOp::create(b, fullBegin, end);
    loops.push_back({keys.begin, fullBegin, /*partial=*/true});
  }
  Value fullEnd = fullBegin;
  if (complete) {
    Value full = arith::SubIOp::create(b, keys.fullEnd, fullBegin);
    if (isLastEdge)
      full = arith::SubIOp::create(b, full, index(1));
    full = roundToTiles(full, /*up=*/false);
    fullEnd = arith::AddIOp::create(b, fullBegin, full);
    loops.push_back({fullBegin, fullEnd, /*partial=*/false});
  }
  loops.push_back({fullEnd, keys.end, /*partial=*/true});
  if (edgeFirst)
    std::reverse(loops.begin(), loops.end());
  SmallVector<Value> state(initial);
  for (const KeyLoop &loop : loops)
    state = buildLoop(loop, state);
  return state;
}

SmallVector<Value> KeyLoops::buildAround(Value start, Value end, Value first,
                                         Value last, SmallVector<Value> state) {
  // Tiles are counted from the start, if it is another than key 0.
  auto fromStart = [&](Value key) -> Value {
    return start ? arith::SubIOp::create(b, key, start) : key;
  };
  auto at = [&](Value place) -> Value {
    return start ? arith::AddIOp::create(b, start, place) : place;
  };
  end = fromStart(end);
  if (start) // there may be no key
    end = arith::MaxSIOp::create(b, end, index(0));
  Value tile = index(columns);
  Value whole = roundToTiles(end, /*up=*/false);
  Value hasRest =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, whole, end);
  Value begin =
      arith::MinSIOp::create(b, roundToTiles(fromStart(first), /*up=*/false),
                             arith::SubIOp::create(b, whole, tile));
  begin = arith::MaxSIOp::create(b, begin, index(0));
  Value behind =
      arith::MaxSIOp::create(b, roundToTiles(fromStart(last), /*up=*/true),
                             arith::AddIOp::create(b, begin, tile));
  behind = arith::MinSIOp::create(b, behind, whole);
  Value rest = arith::SelectOp::create(b, hasRest, tile, index(0));
  state = buildLoop({at(begin),
                     at(arith::AddIOp::create(b, behind, rest)),
                     /*partial=*/true,
                     {{at(behind), arith::SubIOp::create(b, whole, behind)}}},
                    state);
  Value seen = arith::SubIOp::create(b, behind, begin);
  return buildLoop({at(index(0)),
                    at(arith::SubIOp::create(b, whole, seen)),
                    /*partial=*/false,
                    {{at(begin), seen}}},
                   state);
}

Value KeyLoops::shareOf(ArrayRef<KeyRange> ranges, Value begin,
                        Value numSplits) {
  Value end = ranges.front().end;
  for (const KeyRange &keys : llvm::drop_begin(ranges))
    end = arith::MaxSIOp::create(b, end, keys.end);
  Value seen = arith::SubIOp::create(b, end, begin);
  seen = arith::MaxSIOp::create(b, seen, index(0));
  // Tiles, rounded up so that all splits but the last ones have as many.
  Value spread = arith::MulIOp::create(b, numSplits, index(columns));
  Value share = arith::SubIOp::create(b, spread, index(1));
  share =
      arith::DivUIOp::create(b, arith::AddIOp::create(b, seen, share), spread);
  return arith::MulIOp::create(b, share, index(columns));
}

Value KeyLoops::takeSplit(MutableArrayRef<KeyRange> ranges, Value split,
                          Value numSplits, Value length, int64_t keysOfSplit) {
  Value begin = ranges.front().begin;
  Value share =
      keysOfSplit ? index(keysOfSplit) : shareOf(ranges, begin, numSplits);
  Value first =
      arith::AddIOp::create(b, begin, arith::MulIOp::create(b, split, share));
  Value last = arith::AddIOp::create(b, first, share);
  last = arith::MinSIOp::create(b, last, length);
  for (KeyRange &keys : ranges) {
    for (Value KeyRange::*low : {&KeyRange::begin, &KeyRange::fullBegin})
      keys.*low = arith::MaxSIOp::create(b, keys.*low, first);
    for (Value KeyRange::*high : {&KeyRange::end, &KeyRange::fullEnd})
      keys.*high = arith::MinSIOp::create(b, keys.*high, last);
  }
  return last;
}

KeyRange KeyLoops::narrowed(const KeyRange &all, KeyRange own) {
  auto tileOf = [&](Value key) -> Value {
    Value before = arith::SubIOp::create(b, key, all.begin);
    return arith::AddIOp::create(b, all.begin,
                                 roundToTiles(before, /*up=*/false));
  };
  Value one = index(1);
  if (hasLowerEdge)
    own.begin = arith::MinSIOp::create(
        b, tileOf(own.begin), tileOf(arith::SubIOp::create(b, all.end, one)));
  else
    own.begin = all.begin;
  own.end = arith::MaxSIOp::create(b, own.end,
                                   arith::AddIOp::create(b, own.begin, one));
  own.end = arith::MinSIOp::create(b, own.end, all.end);
  return own;
}

WholeTiles KeyLoops::wholeTiles(const KeyRange &keys) {
  // 32 bits hold what lies between the keys that are walked.
  auto clamped = [&](Value key) -> Value {
    key = arith::MaxSIOp::create(b, key, keys.begin);
    key = arith::MinSIOp::create(b, key, keys.end);
    return arith::IndexCastOp::create(b, b.getI32Type(), key);
  };
  auto i32 = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value begin = clamped(keys.fullBegin);
  Value places = arith::SubIOp::create(b, clamped(keys.fullEnd), begin);
  places = arith::SubIOp::create(b, places, i32(columns - 1));
  return {begin, arith::MaxSIOp::create(b, places, i32(0))};
}

KeyLoop KeyLoops::joined(ArrayRef<KeyRange> ranges) {
  Value start = ranges.front().begin, seen = start, edge;
  KeyLoop loop = {start, start, /*partial=*/true};
  for (const KeyRange &keys : ranges) {
    Value begin = keys.begin;
    if (&keys != ranges.begin()) {
      begin = arith::MaxSIOp::create(b, begin, seen);
      loop.gaps.push_back({loop.end, arith::SubIOp::create(b, begin, seen)});
    }
    Value walked = roundToTiles(arith::SubIOp::create(b, keys.end, begin),
                                /*up=*/true);
    edge = roundToTiles(arith::SubIOp::create(b, keys.fullBegin, begin),
                        /*up=*/true);
    Value most = arith::SubIOp::create(b, walked, index(columns));
    edge = arith::MinSIOp::create(b, edge, most);
    edge = arith::MaxSIOp::create(b, edge, index(0));
    edge = arith::AddIOp::create(b, loop.end, edge);
    loop.end = arith::AddIOp::create(b, loop.end, walked);
    seen = arith::AddIOp::create(b, begin, walked);
  }
  if (!hasLowerEdge)
    return loop;
  Value all = arith::SubIOp::create(b, loop.end, start);
  loop.back = {loop.end, all};
  loop.begin = edge;
  loop.end = arith::AddIOp::create(b, edge, all);
  return loop;
}

SmallVector<Value> KeyLoops::build(ArrayRef<KeyRange> ranges,
                                   SmallVector<Value> state) {
  if (ranges.size() == 1)
    return buildInterval(ranges.front(), hasLowerEdge, state);

  state.push_back(index(0)); // the keys before this have been seen
  auto loop =
      scf::ForOp::create(b, index(0), index(ranges.size()), index(1), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  KeyRange keys = ranges.back();
  for (size_t n = ranges.size() - 1; n-- > 0;) {
    Value isThis = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         loop.getInductionVar(), index(n));
    for (Value KeyRange::*member : {&KeyRange::begin, &KeyRange::end,
                                    &KeyRange::fullBegin, &KeyRange::fullEnd})
      keys.*member =
          arith::SelectOp::create(b, isThis, ranges[n].*member, keys.*member);
  }
  auto args = loop.getRegionIterArgs();
  keys.begin = arith::MaxSIOp::create(b, keys.begin, args.back());
  keys.fullBegin = arith::MaxSIOp::create(b, keys.fullBegin, keys.begin);
  SmallVector<Value> next =
      buildInterval(keys, /*hasLowerEdge=*/true, args.drop_back());
  Value walked = arith::SubIOp::create(b, keys.end, keys.begin);
  walked = roundToTiles(walked, /*up=*/true);
  next.push_back(arith::AddIOp::create(b, keys.begin, walked));
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().drop_back());
}

//===- AttentionLoops.cpp - the way along the keys of an attention --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBuilder.h"
#include "ElementReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

SmallVector<RegionValue> AttentionBuilder::regionArguments(Value key) {
  SmallVector<RegionValue> arguments = {{RegionValue::Uniform, batch},
                                        {RegionValue::Uniform, head},
                                        {RegionValue::Row, tileStart},
                                        {RegionValue::Column, key}};
  if (shape.pack == KernelShape::Heads) {
    arguments[1] = {RegionValue::Row,
                    arith::AddIOp::create(b, head, tileStart)};
    arguments[2] = {RegionValue::Uniform, index(0)};
  } else if (shape.pack == KernelShape::Queries) {
    arguments[1] = {RegionValue::Vector, packed.heads};
    arguments[2] = {RegionValue::Vector, packed.queries};
  }
  arguments.append(captures.begin(), captures.end());
  return arguments;
}

DotPrecision AttentionBuilder::precisionFor(Type element) {
  return element.isF32() ? attention.getPrecision() : DotPrecision::Ieee;
}

Value AttentionBuilder::widened(Value rows, Type element) {
  auto type = cast<RankedTensorType>(rows.getType());
  return isStorageFloat(type)
             ? Value(arith::ExtFOp::create(b, type.clone(element), rows))
             : rows;
}

/// Takes a last product with a constant above 0, that of a softcap, from
/// `scores` and returns it: the softmax has a factor of its own. Null if there
/// is none.
static Value takeLastFactor(OpBuilder &b, Value &scores) {
  auto product = scores.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  Value factor = product.getRhs();
  if (auto spread = factor.getDefiningOp<BroadcastOp>())
    factor = spread.getInput();
  APFloat value(0.0f);
  if (!matchPattern(factor, m_ConstantFloat(&value)) ||
      !value.isFiniteNonZero() || value.isNegative() ||
      value > APFloat(0x1p127f)) // times log2 e, it would be infinite
    return {};
  scores = product.getLhs();
  return arith::ConstantOp::create(b, product.getLoc(),
                                   b.getF32FloatAttr(value.convertToFloat()));
}

/// Times 0, what is masked would be no number: the least magnitude does the
/// same to what is finite.
void AttentionBuilder::takeSign() {
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, scale, constant(0));
  scaleSign = arith::SelectOp::create(b, isNegative, constant(-1), constant(1));
  Value magnitude = arith::MulFOp::create(b, scale, scaleSign);
  scale = arith::MaximumFOp::create(
      b, magnitude, constant(std::numeric_limits<float>::min()));
}

/// Scores of one tile: the dot, scaled, modified and, if `partial`, masked; and
/// the factor above 0 that the softmax has yet to apply, or null.
std::pair<Value, Value> AttentionBuilder::buildScores(Value kTile, Value key,
                                                      bool partial) {
  auto type = tile({shape.rows, shape.columns}, b.getF32Type());
  bool isBiasedLater = partial && ramp && ramp->hasSides();
  Value addend = ramp && !isBiasedLater ? ramp->build(type, key) : Value();
  kTile = widened(kTile, typeOf(q).getElementType());
  Value scores = DotOp::create(b, type, q, kTile, addend, /*transpose_b=*/true,
                               precisionFor(typeOf(kTile).getElementType()));
  if (isBiasedLater)
    scores = ramp->addTo(scores, key);
  bool isFactor = shape.positiveScale || shape.foldsMagnitude;
  Value product = isFactor ? scaleSign : scale;
  for (const ScalesOfKeys &scales : scalesOfKeys) {
    scores =
        arith::MulFOp::create(b, scores, scalesOf(scales, key, product, type));
    product = Value();
  }
  if (product && !matchPattern(product, m_OneFloat()))
    scores = arith::MulFOp::create(b, scores, broadcast(product, type));
  Value factor = isFactor ? scale : Value();
  SmallVector<RegionValue> arguments = regionArguments(key);
  bool isInside = walk.has_value(); // queries and keys are whole blocks
  if (!attention.getScore().empty() && !ramp) {
    SmallVector<RegionValue> withScore = {{RegionValue::Tile, scores}};
    withScore.append(arguments);
    scores = inlineRegion(b, attention.getScore(), shape.rows, shape.columns,
                          withScore, /*wanted=*/{}, isInside);
    if (shape.foldScale)
      factor = takeLastFactor(b, scores);
  }
  if (!partial)
    return {scores, factor};
  Value mask;
  if (!isInside) {
    auto indices = tile({shape.rows, shape.columns}, b.getIndexType());
    Value column = IotaOp::create(b, indices, 1, ValueRange{});
    Value left = arith::SubIOp::create(b, keysEnd, key);
    mask = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column,
                                 broadcast(left, indices));
  }
  if (!attention.getMask().empty()) {
    // Said where it is used: what a loop adds up is not followed that far.
    if (keyMultiple > 1)
      arguments[3].value = multipleBelow(key, keyMultiple);
    Value more = inlineRegion(b, attention.getMask(), shape.rows, shape.columns,
                              arguments, /*wanted=*/{}, isInside);
    mask = mask ? arith::AndIOp::create(b, mask, more) : more;
  }
  Value isWhole;
  for (const WholeTiles &tiles : whole) {
    Value behind = arith::SubIOp::create(
        b, arith::IndexCastOp::create(b, b.getI32Type(), key), tiles.begin);
    Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, behind,
                                        tiles.places);
    isWhole = isWhole ? arith::OrIOp::create(b, isWhole, isOne) : isOne;
  }
  if (isWhole)
    mask = arith::OrIOp::create(b, broadcast(isWhole, typeOf(mask)), mask);
  Value none = arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             type, b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
  return {arith::SelectOp::create(b, mask, scores, none), factor};
}

SmallVector<Value> AttentionBuilder::buildLoop(const KeyLoop &keys,
                                               ValueRange state) {
  bool partial = keys.partial;
  auto headDim = [&](Value view) {
    return tileDim(cast<MemRefType>(view.getType()).getDimSize(1));
  };
  auto loop =
      scf::ForOp::create(b, keys.begin, keys.end, index(shape.columns), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto shiftFrom = [&](Value place, const KeyGap &gap) -> Value {
    Value isBehind =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, place, gap.place);
    return arith::SelectOp::create(b, isBehind, gap.left, index(0));
  };
  Value place = loop.getInductionVar();
  if (keys.back.place)
    place = arith::SubIOp::create(b, place, shiftFrom(place, keys.back));
  Value key = place;
  for (const KeyGap &gap : keys.gaps)
    key = arith::AddIOp::create(b, key, shiftFrom(place, gap));
  if (walk)
    key = walk->rowAt(walk->blockAt(place), place, shape.columns);
  auto args = loop.getRegionIterArgs();
  auto load = [&](Value view) -> Value {
    auto type = cast<MemRefType>(view.getType());
    return LoadOp::create(
        b, tile({shape.columns, headDim(view)}, type.getElementType()), view,
        ValueRange{key, index(0)},
        /*in_bounds=*/(!partial || walk) &&
            headDim(view) == type.getDimSize(1));
  };
  scalesOfKeys.clear();
  for (const ArgumentView &scales : source.keyScales)
    if (isOfKeys(scales))
      scalesOfKeys.push_back(openScales(scales, key, partial));
  if (source.valueScales && isOfKeys(*source.valueScales))
    scalesOfValues = openScales(*source.valueScales, key, partial);
  Value keyTile = load(k);
  // Scores of other keys are masked; V's rows are not, where they are no
  // numbers.
  if (partial && (source.k.offsets || table) && !shape.sharesTiles)
    keyTile.getDefiningOp()->setAttr(TileDialect::anyEndAttrName,
                                     b.getUnitAttr());
  auto [scores, factor] = buildScores(keyTile, key, partial);
  auto rows = cast<RankedTensorType>(args[1].getType());
  auto softmax =
      OnlineSoftmaxOp::create(b, TypeRange{scores.getType(), rows, rows, rows},
                              scores, args[1], args[2], factor);
  auto accType = cast<RankedTensorType>(args[0].getType());
  Value alpha = ExpandDimsOp::create(b, tile({shape.rows, 1}, b.getF32Type()),
                                     softmax.getAlpha(), 1);
  Value acc = arith::MulFOp::create(b, args[0], broadcast(alpha, accType));
  Value vTile = shape.sharesTiles ? keyTile : load(v);
  Value p = applyDropout(softmax.getP(), regionArguments(key));
  if (scalesOfValues) {
    // P is 0 where a key is masked, and so is the product.
    Value raised;
    if (raisesWeights())
      raised = arith::ConstantOp::create(b, b.getF32FloatAttr(kRaisedWeights));
    p = arith::MulFOp::create(
        b, p, scalesOf(*scalesOfValues, key, raised, typeOf(p)));
  }
  if (!attention.getWideP())
    vTile = widened(vTile, typeOf(q).getElementType());
  Type element = typeOf(vTile).getElementType();
  if (attention.getWideP())
    vTile = element.isF32()
                ? vTile
                : Value(arith::ExtFOp::create(
                      b, typeOf(vTile).clone(b.getF32Type()), vTile));
  else if (!element.isF32())
    p = arith::TruncFOp::create(b, tile({shape.rows, shape.columns}, element),
                                p);
  acc = DotOp::create(b, accType, p, vTile, acc, /*transpose_b=*/false,
                      precisionFor(typeOf(vTile).getElementType()));
  scf::YieldOp::create(
      b, ValueRange{acc, softmax.getMaxOut(), softmax.getSumOut()});
  return SmallVector<Value>(loop.getResults());
}

/// The tensor memory accelerator begins boxes at multiples of 16 bytes (else a
/// card reports an illegal instruction), and elements of score tiles have one
/// byte or more.
static constexpr int64_t kBox = 16;

/// The largest power of two, up to `most`, that an element's key is divided by
/// in a mask that reads no tensor: of tiles that begin at multiples of it
/// remainders are known when a kernel is compiled, and quotients are the same
/// for many columns.
static int64_t divisorOfKeys(Region &mask, int64_t most) {
  int64_t found = 1;
  bool reads = false;
  mask.walk([&](Operation *op) {
    reads |= isa<tensor::ExtractOp>(op);
    APInt divisor;
    if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp>(
            op) &&
        getCoordinate(op->getOperand(0)) == 3 &&
        matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
        divisor.isPowerOf2() && divisor.sle(most))
      found = std::max(found, divisor.getSExtValue());
  });
  return reads ? 1 : found;
}

/// What the keys of each tile of the only loop begin at multiples of, where
/// that spares the mask's elements something; else 1.
int64_t AttentionBuilder::findKeyMultiple() {
  bool isOneRange = rule.intervals.size() == 1 && !shape.ownRows &&
                    shape.part == KernelShape::Whole && shape.parts == 1;
  if (!isOneRange || !rule.hasLowerBound() || rule.isIntervals())
    return 1;
  int64_t found = divisorOfKeys(attention.getMask(), shape.columns);
  return shape.columns % found == 0 ? found : 1;
}

/// The keys that the rows computed here see.
KeyRange AttentionBuilder::ownRange() {
  auto rows = OwnRowsOp::create(b, shape.rows);
  Value first = arith::AddIOp::create(b, tileStart, rows.getOffset());
  Value end = arith::AddIOp::create(b, first, rows.getCount());
  first = arith::MaxSIOp::create(b, first, index(0));
  end = arith::MinSIOp::create(b, end, numQueries);
  return rangesOf(first, arith::SubIOp::create(b, end, index(1))).front();
}

SmallVector<KeyRange> AttentionBuilder::rangesOf(Value first, Value last) {
  return buildKeyRanges(
      b, rule, first, last, length,
      [&](Value value, Value row) { return materialize(value, row); });
}

/// The loops over blocks of keys that are listed.
SmallVector<Value> AttentionBuilder::buildListedLoops() {
  const BlockLists &lists = *source.lists;
  assert(shape.pack == KernelShape::OneHead && !shape.ownRows &&
         !shape.oneLoop && shape.part == KernelShape::Whole &&
         shape.parts == 1 && lists.queries % shape.rows == 0 &&
         lists.keys % shape.columns == 0);
  Value row = arith::DivUIOp::create(b, tileStart, index(lists.queries));
  Value numBlocks = arith::DivUIOp::create(b, numKeys, index(lists.keys));
  walk.emplace(b, lists.keys, captures[lists.blocks].value,
               captures[lists.counts].value, ArrayRef<Value>{batch, head, row},
               numBlocks);
  keysEnd = length;
  Value values = shape.sharesTiles ? k : v;
  int64_t columns = tileDim(cast<MemRefType>(values.getType()).getDimSize(1));
  SmallVector<Value> state = initialState(columns, /*withSink=*/true);
  state = buildLoop({index(0), walk->whole, /*partial=*/false}, state);
  return buildLoop({walk->whole, walk->all, /*partial=*/true}, state);
}

SmallVector<Value> AttentionBuilder::buildLoops() {
  if (source.lists)
    return buildListedLoops();
  SmallVector<KeyRange> ranges = rangesOf(firstRow, lastRow);
  if (shape.alignedScores && rule.hasLowerBound())
    for (KeyRange &keys : ranges)
      keys.begin = multipleBelow(keys.begin, kBox);
  keyMultiple = findKeyMultiple();
  if (keyMultiple > 1)
    ranges.front().begin = multipleBelow(ranges.front().begin, keyMultiple);
  if (rule.hasLowerBound())
    for (KeyRange &keys : ranges)
      keys.begin = beginOfBlock(keys.begin);
  if (shape.someKeys) {
    KeyRange &keys = ranges.front();
    Value some = arith::AddIOp::create(b, keys.begin, index(1));
    keys.end = arith::MaxSIOp::create(b, keys.end, some);
  }
  auto loop = [&](const KeyLoop &keys, ValueRange state) {
    return buildLoop(keys, state);
  };
  // A linear bias is largest at one end of the keys: with both ends seen first,
  // maxima hardly rise behind them.
  bool grows = rule.growsWithQuery();
  bool edgeFirst = rule.intervals.size() == 1 && (grows || ramp) &&
                   (ramp || !rule.hasLowerBound()) && bias && !bias->isAbsolute;
  KeyLoops loops(b, shape.columns, rule.intervals, loop, edgeFirst,
                 /*isLastEdge=*/edgeFirst && !grows, shape.alignedKeys);
  if (shape.alignedKeys)
    for (KeyRange &keys : ranges)
      keys.begin = loops.roundToTiles(keys.begin, /*up=*/false);
  auto [share, numShares] = findShare();
  keysEnd = share ? loops.takeSplit(ranges, share, numShares, length,
                                    shape.keysOfSplit)
                  : length;
  // The sink counts once: where the splits are merged.
  Value values = shape.sharesTiles ? k : v;
  int64_t columns = tileDim(cast<MemRefType>(values.getType()).getDimSize(1));
  SmallVector<Value> state = initialState(columns, /*withSink=*/!split);
  if (shape.ownRows)
    ranges = {loops.narrowed(ranges.front(), ownRange())};
  if (shape.oneLoop) {
    if (rule.mayBeComplete())
      for (const KeyRange &keys : ranges)
        whole.push_back(loops.wholeTiles(keys));
    return buildLoop(shape.ownRows
                         ? KeyLoop{ranges.front().begin, ranges.front().end,
                                   /*partial=*/true}
                         : loops.joined(ranges),
                     state);
  }
  if (ramp && ramp->hasSides()) {
    Value last = arith::AddIOp::create(b, ramp->row(), index(shape.rows - 1));
    return loops.buildAround(share ? ranges.front().begin : Value(), keysEnd,
                             ramp->row(), last, state);
  }
  state = loops.build(ranges, state);
  if (shape.parts == 1)
    return state;
  auto merge = MergePartsOp::create(b, TypeRange(ValueRange(state)), state[0],
                                    state[1], state[2]);
  return SmallVector<Value>(merge->getResults());
}

/// The number of this part of this split among those of all, and how many there
/// are; null: all keys are one.
std::pair<Value, Value> AttentionBuilder::findShare() {
  if (shape.parts == 1)
    return {split, numSplits};
  Value part = PartIdOp::create(b), parts = index(shape.parts);
  if (!split)
    return {part, parts};
  Value first = arith::MulIOp::create(b, split, parts);
  return {arith::AddIOp::create(b, first, part),
          arith::MulIOp::create(b, numSplits, parts)};
}

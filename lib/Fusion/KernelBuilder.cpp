//===- KernelBuilder.cpp - one attention kernel at S3 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "ElementReads.h"
#include "InlineRegion.h"
#include "KeyDistances.h"
#include "KeyLoops.h"
#include "ProgramBuilder.h"
#include "RampBias.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <functional>
#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace {

class KernelBuilder : ProgramBuilder {
public:
  using ProgramBuilder::ProgramBuilder;
  KernelOp build(StringRef name, StringRef entry);

private:
  //===--- Prologue ---===//
  void mapCaptures();
  void buildCoordinates();
  void buildLength();
  void buildRamp();
  Value keyView(Value memref);
  /// Of the mask region, or of one that has `more` arguments before.
  Value materialize(Value regionValue, Value row, unsigned more = 0);
  Value evaluate(const AffineForm &form, unsigned more);

  //===--- Loops ---===//
  SmallVector<Value> buildLoops();
  std::pair<Value, Value> findShare();
  /// The keys that rows `first` to `last` see.
  SmallVector<KeyRange> rangesOf(Value first, Value last);
  KeyRange ownRange();
  SmallVector<Value> buildLoop(const KeyLoop &keys, ValueRange state);
  /// Of a dot whose operands have elements of this type.
  DotPrecision precisionFor(Type element);
  std::pair<Value, Value> buildScores(Value kTile, Value key, bool partial);
  SmallVector<RegionValue> regionArguments(Value key);
  void buildEpilogue(ValueRange state);

  IRMapping maskScalars;             ///< uniform values of the mask region
  SmallVector<RegionValue> captures; ///< as the regions see them
  Value scale;
  Value firstRow, lastRow; ///< queries of this tile
  PackedRows packed;       ///< of each row, if queries are packed
  Value length;            ///< of the keys that there are
  Value split, numSplits;  ///< of a kernel on part of the keys
  Value keysEnd;           ///< where this program's keys end
  WholeTiles whole;        ///< of one loop
  std::optional<RampBias> ramp;
  Value q, k, v; ///< a tile of rows; views of one head
  MaskRule rule;
};

} // namespace

//===----------------------------------------------------------------------===//
// Prologue
//===----------------------------------------------------------------------===//

void KernelBuilder::mapCaptures() {
  scale = getScalar(attention.getScale());
  const ArgumentView *view = source.captures.data();
  for (Value capture : attention.getCaptures()) {
    if (isa<TensorType>(capture.getType())) {
      Value memory = view->build(b, kernel.getArgument(view->number));
      captures.push_back({RegionValue::Memory, memory});
      ++view;
      continue;
    }
    captures.push_back({RegionValue::Uniform, getScalar(capture)});
  }
}

/// Which batch, head, rows and split this program computes.
void KernelBuilder::buildCoordinates() {
  Value id = ProgramIdOp::create(b, 0);
  if (shape.part == KernelShape::Split) {
    numSplits = countSplits();
    split = arith::RemUIOp::create(b, id, numSplits);
    id = arith::DivUIOp::create(b, id, numSplits);
  }
  // Later queries of a causal mask see more keys: the longest work first.
  bool grows =
      rule.growsWithQuery() && shape.pack == KernelShape::OneHead && !split;
  bool fromEnd = grows && shape.endMultiple;
  if (grows && !fromEnd) {
    Value count = NumProgramsOp::create(b, 0);
    Value last = arith::SubIOp::create(b, count, index(1));
    id = arith::SubIOp::create(b, last, id);
  }
  findRows(id, fromEnd);
  if (shape.pack == KernelShape::Heads) {
    firstRow = lastRow = index(0);
    return;
  }
  if (shape.pack == KernelShape::Queries) {
    packed = findPacked();
    firstRow = index(0);
    lastRow = arith::SubIOp::create(b, numQueries, index(1));
    return;
  }
  firstRow = tileStart;
  if (fromEnd)
    firstRow = arith::MaxSIOp::create(b, firstRow, index(0));
  Value end = arith::AddIOp::create(b, tileStart, index(shape.rows));
  end = arith::MinSIOp::create(b, end, numQueries);
  lastRow = arith::SubIOp::create(b, end, index(1));
}

/// A value of the mask region: at `row` or, without one, for the whole tile.
Value KernelBuilder::materialize(Value value, Value row, unsigned more) {
  IRMapping here; // not kept: what depends on a row is used in a loop
  std::function<Value(Value)> get = [&](Value value) -> Value {
    if (Value known = maskScalars.lookupOrNull(value))
      return known;
    if (Value known = here.lookupOrNull(value))
      return known;
    IRMapping &mapping = row ? here : maskScalars;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber() - more;
      Value mapped = number == 0   ? batch
                     : number == 1 ? head
                     : number == 2 ? row
                                   : captures[number - 4].value;
      mapping.map(value, mapped);
      return mapped;
    }
    Operation *op = value.getDefiningOp();
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    for (Value operand : op->getOperands())
      mapping.map(operand, get(operand));
    if (!extract) {
      b.clone(*op, mapping);
      return mapping.lookup(value);
    }
    SmallVector<Value> at;
    for (Value operand : extract.getIndices())
      at.push_back(mapping.lookup(operand));
    Value loaded =
        memref::LoadOp::create(b, mapping.lookup(extract.getTensor()), at);
    // A boolean has a byte of its own in memory; any but 0 is true.
    if (loaded.getType() != value.getType())
      loaded =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loaded,
                                Value(arith::ConstantOp::create(
                                    b, b.getIntegerAttr(loaded.getType(), 0))));
    mapping.map(value, loaded);
    return loaded;
  };
  return get(value);
}

/// A form without coordinates, of a region with `more` arguments.
Value KernelBuilder::evaluate(const AffineForm &form, unsigned more) {
  Value sum = index(form.constant);
  for (auto [value, coefficient] : form.terms) {
    Value term = materialize(value, Value(), more);
    if (!isa<IndexType>(term.getType()))
      term = arith::IndexCastOp::create(b, b.getIndexType(), term);
    term = arith::MulIOp::create(b, term, index(coefficient));
    sum = arith::AddIOp::create(b, sum, term);
  }
  return sum;
}

void KernelBuilder::buildRamp() {
  if (!shape.ramp)
    return;
  LinearBias bias = *findLinearBias(attention);
  Value factor =
      bias.factor
          ? materialize(bias.factor, Value(), /*more=*/1)
          : Value(arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f)));
  ramp.emplace(b, bias, factor, evaluate(bias.distance, /*more=*/1), tileStart,
               scale);
}

/// The keys beyond a bound that holds for every row do not exist for this
/// program: they are not read, whatever they hold.
void KernelBuilder::buildLength() {
  length = numKeys;
  for (const KeyBound &bound : rule.lengths()) {
    AffineForm end = bound.form;
    ++end.constant;
    length = arith::MinSIOp::create(b, length, evaluate(end, /*more=*/0));
  }
  if (length != numKeys)
    length = arith::MaxSIOp::create(b, length, index(0));
}

Value KernelBuilder::keyView(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t dim = type.getDimSize(3);
  return view(memref, {batch, kvHead, zero, zero},
              {one, one, length, b.getIndexAttr(dim)},
              {ShapedType::kDynamic, dim});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<RegionValue> KernelBuilder::regionArguments(Value key) {
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

DotPrecision KernelBuilder::precisionFor(Type element) {
  return element.isF32() ? attention.getPrecision() : DotPrecision::Ieee;
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

/// Scores of one tile: the dot, scaled, modified and, if `partial`, masked; and
/// the factor above 0 that the softmax has yet to apply, or null.
std::pair<Value, Value> KernelBuilder::buildScores(Value kTile, Value key,
                                                   bool partial) {
  auto type = tile({shape.rows, shape.columns}, b.getF32Type());
  bool isBiasedLater = partial && ramp && ramp->hasSides();
  Value bias = ramp && !isBiasedLater ? ramp->build(type, key) : Value();
  Value scores = DotOp::create(b, type, q, kTile, bias, /*transpose_b=*/true,
                               precisionFor(typeOf(kTile).getElementType()));
  if (isBiasedLater)
    scores = ramp->addTo(scores, key);
  if (!shape.positiveScale && !matchPattern(scale, m_OneFloat()))
    scores = arith::MulFOp::create(b, scores, broadcast(scale, type));
  Value factor = shape.positiveScale ? scale : Value();
  SmallVector<RegionValue> arguments = regionArguments(key);
  if (!attention.getScore().empty() && !ramp) {
    SmallVector<RegionValue> withScore = {{RegionValue::Tile, scores}};
    withScore.append(arguments);
    scores = inlineRegion(b, attention.getScore(), shape.rows, shape.columns,
                          withScore);
    if (shape.foldScale)
      factor = takeLastFactor(b, scores);
  }
  if (!partial)
    return {scores, factor};
  auto indices = tile({shape.rows, shape.columns}, b.getIndexType());
  Value column = IotaOp::create(b, indices, 1, ValueRange{});
  Value left = arith::SubIOp::create(b, keysEnd, key);
  Value mask = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column,
                                     broadcast(left, indices));
  if (!attention.getMask().empty()) {
    Value more = inlineRegion(b, attention.getMask(), shape.rows, shape.columns,
                              arguments);
    mask = arith::AndIOp::create(b, mask, more);
  }
  if (whole.begin) {
    Value behind = arith::SubIOp::create(
        b, arith::IndexCastOp::create(b, b.getI32Type(), key), whole.begin);
    Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, behind,
                                          whole.places);
    mask = arith::OrIOp::create(b, broadcast(isWhole, typeOf(mask)), mask);
  }
  Value none = arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             type, b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
  return {arith::SelectOp::create(b, mask, scores, none), factor};
}

SmallVector<Value> KernelBuilder::buildLoop(const KeyLoop &keys,
                                            ValueRange state) {
  bool partial = keys.partial;
  auto headDim = [&](Value view) {
    return tileDim(cast<MemRefType>(view.getType()).getDimSize(1));
  };
  auto loop =
      scf::ForOp::create(b, keys.begin, keys.end, index(shape.columns), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value key = loop.getInductionVar();
  if (keys.gap) {
    Value isBehind =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, keys.gap);
    Value more = arith::SelectOp::create(b, isBehind, keys.behind, index(0));
    key = arith::AddIOp::create(b, key, more);
  }
  auto args = loop.getRegionIterArgs();
  auto load = [&](Value view) -> Value {
    auto type = cast<MemRefType>(view.getType());
    return LoadOp::create(
        b, tile({shape.columns, headDim(view)}, type.getElementType()), view,
        ValueRange{key, index(0)},
        /*in_bounds=*/!partial && headDim(view) == type.getDimSize(1));
  };
  auto [scores, factor] = buildScores(load(k), key, partial);
  auto rows = cast<RankedTensorType>(args[1].getType());
  auto softmax =
      OnlineSoftmaxOp::create(b, TypeRange{scores.getType(), rows, rows, rows},
                              scores, args[1], args[2], factor);
  auto accType = cast<RankedTensorType>(args[0].getType());
  Value alpha = ExpandDimsOp::create(b, tile({shape.rows, 1}, b.getF32Type()),
                                     softmax.getAlpha(), 1);
  Value acc = arith::MulFOp::create(b, args[0], broadcast(alpha, accType));
  Value vTile = load(v);
  Value p = softmax.getP();
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

/// `key` or one shortly before it. The tensor memory accelerator begins boxes
/// at multiples of 16 bytes (else a card reports an illegal instruction), and
/// elements of score tiles have one byte or more.
static Value roundToBoxes(ImplicitLocOpBuilder &b, Value key) {
  Value multiple = arith::ConstantIndexOp::create(b, 16);
  return arith::MulIOp::create(b, arith::DivUIOp::create(b, key, multiple),
                               multiple);
}

/// The keys that the rows computed here see.
KeyRange KernelBuilder::ownRange() {
  auto rows = OwnRowsOp::create(b, shape.rows);
  Value first = arith::AddIOp::create(b, tileStart, rows.getOffset());
  Value end = arith::AddIOp::create(b, first, rows.getCount());
  first = arith::MaxSIOp::create(b, first, index(0));
  end = arith::MinSIOp::create(b, end, numQueries);
  return rangesOf(first, arith::SubIOp::create(b, end, index(1))).front();
}

SmallVector<KeyRange> KernelBuilder::rangesOf(Value first, Value last) {
  return buildKeyRanges(
      b, rule, first, last, length,
      [&](Value value, Value row) { return materialize(value, row); });
}

SmallVector<Value> KernelBuilder::buildLoops() {
  SmallVector<KeyRange> ranges = rangesOf(firstRow, lastRow);
  if (shape.alignedScores && rule.hasLowerBound())
    for (KeyRange &keys : ranges)
      keys.begin = roundToBoxes(b, keys.begin);
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
  auto bias = findLinearBias(attention);
  bool edgeFirst = rule.intervals.size() == 1 && rule.growsWithQuery() &&
                   (ramp || !rule.hasLowerBound()) && bias && !bias->isAbsolute;
  KeyLoops loops(b, shape.columns, rule.intervals, loop, edgeFirst);
  auto [share, numShares] = findShare();
  keysEnd = share ? loops.takeSplit(ranges, share, numShares, length) : length;
  // The sink counts once: where the splits are merged.
  int64_t columns = tileDim(cast<MemRefType>(v.getType()).getDimSize(1));
  SmallVector<Value> state = initialState(columns, /*withSink=*/!split);
  if (shape.ownRows)
    ranges = {loops.narrowed(ranges.front(), ownRange())};
  if (shape.oneLoop) {
    const KeyRange &keys = ranges.front();
    whole = loops.wholeTiles(keys);
    return buildLoop({keys.begin, keys.end, /*partial=*/true}, state);
  }
  if (ramp && ramp->hasSides()) {
    Value last = arith::AddIOp::create(b, ramp->row(), index(shape.rows - 1));
    return loops.buildAround(length, ramp->row(), last, state);
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
std::pair<Value, Value> KernelBuilder::findShare() {
  if (shape.parts == 1)
    return {split, numSplits};
  Value part = PartIdOp::create(b), parts = index(shape.parts);
  if (!split)
    return {part, parts};
  Value first = arith::MulIOp::create(b, split, parts);
  return {arith::AddIOp::create(b, first, part),
          arith::MulIOp::create(b, numSplits, parts)};
}

void KernelBuilder::buildEpilogue(ValueRange state) {
  Type output = state[0].getType(), rows = state[1].getType();
  auto finalize = OnlineFinalizeOp::create(
      b, output, rows, split ? rows : Type(), state[0], state[1], state[2]);
  if (split) {
    SmallVector<Value> row = {tileStart}, element = {tileStart, index(0)};
    StoreOp::create(b, finalize.getOutput(), partialView(0, split), element);
    StoreOp::create(b, finalize.getMaxOut(), partialView(1, split), row);
    StoreOp::create(b, finalize.getLse(), partialView(2, split), row);
  } else {
    storeResults(finalize);
  }
  tile::ReturnOp::create(b);
}

KernelOp KernelBuilder::build(StringRef name, StringRef entry) {
  SmallVector<Value> varying;
  if (shape.pack != KernelShape::OneHead && !attention.getMask().empty())
    varying.push_back(attention.getMask().getArgument(1));
  rule = analyzeMask(attention.getMask(), varying);
  beginKernel(name, entry);
  mapCaptures();
  buildCoordinates();
  buildLength();
  buildRamp();
  Value queries = queryView(qMemory);
  auto queryType = cast<MemRefType>(queries.getType());
  q = LoadOp::create(b,
                     tile({shape.rows, tileDim(queryType.getDimSize(1))},
                          queryType.getElementType()),
                     queries, ValueRange{tileStart, index(0)},
                     /*in_bounds=*/false);
  k = keyView(kMemory);
  v = keyView(vMemory);
  buildEpilogue(buildLoops());
  return kernel;
}

KernelOp fa::buildKernel(OpBuilder &b, AttentionFunction source,
                         const KernelShape &shape, StringRef name,
                         StringRef entry) {
  OpBuilder::InsertionGuard guard(b);
  return KernelBuilder(b, source, shape).build(name, entry);
}

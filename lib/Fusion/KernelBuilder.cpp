//===- KernelBuilder.cpp - one attention kernel at S3 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "ElementReads.h"
#include "FindSource.h"
#include "InlineRegion.h"
#include "KernelSignature.h"

#include "fa/Fusion/MaskAnalysis.h"
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

class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, AttentionFunction source,
                const KernelShape &shape)
      : source(source), attention(source.attention), shape(shape),
        b(source.attention.getLoc(), builder) {}

  KernelOp build(StringRef name, StringRef entry);

private:
  //===--- Scalars ---===//
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  BlockArgument argument(Value functionArgument) {
    return kernel.getArgument(
        cast<BlockArgument>(functionArgument).getArgNumber());
  }
  Value getScalar(Value value);
  void mapCaptures();

  //===--- Prologue ---===//
  void buildCoordinates();
  void buildLength();
  Value view(Value memref, ArrayRef<OpFoldResult> offsets,
             ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> keptShape);
  Value queryView(Value memref);
  Value keyView(Value memref);
  Value materialize(Value maskValue, Value row);
  SmallVector<Value> initialState();

  //===--- Loops ---===//
  SmallVector<Value> buildLoops();
  SmallVector<Value> buildInterval(const KeyRange &keys, bool hasLowerEdge,
                                   bool complete, ValueRange state);
  SmallVector<Value> buildLoop(Value begin, Value end, bool partial,
                               ValueRange state);
  /// Of a dot whose operands have elements of this type.
  DotPrecision precisionFor(Type element);
  Value buildScores(Value kTile, Value key, bool partial);
  SmallVector<RegionValue> regionArguments(Value key);
  void buildEpilogue(ValueRange state);
  Value applyEpilogue(ArrayRef<Operation *> epilogue, Value value);

  /// The head dimension of a view, as tiles have it.
  int64_t tileDim(Value view) {
    return llvm::alignTo(cast<MemRefType>(view.getType()).getDimSize(1),
                         shape.dimMultiple);
  }
  RankedTensorType tile(ArrayRef<int64_t> sizes, Type element) {
    return RankedTensorType::get(sizes, element);
  }
  Value broadcast(Value value, RankedTensorType type) {
    return BroadcastOp::create(b, type, value, ValueRange{});
  }

  AttentionFunction source;
  OnlineAttentionOp attention;
  KernelShape shape;
  ImplicitLocOpBuilder b;
  KernelOp kernel;
  IRMapping scalars;                 ///< scalars of the function
  IRMapping maskScalars;             ///< uniform values of the mask region
  Value qMemory, kMemory, vMemory;   ///< [b, h, s, d]
  SmallVector<RegionValue> captures; ///< as the regions see them
  Value scale;
  Value batch, head, kvHead, group; ///< head is the first of a packed tile
  Value firstRow, lastRow;          ///< queries of this tile
  Value tileStart;                  ///< row of the view where the tile begins
  Value numQueries, numKeys, length;
  Value q, k, v; ///< a tile of rows; views of one head
  MaskRule rule;
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

bool fa::hasFoldableScale(OnlineAttentionOp attention) {
  Value scale = attention.getScale();
  APFloat constant(0.0f);
  bool known = matchPattern(scale, m_ConstantFloat(&constant)) &&
               constant.isFiniteNonZero() && !constant.isNegative();
  return attention.getScore().empty() && scale.getType().isF32() &&
         (known || isa<BlockArgument>(scale));
}

/// Whether the operation that makes `value` can be done in the kernel, if its
/// operands are there.
static bool isMadeInKernel(Value value) {
  if (isa<BlockArgument>(value))
    return !isa<TensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return isKernelScalar(dim.getIndex()) &&
           succeeded(ArgumentView::ofOperand(dim.getSource()));
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return readsFixedElement(extract) && !extract.getType().isInteger(1) &&
           isa<BlockArgument>(extract.getTensor());
  return isPure(op) && op->getNumRegions() == 0;
}

bool fa::isKernelScalar(Value value) {
  auto isElsewhere = [](Value v) { return !isMadeInKernel(v); };
  return !findSource(value, isElsewhere, [](Operation *op) {
    return !isa<tensor::DimOp, tensor::ExtractOp>(op);
  });
}

/// A scalar of the function, computed again in the kernel.
Value KernelBuilder::getScalar(Value value) {
  if (Value known = scalars.lookupOrNull(value))
    return known;
  Value scalar;
  Operation *op = value.getDefiningOp();
  if (!op) {
    scalar = argument(value);
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    ArgumentView view = *ArgumentView::ofOperand(dim.getSource());
    Value memory = view.build(b, kernel.getArgument(view.number));
    scalar = memref::DimOp::create(b, memory, getScalar(dim.getIndex()));
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Value> at = llvm::map_to_vector(
        extract.getIndices(), [&](Value index) { return getScalar(index); });
    scalar = memref::LoadOp::create(b, argument(extract.getTensor()), at);
  } else {
    for (Value operand : op->getOperands())
      getScalar(operand);
    b.clone(*op, scalars);
    return scalars.lookup(value);
  }
  scalars.map(value, scalar);
  return scalar;
}

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

//===----------------------------------------------------------------------===//
// Prologue
//===----------------------------------------------------------------------===//

/// Which batch, head and rows this program computes.
void KernelBuilder::buildCoordinates() {
  Value id = ProgramIdOp::create(b, 0);
  Value axis1 = ProgramIdOp::create(b, 1);
  batch = ProgramIdOp::create(b, 2);
  numQueries = memref::DimOp::create(b, qMemory, 2);
  numKeys = memref::DimOp::create(b, kMemory, 2);
  Value numHeads = memref::DimOp::create(b, qMemory, 1);
  Value numKvHeads = memref::DimOp::create(b, kMemory, 1);
  group = arith::DivUIOp::create(b, numHeads, numKvHeads);
  // Later queries of a causal mask see more keys: the longest work first.
  if (rule.growsWithQuery() && !shape.packHeads) {
    Value count = NumProgramsOp::create(b, 0);
    Value last = arith::SubIOp::create(b, count, index(1));
    id = arith::SubIOp::create(b, last, id);
  }
  tileStart = arith::MulIOp::create(b, id, index(shape.rows));
  if (shape.packHeads) {
    kvHead = axis1;
    head = arith::MulIOp::create(b, kvHead, group);
    firstRow = lastRow = index(0);
    return;
  }
  head = axis1;
  kvHead = arith::DivUIOp::create(b, head, group);
  firstRow = tileStart;
  Value end = arith::AddIOp::create(b, tileStart, index(shape.rows));
  end = arith::MinSIOp::create(b, end, numQueries);
  lastRow = arith::SubIOp::create(b, end, index(1));
}

/// A value of the mask region: at `row` or, without one, for the whole tile.
Value KernelBuilder::materialize(Value value, Value row) {
  IRMapping here; // not kept: what depends on a row is used in a loop
  std::function<Value(Value)> get = [&](Value value) -> Value {
    if (Value known = maskScalars.lookupOrNull(value))
      return known;
    if (Value known = here.lookupOrNull(value))
      return known;
    IRMapping &mapping = row ? here : maskScalars;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber();
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

/// The keys beyond a bound that holds for every row do not exist for this
/// program: they are not read, whatever they hold.
void KernelBuilder::buildLength() {
  length = numKeys;
  for (const KeyBound &bound : rule.lengths()) {
    Value sum = index(bound.form.constant + 1);
    for (auto [value, coefficient] : bound.form.terms) {
      Value term = materialize(value, Value());
      if (!isa<IndexType>(term.getType()))
        term = arith::IndexCastOp::create(b, b.getIndexType(), term);
      term = arith::MulIOp::create(b, term, index(coefficient));
      sum = arith::AddIOp::create(b, sum, term);
    }
    length = arith::MinSIOp::create(b, length, sum);
  }
  if (length != numKeys)
    length = arith::MaxSIOp::create(b, length, index(0));
}

Value KernelBuilder::view(Value memref, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes,
                          ArrayRef<int64_t> keptShape) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  auto viewType = memref::SubViewOp::inferRankReducedResultType(
      keptShape, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, viewType, memref, offsets, sizes,
                                   strides);
}

/// Rows of this program in q, the output or the log-sum-exp: [rows, dim] or
/// [rows].
Value KernelBuilder::queryView(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {batch, head, zero};
  SmallVector<OpFoldResult> sizes = {one, one, numQueries};
  if (shape.packHeads)
    sizes = {one, group, one};
  SmallVector<int64_t> kept = {ShapedType::kDynamic};
  if (type.getRank() == 4) {
    offsets.push_back(zero);
    sizes.push_back(b.getIndexAttr(type.getDimSize(3)));
    kept.push_back(type.getDimSize(3));
  }
  return view(memref, offsets, sizes, kept);
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
  if (shape.packHeads) {
    arguments[1] = {RegionValue::Row,
                    arith::AddIOp::create(b, head, tileStart)};
    arguments[2] = {RegionValue::Uniform, index(0)};
  }
  arguments.append(captures.begin(), captures.end());
  return arguments;
}

DotPrecision KernelBuilder::precisionFor(Type element) {
  return element.isF32() ? attention.getPrecision() : DotPrecision::Ieee;
}

/// Scores of one tile: the dot, scaled, modified and, if `partial`, masked.
Value KernelBuilder::buildScores(Value kTile, Value key, bool partial) {
  auto type = tile({shape.rows, shape.columns}, b.getF32Type());
  Value scores = DotOp::create(b, type, q, kTile, Value(), /*transpose_b=*/true,
                               precisionFor(typeOf(kTile).getElementType()));
  if (!shape.positiveScale && !matchPattern(scale, m_OneFloat()))
    scores = arith::MulFOp::create(b, scores, broadcast(scale, type));
  SmallVector<RegionValue> arguments = regionArguments(key);
  if (!attention.getScore().empty()) {
    SmallVector<RegionValue> withScore = {{RegionValue::Tile, scores}};
    withScore.append(arguments);
    scores = inlineRegion(b, attention.getScore(), shape.rows, shape.columns,
                          withScore);
  }
  if (!partial)
    return scores;
  auto indices = tile({shape.rows, shape.columns}, b.getIndexType());
  Value column = IotaOp::create(b, indices, 1, ValueRange{});
  Value left = arith::SubIOp::create(b, length, key);
  Value mask = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column,
                                     broadcast(left, indices));
  if (!attention.getMask().empty()) {
    Value more = inlineRegion(b, attention.getMask(), shape.rows, shape.columns,
                              arguments);
    mask = arith::AndIOp::create(b, mask, more);
  }
  Value none = arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             type, b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
  return arith::SelectOp::create(b, mask, scores, none);
}

SmallVector<Value> KernelBuilder::buildLoop(Value begin, Value end,
                                            bool partial, ValueRange state) {
  auto loop = scf::ForOp::create(b, begin, end, index(shape.columns), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value key = loop.getInductionVar();
  auto args = loop.getRegionIterArgs();
  auto load = [&](Value view) -> Value {
    auto type = cast<MemRefType>(view.getType());
    return LoadOp::create(
        b, tile({shape.columns, tileDim(view)}, type.getElementType()), view,
        ValueRange{key, index(0)},
        /*in_bounds=*/!partial && tileDim(view) == type.getDimSize(1));
  };
  Value scores = buildScores(load(k), key, partial);
  auto rows = cast<RankedTensorType>(args[1].getType());
  auto softmax = OnlineSoftmaxOp::create(
      b, TypeRange{scores.getType(), rows, rows, rows}, scores, args[1],
      args[2], shape.positiveScale ? scale : Value());
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

/// `value` rounded to whole tiles of keys, upwards or downwards; at least 0.
static Value roundToTiles(ImplicitLocOpBuilder &b, Value value, int64_t tile,
                          bool up) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value size = arith::ConstantIndexOp::create(b, tile);
  value = arith::MaxSIOp::create(b, value, zero);
  if (up)
    value = arith::AddIOp::create(b, value,
                                  arith::ConstantIndexOp::create(b, tile - 1));
  return arith::MulIOp::create(b, arith::DivUIOp::create(b, value, size), size);
}

/// Up to three loops: tiles at the lower edge of the interval, tiles that every
/// row sees whole, tiles at the upper edge.
SmallVector<Value> KernelBuilder::buildInterval(const KeyRange &keys,
                                                bool hasLowerEdge,
                                                bool complete,
                                                ValueRange initial) {
  SmallVector<Value> state(initial);
  Value fullBegin = keys.begin;
  if (hasLowerEdge && complete) {
    Value edge = arith::SubIOp::create(b, keys.fullBegin, keys.begin);
    edge = roundToTiles(b, edge, shape.columns, /*up=*/true);
    fullBegin = arith::AddIOp::create(b, keys.begin, edge);
    fullBegin = arith::MinSIOp::create(b, fullBegin, keys.end);
    state = buildLoop(keys.begin, fullBegin, /*partial=*/true, state);
  }
  Value fullEnd = fullBegin;
  if (complete) {
    Value full = arith::SubIOp::create(b, keys.fullEnd, fullBegin);
    full = roundToTiles(b, full, shape.columns, /*up=*/false);
    fullEnd = arith::AddIOp::create(b, fullBegin, full);
    state = buildLoop(fullBegin, fullEnd, /*partial=*/false, state);
  }
  return buildLoop(fullEnd, keys.end, /*partial=*/true, state);
}

/// The intervals of the mask, in ascending order. Several share their code: a
/// loop takes one after the other, each beginning where the tiles of those
/// before it ended.
SmallVector<Value> KernelBuilder::buildLoops() {
  SmallVector<KeyRange> ranges = buildKeyRanges(
      b, rule, firstRow, lastRow, length,
      [&](Value value, Value row) { return materialize(value, row); });
  SmallVector<Value> state = initialState();
  bool hasLowerEdge = llvm::any_of(
      rule.intervals, [](const KeyInterval &i) { return i.hasLowerBound(); });
  bool complete = llvm::any_of(rule.intervals,
                               [](const KeyInterval &i) { return i.complete; });
  if (ranges.size() == 1)
    return buildInterval(ranges.front(), hasLowerEdge, complete, state);

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
      buildInterval(keys, /*hasLowerEdge=*/true, complete, args.drop_back());
  Value walked = arith::SubIOp::create(b, keys.end, keys.begin);
  walked = roundToTiles(b, walked, shape.columns, /*up=*/true);
  next.push_back(arith::AddIOp::create(b, keys.begin, walked));
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().drop_back());
}

/// Nothing seen yet, or the sink.
SmallVector<Value> KernelBuilder::initialState() {
  auto splat = [&](ArrayRef<int64_t> sizes, float value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(tile(sizes, b.getF32Type()),
                                  b.getF32FloatAttr(value)));
  };
  int64_t dimV = tileDim(v);
  Value acc = splat({shape.rows, dimV}, 0.0f);
  if (!source.sink)
    return {acc, splat({shape.rows}, -std::numeric_limits<float>::infinity()),
            splat({shape.rows}, 0.0f)};
  Value memory = source.sink->build(b, kernel.getArgument(source.sink->number));
  auto rows = tile({shape.rows}, b.getF32Type());
  Value max;
  if (shape.packHeads) {
    Value heads = view(memory, {head}, {group}, {ShapedType::kDynamic});
    max = LoadOp::create(b, rows, heads, ValueRange{tileStart},
                         /*in_bounds=*/false);
  } else {
    Value sink = memref::LoadOp::create(b, memory, head);
    max = broadcast(sink, rows);
  }
  return {acc, max, splat({shape.rows}, 1.0f)};
}

void KernelBuilder::buildEpilogue(ValueRange state) {
  auto finalize = OnlineFinalizeOp::create(
      b, TypeRange{state[0].getType(), state[1].getType()}, state[0], state[1],
      state[2]);
  unsigned firstResult = source.function.getNumArguments();
  for (const AttentionFunction::Result &result : source.results) {
    Value memory = kernel.getArgument(firstResult + result.view.number);
    Value dest = queryView(result.view.build(b, memory));
    Value value =
        applyEpilogue(result.epilogue,
                      result.isLse ? finalize.getLse() : finalize.getOutput());
    SmallVector<Value> at = {tileStart};
    if (!result.isLse)
      at.push_back(index(0));
    StoreOp::create(b, value, dest, at);
  }
  tile::ReturnOp::create(b);
}

/// What the function does to a result before it returns it, on a tile.
Value KernelBuilder::applyEpilogue(ArrayRef<Operation *> epilogue,
                                   Value value) {
  for (Operation *op : epilogue) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    RankedTensorType type = tile(typeOf(value).getShape(), element);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto wide = tile(type.getShape(), getElementTypeOrSelf(operand));
      auto uniform = operand.getDefiningOp<BroadcastOp>();
      auto constant = operand.getDefiningOp<arith::ConstantOp>();
      if (constant) {
        auto splat = cast<SplatElementsAttr>(constant.getValue());
        operands.push_back(
            arith::ConstantOp::create(b, splat.resizeSplat(wide)));
      } else if (uniform && !isa<TensorType>(uniform.getInput().getType())) {
        operands.push_back(broadcast(getScalar(uniform.getInput()), wide));
      } else {
        operands.push_back(value);
      }
    }
    OperationState state(op->getLoc(), op->getName(), operands, {type},
                         op->getAttrs());
    value = b.create(state)->getResult(0);
  }
  return value;
}

KernelOp KernelBuilder::build(StringRef name, StringRef entry) {
  SmallVector<Value> varying;
  if (shape.packHeads && !attention.getMask().empty())
    varying.push_back(attention.getMask().getArgument(1));
  rule = analyzeMask(attention.getMask(), varying);
  kernel = createKernel(b, source, shape, name, entry);
  qMemory = source.q.build(b, kernel.getArgument(source.q.number));
  kMemory = source.k.build(b, kernel.getArgument(source.k.number));
  vMemory = source.v.build(b, kernel.getArgument(source.v.number));
  mapCaptures();
  buildCoordinates();
  buildLength();
  Value queries = queryView(qMemory);
  auto queryType = cast<MemRefType>(queries.getType());
  q = LoadOp::create(
      b, tile({shape.rows, tileDim(queries)}, queryType.getElementType()),
      queries, ValueRange{tileStart, index(0)}, /*in_bounds=*/false);
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

//===- KernelBuilder.cpp - one attention kernel at S3 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "InlineRegion.h"

#include "fa/Fusion/MaskAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

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

  LogicalResult build(StringRef name, StringRef entry);

private:
  //===--- Signature ---===//
  KernelOp createKernel(StringRef name, StringRef entry);
  void addSizeRules();
  void addCaptureRules(Region &region, SmallVectorImpl<int64_t> &equal);
  MemRefType argumentType(RankedTensorType tensor, Value value);
  std::pair<AffineMap, SmallVector<int64_t>> getGrid();

  //===--- Scalars ---===//
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  BlockArgument argument(Value functionArgument) {
    return kernel.getArgument(
        cast<BlockArgument>(functionArgument).getArgNumber());
  }
  FailureOr<Value> getScalar(Value value);
  LogicalResult mapCaptures();

  //===--- Prologue ---===//
  void buildCoordinates();
  void buildLength();
  Value view(Value memref, ArrayRef<OpFoldResult> offsets,
             ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> keptShape);
  Value queryView(Value memref);
  Value keyView(Value memref);
  Value materialize(Value maskValue);

  //===--- Loops ---===//
  SmallVector<Value> buildLoops(Value q, Value k, Value v);
  SmallVector<Value> buildLoop(Value begin, Value end, bool partial, Value q,
                               Value k, Value v, ValueRange state);
  Value buildScores(Value q, Value kTile, Value key, bool partial);
  SmallVector<RegionValue> regionArguments(Value key);
  void buildEpilogue(ValueRange state);

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
  SmallVector<RegionValue> captures; ///< as the regions see them
  Value scale;
  Value batch, head, kvHead, group; ///< head is the first of a packed tile
  Value firstRow, lastRow;          ///< queries of this tile
  Value tileStart;                  ///< row of the view where the tile begins
  Value numQueries, numKeys, length;
  MaskBounds bounds;
};

} // namespace

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Tensors become memrefs of unknown strides, but for the row elements of q, k,
/// v and the output (`value` null) in unit-stride variants. A packed kernel is
/// for one query only.
MemRefType KernelBuilder::argumentType(RankedTensorType tensor, Value value) {
  SmallVector<int64_t> sizes(tensor.getShape());
  SmallVector<int64_t> strides(sizes.size(), ShapedType::kDynamic);
  bool isQuery = !value || value == attention.getQ();
  bool isRows =
      isQuery || value == attention.getK() || value == attention.getV();
  if (isRows && shape.unitStride && sizes.size() == 4)
    strides.back() = 1;
  if (isQuery && shape.packHeads)
    sizes[2] = 1;
  return MemRefType::get(
      sizes, tensor.getElementType(),
      StridedLayoutAttr::get(b.getContext(), /*offset=*/0, strides));
}

/// Tiles of queries, query heads, batches; or tiles of the heads of a group, KV
/// heads, batches.
std::pair<AffineMap, SmallVector<int64_t>> KernelBuilder::getGrid() {
  MLIRContext *context = b.getContext();
  int64_t q = cast<BlockArgument>(attention.getQ()).getArgNumber();
  int64_t k = cast<BlockArgument>(attention.getK()).getArgNumber();
  AffineExpr s0 = getAffineSymbolExpr(0, context);
  AffineExpr s1 = getAffineSymbolExpr(1, context);
  AffineExpr s2 = getAffineSymbolExpr(2, context);
  if (shape.packHeads)
    return {AffineMap::get(0, 3, {s0.floorDiv(s1).ceilDiv(shape.rows), s1, s2},
                           context),
            {q, 1, k, 1, q, 0}};
  return {AffineMap::get(0, 3, {s0.ceilDiv(shape.rows), s1, s2}, context),
          {q, 2, q, 1, q, 0}};
}

KernelOp KernelBuilder::createKernel(StringRef name, StringRef entry) {
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto add = [&](Type type, Value value, Access access) {
    NamedAttrList list;
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      type = argumentType(tensor, value);
      list.append(KernelOp::accessAttrName,
                  AccessAttr::get(b.getContext(), access));
    }
    types.push_back(type);
    attributes.push_back(list.getDictionary(b.getContext()));
  };
  func::FuncOp function = source.function;
  for (BlockArgument argument : function.getArguments())
    add(argument.getType(), argument, Access::In);
  for (Type type : function.getResultTypes())
    add(type, {}, Access::Out);
  auto [grid, sizes] = getGrid();
  auto created = KernelOp::create(
      b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
      AffineMapAttr::get(grid), b.getDenseI64ArrayAttr(sizes),
      /*equal_sizes=*/DenseI64ArrayAttr(),
      /*multiple_sizes=*/DenseI64ArrayAttr(), b.getStringAttr(entry),
      /*reference=*/FlatSymbolRefAttr(), b.getArrayAttr(attributes),
      /*res_attrs=*/ArrayAttr());
  created->setAttr("tile.shape",
                   b.getDenseI64ArrayAttr({shape.rows, shape.columns}));
  Block *entryBlock = &created.getBody().emplaceBlock();
  for (Type type : types)
    entryBlock->addArgument(type, created.getLoc());
  b.setInsertionPointToStart(entryBlock);
  return created;
}

/// A captured tensor that is read at b, h, i or j has that size there.
void KernelBuilder::addCaptureRules(Region &region,
                                    SmallVectorImpl<int64_t> &equal) {
  int64_t q = argument(attention.getQ()).getArgNumber();
  int64_t k = argument(attention.getK()).getArgNumber();
  std::pair<int64_t, int64_t> sizes[] = {{q, 0}, {q, 1}, {q, 2}, {k, 2}};
  region.walk([&](tensor::ExtractOp extract) {
    unsigned leading =
        extract->getBlock()->getNumArguments() - attention.getCaptures().size();
    unsigned capture =
        cast<BlockArgument>(extract.getTensor()).getArgNumber() - leading;
    int64_t number = argument(attention.getCaptures()[capture]).getArgNumber();
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      auto coordinate = dyn_cast<BlockArgument>(index);
      // The coordinates are the four arguments before the captures.
      int64_t n = coordinate ? coordinate.getArgNumber() - (leading - 4) : -1;
      if (n < 0 || n > 3)
        continue;
      auto [from, size] = sizes[n];
      equal.append({number, static_cast<int64_t>(dim), from, size});
    }
  });
}

/// What the kernel takes for granted of its arguments' sizes.
void KernelBuilder::addSizeRules() {
  int64_t q = argument(attention.getQ()).getArgNumber();
  int64_t k = argument(attention.getK()).getArgNumber();
  int64_t v = argument(attention.getV()).getArgNumber();
  SmallVector<int64_t> equal = {k, 0, q, 0, v, 0, q, 0, v, 1, k, 1, v, 2, k, 2};
  int64_t result = source.function.getNumArguments();
  for (size_t n = 0; n < source.resultIsLse.size(); ++n, ++result)
    for (int64_t dim = 0; dim < 3; ++dim)
      equal.append({result, dim, q, dim});
  addCaptureRules(attention.getScore(), equal);
  addCaptureRules(attention.getMask(), equal);
  kernel.setEqualSizes(equal);
  kernel.setMultipleSizes(ArrayRef<int64_t>{q, 1, k, 1});
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// A scalar of the function, computed again in the kernel.
FailureOr<Value> KernelBuilder::getScalar(Value value) {
  if (Value known = scalars.lookupOrNull(value))
    return known;
  if (isa<BlockArgument>(value)) {
    scalars.map(value, argument(value));
    return scalars.lookup(value);
  }
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    FailureOr<Value> at = getScalar(dim.getIndex());
    if (failed(at) || !isa<BlockArgument>(dim.getSource()))
      return op->emitOpError("expects the size of an argument");
    Value size = memref::DimOp::create(b, argument(dim.getSource()), *at);
    scalars.map(value, size);
    return size;
  }
  if (!isPure(op) || op->getNumRegions() != 0)
    return op->emitOpError("cannot be computed in the kernel");
  for (Value operand : op->getOperands()) {
    if (isa<TensorType>(operand.getType()))
      return op->emitOpError("of a tensor cannot be computed in the kernel");
    if (failed(getScalar(operand)))
      return failure();
  }
  b.clone(*op, scalars);
  return scalars.lookup(value);
}

LogicalResult KernelBuilder::mapCaptures() {
  FailureOr<Value> mapped = getScalar(attention.getScale());
  if (failed(mapped))
    return failure();
  scale = *mapped;
  for (Value capture : attention.getCaptures()) {
    if (isa<TensorType>(capture.getType())) {
      captures.push_back({RegionValue::Memory, argument(capture)});
      continue;
    }
    mapped = getScalar(capture);
    if (failed(mapped))
      return failure();
    captures.push_back({RegionValue::Uniform, *mapped});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Prologue
//===----------------------------------------------------------------------===//

/// Which batch, head and rows this program computes.
void KernelBuilder::buildCoordinates() {
  Value q = argument(attention.getQ()), k = argument(attention.getK());
  Value id = ProgramIdOp::create(b, 0);
  Value axis1 = ProgramIdOp::create(b, 1);
  batch = ProgramIdOp::create(b, 2);
  numQueries = memref::DimOp::create(b, q, 2);
  numKeys = memref::DimOp::create(b, k, 2);
  Value numHeads = memref::DimOp::create(b, q, 1);
  Value numKvHeads = memref::DimOp::create(b, k, 1);
  group = arith::DivUIOp::create(b, numHeads, numKvHeads);
  // Later queries of a causal mask see more keys: the longest work first.
  bool growing = llvm::any_of(bounds.bounds, [](const KeyBound &bound) {
    return bound.upper && bound.form.query > 0;
  });
  if (growing && !shape.packHeads) {
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

/// A value of the mask region that is the same for the whole tile.
Value KernelBuilder::materialize(Value value) {
  if (Value known = maskScalars.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    Value mapped = number == 0   ? batch
                   : number == 1 ? head
                                 : captures[number - 4].value;
    maskScalars.map(value, mapped);
    return mapped;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialize(operand);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Value> at;
    for (Value operand : extract.getIndices())
      at.push_back(maskScalars.lookup(operand));
    Value loaded =
        memref::LoadOp::create(b, maskScalars.lookup(extract.getTensor()), at);
    maskScalars.map(value, loaded);
    return loaded;
  }
  b.clone(*op, maskScalars);
  return maskScalars.lookup(value);
}

/// The keys beyond a bound that holds for every row do not exist for this
/// program: they are not read, whatever they hold.
void KernelBuilder::buildLength() {
  length = numKeys;
  for (const KeyBound &bound : bounds.bounds) {
    if (!bound.upper || bound.form.query != 0)
      continue;
    Value sum = index(bound.form.constant + 1);
    for (auto [value, coefficient] : bound.form.terms) {
      Value term = materialize(value);
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

/// Scores of one tile: the dot, scaled, modified and, if `partial`, masked.
Value KernelBuilder::buildScores(Value q, Value kTile, Value key,
                                 bool partial) {
  auto type = tile({shape.rows, shape.columns}, b.getF32Type());
  Value scores = DotOp::create(b, type, q, kTile, Value(),
                               /*transpose_b=*/true);
  if (!matchPattern(scale, m_OneFloat()))
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
                                            bool partial, Value q, Value k,
                                            Value v, ValueRange state) {
  auto loop = scf::ForOp::create(b, begin, end, index(shape.columns), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value key = loop.getInductionVar();
  auto args = loop.getRegionIterArgs();
  auto load = [&](Value view) -> Value {
    auto type = cast<MemRefType>(view.getType());
    return LoadOp::create(
        b, tile({shape.columns, type.getDimSize(1)}, type.getElementType()),
        view, ValueRange{key, index(0)}, /*in_bounds=*/!partial);
  };
  Value scores = buildScores(q, load(k), key, partial);
  auto rows = cast<RankedTensorType>(args[1].getType());
  auto softmax =
      OnlineSoftmaxOp::create(b, TypeRange{scores.getType(), rows, rows, rows},
                              scores, args[1], args[2]);
  auto accType = cast<RankedTensorType>(args[0].getType());
  Value alpha = ExpandDimsOp::create(b, tile({shape.rows, 1}, b.getF32Type()),
                                     softmax.getAlpha(), 1);
  Value acc = arith::MulFOp::create(b, args[0], broadcast(alpha, accType));
  Value vTile = load(v);
  Value p = softmax.getP();
  Type element = typeOf(vTile).getElementType();
  if (element != b.getF32Type())
    p = arith::TruncFOp::create(b, tile({shape.rows, shape.columns}, element),
                                p);
  acc = DotOp::create(b, accType, p, vTile, acc, /*transpose_b=*/false);
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

/// Three loops: tiles at the lower edge of the mask, tiles that every row sees
/// whole, tiles at the upper edge. The first exists only if the mask has a
/// lower edge.
SmallVector<Value> KernelBuilder::buildLoops(Value q, Value k, Value v) {
  KeyIntervals keys =
      buildKeyIntervals(b, bounds, firstRow, lastRow, length,
                        [&](Value value) { return materialize(value); });
  auto splat = [&](ArrayRef<int64_t> sizes, float value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(tile(sizes, b.getF32Type()),
                                  b.getF32FloatAttr(value)));
  };
  int64_t dimV = cast<MemRefType>(v.getType()).getDimSize(1);
  SmallVector<Value> state = {
      splat({shape.rows, dimV}, 0.0f),
      splat({shape.rows}, -std::numeric_limits<float>::infinity()),
      splat({shape.rows}, 0.0f)};
  Value fullBegin = keys.begin;
  bool hasLowerEdge = llvm::any_of(
      bounds.bounds, [](const KeyBound &bound) { return !bound.upper; });
  if (hasLowerEdge && bounds.complete) {
    Value edge = arith::SubIOp::create(b, keys.fullBegin, keys.begin);
    edge = roundToTiles(b, edge, shape.columns, /*up=*/true);
    fullBegin = arith::AddIOp::create(b, keys.begin, edge);
    fullBegin = arith::MinSIOp::create(b, fullBegin, keys.end);
    state = buildLoop(keys.begin, fullBegin, /*partial=*/true, q, k, v, state);
  }
  Value fullEnd = fullBegin;
  if (bounds.complete) {
    Value full = arith::SubIOp::create(b, keys.fullEnd, fullBegin);
    full = roundToTiles(b, full, shape.columns, /*up=*/false);
    fullEnd = arith::AddIOp::create(b, fullBegin, full);
    state = buildLoop(fullBegin, fullEnd, /*partial=*/false, q, k, v, state);
  }
  return buildLoop(fullEnd, keys.end, /*partial=*/true, q, k, v, state);
}

void KernelBuilder::buildEpilogue(ValueRange state) {
  auto finalize = OnlineFinalizeOp::create(
      b, TypeRange{state[0].getType(), state[1].getType()}, state[0], state[1],
      state[2]);
  unsigned firstResult = source.function.getNumArguments();
  for (auto [number, isLse] : llvm::enumerate(source.resultIsLse)) {
    Value memref = kernel.getArgument(firstResult + number);
    Value dest = queryView(memref);
    if (isLse) {
      StoreOp::create(b, finalize.getLse(), dest, ValueRange{tileStart});
      continue;
    }
    Value value = finalize.getOutput();
    Type element = cast<MemRefType>(memref.getType()).getElementType();
    if (element != b.getF32Type())
      value = arith::TruncFOp::create(
          b, tile(typeOf(value).getShape(), element), value);
    StoreOp::create(b, value, dest, ValueRange{tileStart, index(0)});
  }
  tile::ReturnOp::create(b);
}

LogicalResult KernelBuilder::build(StringRef name, StringRef entry) {
  SmallVector<Value> varying;
  if (shape.packHeads && !attention.getMask().empty())
    varying.push_back(attention.getMask().getArgument(1));
  bounds = analyzeMask(attention.getMask(), varying);
  kernel = createKernel(name, entry);
  addSizeRules();
  if (failed(mapCaptures()))
    return failure();
  buildCoordinates();
  buildLength();
  Value queries = queryView(argument(attention.getQ()));
  auto queryType = cast<MemRefType>(queries.getType());
  Value q = LoadOp::create(
      b,
      tile({shape.rows, queryType.getDimSize(1)}, queryType.getElementType()),
      queries, ValueRange{tileStart, index(0)}, /*in_bounds=*/false);
  Value k = keyView(argument(attention.getK()));
  Value v = keyView(argument(attention.getV()));
  buildEpilogue(buildLoops(q, k, v));
  return success();
}

LogicalResult fa::buildKernel(OpBuilder &b, AttentionFunction source,
                              const KernelShape &shape, StringRef name,
                              StringRef entry) {
  OpBuilder::InsertionGuard guard(b);
  return KernelBuilder(b, source, shape).build(name, entry);
}

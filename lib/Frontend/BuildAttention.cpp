//===- BuildAttention.cpp - a problem as a program at S0 ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/BuildAttention.h"
#include "fa/Frontend/ModifyAttention.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

using namespace mlir;
using namespace fa;

namespace {

class AttentionBuilder {
public:
  AttentionBuilder(MLIRContext &context, const AttentionProblem &problem)
      : p(problem), b(UnknownLoc::get(&context), &context) {}

  OwningOpRef<ModuleOp> build(StringRef name) {
    OwningOpRef<ModuleOp> module(ModuleOp::create(b.getLoc()));
    b.setInsertionPointToEnd(module->getBody());
    createFunction(name);
    unpack();
    if (p.page)
      findPages();
    measure();
    widen();
    Value scores =
        tile::DotOp::create(b, scoreType(b.getF32Type()), q, k, Value(),
                            /*transpose_b=*/true, precision());
    scores = arith::MulFOp::create(b, scores, everywhere(scale));
    scores = mask(addBias(addAlibi(softcap(scores))));
    finish(scores);
    return module;
  }

private:
  //===--- Types ---===//
  Type typeOf(ElementType element) {
    switch (element) {
    case ElementType::F16:
      return b.getF16Type();
    case ElementType::BF16:
      return b.getBF16Type();
    case ElementType::F8E4M3:
      return b.getType<Float8E4M3FNType>();
    case ElementType::F8E5M2:
      return b.getType<Float8E5M2Type>();
    default:
      return b.getF32Type();
    }
  }
  Type elementType() { return typeOf(p.type); }
  tile::DotPrecision precision() {
    return p.tf32 ? tile::DotPrecision::Tf32 : tile::DotPrecision::Ieee;
  }
  /// That of K and V in memory.
  Type keyType() { return typeOf(p.keyType()); }
  RankedTensorType rowsType(int64_t dim, Type element) {
    int64_t any = ShapedType::kDynamic;
    return RankedTensorType::get({any, any, any, dim}, element);
  }
  /// The same, or of packed rows [heads, rows, dim].
  RankedTensorType argumentType(bool isPacked, int64_t dim, Type element) {
    RankedTensorType rows = rowsType(dim, element);
    return isPacked ? rows.clone(rows.getShape().drop_front()) : rows;
  }
  RankedTensorType scoreType(Type element) {
    return rowsType(ShapedType::kDynamic, element);
  }
  RankedTensorType vectorType(Type element) {
    return RankedTensorType::get({ShapedType::kDynamic}, element);
  }
  /// [b, sq].
  RankedTensorType perQueryType(Type element) {
    int64_t any = ShapedType::kDynamic;
    return RankedTensorType::get({any, any}, element);
  }
  /// [b, hkv], like any matrix.
  RankedTensorType scalesType() { return perQueryType(b.getF32Type()); }
  /// The same, or [b, hkv, n].
  RankedTensorType keyScalesType() {
    return RankedTensorType::get(
        SmallVector<int64_t>(p.scaleKeys ? 3 : 2, ShapedType::kDynamic),
        b.getF32Type());
  }
  /// [b, sq, words], packed [rows, words].
  RankedTensorType draftType() {
    return RankedTensorType::get(
        SmallVector<int64_t>(p.hasOffsets ? 2 : 3, ShapedType::kDynamic),
        b.getI32Type());
  }
  /// [b, m].
  RankedTensorType tableType() { return perQueryType(b.getI32Type()); }
  RankedTensorType biasType() {
    SmallVector<int64_t> sizes;
    for (char letter : p.bias)
      sizes.push_back(letter == '1' ? 1 : ShapedType::kDynamic);
    return RankedTensorType::get(sizes, elementType());
  }

  //===--- Signature ---===//
  void createFunction(StringRef name) {
    Type element = elementType();
    SmallVector<Type> inputs = {
        argumentType(p.hasOffsets, p.headDim, typeOf(p.queryType())),
        argumentType(p.hasKeyOffsets, p.headDim, keyType())};
    if (!p.valuesInKeys)
      inputs.push_back(argumentType(p.hasKeyOffsets, p.headDimV, keyType()));
    if (!p.bias.empty())
      inputs.push_back(biasType());
    if (p.alibi)
      inputs.push_back(vectorType(b.getF32Type()));
    if (p.lengths)
      inputs.push_back(vectorType(b.getI32Type()));
    if (p.documents)
      inputs.append(2, perQueryType(b.getI32Type()));
    if (p.sink)
      inputs.push_back(vectorType(b.getF32Type()));
    if (p.dropout != 0)
      inputs.push_back(RankedTensorType::get({2}, b.getI64Type()));
    for (bool present : {p.hasOffsets, p.hasKeyOffsets})
      if (present)
        inputs.push_back(vectorType(b.getI32Type()));
    if (p.page)
      inputs.push_back(tableType());
    if (p.hasScales)
      inputs.append(2, keyScalesType());
    if (p.hasQueryScales)
      inputs.push_back(scalesType());
    if (p.draft)
      inputs.push_back(draftType());
    inputs.push_back(b.getF32Type());
    SmallVector<Type> results = {
        argumentType(p.hasOffsets, p.headDimV, element)};
    if (hasLse())
      results.push_back(p.hasOffsets
                            ? lseType().clone(lseType().getShape().drop_front())
                            : lseType());
    auto function =
        func::FuncOp::create(b, name, b.getFunctionType(inputs, results));
    if (p.backward)
      askForGradients(function);
    if (p.splitKeys)
      function->setAttr(tile::TileDialect::batchInvariantAttrName,
                        b.getI64IntegerAttr(p.splitKeys));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    auto next = entry->args_begin();
    q = *next++;
    k = *next++;
    v = p.valuesInKeys ? valuesInKeys() : Value(*next++);
    if (!p.bias.empty())
      bias = *next++;
    if (p.alibi)
      slopes = *next++;
    if (p.lengths)
      lengths = *next++;
    if (p.documents) {
      starts = *next++;
      ends = *next++;
    }
    if (p.sink)
      sink = *next++;
    if (p.dropout != 0)
      rng = *next++;
    if (p.hasOffsets)
      offsets = *next++;
    if (p.hasKeyOffsets)
      keyOffsets = *next++;
    if (p.page)
      table = *next++;
    if (p.hasScales) {
      kScales = *next++;
      vScales = *next++;
    }
    if (p.hasQueryScales)
      qScales = *next++;
    if (p.draft)
      ++next; // of the mask alone: addDraftMask
    scale = *next;
  }
  /// The first columns of the keys, as they lie in the argument.
  Value valuesInKeys() {
    auto type = cast<RankedTensorType>(k.getType());
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> sizes;
    for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
      sizes.push_back(tensor::DimOp::create(b, k, dim).getResult());
    sizes.push_back(b.getIndexAttr(p.headDimV));
    size_t rank = type.getRank();
    return tensor::ExtractSliceOp::create(
        b, argumentType(p.hasKeyOffsets, p.headDimV, keyType()), k,
        SmallVector<OpFoldResult>(rank, zero), sizes,
        SmallVector<OpFoldResult>(rank, one));
  }
  /// Packed rows as a batch of sequences.
  void unpack() {
    auto unpacked = [&](Value rows, Value by) -> Value {
      if (!by)
        return rows;
      auto type = cast<RankedTensorType>(rows.getType());
      return tile::RaggedOp::create(
          b, rowsType(type.getShape().back(), type.getElementType()), rows, by);
    };
    q = unpacked(q, offsets);
    k = unpacked(k, keyOffsets);
    v = unpacked(v, keyOffsets);
  }
  /// Gradients are of both results, whether both have a cotangent or not.
  bool hasLse() const { return p.lse || p.backward; }
  void askForGradients(func::FuncOp function) {
    SmallVector<int64_t> arguments, results = {0};
    for (const WantedGradient &gradient : p.gradients())
      arguments.push_back(gradient.argument);
    if (p.backward->dlse)
      results.push_back(1);
    function->setAttr(tile::TileDialect::vjpWrtAttrName,
                      b.getDenseI64ArrayAttr(arguments));
    function->setAttr(tile::TileDialect::vjpOfAttrName,
                      b.getDenseI64ArrayAttr(results));
  }
  RankedTensorType lseType() {
    int64_t any = ShapedType::kDynamic;
    return RankedTensorType::get({any, any, any}, b.getF32Type());
  }

  /// Keys and values are the rows of the pages that the table names.
  void findPages() {
    for (Value *rows : {&k, &v})
      *rows = tile::PagedOp::create(b, rows->getType(), *rows, table, lengths);
  }

  void measure() {
    for (int64_t d = 0; d < 3; ++d)
      sizes.push_back(tensor::DimOp::create(b, q, d));
    sizes.push_back(tensor::DimOp::create(b, k, 2));
  }

  /// What has 8 bits as numbers of the problem's type or, where it has scales,
  /// of f32, as the other side of the product is then: what products and scales
  /// are exact in, or nearly. Scales of queries are those of their KV heads: a
  /// factor of either side is one of the product.
  void widen() {
    if (!p.kvType)
      return;
    Type f32 = b.getF32Type();
    bool areScoresWide = kScales || qScales;
    q = extended(q, areScoresWide ? f32 : elementType());
    k = extended(k, areScoresWide ? f32 : elementType());
    for (Value scales : {kScales, qScales})
      if (scales)
        k = scaled(k, scales);
    v = extended(v, vScales ? f32 : elementType());
    if (vScales)
      v = scaled(v, vScales);
  }
  Value extended(Value x, Type element) {
    auto type = cast<RankedTensorType>(x.getType());
    if (type.getElementType() == element)
      return x;
    return arith::ExtFOp::create(b, type.clone(element), x);
  }
  /// `rows`, [b, h, s, d], times the number that `scales` has for b and h, or
  /// for some rows of them.
  Value scaled(Value rows, Value scales) {
    int64_t any = ShapedType::kDynamic;
    auto type = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, b.getF32Type());
    };
    SmallVector<Value> itsSizes;
    for (int64_t d = 0; d < 3; ++d)
      itsSizes.push_back(tensor::DimOp::create(b, rows, d));
    bool areOfRows = cast<RankedTensorType>(scales.getType()).getRank() == 3;
    if (areOfRows)
      scales = tile::RepeatOp::create(b, type({any, any, any}), scales,
                                      p.scaleKeys, itsSizes);
    else
      scales = tile::ExpandDimsOp::create(b, type({any, any, 1}), scales, 2);
    scales = tile::ExpandDimsOp::create(
        b, type({any, any, areOfRows ? any : 1, 1}), scales, 3);
    auto all = cast<RankedTensorType>(rows.getType());
    return arith::MulFOp::create(
        b, rows, tile::BroadcastOp::create(b, all, scales, itsSizes));
  }

  //===--- Tensors of the scores' shape ---===//
  Value everywhere(Value x) {
    Type element = getElementTypeOrSelf(x.getType());
    return tile::BroadcastOp::create(b, scoreType(element), x, sizes);
  }
  Value number(double x) {
    return everywhere(
        arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(x))));
  }
  Value integer(int64_t x) {
    return everywhere(arith::ConstantIndexOp::create(b, x));
  }
  Value indices(int64_t dim) {
    return tile::IotaOp::create(b, scoreType(b.getIndexType()), dim, sizes);
  }
  /// A tensor of one dimension along dimension `dim` of the scores.
  Value along(Value x, int64_t dim) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t d = 0; d < 4; ++d) {
      if (d == dim)
        continue;
      shape.insert(shape.begin() + d, 1);
      x = tile::ExpandDimsOp::create(
          b, RankedTensorType::get(shape, type.getElementType()), x, d);
    }
    return everywhere(x);
  }
  /// A tensor of [b, sq].
  Value alongQueries(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    Type index = b.getIndexType();
    x = arith::IndexCastOp::create(b, type.clone(index), x);
    int64_t any = ShapedType::kDynamic;
    x = tile::ExpandDimsOp::create(
        b, RankedTensorType::get({any, 1, any}, index), x, 1);
    x = tile::ExpandDimsOp::create(
        b, RankedTensorType::get({any, 1, any, 1}, index), x, 3);
    return everywhere(x);
  }
  /// The sink of each row of the scores.
  Value sinkOfRows() {
    if (!p.sink)
      return Value();
    int64_t any = ShapedType::kDynamic;
    auto type = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, b.getF32Type());
    };
    Value x = tile::ExpandDimsOp::create(b, type({any, 1}), sink, 1);
    x = tile::ExpandDimsOp::create(b, type({1, any, 1}), x, 0);
    return tile::BroadcastOp::create(b, lseType(), x,
                                     ArrayRef(sizes).drop_back());
  }
  /// Offset b + `first` of each sequence b, [b].
  Value offsetsFrom(Value all, int64_t first) {
    OpFoldResult count = sizes[0], one = b.getIndexAttr(1);
    Value part = tensor::ExtractSliceOp::create(
        b, vectorType(b.getI32Type()), all,
        ArrayRef<OpFoldResult>{b.getIndexAttr(first)}, ArrayRef(count),
        ArrayRef(one));
    return arith::IndexCastOp::create(b, vectorType(b.getIndexType()), part);
  }
  /// How many queries (dimension 2 of the scores) or keys (3) there are.
  Value lengthAlong(int64_t dim) {
    if (dim == 3 && table)
      return lengthsAlongBatch();
    Value all = dim == 2 ? offsets : keyOffsets;
    if (!all)
      return everywhere(sizes[dim]);
    return along(
        arith::SubIOp::create(b, offsetsFrom(all, 1), offsetsFrom(all, 0)), 0);
  }
  /// How many keys each sequence has, as `lengths` say.
  Value lengthsAlongBatch() {
    return along(
        arith::IndexCastOp::create(b, vectorType(b.getIndexType()), lengths),
        0);
  }
  /// The key position of query i: i + sk - sq, where packed sequences and those
  /// in pages have an sq or an sk of their own.
  Value diagonal() {
    if (!offsets && !keyOffsets && !table) {
      Value offset = arith::SubIOp::create(b, sizes[3], sizes[2]);
      return arith::AddIOp::create(b, indices(2), everywhere(offset));
    }
    Value offset = arith::SubIOp::create(b, lengthAlong(3), lengthAlong(2));
    return arith::AddIOp::create(b, indices(2), offset);
  }

  //===--- Score modifications ---===//
  Value softcap(Value scores) {
    if (p.softcap == 0)
      return scores;
    scores = arith::DivFOp::create(b, scores, number(p.softcap));
    scores = math::TanhOp::create(b, scores);
    return arith::MulFOp::create(b, scores, number(p.softcap));
  }
  Value addAlibi(Value scores) {
    if (!p.alibi)
      return scores;
    Value distance = arith::SubIOp::create(b, diagonal(), indices(3));
    auto i32 = scoreType(b.getI32Type());
    distance = arith::IndexCastOp::create(b, i32, distance);
    distance = arith::SIToFPOp::create(b, scoreType(b.getF32Type()), distance);
    distance = math::AbsFOp::create(b, distance);
    Value penalty = arith::MulFOp::create(b, along(slopes, 1), distance);
    return arith::SubFOp::create(b, scores, penalty);
  }
  Value addBias(Value scores) {
    if (p.bias.empty())
      return scores;
    Value added = everywhere(bias);
    if (!elementType().isF32())
      added = arith::ExtFOp::create(b, scoreType(b.getF32Type()), added);
    return arith::AddFOp::create(b, scores, added);
  }

  //===--- Masks ---===//
  void require(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value term = arith::CmpIOp::create(b, predicate, lhs, rhs);
    condition = condition ? arith::AndIOp::create(b, condition, term) : term;
  }
  Value mask(Value scores) {
    using enum arith::CmpIPredicate;
    if (p.causal == CausalKind::BottomRight)
      require(sle, indices(3), diagonal());
    if (p.causal == CausalKind::TopLeft)
      require(sle, indices(3), indices(2));
    if (p.windowLeft >= 0)
      require(sge, indices(3),
              arith::SubIOp::create(b, diagonal(), integer(p.windowLeft)));
    if (p.windowRight >= 0)
      require(sle, indices(3),
              arith::AddIOp::create(b, diagonal(), integer(p.windowRight)));
    if (p.documents) {
      require(sge, indices(3), alongQueries(starts));
      require(slt, indices(3), alongQueries(ends));
    }
    if (p.prefix && condition)
      condition = arith::OrIOp::create(
          b, condition,
          arith::CmpIOp::create(b, slt, indices(3), integer(*p.prefix)));
    if (keyOffsets)
      require(slt, indices(3), lengthAlong(3));
    if (p.lengths)
      require(slt, indices(3), lengthsAlongBatch());
    if (!condition)
      return scores;
    Value none = number(-std::numeric_limits<double>::infinity());
    return arith::SelectOp::create(b, condition, scores, none);
  }

  //===--- Results ---===//
  void finish(Value scores) {
    Type element = elementType();
    Value sinks = sinkOfRows();
    Value probabilities = tile::SoftmaxOp::create(b, scores.getType(), scores,
                                                  sinks, IntegerAttr());
    if (p.dropout != 0)
      probabilities = tile::DropoutOp::create(b, probabilities, rng,
                                              b.getF64FloatAttr(p.dropout));
    if (!element.isF32())
      probabilities =
          arith::TruncFOp::create(b, scoreType(element), probabilities);
    if (vScales) // as V is
      probabilities = extended(probabilities, b.getF32Type());
    Value out = tile::DotOp::create(b, rowsType(p.headDimV, b.getF32Type()),
                                    probabilities, v, Value(),
                                    /*transpose_b=*/false, precision());
    if (!element.isF32())
      out = arith::TruncFOp::create(b, rowsType(p.headDimV, element), out);
    SmallVector<Value> results = {out};
    if (hasLse())
      results.push_back(tile::LogSumExpOp::create(b, lseType(), scores, sinks));
    if (offsets)
      for (Value &result : results) {
        auto type = cast<RankedTensorType>(result.getType());
        result = tile::PackOp::create(
            b, type.clone(type.getShape().drop_front()), result, offsets);
      }
    func::ReturnOp::create(b, results);
  }

  const AttentionProblem &p;
  ImplicitLocOpBuilder b;
  Value q, k, v, bias, slopes, lengths, starts, ends, sink, scale, condition;
  Value rng;                 ///< of dropout, or null
  Value offsets, keyOffsets; ///< of packed sequences, or null
  Value table;               ///< of pages, or null
  Value kScales, vScales;    ///< of keys and values, or null
  Value qScales;             ///< of queries, or null
  SmallVector<Value> sizes;  ///< of the scores
};

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>>
fa::buildAttention(MLIRContext &context, const AttentionProblem &problem,
                   StringRef name) {
  if (llvm::Error error = problem.verify())
    return error;
  if (isStorageFloat(problem.type))
    return llvm::createStringError("attention with an output of " +
                                   llvm::Twine(fa::name(problem.type)) +
                                   " is not supported yet");
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                      tensor::TensorDialect, tile::TileDialect>();
  auto module = AttentionBuilder(context, problem).build(name);
  if (problem.draft)
    if (llvm::Error error = addDraftMask(*module, problem))
      return error;
  return module;
}

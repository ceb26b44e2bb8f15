//===- InlineRegion.cpp - a score or mask region on a tile ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineRegion.h"
#include "ElementReads.h"
#include "NarrowIndices.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace fa;

namespace {

class RegionInliner {
public:
  RegionInliner(ImplicitLocOpBuilder &b, int64_t rows, int64_t columns,
                bool isInside)
      : b(b), rows(rows), columns(columns), isInside(isInside) {}

  Value run(Region &region, ArrayRef<RegionValue> arguments, Value wanted) {
    Block &block = region.front();
    NarrowIndices indices(region);
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      values[argument] = value;
    for (Operation &op : block.without_terminator())
      inlineOp(op, indices);
    return asTile(wanted ? wanted : block.getTerminator()->getOperand(0));
  }

private:
  RankedTensorType tileType(Type element) {
    return RankedTensorType::get({rows, columns}, element);
  }

  Value broadcast(Value tile) {
    return tile::BroadcastOp::create(
        b, tileType(getElementTypeOrSelf(tile.getType())), tile, ValueRange{});
  }

  /// `base` + the index along dimension `dim` of the tile.
  Value indexTile(Value base, int64_t dim) {
    Value iota =
        tile::IotaOp::create(b, tileType(b.getIndexType()), dim, ValueRange{});
    return arith::AddIOp::create(b, iota, broadcast(base));
  }

  Value asTile(Value regionValue) {
    RegionValue x = values.lookup(regionValue);
    switch (x.kind) {
    case RegionValue::Uniform:
      return broadcast(x.value);
    case RegionValue::Row:
      return indexTile(x.value, 0);
    case RegionValue::Column:
      return indexTile(x.value, 1);
    case RegionValue::Vector:
      return broadcast(expand(x.value, 1));
    case RegionValue::Tile:
      return x.value;
    case RegionValue::Memory:
      break;
    }
    llvm_unreachable("a captured tensor is only read by tensor.extract");
  }

  void inlineOp(Operation &op, const NarrowIndices &indices) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      values[extract.getResult()] =
          asDeclared(inlineExtract(extract), extract.getType());
      if (isOfKeys(extract))
        ofKeys.insert(extract.getResult());
      return;
    }
    bool uniform = llvm::all_of(op.getOperands(), [&](Value operand) {
      return values.lookup(operand).kind == RegionValue::Uniform;
    });
    if (!uniform && isOfRows(op))
      return inlineForRows(op);
    if (!uniform && isCheaperNarrow(op) && indices.isSame(op))
      return inlineNarrow(op);
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(uniform ? values.lookup(operand).value
                                 : asTile(operand));
    SmallVector<Type> types(op.getResultTypes());
    if (!uniform)
      for (Type &type : types)
        type = tileType(type);
    OperationState state(op.getLoc(), op.getName(), operands, types,
                         op.getAttrs());
    Operation *created = b.create(state);
    for (auto [from, to] : llvm::zip(op.getResults(), created->getResults()))
      values[from] = {uniform ? RegionValue::Uniform : RegionValue::Tile, to};
    // What is read for each key is no limit of columns.
    if (auto cast = dyn_cast<arith::IndexCastOp>(op);
        cast && cast.getIn().getType().isInteger(32) &&
        ofKeys.contains(cast.getIn()))
      narrow[cast.getOut()] = operands.front();
  }

  /// Whether `extract` reads other elements for other keys.
  bool isOfKeys(tensor::ExtractOp extract) {
    return llvm::any_of(extract.getIndices(), [&](Value index) {
      RegionValue::Kind kind = values.lookup(index).kind;
      return kind == RegionValue::Column || kind == RegionValue::Tile;
    });
  }

  /// Whether `op` is no sum, which comparisons of columns take apart, and is
  /// the same for all elements of a row.
  bool isOfRows(Operation &op) {
    if (!isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
             arith::RemUIOp, arith::RemSIOp, arith::MulIOp, arith::MaxSIOp,
             arith::MinSIOp>(op))
      return false;
    return llvm::all_of(op.getOperands(), [&](Value operand) {
      RegionValue::Kind kind = values.lookup(operand).kind;
      return kind == RegionValue::Uniform || kind == RegionValue::Row ||
             kind == RegionValue::Vector;
    });
  }

  void inlineForRows(Operation &op) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(asVector(values.lookup(operand)));
    OperationState state(op.getLoc(), op.getName(), operands,
                         operands.front().getType(), op.getAttrs());
    values[op.getResult(0)] = {RegionValue::Vector,
                               b.create(state)->getResult(0)};
  }

  //===--- 32 bits ---===//

  /// Whether `op` computes with indices, each for an element, otherwise than by
  /// sums of coordinates and of what is read for each query, which comparisons
  /// of columns take apart (tgpu-narrow-masks).
  bool isCheaperNarrow(Operation &op) {
    bool hasNarrow = llvm::any_of(op.getOperands(),
                                  [&](Value x) { return narrow.contains(x); });
    if (isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp, arith::SelectOp>(op))
      return hasNarrow;
    return op.getNumResults() == 1 && op.getResult(0).getType().isIndex();
  }

  void inlineNarrow(Operation &op) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(operand.getType().isIndex() ? asNarrowTile(operand)
                                                     : asTile(operand));
    Value result = op.getResult(0);
    bool isIndex = result.getType().isIndex();
    Type type = tileType(isIndex ? Type(b.getI32Type()) : result.getType());
    OperationState state(op.getLoc(), op.getName(), operands, TypeRange(type),
                         op.getAttrs());
    Value created = b.create(state)->getResult(0);
    if (isIndex) {
      narrow[result] = created;
      created =
          arith::IndexCastOp::create(b, tileType(b.getIndexType()), created);
    }
    values[result] = {RegionValue::Tile, created};
  }

  /// An index as a tile of i32, which holds it.
  Value asNarrowTile(Value regionValue) {
    if (Value known = narrow.lookup(regionValue))
      return known;
    RegionValue x = values.lookup(regionValue);
    Type word = b.getI32Type();
    auto cast = [&](Value value) -> Value {
      Type type = word;
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        type = tile.clone(word);
      return b.createOrFold<arith::IndexCastOp>(type, value);
    };
    switch (x.kind) {
    case RegionValue::Row:
    case RegionValue::Column: {
      Value iota = tile::IotaOp::create(
          b, tileType(word), x.kind == RegionValue::Row ? 0 : 1, ValueRange{});
      return arith::AddIOp::create(b, iota, broadcast(cast(x.value)));
    }
    case RegionValue::Vector:
      return broadcast(expand(cast(x.value), 1));
    case RegionValue::Uniform:
      return broadcast(cast(x.value));
    default:
      return cast(x.value);
    }
  }

  /// One element for each row.
  Value asVector(RegionValue x) {
    if (x.kind == RegionValue::Vector)
      return x.value;
    auto type = RankedTensorType::get({rows}, x.value.getType());
    Value vector = tile::BroadcastOp::create(b, type, x.value, ValueRange{});
    if (x.kind != RegionValue::Row)
      return vector;
    Value row = tile::IotaOp::create(b, type, 0, ValueRange{});
    return arith::AddIOp::create(b, vector, row);
  }

  //===--- Captured tensors ---===//

  /// A boolean has a byte of its own in memory; any but 0 is true.
  RegionValue asDeclared(RegionValue loaded, Type type) {
    Type found = getElementTypeOrSelf(loaded.value.getType());
    if (found == type)
      return loaded;
    Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(found, 0));
    if (loaded.kind == RegionValue::Tile)
      zero = broadcast(zero);
    loaded.value =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loaded.value, zero);
    return loaded;
  }

  RegionValue inlineExtract(tensor::ExtractOp extract) {
    Value source = values.lookup(extract.getTensor()).value;
    SmallVector<RegionValue> indices;
    for (Value index : extract.getIndices())
      indices.push_back(values.lookup(index));
    auto count = [&](RegionValue::Kind kind) {
      return llvm::count_if(
          indices, [&](const RegionValue &v) { return v.kind == kind; });
    };
    if (count(RegionValue::Vector) && !count(RegionValue::Column) &&
        !count(RegionValue::Tile))
      return {RegionValue::Tile,
              broadcast(expand(gatherRows(source, extract.getIndices()), 1))};
    // A gather reads nothing where an index is outside.
    if (count(RegionValue::Vector) || !readsOffsetsInBounds(extract) ||
        count(RegionValue::Row) > 1 || count(RegionValue::Column) > 1)
      return {RegionValue::Tile, gather(source, extract.getIndices())};
    if (!count(RegionValue::Row) && !count(RegionValue::Column)) {
      SmallVector<Value> at;
      for (const RegionValue &index : indices)
        at.push_back(index.value);
      return {RegionValue::Uniform, memref::LoadOp::create(b, source, at)};
    }
    return {RegionValue::Tile, loadSlice(source, indices)};
  }

  Value gather(Value source, OperandRange indices) {
    SmallVector<Value> tiles;
    for (Value index : indices)
      tiles.push_back(asTile(index));
    Type element = cast<MemRefType>(source.getType()).getElementType();
    return tile::GatherOp::create(b, tileType(element), source, tiles);
  }

  /// One element of `source` for each row.
  Value gatherRows(Value source, OperandRange indices) {
    SmallVector<Value> vectors;
    for (Value index : indices)
      vectors.push_back(asVector(values.lookup(index)));
    Type element = cast<MemRefType>(source.getType()).getElementType();
    return tile::GatherOp::create(b, RankedTensorType::get({rows}, element),
                                  source, vectors);
  }

  /// The part of `source` along the dimensions indexed by row or column.
  Value loadSlice(Value source, ArrayRef<RegionValue> indices) {
    auto type = cast<MemRefType>(source.getType());
    SmallVector<OpFoldResult> offsets, sizes;
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<Value> at;
    SmallVector<int64_t> viewShape, tileShape, order;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (index.kind == RegionValue::Uniform) {
        offsets.push_back(index.value);
        sizes.push_back(b.getIndexAttr(1));
        continue;
      }
      offsets.push_back(b.getIndexAttr(0));
      bool isStatic = !type.isDynamicDim(dim);
      sizes.push_back(
          isStatic
              ? OpFoldResult(b.getIndexAttr(type.getDimSize(dim)))
              : OpFoldResult(Value(memref::DimOp::create(b, source, dim))));
      viewShape.push_back(type.getDimSize(dim));
      bool isRow = index.kind == RegionValue::Row;
      tileShape.push_back(isRow ? rows : columns);
      order.push_back(isRow ? 0 : 1);
      at.push_back(index.value);
    }
    auto viewType = memref::SubViewOp::inferRankReducedResultType(
        viewShape, type, offsets, sizes, strides);
    Value view =
        memref::SubViewOp::create(b, viewType, source, offsets, sizes, strides);
    Value tile = tile::LoadOp::create(
        b, RankedTensorType::get(tileShape, type.getElementType()), view, at,
        /*in_bounds=*/isInside);
    if (order.size() == 2)
      return order[0] == 0 ? tile : transpose(tile);
    return broadcast(expand(tile, order[0] == 0 ? 1 : 0));
  }

  Value transpose(Value tile) {
    Type element = getElementTypeOrSelf(tile.getType());
    return tile::TransposeOp::create(b, tileType(element), tile,
                                     ArrayRef<int64_t>{1, 0});
  }

  Value expand(Value tile, int64_t dim) {
    auto type = cast<RankedTensorType>(tile.getType());
    SmallVector<int64_t> sizes(type.getShape());
    sizes.insert(sizes.begin() + dim, 1);
    return tile::ExpandDimsOp::create(
        b, RankedTensorType::get(sizes, type.getElementType()), tile, dim);
  }

  ImplicitLocOpBuilder &b;
  int64_t rows, columns;
  bool isInside;
  llvm::DenseMap<Value, RegionValue> values;
  llvm::DenseMap<Value, Value> narrow; ///< indices that are tiles of i32, too
  llvm::DenseSet<Value> ofKeys;        ///< elements that are read for each key
};

} // namespace

Value fa::inlineRegion(ImplicitLocOpBuilder &b, Region &region, int64_t rows,
                       int64_t columns, ArrayRef<RegionValue> arguments,
                       Value wanted, bool isInside) {
  return RegionInliner(b, rows, columns, isInside)
      .run(region, arguments, wanted);
}

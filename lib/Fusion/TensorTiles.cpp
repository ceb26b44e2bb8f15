//===- TensorTiles.cpp - tiles of tensors and where they lie --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

SmallVector<std::optional<AxisId>>
TensorTiles::flatten(ArrayRef<AxisList> dims) const {
  SmallVector<std::optional<AxisId>> all;
  for (const AxisList &dim : dims) {
    AxisList own = part.axes.resolve(dim);
    if (own.empty())
      all.push_back(std::nullopt);
    all.append(own.begin(), own.end());
  }
  return all;
}

bool TensorTiles::isAcross(ArrayRef<AxisList> dims, std::optional<AxisId> first,
                           std::optional<AxisId> second) const {
  auto all = flatten(dims);
  auto *x = llvm::find(all, first), *y = llvm::find(all, second);
  return first && second && x != all.end() && y != all.end() && y < x;
}

AffineExpr TensorTiles::sizeName(AxisId axis) {
  if (!isDynamic(axis))
    return names.constant(sizeOf(axis));
  for (auto [n, result] : llvm::enumerate(part.results))
    for (auto [d, dim] : llvm::enumerate(result.dims)) {
      AxisList own = part.axes.resolve(dim);
      if (!llvm::is_contained(own, axis))
        continue;
      int64_t others = 1;
      for (AxisId other : own)
        others *= other == axis ? 1 : sizeOf(other);
      return names.symbol(resultArgument(n), d).floorDiv(others);
    }
  llvm_unreachable("results have all axes of a grid");
}

Value TensorTiles::expand(Value memory, ArrayRef<AxisList> dims) {
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;
  SmallVector<int64_t> shape;
  bool isSame = true;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    AxisList own = part.axes.resolve(dim);
    isSame &= own.size() <= 1;
    groups.emplace_back();
    int64_t known = 1;
    for (AxisId axis : own)
      known *= isDynamic(axis) ? 1 : sizeOf(axis);
    auto addSize = [&](int64_t size) {
      groups.back().push_back(shape.size());
      shape.push_back(size);
      if (!ShapedType::isDynamic(size)) {
        sizes.push_back(b.getIndexAttr(size));
        return;
      }
      Value whole = memref::DimOp::create(b, memory, d);
      if (known != 1)
        whole = arith::DivUIOp::create(b, whole, index(known));
      sizes.push_back(whole);
    };
    if (own.empty())
      addSize(1);
    for (AxisId axis : own)
      addSize(sizeOf(axis));
  }
  if (isSame)
    return memory;
  return memref::ExpandShapeOp::create(b, shape, memory, groups, sizes);
}

Value TensorTiles::memoryOf(unsigned number) {
  Value &memory = memories[number];
  if (memory)
    return memory;
  OpBuilder::InsertionGuard guard(b);
  if (Operation *before = outermost())
    b.setInsertionPoint(before);
  const TensorNode &node = part.nodes[number];
  memory =
      expand(node.memory->build(b, kernel.getArgument(node.memory->number)),
             node.dims);
  return memory;
}

Value TensorTiles::memoryOfResult(size_t n) {
  Value &memory = resultMemories[n];
  if (memory)
    return memory;
  OpBuilder::InsertionGuard guard(b);
  if (Operation *before = outermost())
    b.setInsertionPoint(before);
  memory = expand(kernel.getArgument(resultArgument(n)), part.results[n].dims);
  return memory;
}

Value TensorTiles::scalarOf(Value value) {
  OpBuilder::InsertionGuard guard(b);
  if (Operation *before = outermost())
    b.setInsertionPoint(before);
  return getScalar(value);
}

Operation *TensorTiles::outermost() {
  Operation *op = b.getInsertionBlock()->getParentOp();
  if (op == kernel.getOperation())
    return nullptr;
  while (op->getParentOp() != kernel.getOperation())
    op = op->getParentOp();
  return op;
}

Value TensorTiles::sizeValue(AxisId axis) {
  if (!isDynamic(axis))
    return index(sizeOf(axis));
  auto find = [&](ArrayRef<AxisList> dims) {
    auto all = flatten(dims);
    auto *at = llvm::find(all, std::optional<AxisId>(axis));
    return at == all.end() ? -1 : at - all.begin();
  };
  for (auto [n, result] : llvm::enumerate(part.results))
    if (int64_t d = find(result.dims); d >= 0)
      return memref::DimOp::create(b, memoryOfResult(n), d);
  for (auto [number, node] : llvm::enumerate(part.nodes))
    if (int64_t d = node.memory ? find(node.dims) : -1; d >= 0)
      return memref::DimOp::create(b, memoryOf(number), d);
  llvm_unreachable("each axis is one of memory");
}

Value TensorTiles::viewAt(Value memory, ArrayRef<AxisList> dims,
                          const TilePlace &place) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<int64_t> kept;
  auto isSide = [&](const TileSide &side, std::optional<AxisId> axis) {
    return side.size && side.axis && axis == side.axis;
  };
  for (auto [d, axis] : llvm::enumerate(flatten(dims))) {
    if (!isSide(place.rows, axis) && !isSide(place.columns, axis)) {
      offsets.push_back(axis ? OpFoldResult(indices.at(*axis))
                             : OpFoldResult(b.getIndexAttr(0)));
      sizes.push_back(b.getIndexAttr(1));
      continue;
    }
    offsets.push_back(b.getIndexAttr(0));
    kept.push_back(type.getDimSize(d));
    sizes.push_back(type.isDynamicDim(d)
                        ? OpFoldResult(sizeValue(*axis))
                        : OpFoldResult(b.getIndexAttr(type.getDimSize(d))));
  }
  if (int64_t(kept.size()) == type.getRank())
    return memory;
  return view(memory, offsets, sizes, kept);
}

bool TensorTiles::hasSide(const TensorNode &node, const TileSide &side) const {
  return side.size && side.axis &&
         llvm::is_contained(flatten(node.dims), side.axis);
}

Value TensorTiles::spread(Value value, const TilePlace &place, bool alongRows) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto whole = tile(place.shape(), getElementTypeOrSelf(value.getType()));
  if (type == whole)
    return value;
  if (type) {
    SmallVector<int64_t> sizes(place.shape());
    sizes[alongRows ? 1 : 0] = 1;
    value = ExpandDimsOp::create(b, tile(sizes, type.getElementType()), value,
                                 /*dim=*/alongRows ? 1 : 0);
  }
  return broadcast(value, whole);
}

Value TensorTiles::toBoolean(Value bytes) {
  auto type = cast<RankedTensorType>(bytes.getType());
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getI8IntegerAttr(0)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bytes, zero);
}

Value TensorTiles::load(unsigned number, const TilePlace &place) {
  const TensorNode &node = part.nodes[number];
  Value memory = viewAt(memoryOf(number), node.dims, place);
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  bool alongRows = hasSide(node, place.rows),
       alongColumns = hasSide(node, place.columns);
  Value value;
  if (!alongRows && !alongColumns) {
    value = memref::LoadOp::create(b, memory, ValueRange());
  } else {
    bool across = isAcross(node.dims, place.rows.axis, place.columns.axis) &&
                  alongRows && alongColumns;
    SmallVector<const TileSide *> sides;
    if (alongRows)
      sides.push_back(&place.rows);
    if (alongColumns)
      sides.push_back(&place.columns);
    if (across)
      std::swap(sides[0], sides[1]);
    SmallVector<int64_t> sizes;
    SmallVector<Value> at;
    for (const TileSide *side : sides) {
      sizes.push_back(side->size);
      at.push_back(side->offset);
    }
    bool inBounds = llvm::all_of(sides, [&](const TileSide *side) {
      return sizeOf(*side->axis) == side->size;
    });
    value = LoadOp::create(b, tile(sizes, element), memory, at, inBounds);
    if (across)
      value = transposed(value);
  }
  value = spread(value, place, alongRows);
  return element.isInteger(8) ? toBoolean(value) : value;
}

Value TensorTiles::transposed(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return TransposeOp::create(
      b, tile({type.getDimSize(1), type.getDimSize(0)}, type.getElementType()),
      value, b.getDenseI64ArrayAttr({1, 0}));
}

Value TensorTiles::indexAlong(const AxisList &dim, const TilePlace &place) {
  auto whole = tile(place.shape(), b.getIndexType());
  const TileSide *sides[] = {&place.rows, &place.columns};
  Value sum;
  int64_t step = 1;
  for (AxisId axis : llvm::reverse(part.axes.resolve(dim))) {
    Value value;
    for (auto [d, side] : llvm::enumerate(sides))
      if (side->size && side->axis == axis) {
        value = IotaOp::create(b, whole, d, ValueRange());
        value = arith::AddIOp::create(b, value, broadcast(side->offset, whole));
      }
    if (!value)
      value = broadcast(indices.at(axis), whole);
    if (step != 1)
      value = arith::MulIOp::create(b, value, broadcast(index(step), whole));
    sum = sum ? Value(arith::AddIOp::create(b, sum, value)) : value;
    step *= sizeOf(axis); // of the first one not looked at
  }
  return sum ? sum : broadcast(index(0), whole);
}

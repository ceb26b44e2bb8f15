//===- LowerMemory.cpp - load, store and gather ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// Where a loaded tile lives
//===----------------------------------------------------------------------===//

/// Whether the tile is only the right operand of dots, possibly transposed:
/// then single elements of it are broadcast.
static bool isOnlyBroadcast(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    if (auto dot = dyn_cast<tile::DotOp>(use.getOwner()))
      return use.get() == dot.getB() && use.get() != dot.getA() &&
             use.get() != dot.getAcc();
    if (isa<tile::TransposeOp>(use.getOwner()))
      return isOnlyBroadcast(use.getOwner()->getResult(0));
    return false;
  });
}

bool KernelLowering::isReadOnly(tile::LoadOp load) {
  Value view = load.getSource();
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  // A copy of rows in pages stays until the next tile's.
  if (view.getDefiningOp<memref::AllocaOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(view);
  return argument && argument.getOwner() == &kernel.getBody().front() &&
         kernel.getAccess(argument.getArgNumber()) == tile::Access::In;
}

/// f32 rows that are known to exist are read where they lie.
bool KernelLowering::canReadInPlace(tile::LoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  return load.getInBounds() && type.getElementType().isF32() &&
         isReadOnly(load) && isOnlyBroadcast(load.getResult());
}

LogicalResult KernelLowering::lowerLoad(tile::LoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  if (type.getRank() < 1 || type.getRank() > 2)
    return load.emitOpError("has a lowering for the host for tiles of rank 1 "
                            "and 2, found ")
           << type;
  countLiveRows(load);
  if (tile::DotOp dot = findRowTileDot(load)) {
    loadRowTileOperand(load, dot);
    return success();
  }
  bool others = false;
  for (Operation *user : load.getResult().getUsers()) {
    auto dot = dyn_cast<tile::DotOp>(user);
    bool pairs = dot && isPairDot(dot);
    if (pairs && !pairBuffers.count(load.getResult()))
      loadPairOperand(load, dot);
    others |= !pairs;
  }
  if (!others || (alongRows ? canReadRowsInPlace(load) : canReadInPlace(load)))
    return success();
  bool natural = type.getRank() == 2 && isOnlyBroadcast(load.getResult());
  bool viewed = natural && !alongRows && type.getElementType().isF32() &&
                isReadOnly(load) && !load.getInBounds() && hasWholeRows(load);
  buffers[load.getResult()] =
      viewed
          ? Buffer{viewOrCopyRows(load, constantIndex(0), type.getDimSize(0)),
                   Form::Natural}
          : loadTile(load, natural ? Form::Natural : tileForm());
  return success();
}

Value KernelLowering::loadScalar(Value memref, ValueRange indices) {
  Value x = memref::LoadOp::create(b, memref, indices);
  Type compute = computeType(x.getType());
  if (compute != x.getType())
    x = arith::ExtFOp::create(b, compute, x);
  return x;
}

Value KernelLowering::readInPlace(tile::LoadOp load,
                                  ArrayRef<TileCoord> coords) {
  SmallVector<Value> indices;
  for (auto [base, coord] : llvm::zip(load.getIndices(), coords))
    indices.push_back(arith::AddIOp::create(b, mapped(base), coord.index));
  return loadScalar(mapped(load.getSource()), indices);
}

//===----------------------------------------------------------------------===//
// Ranges of a tile that lie inside a view
//===----------------------------------------------------------------------===//

SmallVector<KernelLowering::Interval>
KernelLowering::insideRanges(Value view, ValueRange indices,
                             ArrayRef<int64_t> extents) {
  SmallVector<Interval> ranges;
  Value zero = constantIndex(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value size = memref::DimOp::create(b, view, dim);
    Value at = mapped(index);
    Value below = arith::SubIOp::create(b, zero, at);
    Value above = arith::SubIOp::create(b, size, at);
    ranges.push_back(
        {arith::MaxSIOp::create(b, zero, below),
         arith::MinSIOp::create(b, constantIndex(extents[dim]), above)});
  }
  return ranges;
}

void KernelLowering::forElements(
    ArrayRef<Interval> ranges,
    llvm::function_ref<void(ArrayRef<TileCoord>)> body) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<TileCoord> coords;
  for (auto [low, high] : ranges) {
    auto loop = scf::ForOp::create(b, low, high, constantIndex(1));
    coords.push_back({loop.getInductionVar()});
    b.setInsertionPointToStart(loop.getBody());
  }
  body(coords);
}

SmallVector<Value> KernelLowering::bufferIndices(Buffer buffer,
                                                 ArrayRef<TileCoord> coords) {
  SmallVector<Value> indices;
  for (const TileCoord &coord : coords)
    indices.push_back(coord.index);
  if (buffer.form == Form::Lanes && indices.size() == 2)
    std::swap(indices[0], indices[1]);
  return indices;
}

//===----------------------------------------------------------------------===//
// LoadOp
//===----------------------------------------------------------------------===//

/// Whether some element of the tile lies outside the view.
Value KernelLowering::emitIsPartial(RankedTensorType type,
                                    ArrayRef<Interval> inside) {
  Value partial;
  for (auto [d, range] : llvm::enumerate(inside)) {
    using arith::CmpIPredicate;
    Value low = arith::CmpIOp::create(b, CmpIPredicate::ne, range.first,
                                      constantIndex(0));
    Value high = arith::CmpIOp::create(b, CmpIPredicate::ne, range.second,
                                       constantIndex(type.getDimSize(d)));
    Value either = arith::OrIOp::create(b, low, high);
    partial = partial ? arith::OrIOp::create(b, partial, either) : either;
  }
  return partial;
}

/// Zeroes the buffer if some element of the tile lies outside the view.
void KernelLowering::zeroUnlessInside(Buffer buffer, RankedTensorType type,
                                      ArrayRef<Interval> inside) {
  auto branch = scf::IfOp::create(b, emitIsPartial(type, inside),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  fillZero(buffer);
}

void KernelLowering::fillZero(Buffer buffer) {
  OpBuilder::InsertionGuard guard(b);
  auto memref = cast<MemRefType>(buffer.memref.getType());
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(vectorType(memref.getElementType())));
  SmallVector<Value> indices;
  for (int64_t d = 0; d < memref.getRank(); ++d) {
    bool innermost = d + 1 == memref.getRank();
    auto loop = scf::ForOp::create(b, constantIndex(0),
                                   constantIndex(memref.getDimSize(d)),
                                   constantIndex(innermost ? lanes() : 1));
    indices.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  vector::StoreOp::create(b, zero, buffer.memref, indices);
}

void KernelLowering::copyElements(tile::LoadOp load, Buffer buffer,
                                  ArrayRef<Interval> inside) {
  forElements(inside, [&](ArrayRef<TileCoord> coords) {
    memref::StoreOp::create(b, readInPlace(load, coords), buffer.memref,
                            bufferIndices(buffer, coords));
  });
}

/// Rows of whole width whose elements are neighbours, a vector at a time.
void KernelLowering::copyWholeRows(tile::LoadOp load, Buffer buffer,
                                   Interval rows, Value first) {
  auto type = cast<RankedTensorType>(load.getType());
  Type element = cast<MemRefType>(buffer.memref.getType()).getElementType();
  int64_t columns = type.getDimSize(1);
  auto loop = scf::ForOp::create(b, rows.first, rows.second, constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  Value source = first ? arith::AddIOp::create(b, first, row) : row;
  for (int64_t next = 0; next < columns; next += lanes()) {
    auto [column, count] = next + lanes() > columns ? lastVector(columns)
                                                    : std::pair(next, lanes());
    Value x = loadRow(load, source, constantIndex(column), count, lanes());
    if (element != type.getElementType())
      x = arith::ExtFOp::create(b, vectorType(element), x);
    vector::StoreOp::create(b, x, buffer.memref,
                            ValueRange{row, constantIndex(column)});
  }
  // What fills a last tile.
  int64_t width = cast<MemRefType>(buffer.memref.getType()).getDimSize(1);
  for (int64_t column = paddedRows(columns); column < width; column += lanes())
    vector::StoreOp::create(
        b,
        Value(arith::ConstantOp::create(b, b.getZeroAttr(vectorType(element)))),
        buffer.memref, ValueRange{row, constantIndex(column)});
}

Value KernelLowering::viewRows(tile::LoadOp load, Value first, int64_t count) {
  SmallVector<OpFoldResult> at, strides(2, b.getIndexAttr(1));
  for (Value index : load.getIndices())
    at.push_back(mapped(index));
  at[0] = b.createOrFold<arith::AddIOp>(mapped(load.getIndices()[0]), first);
  SmallVector<OpFoldResult> sizes = {
      b.getIndexAttr(count), b.getIndexAttr(load.getType().getDimSize(1))};
  return memref::SubViewOp::create(b, mapped(load.getSource()), at, sizes,
                                   strides);
}

/// At the edge of a mask all rows exist but for the last tile's.
Value KernelLowering::viewOrCopyRows(tile::LoadOp load, Value first,
                                     int64_t count) {
  RankedTensorType type = load.getType();
  Buffer copy = allocateRows(count, type);
  auto [low, high] = insideRanges(mapped(load.getSource()), load.getIndices(),
                                  type.getShape())[0];
  Interval rows = {
      arith::MaxSIOp::create(b, Value(arith::SubIOp::create(b, low, first)),
                             constantIndex(0)),
      arith::MinSIOp::create(b, Value(arith::SubIOp::create(b, high, first)),
                             constantIndex(count))};
  constexpr int64_t any = ShapedType::kDynamic;
  auto anyRows =
      MemRefType::get({any, any}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), any, {any, 1}));
  auto branch =
      scf::IfOp::create(b, anyRows, emitIsPartial(type.clone({count}), rows),
                        /*withElseRegion=*/true);
  auto yield = [&](Value rows) {
    scf::YieldOp::create(b,
                         memref::CastOp::create(b, anyRows, rows).getResult());
  };
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  fillZero(copy);
  copyWholeRows(load, copy, rows, first);
  yield(copy.memref);
  b.setInsertionPointToStart(branch.elseBlock());
  yield(viewRows(load, first, count));
  return branch.getResult(0);
}

KernelLowering::Buffer KernelLowering::loadTile(tile::LoadOp load, Form form) {
  auto type = cast<RankedTensorType>(load.getType());
  Buffer buffer = allocate(type, form);
  SmallVector<Interval> inside;
  if (load.getInBounds())
    for (int64_t extent : type.getShape())
      inside.push_back({constantIndex(0), constantIndex(extent)});
  else
    inside = insideRanges(mapped(load.getSource()), load.getIndices(),
                          type.getShape());
  bool wholeRows = hasWholeRows(load);
  if (form == Form::ColumnPairs) {
    loadColumnPairs(load, buffer, inside[0]);
    return buffer;
  }
  if (form == Form::LanePairs || (form == Form::Lanes && wholeRows)) {
    loadTransposed(load, buffer, inside[0]);
    return buffer;
  }
  if (!load.getInBounds())
    zeroUnlessInside(buffer, type, inside);
  if (buffer.pieces > 1)
    copyPieces(load, buffer, inside[0]);
  else if (form == Form::RowPairs)
    loadRowPairs(load, buffer, inside[0]);
  else if (wholeRows)
    copyWholeRows(load, buffer, inside[0]);
  else
    copyElements(load, buffer, inside);
  return buffer;
}

//===----------------------------------------------------------------------===//
// StoreOp, AtomicAddOp, GatherOp
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerStore(tile::StoreOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  Value dest = mapped(store.getDest());
  SmallVector<Interval> inside =
      insideRanges(dest, store.getIndices(), type.getShape());
  if (hasWholeRows(store.getDest(), type, store.getIndices().back(),
                   /*inBounds=*/false)) {
    if (alongRows)
      storeRows(store, inside[0]);
    else
      storeTransposed(store, inside[0]);
    return success();
  }
  forElements(inside, [&](ArrayRef<TileCoord> coords) {
    Value x = evaluate(store.getValue(), coords);
    if (x.getType() != type.getElementType())
      x = arith::TruncFOp::create(b, type.getElementType(), x);
    SmallVector<Value> indices;
    for (auto [base, coord] : llvm::zip(store.getIndices(), coords))
      indices.push_back(arith::AddIOp::create(b, mapped(base), coord.index));
    memref::StoreOp::create(b, x, dest, indices);
  });
  return success();
}

LogicalResult KernelLowering::lowerAtomicAdd(tile::AtomicAddOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Value dest = mapped(op.getDest());
  auto kind = type.getElementType().isF32() ? arith::AtomicRMWKind::addf
                                            : arith::AtomicRMWKind::addi;
  forElements(insideRanges(dest, op.getIndices(), type.getShape()),
              [&](ArrayRef<TileCoord> coords) {
                Value x = evaluate(op.getValue(), coords);
                SmallVector<Value> indices;
                for (auto [base, coord] : llvm::zip(op.getIndices(), coords))
                  indices.push_back(
                      arith::AddIOp::create(b, mapped(base), coord.index));
                memref::AtomicRMWOp::create(b, kind, x, dest, indices);
              });
  return success();
}

LogicalResult KernelLowering::lowerGather(tile::GatherOp gather) {
  auto type = cast<RankedTensorType>(gather.getType());
  Value source = mapped(gather.getSource());
  Buffer buffer = allocate(type, Form::Lanes);
  SmallVector<Interval> all;
  for (int64_t extent : type.getShape())
    all.push_back({constantIndex(0), constantIndex(extent)});
  Type compute = computeType(type.getElementType());
  forElements(all, [&](ArrayRef<TileCoord> coords) {
    SmallVector<Value> indices;
    Value inside;
    for (auto [dim, tile] : llvm::enumerate(gather.getIndices())) {
      Value index = evaluate(tile, coords);
      Value size = memref::DimOp::create(b, source, dim);
      // Unsigned: a negative index is beyond every size.
      Value fits =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, size);
      inside = inside ? arith::AndIOp::create(b, inside, fits) : fits;
      indices.push_back(index);
    }
    auto branch = scf::IfOp::create(b, TypeRange(compute), inside,
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loadScalar(source, indices));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, Value(arith::ConstantOp::create(
                                  b, cast<TypedAttr>(b.getZeroAttr(compute)))));
    }
    memref::StoreOp::create(b, branch.getResult(0), buffer.memref,
                            bufferIndices(buffer, coords));
  });
  buffers[gather.getResult()] = buffer;
  return success();
}

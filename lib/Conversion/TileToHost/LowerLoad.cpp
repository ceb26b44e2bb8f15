//===- LowerLoad.cpp - loads of tiles -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"
#include "HostMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

Value fa::memoryOf(tile::LoadOp load) {
  Value view = load.getSource();
  while (true) {
    if (auto op = view.getDefiningOp<ViewLikeOpInterface>())
      view = op.getViewSource();
    else if (auto op = view.getDefiningOp<memref::TransposeOp>())
      view = op.getIn();
    else
      return view;
  }
}

bool fa::isReadOnly(HostContext &ctx, tile::LoadOp load) {
  Value memory = memoryOf(load);
  // A copy of rows in pages stays until the next tile's.
  if (memory.getDefiningOp<memref::AllocaOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument && argument.getOwner() == &ctx.kernel.getBody().front() &&
         ctx.kernel.getAccess(argument.getArgNumber()) == tile::Access::In;
}

/// f32 rows that are known to exist are read where they lie.
static bool canReadInPlace(HostContext &ctx, tile::LoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  return load.getInBounds() && type.getElementType().isF32() &&
         isReadOnly(ctx, load) && isOnlyBroadcast(load.getResult());
}

Value fa::readInPlace(HostContext &ctx, tile::LoadOp load,
                      ArrayRef<TileCoord> coords) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> indices;
  for (auto [base, coord] : llvm::zip(load.getIndices(), coords))
    indices.push_back(arith::AddIOp::create(b, ctx.mapped(base), coord.index));
  return loadScalar(ctx, ctx.mapped(load.getSource()), indices);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Zeroes the buffer if some element of the tile lies outside the view.
static void zeroUnlessInside(HostContext &ctx, TileBuffer buffer,
                             RankedTensorType type,
                             ArrayRef<TileInterval> inside) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto branch = scf::IfOp::create(b, emitIsPartial(ctx, type, inside),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  fillZero(ctx, buffer);
}

void fa::fillZero(HostContext &ctx, TileBuffer buffer) {
  ImplicitLocOpBuilder &b = ctx.b;
  OpBuilder::InsertionGuard guard(b);
  auto memref = cast<MemRefType>(buffer.memref.getType());
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(ctx.vectorType(memref.getElementType())));
  SmallVector<Value> indices;
  for (int64_t d = 0; d < memref.getRank(); ++d) {
    bool innermost = d + 1 == memref.getRank();
    auto loop = scf::ForOp::create(
        b, ctx.constantIndex(0), ctx.constantIndex(memref.getDimSize(d)),
        ctx.constantIndex(innermost ? ctx.lanes() : 1));
    indices.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  vector::StoreOp::create(b, zero, buffer.memref, indices);
}

static void copyElements(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                         ArrayRef<TileInterval> inside) {
  ImplicitLocOpBuilder &b = ctx.b;
  forElements(ctx, inside, [&](ArrayRef<TileCoord> coords) {
    memref::StoreOp::create(b, readInPlace(ctx, load, coords), buffer.memref,
                            bufferIndices(buffer, coords));
  });
}

/// Copies `rows` of what begins at row `first` of the tile, else at its first:
/// rows of whole width whose elements are neighbours, a vector at a time.
static void copyWholeRows(HostContext &ctx, tile::LoadOp load,
                          TileBuffer buffer, TileInterval rows,
                          Value first = {}) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(load.getType());
  Type element = cast<MemRefType>(buffer.memref.getType()).getElementType();
  int64_t columns = type.getDimSize(1);
  auto loop =
      scf::ForOp::create(b, rows.first, rows.second, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  Value source = first ? arith::AddIOp::create(b, first, row) : row;
  for (int64_t next = 0; next < columns; next += ctx.lanes()) {
    auto [column, count] = next + ctx.lanes() > columns
                               ? lastVector(ctx, columns)
                               : std::pair(next, ctx.lanes());
    Value x = loadRow(ctx, load, source, ctx.constantIndex(column), count,
                      ctx.lanes());
    if (element != type.getElementType())
      x = arith::ExtFOp::create(b, ctx.vectorType(element), x);
    vector::StoreOp::create(b, x, buffer.memref,
                            ValueRange{row, ctx.constantIndex(column)});
  }
  // What fills a last tile.
  int64_t width = cast<MemRefType>(buffer.memref.getType()).getDimSize(1);
  for (int64_t column = ctx.paddedRows(columns); column < width;
       column += ctx.lanes())
    vector::StoreOp::create(b,
                            Value(arith::ConstantOp::create(
                                b, b.getZeroAttr(ctx.vectorType(element)))),
                            buffer.memref,
                            ValueRange{row, ctx.constantIndex(column)});
}

Value fa::viewRows(HostContext &ctx, tile::LoadOp load, Value first,
                   int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<OpFoldResult> at, strides(2, b.getIndexAttr(1));
  for (Value index : load.getIndices())
    at.push_back(ctx.mapped(index));
  at[0] =
      b.createOrFold<arith::AddIOp>(ctx.mapped(load.getIndices()[0]), first);
  SmallVector<OpFoldResult> sizes = {
      b.getIndexAttr(count), b.getIndexAttr(load.getType().getDimSize(1))};
  return memref::SubViewOp::create(b, ctx.mapped(load.getSource()), at, sizes,
                                   strides);
}

/// At the edge of a mask all rows exist but for the last tile's.
Value fa::viewOrCopyRows(HostContext &ctx, tile::LoadOp load, Value first,
                         int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  RankedTensorType type = load.getType();
  TileBuffer copy = ctx.allocateRows(count, type);
  auto [low, high] = insideRanges(ctx, ctx.mapped(load.getSource()),
                                  load.getIndices(), type.getShape())[0];
  TileInterval rows = {
      arith::MaxSIOp::create(b, Value(arith::SubIOp::create(b, low, first)),
                             ctx.constantIndex(0)),
      arith::MinSIOp::create(b, Value(arith::SubIOp::create(b, high, first)),
                             ctx.constantIndex(count))};
  constexpr int64_t any = ShapedType::kDynamic;
  auto anyRows =
      MemRefType::get({any, any}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), any, {any, 1}));
  auto branch = scf::IfOp::create(b, anyRows,
                                  emitIsPartial(ctx, type.clone({count}), rows),
                                  /*withElseRegion=*/true);
  auto yield = [&](Value rows) {
    scf::YieldOp::create(b,
                         memref::CastOp::create(b, anyRows, rows).getResult());
  };
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  fillZero(ctx, copy);
  copyWholeRows(ctx, load, copy, rows, first);
  yield(copy.memref);
  b.setInsertionPointToStart(branch.elseBlock());
  yield(viewRows(ctx, load, first, count));
  return branch.getResult(0);
}

TileBuffer fa::loadTile(HostContext &ctx, tile::LoadOp load, TileForm form) {
  auto type = cast<RankedTensorType>(load.getType());
  TileBuffer buffer = ctx.allocate(type, form);
  SmallVector<TileInterval> inside;
  if (load.getInBounds())
    for (int64_t extent : type.getShape())
      inside.push_back({ctx.constantIndex(0), ctx.constantIndex(extent)});
  else
    inside = insideRanges(ctx, ctx.mapped(load.getSource()), load.getIndices(),
                          type.getShape());
  bool wholeRows = hasWholeRows(ctx, load);
  if (form == TileForm::ColumnPairs) {
    loadColumnPairs(ctx, load, buffer, inside[0]);
    return buffer;
  }
  if (wholeRows && (form == TileForm::LanePairs || form == TileForm::Lanes)) {
    loadTransposed(ctx, load, buffer, inside[0]);
    return buffer;
  }
  if (!load.getInBounds())
    zeroUnlessInside(ctx, buffer, type, inside);
  if (form == TileForm::LanePairs)
    loadWholeColumnPairs(ctx, load, buffer, inside[1]);
  else if (buffer.pieces > 1)
    copyPieces(ctx, load, buffer, inside[0]);
  else if (form == TileForm::RowPairs)
    loadRowPairs(ctx, load, buffer, inside[0]);
  else if (wholeRows)
    copyWholeRows(ctx, load, buffer, inside[0]);
  else if (form == TileForm::Lanes &&
           hasWholeColumns(ctx, load.getSource(), type, load.getIndices()[0]))
    loadWholeColumns(ctx, load, buffer, inside[1]);
  else
    copyElements(ctx, load, buffer, inside);
  return buffer;
}

//===----------------------------------------------------------------------===//
// LoadOp
//===----------------------------------------------------------------------===//

static LogicalResult lowerLoad(HostContext &ctx, tile::LoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  if (type.getRank() < 1 || type.getRank() > 2)
    return load.emitOpError("has a lowering for the host for tiles of rank 1 "
                            "and 2, found ")
           << type;
  countLiveRows(ctx, load);
  if (tile::DotOp dot = findRowTileDot(ctx, load)) {
    loadRowTileOperand(ctx, load, dot);
    return success();
  }
  bool others = false;
  for (OpOperand &use : load.getResult().getUses()) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    bool pairs = dot && use.get() != dot.getAcc() && isPairDot(ctx, dot);
    if (pairs && !ctx.pairBuffers.count(load.getResult()))
      loadPairOperand(ctx, load, dot);
    others |= !pairs;
  }
  if (!others || (ctx.alongRows ? canReadRowsInPlace(ctx, load)
                                : canReadInPlace(ctx, load)))
    return success();
  bool natural = type.getRank() == 2 && isOnlyBroadcast(load.getResult());
  bool viewed = natural && !ctx.alongRows && type.getElementType().isF32() &&
                isReadOnly(ctx, load) && !load.getInBounds() &&
                hasWholeRows(ctx, load);
  ctx.buffers[load.getResult()] =
      viewed
          ? TileBuffer{viewOrCopyRows(ctx, load, ctx.constantIndex(0),
                                      type.getDimSize(0)),
                       TileForm::Natural}
          : loadTile(ctx, load, natural ? TileForm::Natural : ctx.tileForm());
  return success();
}

void fa::addLoadLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerLoad);
}

//===- TurnedMemory.cpp - tiles whose columns lie as rows in memory -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of a transposed view lies in memory as kernels hold it, with its lanes
// along dimension 0: it is copied as it is, for products in pairs with each two
// columns side by side.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

bool fa::hasWholeColumns(HostContext &ctx, Value view, RankedTensorType tile,
                         Value row) {
  auto type = cast<MemRefType>(view.getType());
  if (tile.getRank() != 2 || !isa<FloatType>(tile.getElementType()) ||
      (tile.getElementTypeBitWidth() < 32 && !ctx.shape.pairDots &&
       tile.getDimSize(0) < ctx.lanes()))
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[0] == 1 && strides[1] != 1 &&
         type.getDimSize(0) == tile.getDimSize(0) && isConstantIntValue(row, 0);
}

/// Calls `body` for each vector of each of `columns`, or of what else there is
/// in as many rows: its number, its first row, and how many of its elements
/// count.
static void forVectorsOfColumns(
    HostContext &ctx, int64_t rows, TileInterval columns,
    llvm::function_ref<void(Value column, Value row, int64_t count)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = scf::ForOp::create(b, columns.first, columns.second,
                                 ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  for (int64_t next = 0; next < rows; next += ctx.lanes()) {
    auto [first, count] = next + ctx.lanes() > rows
                              ? lastVector(ctx, rows)
                              : std::pair(next, ctx.lanes());
    body(loop.getInductionVar(), ctx.constantIndex(first), count);
  }
}

/// Where (row, column) of the tile at `indices` lies in memory,
/// [columns][rows].
static SmallVector<Value> placeOf(HostContext &ctx, ValueRange indices,
                                  Value row, Value column) {
  return {arith::AddIOp::create(ctx.b, ctx.mapped(indices[1]), column), row};
}

/// `view` with its columns as rows again.
static Value turnBack(HostContext &ctx, Value view) {
  auto map = AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                          ctx.b.getContext());
  return memref::TransposeOp::create(ctx.b, ctx.mapped(view),
                                     AffineMapAttr::get(map));
}

void fa::loadWholeColumns(HostContext &ctx, tile::LoadOp load,
                          TileBuffer buffer, TileInterval columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type element = cast<MemRefType>(buffer.memref.getType()).getElementType();
  Value memory = turnBack(ctx, load.getSource());
  forVectorsOfColumns(
      ctx, load.getType().getDimSize(0), columns,
      [&](Value column, Value row, int64_t count) {
        Value x =
            loadFirst(b, memory, placeOf(ctx, load.getIndices(), row, column),
                      ctx.lanes(), count);
        if (getElementTypeOrSelf(x) != element)
          x = arith::ExtFOp::create(b, ctx.vectorType(element), x);
        vector::StoreOp::create(b, x, buffer.memref, ValueRange{column, row});
      });
}

bool fa::isTurnedPairs(HostContext &ctx, Value value) {
  auto load = value.getDefiningOp<tile::LoadOp>();
  return load && !ctx.alongRows &&
         ctx.shape.canPair(load.getType().getElementType()) &&
         load.getType().getDimSize(1) % 2 == 0 &&
         hasWholeColumns(ctx, load.getSource(), load.getType(),
                         load.getIndices()[0]);
}

void fa::loadWholeColumnPairs(HostContext &ctx, tile::LoadOp load,
                              TileBuffer buffer, TileInterval columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value memory = turnBack(ctx, load.getSource());
  Value two = ctx.constantIndex(2);
  Value last = arith::SubIOp::create(b, columns.second, ctx.constantIndex(1));
  auto read = [&](Value column, Value row, int64_t count) -> Value {
    // One of a pair may lie outside the view.
    Value inside = arith::MaxSIOp::create(
        b, Value(arith::MinSIOp::create(b, column, last)), columns.first);
    Value x = loadFirst(b, memory, placeOf(ctx, load.getIndices(), row, inside),
                        ctx.lanes(), count);
    Value same =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, inside);
    Value zero = arith::ConstantOp::create(
        b, b.getZeroAttr(cast<VectorType>(x.getType())));
    return arith::SelectOp::create(b, same, x, zero);
  };
  SmallVector<int64_t> sideBySide;
  for (int64_t n = 0; n < ctx.lanes(); ++n)
    sideBySide.append({n, ctx.lanes() + n});
  forVectorsOfColumns(
      ctx, load.getType().getDimSize(0), pairsOf(ctx, columns),
      [&](Value pair, Value row, int64_t count) {
        Value even = arith::MulIOp::create(b, pair, two);
        Value both = vector::ShuffleOp::create(
            b, read(even, row, count), read(ctx.addIndex(even, 1), row, count),
            sideBySide);
        vector::StoreOp::create(b,
                                Value(vector::BitCastOp::create(
                                    b, ctx.vectorType(b.getI32Type()), both)),
                                buffer.memref, ValueRange{pair, row});
      });
  takeApart(ctx, load, buffer, linesOfPiece(buffer), ctx.constantIndex(0),
            ctx.constantIndex(ctx.paddedRows(load.getType().getDimSize(0))));
}

void fa::storeWholeColumns(HostContext &ctx, tile::StoreOp store,
                           TileInterval columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(store.getValue().getType());
  Value memory = turnBack(ctx, store.getDest());
  forVectorsOfColumns(
      ctx, type.getDimSize(0), columns,
      [&](Value column, Value row, int64_t count) {
        Value x = ctx.evaluateVector(store.getValue(), {{row, true}, {column}});
        if (getElementTypeOrSelf(x) != type.getElementType())
          x = arith::TruncFOp::create(b, ctx.vectorType(type.getElementType()),
                                      x);
        storeFirst(b, x, memory, placeOf(ctx, store.getIndices(), row, column),
                   count);
      });
}

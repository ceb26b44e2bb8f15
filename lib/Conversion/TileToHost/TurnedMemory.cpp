//===- TurnedMemory.cpp - tiles whose columns lie as rows in memory -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of a transposed view lies in memory as kernels hold it, with its lanes
// along dimension 0: it is copied as it is.
//
//===----------------------------------------------------------------------===//

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
      (tile.getElementTypeBitWidth() < 32 && tile.getDimSize(0) < ctx.lanes()))
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[0] == 1 && strides[1] != 1 &&
         type.getDimSize(0) == tile.getDimSize(0) && isConstantIntValue(row, 0);
}

/// Calls `body` for each vector of each of `columns`: its first row, how many
/// of its elements count, and where it begins in memory, [columns][rows].
static void
forVectorsOfColumns(HostContext &ctx, ValueRange indices, int64_t rows,
                    TileInterval columns,
                    llvm::function_ref<void(Value column, Value row,
                                            int64_t count, ValueRange at)>
                        body) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = scf::ForOp::create(b, columns.first, columns.second,
                                 ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Value from = arith::AddIOp::create(b, ctx.mapped(indices[1]), column);
  for (int64_t next = 0; next < rows; next += ctx.lanes()) {
    auto [first, count] = next + ctx.lanes() > rows
                              ? lastVector(ctx, rows)
                              : std::pair(next, ctx.lanes());
    Value row = ctx.constantIndex(first);
    body(column, row, count, ValueRange{from, row});
  }
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
      ctx, load.getIndices(), load.getType().getDimSize(0), columns,
      [&](Value column, Value row, int64_t count, ValueRange at) {
        Value x = loadFirst(b, memory, at, ctx.lanes(), count);
        if (getElementTypeOrSelf(x) != element)
          x = arith::ExtFOp::create(b, ctx.vectorType(element), x);
        vector::StoreOp::create(b, x, buffer.memref, ValueRange{column, row});
      });
}

void fa::storeWholeColumns(HostContext &ctx, tile::StoreOp store,
                           TileInterval columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(store.getValue().getType());
  Value memory = turnBack(ctx, store.getDest());
  forVectorsOfColumns(
      ctx, store.getIndices(), type.getDimSize(0), columns,
      [&](Value column, Value row, int64_t count, ValueRange at) {
        Value x = ctx.evaluateVector(store.getValue(), {{row, true}, {column}});
        if (getElementTypeOrSelf(x) != type.getElementType())
          x = arith::TruncFOp::create(b, ctx.vectorType(type.getElementType()),
                                      x);
        storeFirst(b, x, memory, at, count);
      });
}

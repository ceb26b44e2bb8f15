//===- LowerStore.cpp - stores and atomic additions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"
#include "HostMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

Value fa::evaluateStored(HostContext &ctx, Value tile,
                         ArrayRef<TileCoord> coords) {
  Value x = ctx.evaluate(tile, coords);
  Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  return x.getType() == element ? x
                                : arith::TruncFOp::create(ctx.b, element, x);
}

static void lowerStore(HostContext &ctx, tile::StoreOp store) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(store.getValue().getType());
  Value dest = ctx.mapped(store.getDest());
  SmallVector<TileInterval> inside =
      insideRanges(ctx, dest, store.getIndices(), type.getShape());
  if (hasWholeRows(ctx, store.getDest(), type, store.getIndices().back(),
                   /*inBounds=*/false)) {
    if (ctx.alongRows)
      storeRows(ctx, store, inside[0]);
    else
      storeTransposed(ctx, store, inside[0]);
    return;
  }
  if (!ctx.alongRows &&
      hasWholeColumns(ctx, store.getDest(), type, store.getIndices().front())) {
    storeWholeColumns(ctx, store, inside[1]);
    return;
  }
  forElements(ctx, inside, [&](ArrayRef<TileCoord> coords) {
    Value x = evaluateStored(ctx, store.getValue(), coords);
    SmallVector<Value> indices;
    for (auto [base, coord] : llvm::zip(store.getIndices(), coords))
      indices.push_back(
          arith::AddIOp::create(b, ctx.mapped(base), coord.index));
    memref::StoreOp::create(b, x, dest, indices);
  });
}

void fa::addInOneStep(HostContext &ctx, Value x, Value dest, ValueRange place) {
  auto kind = isa<FloatType>(x.getType()) ? arith::AtomicRMWKind::addf
                                          : arith::AtomicRMWKind::addi;
  memref::AtomicRMWOp::create(ctx.b, kind, x, dest, place);
}

static void lowerAtomicAdd(HostContext &ctx, tile::AtomicAddOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Value dest = ctx.mapped(op.getDest());
  forElements(ctx, insideRanges(ctx, dest, op.getIndices(), type.getShape()),
              [&](ArrayRef<TileCoord> coords) {
                Value x = ctx.evaluate(op.getValue(), coords);
                SmallVector<Value> indices;
                for (auto [base, coord] : llvm::zip(op.getIndices(), coords))
                  indices.push_back(
                      arith::AddIOp::create(b, ctx.mapped(base), coord.index));
                addInOneStep(ctx, x, dest, indices);
              });
}

void fa::addStoreLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerStore);
  ctx.registry.add(ctx, lowerAtomicAdd);
}

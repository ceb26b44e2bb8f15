//===- LowerStore.cpp - stores, atomic additions and gathers --------------===//
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
  forElements(ctx, inside, [&](ArrayRef<TileCoord> coords) {
    Value x = ctx.evaluate(store.getValue(), coords);
    if (x.getType() != type.getElementType())
      x = arith::TruncFOp::create(b, type.getElementType(), x);
    SmallVector<Value> indices;
    for (auto [base, coord] : llvm::zip(store.getIndices(), coords))
      indices.push_back(
          arith::AddIOp::create(b, ctx.mapped(base), coord.index));
    memref::StoreOp::create(b, x, dest, indices);
  });
}

static void lowerAtomicAdd(HostContext &ctx, tile::AtomicAddOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Value dest = ctx.mapped(op.getDest());
  auto kind = type.getElementType().isF32() ? arith::AtomicRMWKind::addf
                                            : arith::AtomicRMWKind::addi;
  forElements(ctx, insideRanges(ctx, dest, op.getIndices(), type.getShape()),
              [&](ArrayRef<TileCoord> coords) {
                Value x = ctx.evaluate(op.getValue(), coords);
                SmallVector<Value> indices;
                for (auto [base, coord] : llvm::zip(op.getIndices(), coords))
                  indices.push_back(
                      arith::AddIOp::create(b, ctx.mapped(base), coord.index));
                memref::AtomicRMWOp::create(b, kind, x, dest, indices);
              });
}

static void lowerGather(HostContext &ctx, tile::GatherOp gather) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(gather.getType());
  Value source = ctx.mapped(gather.getSource());
  TileBuffer buffer = ctx.allocate(type, TileForm::Lanes);
  SmallVector<TileInterval> all;
  for (int64_t extent : type.getShape())
    all.push_back({ctx.constantIndex(0), ctx.constantIndex(extent)});
  Type compute = ctx.computeType(type.getElementType());
  forElements(ctx, all, [&](ArrayRef<TileCoord> coords) {
    SmallVector<Value> indices;
    Value inside;
    for (auto [dim, tile] : llvm::enumerate(gather.getIndices())) {
      Value index = ctx.evaluate(tile, coords);
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
      scf::YieldOp::create(b, loadScalar(ctx, source, indices));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, Value(arith::ConstantOp::create(
                                  b, cast<TypedAttr>(b.getZeroAttr(compute)))));
    }
    memref::StoreOp::create(b, branch.getResult(0), buffer.memref,
                            bufferIndices(buffer, coords));
  });
  ctx.buffers[gather.getResult()] = buffer;
}

void fa::addStoreLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerStore);
  ctx.registry.add(ctx, lowerAtomicAdd);
  ctx.registry.add(ctx, lowerGather);
}

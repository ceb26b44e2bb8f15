//===- TileRanges.cpp - the part of a tile that a view has ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

SmallVector<TileInterval> fa::insideRanges(HostContext &ctx, Value view,
                                           ValueRange indices,
                                           ArrayRef<int64_t> extents) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<TileInterval> ranges;
  Value zero = ctx.constantIndex(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value size = memref::DimOp::create(b, view, dim);
    Value at = ctx.mapped(index);
    Value below = arith::SubIOp::create(b, zero, at);
    Value above = arith::SubIOp::create(b, size, at);
    ranges.push_back(
        {arith::MaxSIOp::create(b, zero, below),
         arith::MinSIOp::create(b, ctx.constantIndex(extents[dim]), above)});
  }
  return ranges;
}

void fa::forElements(HostContext &ctx, ArrayRef<TileInterval> ranges,
                     llvm::function_ref<void(ArrayRef<TileCoord>)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  OpBuilder::InsertionGuard guard(b);
  SmallVector<TileCoord> coords;
  for (auto [low, high] : ranges) {
    auto loop = scf::ForOp::create(b, low, high, ctx.constantIndex(1));
    coords.push_back({loop.getInductionVar()});
    b.setInsertionPointToStart(loop.getBody());
  }
  body(coords);
}

SmallVector<Value> fa::bufferIndices(TileBuffer buffer,
                                     ArrayRef<TileCoord> coords) {
  SmallVector<Value> indices;
  for (const TileCoord &coord : coords)
    indices.push_back(coord.index);
  if (buffer.form == TileForm::Lanes && indices.size() == 2)
    std::swap(indices[0], indices[1]);
  return indices;
}

Value fa::emitIsPartial(HostContext &ctx, RankedTensorType type,
                        ArrayRef<TileInterval> inside) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value partial;
  for (auto [d, range] : llvm::enumerate(inside)) {
    using arith::CmpIPredicate;
    Value low = arith::CmpIOp::create(b, CmpIPredicate::ne, range.first,
                                      ctx.constantIndex(0));
    Value high = arith::CmpIOp::create(b, CmpIPredicate::ne, range.second,
                                       ctx.constantIndex(type.getDimSize(d)));
    Value either = arith::OrIOp::create(b, low, high);
    partial = partial ? arith::OrIOp::create(b, partial, either) : either;
  }
  return partial;
}

Value fa::loadScalar(HostContext &ctx, Value memref, ValueRange indices) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value x = memref::LoadOp::create(b, memref, indices);
  Type compute = ctx.computeType(x.getType());
  if (compute != x.getType())
    x = arith::ExtFOp::create(b, compute, x);
  return x;
}

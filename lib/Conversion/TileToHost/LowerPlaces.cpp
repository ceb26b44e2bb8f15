//===- LowerPlaces.cpp - gathers and scatters -----------------------------===//
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

/// Calls `body` for each element of a tile of `type` with the indices of its
/// place in `memory` and whether it is meant and there; null: certainly.
static void forPlaces(HostContext &ctx, RankedTensorType type, Value memory,
                      ValueRange indices, Value mask, bool inBounds,
                      llvm::function_ref<void(ArrayRef<TileCoord> coords,
                                              ValueRange place, Value exists)>
                          body) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<TileInterval> all;
  for (int64_t extent : type.getShape())
    all.push_back({ctx.constantIndex(0), ctx.constantIndex(extent)});
  forElements(ctx, all, [&](ArrayRef<TileCoord> coords) {
    Value exists = mask ? ctx.evaluate(mask, coords) : Value();
    SmallVector<Value> place;
    for (auto [dim, tile] : llvm::enumerate(indices)) {
      place.push_back(ctx.evaluate(tile, coords));
      if (inBounds)
        continue;
      Value size = memref::DimOp::create(b, memory, dim);
      // Unsigned: a negative index is beyond every size.
      Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         place.back(), size);
      exists = exists ? Value(arith::AndIOp::create(b, exists, fits)) : fits;
    }
    body(coords, place, exists);
  });
}

static void lowerGather(HostContext &ctx, tile::GatherOp gather) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(gather.getType());
  Value source = ctx.mapped(gather.getSource());
  TileBuffer buffer = ctx.allocate(type, TileForm::Lanes);
  Type compute = ctx.computeType(type.getElementType());
  forPlaces(ctx, type, source, gather.getIndices(), gather.getMask(),
            gather.getInBounds(),
            [&](ArrayRef<TileCoord> coords, ValueRange place, Value exists) {
              auto load = [&](OpBuilder &, Location) {
                scf::YieldOp::create(b, loadScalar(ctx, source, place));
              };
              auto zero = [&](OpBuilder &, Location) {
                scf::YieldOp::create(
                    b, Value(arith::ConstantOp::create(
                           b, cast<TypedAttr>(b.getZeroAttr(compute)))));
              };
              Value x =
                  exists ? scf::IfOp::create(b, exists, load, zero).getResult(0)
                         : loadScalar(ctx, source, place);
              memref::StoreOp::create(b, x, buffer.memref,
                                      bufferIndices(buffer, coords));
            });
  ctx.buffers[gather.getResult()] = buffer;
}

static void lowerScatter(HostContext &ctx, tile::ScatterOp scatter) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(scatter.getValue().getType());
  Value dest = ctx.mapped(scatter.getDest());
  forPlaces(ctx, type, dest, scatter.getIndices(), scatter.getMask(),
            scatter.getInBounds(),
            [&](ArrayRef<TileCoord> coords, ValueRange place, Value exists) {
              Value x = evaluateStored(ctx, scatter.getValue(), coords);
              auto write = [&] {
                if (scatter.getAdd())
                  addInOneStep(ctx, x, dest, place);
                else
                  memref::StoreOp::create(b, x, dest, place);
              };
              if (!exists)
                return write();
              scf::IfOp::create(b, exists, [&](OpBuilder &, Location) {
                write();
                scf::YieldOp::create(b);
              });
            });
}

void fa::addPlaceLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerGather);
  ctx.registry.add(ctx, lowerScatter);
}

//===- LowerReduce.cpp - reductions of rows -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

static LogicalResult lowerReduce(HostContext &ctx, tile::ReduceOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (input.getRank() != 2 || op.getDim() != 1)
    return op.emitOpError("has a lowering for the host along dimension 1 of a "
                          "tile of rank 2, found dimension ")
           << op.getDim() << " of " << input;
  Type element = input.getElementType();
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return op.emitOpError("has a lowering for the host on floats and integers "
                          "of 32 and 64 bits, found ")
           << input;
  TileBuffer source = ctx.materialize(op.getInput(), TileForm::Lanes);
  TileBuffer result = ctx.bufferForResult(op.getResult());
  ctx.forRowBlocks(input.getDimSize(0), [&](Value row, int64_t vectors) {
    SmallVector<Value> first;
    for (int64_t v = 0; v < vectors; ++v)
      first.push_back(
          ctx.readBuffer(source, {{ctx.addIndex(row, v * ctx.lanes()), true},
                                  {ctx.constantIndex(0)}}));
    auto loop = scf::ForOp::create(
        b, ctx.constantIndex(1), ctx.constantIndex(input.getDimSize(1)),
        ctx.constantIndex(1), first,
        [&](OpBuilder &, Location, Value col, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(tile::combine(
                b, op.getKind(), carried[v],
                ctx.readBuffer(
                    source,
                    {{ctx.addIndex(row, v * ctx.lanes()), true}, {col}})));
          scf::YieldOp::create(b, next);
        });
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, loop.getResult(v), result.memref,
                              ctx.addIndex(row, v * ctx.lanes()));
  });
  ctx.buffers[op.getResult()] = result;
  return success();
}

void fa::addReduceLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerReduce);
}

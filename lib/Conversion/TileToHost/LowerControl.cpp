//===- LowerControl.cpp - what stands for a scalar ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;

/// A kernel on the host is one program's: all rows are its own.
static void lowerOwnRows(HostContext &ctx, tile::OwnRowsOp op) {
  ctx.mapping.map(op.getOffset(), ctx.constantIndex(0));
  ctx.mapping.map(op.getCount(), ctx.constantIndex(op.getRows()));
}

static void lowerSequenceOf(HostContext &ctx, tile::SequenceOfOp op) {
  auto [sequence, first] = tile::SequenceOfOp::search(
      ctx.b, ctx.mapping.lookup(op.getSlot()),
      ctx.mapping.lookup(op.getOffsets()), op.getRows());
  ctx.mapping.map(op.getSequence(), sequence);
  ctx.mapping.map(op.getFirst(), first);
}

/// Of stageRows.
static void lowerAlloca(HostContext &ctx, memref::AllocaOp op) {
  ctx.mapping.map(op.getResult(), ctx.allocate(op.getType()));
}

/// An element of a tile; narrow floats are held as f32.
static void lowerExtract(HostContext &ctx, tensor::ExtractOp op) {
  SmallVector<TileCoord> coords;
  for (Value index : op.getIndices())
    coords.push_back({ctx.mapped(index)});
  Value element = ctx.evaluate(op.getTensor(), coords);
  if (element.getType() != op.getType())
    element = arith::TruncFOp::create(ctx.b, op.getType(), element);
  ctx.mapping.map(op.getResult(), element);
}

void fa::addControlLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerOwnRows);
  ctx.registry.add(ctx, lowerSequenceOf);
  ctx.registry.add(ctx, lowerAlloca);
  ctx.registry.add(ctx, lowerExtract);
  // Mapped when the function begins.
  ctx.registry.skip<tile::ProgramIdOp, tile::NumProgramsOp, tile::ReturnOp>();
}

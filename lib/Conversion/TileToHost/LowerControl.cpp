//===- LowerControl.cpp - what stands for a scalar ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

void fa::addControlLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerOwnRows);
  ctx.registry.add(ctx, lowerSequenceOf);
  ctx.registry.add(ctx, lowerAlloca);
  // Mapped when the function begins.
  ctx.registry.skip<tile::ProgramIdOp, tile::NumProgramsOp, tile::ReturnOp>();
}

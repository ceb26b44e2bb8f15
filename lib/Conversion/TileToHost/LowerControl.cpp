//===- LowerControl.cpp - loops, and what stands for a scalar -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using tile::isTile;

static LogicalResult lowerFor(HostContext &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isScalarOp(loop)) {
    b.clone(*loop, ctx.mapping);
    return success();
  }
  SmallVector<Value> scalarInits;
  for (auto [init, arg, result] : llvm::zip(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!isTile(init)) {
      scalarInits.push_back(ctx.mapped(init));
      continue;
    }
    auto it = ctx.buffers.find(init);
    bool adopt = it != ctx.buffers.end() && it->second.form == ctx.tileForm() &&
                 init.hasOneUse();
    TileBuffer buffer =
        adopt ? it->second
              : ctx.allocate(cast<RankedTensorType>(init.getType()),
                             ctx.tileForm());
    if (!adopt)
      ctx.copyInto(init, buffer);
    ctx.buffers[arg] = ctx.carriedBuffers[arg] = ctx.buffers[result] = buffer;
  }
  int64_t bodyTop = ctx.scratchTop;
  auto lowered = scf::ForOp::create(b, ctx.mapped(loop.getLowerBound()),
                                    ctx.mapped(loop.getUpperBound()),
                                    ctx.mapped(loop.getStep()), scalarInits);
  if (scalarInits.empty())
    lowered->setAttr(kTileLoop, b.getUnitAttr());
  ctx.mapping.map(loop.getInductionVar(), lowered.getInductionVar());
  unsigned scalar = 0;
  for (auto [arg, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (!isTile(arg)) {
      ctx.mapping.map(arg, lowered.getRegionIterArg(scalar));
      ctx.mapping.map(result, lowered.getResult(scalar++));
    }
  OpBuilder::InsertionGuard guard(b);
  Block *body = lowered.getBody();
  if (!body->empty())
    body->back().erase();
  b.setInsertionPointToEnd(body);
  if (failed(lowerBlock(ctx, *loop.getBody())))
    return failure();

  // What was not written in place is copied once everything is computed, so
  // that one value's new state is not another one's old.
  SmallVector<Value> scalars;
  SmallVector<std::pair<TileBuffer, TileBuffer>> copies;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [arg, value] :
       llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
    if (!isTile(arg)) {
      scalars.push_back(ctx.mapped(value));
      continue;
    }
    TileBuffer from = ctx.materialize(value, ctx.tileForm());
    if (from.memref != ctx.buffers[arg].memref)
      copies.push_back({from, ctx.buffers[arg]});
  }
  for (auto [from, to] : copies)
    memref::CopyOp::create(b, from.memref, to.memref);
  if (!scalars.empty() || lowered.getNumResults() == 0)
    scf::YieldOp::create(b, scalars);
  ctx.scratchTop = bodyTop; // the body's buffers are free for what follows
  return success();
}

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
  ctx.registry.add(ctx, lowerFor);
  ctx.registry.add(ctx, lowerOwnRows);
  ctx.registry.add(ctx, lowerSequenceOf);
  ctx.registry.add(ctx, lowerAlloca);
  // Mapped when the function begins; a yield is its loop's.
  ctx.registry.skip<tile::ProgramIdOp, tile::NumProgramsOp, tile::ReturnOp,
                    scf::YieldOp>();
}

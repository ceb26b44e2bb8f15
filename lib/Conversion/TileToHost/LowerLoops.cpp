//===- LowerLoops.cpp - loops and the tiles that they carry ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that a loop carries has a buffer, which each iteration leaves with the
// value of the next one. Numbers are the loop's own.
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using tile::isTile;

/// A buffer that holds the tile `init`, for a loop to carry.
static TileBuffer carry(HostContext &ctx, Value init) {
  auto it = ctx.buffers.find(init);
  bool adopt = it != ctx.buffers.end() && it->second.form == ctx.tileForm() &&
               init.hasOneUse();
  if (adopt)
    return it->second;
  TileBuffer buffer =
      ctx.allocate(cast<RankedTensorType>(init.getType()), ctx.tileForm());
  ctx.copyInto(init, buffer);
  return buffer;
}

/// At the end of an iteration: gives the ctx.buffers of the tiles among
/// `arguments` what is `yielded`, and returns the numbers.
static SmallVector<Value> yieldCarried(HostContext &ctx, ValueRange arguments,
                                       ValueRange yielded) {
  struct Copy {
    TileBuffer from, to;
    RankedTensorType type;
  };
  SmallVector<Value> scalars;
  SmallVector<Copy> copies;
  for (auto [arg, value] : llvm::zip_equal(arguments, yielded)) {
    if (!isTile(arg)) {
      scalars.push_back(ctx.mapped(value));
      continue;
    }
    TileBuffer from = ctx.materialize(value, ctx.tileForm());
    if (from.memref != ctx.buffers[arg].memref)
      copies.push_back({from, ctx.buffers[arg], tile::typeOf(arg)});
  }
  // What was not written in place is copied once everything is computed, so
  // that one value's new state is not another one's old. Where it is just that,
  // the old one is kept.
  for (Copy &copy : copies) {
    bool isOverwritten = llvm::any_of(copies, [&](const Copy &other) {
      return other.to.memref == copy.from.memref;
    });
    if (!isOverwritten)
      continue;
    TileBuffer kept = ctx.allocate(copy.type, ctx.tileForm());
    memref::CopyOp::create(ctx.b, copy.from.memref, kept.memref);
    copy.from = kept;
  }
  for (const Copy &copy : copies)
    memref::CopyOp::create(ctx.b, copy.from.memref, copy.to.memref);
  return scalars;
}

static LogicalResult lowerFor(HostContext &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isScalarOp(loop)) {
    b.clone(*loop, ctx.mapping);
    return success();
  }
  SmallVector<Value> scalarInits;
  for (auto [init, arg, result] : llvm::zip(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (isTile(init))
      ctx.buffers[arg] = ctx.carriedBuffers[arg] = ctx.buffers[result] =
          carry(ctx, init);
    else
      scalarInits.push_back(ctx.mapped(init));
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
  SmallVector<Value> scalars =
      yieldCarried(ctx, loop.getRegionIterArgs(), loop.getYieldedValues());
  if (!scalars.empty() || lowered.getNumResults() == 0)
    scf::YieldOp::create(b, scalars);
  ctx.scratchTop = bodyTop; // the body's ctx.buffers are free for what follows
  return success();
}

/// What stands before the condition hands on what it has been handed, or tiles
/// of its own, for which there are ctx.buffers, too.
static LogicalResult lowerWhile(HostContext &ctx, scf::WhileOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isScalarOp(loop)) {
    b.clone(*loop, ctx.mapping);
    return success();
  }
  scf::ConditionOp condition = loop.getConditionOp();
  SmallVector<Value> inits;
  for (auto [init, arg] :
       llvm::zip_equal(loop.getInits(), loop.getBeforeArguments())) {
    if (isTile(init))
      ctx.buffers[arg] = carry(ctx, init);
    else
      inits.push_back(ctx.mapped(init));
  }
  SmallVector<Type> types;
  SmallVector<std::pair<Value, TileBuffer>> own;
  for (auto [value, arg, result] : llvm::zip_equal(
           condition.getArgs(), loop.getAfterArguments(), loop.getResults())) {
    if (!isTile(value)) {
      types.push_back(value.getType());
      continue;
    }
    bool isCarried = llvm::is_contained(loop.getBeforeArguments(), value);
    TileBuffer buffer = isCarried
                            ? ctx.buffers[value]
                            : ctx.allocate(tile::typeOf(value), ctx.tileForm());
    if (!isCarried)
      own.push_back({value, buffer});
    ctx.buffers[arg] = ctx.buffers[result] = buffer;
  }
  int64_t bodyTop = ctx.scratchTop;
  auto lowered = scf::WhileOp::create(b, types, inits);
  // Numbers among `values` are those of `scalars`, in order.
  auto map = [&](ValueRange values, ValueRange scalars) {
    for (Value value : values)
      if (!isTile(value)) {
        ctx.mapping.map(value, scalars.front());
        scalars = scalars.drop_front();
      }
  };
  auto open = [&](Region &region, TypeRange arguments) {
    return b.createBlock(&region, region.end(), arguments,
                         SmallVector<Location>(arguments.size(), b.getLoc()));
  };
  OpBuilder::InsertionGuard guard(b);
  map(loop.getBeforeArguments(),
      open(lowered.getBefore(), TypeRange(ValueRange(inits)))->getArguments());
  if (failed(lowerBlock(ctx, *loop.getBeforeBody())))
    return failure();
  SmallVector<Value> handed;
  for (Value value : condition.getArgs())
    if (!isTile(value))
      handed.push_back(ctx.mapped(value));
  for (auto [value, buffer] : own)
    ctx.copyInto(value, buffer);
  scf::ConditionOp::create(b, ctx.mapped(condition.getCondition()), handed);
  map(loop.getAfterArguments(),
      open(lowered.getAfter(), types)->getArguments());
  if (failed(lowerBlock(ctx, *loop.getAfterBody())))
    return failure();
  scf::YieldOp::create(b, yieldCarried(ctx, loop.getBeforeArguments(),
                                       loop.getYieldOp().getResults()));
  map(loop.getResults(), lowered.getResults());
  ctx.scratchTop = bodyTop;
  return success();
}

void fa::addLoopLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerFor);
  ctx.registry.add(ctx, lowerWhile);
  // Their loop's.
  ctx.registry.skip<scf::YieldOp, scf::ConditionOp>();
}

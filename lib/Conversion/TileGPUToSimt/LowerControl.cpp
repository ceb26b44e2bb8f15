//===- LowerControl.cpp - loops and branches ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;

static LogicalResult lowerFor(SimtContext &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (findsExtremes(loop))
    return lowerExtremes(ctx, loop);
  auto lowered = scf::ForOp::create(
      b, ctx.mapped(loop.getLowerBound()), ctx.mapped(loop.getUpperBound()),
      ctx.mapped(loop.getStep()), ctx.flatten(loop.getInitArgs()));
  ctx.mapping.map(loop.getInductionVar(), lowered.getInductionVar());
  ValueRange carried = lowered.getRegionIterArgs();
  for (Value argument : loop.getRegionIterArgs())
    ctx.takeFrom(carried, argument);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = lowered.getBody();
    if (!body->empty())
      body->back().erase();
    b.setInsertionPointToEnd(body);
    if (failed(lowerBlock(ctx, *loop.getBody())))
      return failure();
    scf::YieldOp::create(
        b, ctx.flatten(loop.getBody()->getTerminator()->getOperands()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : loop.getResults())
    ctx.takeFrom(results, result);
  return success();
}

/// The types of what `types` are in the registers of a thread.
static SmallVector<Type> flatten(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    auto tile = dyn_cast<RankedTensorType>(type);
    flat.append(tile ? layoutOf(type).numRegisters() : 1,
                tile ? tile.getElementType() : type);
  }
  return flat;
}

static LogicalResult lowerWhile(SimtContext &ctx, scf::WhileOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto lowered = scf::WhileOp::create(b, flatten(loop.getResultTypes()),
                                      ctx.flatten(loop.getInits()));
  // A block for `from` at the end of `to`, with what it is handed.
  auto lower = [&](Block &from, Region &to, TypeRange types) {
    Block *block = b.createBlock(
        &to, to.end(), types, SmallVector<Location>(types.size(), b.getLoc()));
    ValueRange handed = block->getArguments();
    for (Value argument : from.getArguments())
      ctx.takeFrom(handed, argument);
    return lowerBlock(ctx, from);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    if (failed(lower(*loop.getBeforeBody(), lowered.getBefore(),
                     lowered.getInits().getTypes())))
      return failure();
    scf::ConditionOp condition = loop.getConditionOp();
    scf::ConditionOp::create(b, ctx.mapped(condition.getCondition()),
                             ctx.flatten(condition.getArgs()));
    if (failed(lower(*loop.getAfterBody(), lowered.getAfter(),
                     lowered.getResultTypes())))
      return failure();
    scf::YieldOp::create(b, ctx.flatten(loop.getYieldOp().getResults()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : loop.getResults())
    ctx.takeFrom(results, result);
  return success();
}

/// A branch that is seldom taken: masks that it reads are computed anew, since
/// ptxas would keep what their bits were in registers, with an instruction for
/// each.
static LogicalResult lowerSeldom(SimtContext &ctx, Block &block) {
  ThreadAnew anew(ctx);
  llvm::DenseMap<Value, TileRegisters> before;
  LogicalResult result = success();
  std::function<void(Value)> compute = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || block.findAncestorOpInBlock(*op) || !isTile(tile) ||
        isa<FloatType>(getElementTypeOrSelf(tile)) || op->getNumRegions() ||
        !isMemoryEffectFree(op) ||
        !before.try_emplace(tile, ctx.tiles[tile]).second)
      return;
    for (Value operand : op->getOperands())
      compute(operand);
    if (succeeded(result))
      result = lowerOp(ctx, op);
  };
  block.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      compute(operand);
  });
  if (succeeded(result))
    result = lowerBlock(ctx, block);
  for (auto &[tile, registers] : before)
    ctx.tiles[tile] = registers;
  return result;
}

static LogicalResult lowerIf(SimtContext &ctx, scf::IfOp branch) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto lowered = scf::IfOp::create(b, flatten(branch.getResultTypes()),
                                   ctx.mapped(branch.getCondition()),
                                   !branch.getElseRegion().empty());
  for (auto [from, to] :
       llvm::zip(branch->getRegions(), lowered->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    Block *body = &to.front();
    if (!body->empty())
      body->back().erase();
    b.setInsertionPointToEnd(body);
    bool isSeldom = branch->hasAttr(TileGPUDialect::seldomAttrName) &&
                    &from == &branch.getThenRegion();
    if (failed(isSeldom ? lowerSeldom(ctx, from.front())
                        : lowerBlock(ctx, from.front())))
      return failure();
    scf::YieldOp::create(
        b, ctx.flatten(from.front().getTerminator()->getOperands()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : branch.getResults())
    ctx.takeFrom(results, result);
  return success();
}

void fa::addControlLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerFor);
  ctx.registry.add(ctx, lowerIf);
  ctx.registry.add(ctx, lowerWhile);
  ctx.registry.skip<scf::YieldOp, scf::ConditionOp>(); // their parent's
}

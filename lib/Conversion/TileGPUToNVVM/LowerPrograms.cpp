//===- LowerPrograms.cpp - which block runs which programs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Turns.h"

#include "fa/Schedule/KernelThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static bool isPersistent(NvidiaContext &ctx) {
  return ctx.kernel->hasAttr(TileGPUDialect::persistentAttrName);
}

Value NvidiaContext::programNumber() {
  Value block = blockNumber();
  if (!warpNumber)
    return block;
  int64_t programs = programsOfBlock(kernel);
  return arith::AddIOp::create(
      b, arith::MulIOp::create(b, block, i32(programs)), warpNumber);
}

/// The last block may have fewer programs than warps.
static LogicalResult lowerBodyOfWarp(NvidiaContext &ctx,
                                     tile::KernelOp kernel) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value count = ctx.i32Of(ctx.extents[0]);
  for (Value extent : ArrayRef(ctx.extents).drop_front())
    count = arith::MulIOp::create(b, count, ctx.i32Of(extent));
  Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                      ctx.programNumber(), count);
  auto branch = scf::IfOp::create(b, isOne, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return lowerBody(ctx, kernel);
}

/// The scalars of a persistent kernel belong to each of its programs: they are
/// lowered with the partitions.
static LogicalResult lowerPrograms(NvidiaContext &ctx, tile::KernelOp kernel) {
  if (ctx.warpNumber)
    return lowerBodyOfWarp(ctx, kernel);
  if (!isPersistent(ctx))
    return lowerBody(ctx, kernel);
  for (WarpSpecializeOp partitions :
       kernel.getBody().getOps<WarpSpecializeOp>())
    return lowerWarpSpecialize(ctx, partitions);
  return kernel.emitOpError(
      "expects tgpu.warp_specialize where it is persistent");
}

/// A grid has one dimension, and clusters are along it.
Value fa::rankInCluster(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  return arith::RemUIOp::create(b, ctx.blockNumber(),
                                ctx.i32(clusterBlocks(ctx)));
}

Divisor::Divisor(OpBuilder &b, Location loc, Value divisor)
    : divisor(divisor),
      reciprocal(arith::DivUIOp::create(
          b, loc,
          arith::ConstantIntOp::create(b, loc, b.getI32Type(), /*value=*/-1),
          divisor)) {}

Divisor::Divisor(OpBuilder &b, Location loc, Value condition, const Divisor &x,
                 const Divisor &y)
    : divisor(arith::SelectOp::create(b, loc, condition, x.divisor, y.divisor)),
      reciprocal(arith::SelectOp::create(b, loc, condition, x.reciprocal,
                                         y.reciprocal)) {}

std::pair<Value, Value> Divisor::divide(ImplicitLocOpBuilder &b,
                                        Value x) const {
  Value low = arith::MulUIExtendedOp::create(b, x, reciprocal).getResult(1);
  Value rest =
      arith::SubIOp::create(b, x, arith::MulIOp::create(b, low, divisor));
  Value isLow =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, rest, divisor);
  Value less = arith::SubIOp::create(b, rest, divisor);
  Value more = arith::ExtUIOp::create(b, b.getI32Type(), isLow);
  return {arith::AddIOp::create(b, low, more),
          arith::SelectOp::create(b, isLow, less, rest)};
}

/// Of a section, at most. Over 330 causal problems of 512 to 20000 queries on
/// 78 to 132 blocks, the block with the most work has 1.2 % more than if each
/// program went to the block that is free first, longest first; with 2, 2 %;
/// with 8, 0.6 %, but then the keys of too many heads are read at a time.
static constexpr int32_t kSectionTurns = 4;

Turns fa::takeTurns(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(b, x, y); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y); };
  auto divideUp = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, add(x, sub(y, ctx.i32(1))), y);
  };
  Value cluster = ctx.i32(clusterBlocks(ctx));
  Value tiles = ctx.i32Of(ctx.extents[0]), axis1 = ctx.i32Of(ctx.extents[1]);
  Value blocks = NVVM::GridDimXOp::create(b, b.getI32Type());
  Value block = ctx.blockNumber();
  if (clusterBlocks(ctx) > 1) {
    tiles = divideUp(tiles, cluster);
    blocks = arith::DivUIOp::create(b, blocks, cluster);
    block = arith::DivUIOp::create(b, block, cluster);
  }
  Value allHeads = mul(axis1, ctx.i32Of(ctx.extents[2]));
  Value programs = mul(allHeads, tiles);
  auto [whole, rest] = ctx.divide(programs, blocks);
  Value takesOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, block, rest);
  Value one = arith::ExtUIOp::create(b, b.getI32Type(), takesOne);

  Value heads = divideUp(
      allHeads, divideUp(programs, mul(blocks, ctx.i32(kSectionTurns))));
  Value lastSection = sub(divideUp(allHeads, heads), ctx.i32(1));
  Value lastHeads = sub(allHeads, mul(lastSection, heads));
  auto by = [&](Value divisor) { return Divisor(b, b.getLoc(), divisor); };
  return {programs,
          blocks,
          block,
          tiles,
          add(whole, one),
          lastSection,
          by(mul(heads, tiles)),
          by(heads),
          by(lastHeads),
          by(axis1)};
}

namespace {
/// A section's programs, and which of them one is.
struct PlaceInSection {
  Value section, place;
  Divisor heads; ///< of the section
};
} // namespace

static PlaceInSection findPlace(NvidiaContext &ctx, const Turns &turns,
                                Value number) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto [section, place] = turns.section.divide(b, number);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, section,
                                       turns.lastSection);
  Divisor heads(b, b.getLoc(), isLast, turns.lastHeads, turns.heads);
  return {section, place, heads};
}

/// The numbers on the other axes of a head of a section.
static std::array<Value, 2> findHead(NvidiaContext &ctx, const Turns &turns,
                                     Value section, Value headInSection) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value first = arith::MulIOp::create(b, section, turns.heads.divisor);
  Value head = arith::AddIOp::create(b, first, headInSection);
  auto [id2, id1] = turns.axis1.divide(b, head);
  return {id1, id2};
}

/// By tile, then by head: those of the first tile of all heads come first.
std::array<Value, 3> fa::programInOrder(NvidiaContext &ctx, const Turns &turns,
                                        Value number) {
  auto [section, place, heads] = findPlace(ctx, turns, number);
  auto [tile, headInSection] = heads.divide(ctx.b, place);
  auto [id1, id2] = findHead(ctx, turns, section, headInSection);
  return {tile, id1, id2};
}

/// The program that this block runs in a turn, by axis.
static std::array<Value, 3> programIn(NvidiaContext &ctx, const Turns &turns,
                                      Value turn) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(b, x, y); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y); };
  Value number = add(mul(turn, turns.blocks), turns.block);
  auto [section, place, heads] = findPlace(ctx, turns, number);
  Value size = mul(heads.divisor, turns.tiles);
  // The section's programs by tile, then by head, from the end: every second
  // one, and back over the others.
  Value isUp =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place,
                            arith::ShRUIOp::create(b, size, ctx.i32(1)));
  Value twice = arith::ShLIOp::create(b, place, ctx.i32(1));
  Value last = sub(size, ctx.i32(1));
  Value up = sub(sub(last, ctx.i32(1)), twice);
  Value down = sub(twice, last);
  auto [tile, headInSection] =
      heads.divide(b, arith::SelectOp::create(b, isUp, up, down));
  auto [id1, id2] = findHead(ctx, turns, section, headInSection);
  if (clusterBlocks(ctx) > 1)
    tile = add(mul(tile, ctx.i32(clusterBlocks(ctx))), rankInCluster(ctx));
  return {tile, id1, id2};
}

/// What follows from sizes alone is computed in each program: computed once, it
/// would fill the registers of uniform numbers in all loops. Not divisions.
static void keepInLoop(NvidiaContext &ctx, memref::DimOp size) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (llvm::any_of(size->getUsers(), [](Operation *user) {
        return isa<arith::DivUIOp, arith::DivSIOp>(user);
      }))
    return;
  Value number =
      arith::IndexCastUIOp::create(b, b.getI64Type(), ctx.mapped(size));
  ctx.mapping.map(size.getResult(), arith::IndexCastUIOp::create(
                                        b, b.getIndexType(), hide(ctx, number))
                                        .getResult());
}

static LogicalResult lowerTurns(NvidiaContext &ctx, TurnsOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!ctx.turnsOfPartition)
    return op.emitOpError("expects to be in the block of a persistent "
                          "kernel's consumer");
  ctx.mapping.map(op.getResult(),
                  arith::IndexCastUIOp::create(b, b.getIndexType(),
                                               ctx.turnsOfPartition->count)
                      .getResult());
  return success();
}

static LogicalResult lowerProgramIn(NvidiaContext &ctx, ProgramInOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (ProgramsOp programs = takenPrograms(ctx.kernel)) {
    readTakenProgram(ctx, programs, op);
    return success();
  }
  if (!ctx.turnsOfPartition)
    return op.emitOpError("expects tgpu.turns in the consumer's block");
  auto ids = programIn(ctx, *ctx.turnsOfPartition,
                       ctx.i32Of(ctx.mapped(op.getTurn())));
  for (auto [result, id] : llvm::zip(op.getResults(), ids))
    ctx.mapping.map(
        result,
        arith::IndexCastUIOp::create(b, b.getIndexType(), id).getResult());
  return success();
}

static void lowerAnew(NvidiaContext &ctx, AnewOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value number = arith::IndexCastUIOp::create(b, b.getI64Type(),
                                              ctx.mapped(op.getValue()));
  ctx.mapping.map(op.getResult(), arith::IndexCastUIOp::create(
                                      b, b.getIndexType(), hide(ctx, number))
                                      .getResult());
}

/// What the scalars above make of a program's number is not used: the partition
/// has its own for each program.
static LogicalResult lowerLoopOfPartition(NvidiaContext &ctx, Block &region) {
  if (ProgramsOp programs = takenPrograms(ctx.kernel)) {
    mapPrograms(ctx, {ctx.i32(0), ctx.i32(0), ctx.i32(0)});
    return failure(failed(lowerScalarsOnce(ctx, programs)) ||
                   failed(lowerBlock(ctx, region)));
  }
  Turns turns = takeTurns(ctx);
  llvm::SaveAndRestore restore(ctx.turnsOfPartition, &turns);
  mapPrograms(ctx, {ctx.i32(0), ctx.i32(0), ctx.i32(0)});
  for (Operation &op : ctx.kernel.getBody().front())
    if (!isa<WarpSpecializeOp>(op) && failed(lowerOp(ctx, &op)))
      return failure();
  return lowerBlock(ctx, region);
}

bool fa::isKernelWait(Operation &op) {
  return isa<AwaitKernelOp, BeginNextOp>(op);
}

LogicalResult
fa::lowerScalarsInLoop(NvidiaContext &ctx,
                       llvm::function_ref<bool(Operation &)> isLeftOut) {
  for (Operation &op : ctx.kernel.getBody().front()) {
    if (isa<WarpSpecializeOp>(op) || isLeftOut(op))
      continue;
    if (failed(lowerOp(ctx, &op)))
      return failure();
    if (auto size = dyn_cast<memref::DimOp>(op))
      keepInLoop(ctx, size);
  }
  return success();
}

/// The kernel before is waited for where the scalars say so, behind a program's
/// divisions, which are what the first fetch needs; in each program, as nothing
/// remembers the first, and only that one takes time. A consumer, whose
/// registers are few, waits before its loop: nothing arrives sooner.
LogicalResult fa::lowerPartition(NvidiaContext &ctx, Block &region) {
  ImplicitLocOpBuilder &b = ctx.b;
  // What was made for the other partition is not there for this one.
  ctx.views.clear();
  if (!isPersistent(ctx)) {
    for (Value argument : region.getArguments())
      ctx.mapping.map(argument, ctx.index(0));
    // Others are opened again by who accesses them.
    for (Operation &op : ctx.kernel.getBody().front())
      if (isa<tile::PagedViewOp, tile::GroupedViewOp>(op) &&
          failed(lowerOp(ctx, &op)))
        return failure();
    return lowerBlock(ctx, region);
  }
  if (!region.getOps<TurnsOp>().empty() ||
      !region.getOps<HasProgramOp>().empty())
    return lowerLoopOfPartition(ctx, region);
  if (ProgramsOp programs = takenPrograms(ctx.kernel))
    return lowerTakenPartition(ctx, programs, region);
  auto partitions = cast<WarpSpecializeOp>(region.getParentOp());
  bool waitsFirst = region.getParent() == &partitions.getConsumer();
  Turns turns = takeTurns(ctx);
  for (Operation &op : ctx.kernel.getBody().front())
    if (waitsFirst && isKernelWait(op) && failed(lowerOp(ctx, &op)))
      return failure();
  auto loop =
      scf::ForOp::create(b, ctx.i32(0), turns.count, ctx.i32(1), ctx.index(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value turn = loop.getInductionVar();
  mapPrograms(ctx, programIn(ctx, turns, turn));
  ctx.mapping.map(
      region.getArgument(0),
      arith::IndexCastUIOp::create(b, b.getIndexType(), turn).getResult());
  ctx.mapping.map(region.getArgument(1), loop.getRegionIterArg(0));
  auto isDone = [&](Operation &op) { return waitsFirst && isKernelWait(op); };
  if (failed(lowerScalarsInLoop(ctx, isDone)) ||
      failed(lowerBlock(ctx, region)))
    return failure();
  auto passed = cast<PassedOp>(region.getTerminator());
  scf::YieldOp::create(b, ctx.mapped(passed.getSteps()));
  return success();
}

static void lowerBeginNext(NvidiaContext &ctx, BeginNextOp) {
  NVVM::GriddepcontrolOp::create(ctx.b,
                                 NVVM::GridDepActionKind::launch_dependents);
}

static void lowerAwaitKernel(NvidiaContext &ctx, AwaitKernelOp) {
  NVVM::GriddepcontrolOp::create(ctx.b, NVVM::GridDepActionKind::wait);
}

void fa::addProgramsLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerPrograms);
  ctx.registry.add(ctx, lowerTurns);
  ctx.registry.add(ctx, lowerProgramIn);
  addTakenProgramsLowerings(ctx);
  ctx.registry.add(ctx, lowerAnew);
  ctx.registry.add(ctx, lowerBeginNext);
  ctx.registry.add(ctx, lowerAwaitKernel);
}

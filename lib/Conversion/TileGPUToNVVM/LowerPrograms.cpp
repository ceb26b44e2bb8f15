//===- LowerPrograms.cpp - which block runs which programs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "fa/Conversion/TileGPUToSimt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

bool NvidiaLowering::isPersistent() const {
  return kernel->hasAttr(TileGPUDialect::persistentAttrName);
}

Value NvidiaLowering::programNumber() {
  Value block = blockNumber();
  if (!warpNumber)
    return block;
  int64_t programs = programsOfBlock(kernel);
  return arith::AddIOp::create(
      b, arith::MulIOp::create(b, block, i32(programs)), warpNumber);
}

/// The last block may have fewer programs than warps.
LogicalResult NvidiaLowering::lowerBodyOfWarp() {
  Value count = i32Of(extents[0]);
  for (Value extent : ArrayRef(extents).drop_front())
    count = arith::MulIOp::create(b, count, i32Of(extent));
  Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                      programNumber(), count);
  auto branch = scf::IfOp::create(b, isOne, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return SimtLowering::lowerBody();
}

/// The scalars of a persistent kernel belong to each of its programs: they are
/// lowered with the roles.
LogicalResult NvidiaLowering::lowerBody() {
  if (warpNumber)
    return lowerBodyOfWarp();
  if (!isPersistent())
    return SimtLowering::lowerBody();
  for (RolesOp roles : kernel.getBody().getOps<RolesOp>())
    return lowerRoles(roles);
  return kernel.emitOpError("expects roles where it is persistent");
}

/// A grid has one dimension, and clusters are along it.
Value NvidiaLowering::rankInCluster() {
  return arith::RemUIOp::create(b, blockNumber(), i32(clusterBlocks()));
}

namespace {

/// What many numbers below 2^31 are divided by: multiplied with a reciprocal,
/// which is made once. Its error is below 1 / 2^32 of a number, that of the
/// quotient below 1.
struct Divisor {
  Divisor(OpBuilder &b, Location loc, Value divisor)
      : divisor(divisor),
        reciprocal(arith::DivUIOp::create(
            b, loc,
            arith::ConstantIntOp::create(b, loc, b.getI32Type(), /*value=*/-1),
            divisor)) {}

  /// Of either, by a condition.
  Divisor(OpBuilder &b, Location loc, Value condition, const Divisor &x,
          const Divisor &y)
      : divisor(
            arith::SelectOp::create(b, loc, condition, x.divisor, y.divisor)),
        reciprocal(arith::SelectOp::create(b, loc, condition, x.reciprocal,
                                           y.reciprocal)) {}

  /// Quotient and remainder.
  std::pair<Value, Value> divide(ImplicitLocOpBuilder &b, Value x) const {
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

  Value divisor, reciprocal; ///< i32; the latter is (2^32 - 1) / divisor
};

} // namespace

/// In turn t of n blocks, block b runs the (t n + b)-th program in an order
/// along which the work of neighbours is alike. Where a mask lets the work
/// shrink along the first axis (a head's tiles of queries, the last one first),
/// that is up over every second program and down over the others, a section of
/// heads at a time: over some turns each block gets as much as any other, and
/// the last programs are short.
///
/// Blocks of a cluster are one here, and so are as many programs that are
/// neighbours on the first axis.
struct NvidiaLowering::Turns {
  Value programs, blocks, block; ///< how many, n, b; i32, as all numbers here
  Value tiles;                   ///< programs on the first axis
  Value count;                   ///< of the turns that this block takes part in
  Value lastSection;
  Divisor section;          ///< programs of a section
  Divisor heads, lastHeads; ///< of a section, of the last one
  Divisor axis1;            ///< programs on this axis
};

/// Of a section, at most. Over 330 causal problems of 512 to 20000 queries on
/// 78 to 132 blocks, the block with the most work has 1.2 % more than if each
/// program went to the block that is free first, longest first; with 2, 2 %;
/// with 8, 0.6 %, but then the keys of too many heads are read at a time.
static constexpr int32_t kSectionTurns = 4;

/// What follows from sizes alone is computed in each program: computed once, it
/// would fill the registers of uniform numbers in all loops. Not divisions.
void NvidiaLowering::keepInLoop(memref::DimOp size) {
  if (llvm::any_of(size->getUsers(), [](Operation *user) {
        return isa<arith::DivUIOp, arith::DivSIOp>(user);
      }))
    return;
  Value number = arith::IndexCastUIOp::create(b, b.getI64Type(), mapped(size));
  mapping.map(size.getResult(),
              arith::IndexCastUIOp::create(b, b.getIndexType(), hide(number))
                  .getResult());
}

LogicalResult NvidiaLowering::lowerTurns(TurnsOp op) {
  if (!turnsOfRole)
    return op.emitOpError("expects to be in the block of a persistent "
                          "kernel's consumer");
  mapping.map(op.getResult(), arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                           turnsOfRole->count)
                                  .getResult());
  return success();
}

LogicalResult NvidiaLowering::lowerProgramIn(ProgramInOp op) {
  if (!turnsOfRole)
    return op.emitOpError("expects tgpu.turns in the consumer's block");
  auto ids = programIn(*turnsOfRole, i32Of(mapped(op.getTurn())));
  for (auto [result, id] : llvm::zip(op.getResults(), ids))
    mapping.map(
        result,
        arith::IndexCastUIOp::create(b, b.getIndexType(), id).getResult());
  return success();
}

void NvidiaLowering::lowerAnew(AnewOp op) {
  Value number =
      arith::IndexCastUIOp::create(b, b.getI64Type(), mapped(op.getValue()));
  mapping.map(op.getResult(),
              arith::IndexCastUIOp::create(b, b.getIndexType(), hide(number))
                  .getResult());
}

/// What the scalars above make of a program's number is not used: the role has
/// its own for each program.
LogicalResult NvidiaLowering::lowerLoopOfRole(Block &region) {
  Turns turns = takeTurns();
  llvm::SaveAndRestore restore(turnsOfRole, &turns);
  mapPrograms({i32(0), i32(0), i32(0)});
  for (Operation &op : kernel.getBody().front())
    if (!isa<RolesOp>(op) && failed(lowerOp(&op)))
      return failure();
  return lowerBlock(region);
}

static bool isKernelWait(Operation &op) {
  return isa<AwaitKernelOp, BeginNextOp>(op);
}

/// The kernel before is waited for where the scalars say so, behind a program's
/// divisions, which are what the first fetch needs; in each program, as nothing
/// remembers the first, and only that one takes time. A consumer, whose
/// registers are few, waits before its loop: nothing arrives sooner.
LogicalResult NvidiaLowering::lowerRole(Block &region) {
  // What was made for the other role is not there for this one.
  views.clear();
  if (!isPersistent()) {
    for (Value argument : region.getArguments())
      mapping.map(argument, index(0));
    return lowerBlock(region);
  }
  if (!region.getOps<TurnsOp>().empty())
    return lowerLoopOfRole(region);
  auto roles = cast<RolesOp>(region.getParentOp());
  bool waitsFirst = region.getParent() == &roles.getConsumer();
  Turns turns = takeTurns();
  for (Operation &op : kernel.getBody().front())
    if (waitsFirst && isKernelWait(op) && failed(lowerOp(&op)))
      return failure();
  auto loop = scf::ForOp::create(b, i32(0), turns.count, i32(1), index(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value turn = loop.getInductionVar();
  mapPrograms(programIn(turns, turn));
  mapping.map(
      region.getArgument(0),
      arith::IndexCastUIOp::create(b, b.getIndexType(), turn).getResult());
  mapping.map(region.getArgument(1), loop.getRegionIterArg(0));
  for (Operation &op : kernel.getBody().front()) {
    if (isa<RolesOp>(op) || (waitsFirst && isKernelWait(op)))
      continue;
    if (failed(lowerOp(&op)))
      return failure();
    if (auto size = dyn_cast<memref::DimOp>(op))
      keepInLoop(size);
  }
  if (failed(lowerBlock(region)))
    return failure();
  auto passed = cast<PassedOp>(region.getTerminator());
  scf::YieldOp::create(b, mapped(passed.getSteps()));
  return success();
}

//===----------------------------------------------------------------------===//
// Turns of a persistent kernel
//===----------------------------------------------------------------------===//

NvidiaLowering::Turns NvidiaLowering::takeTurns() {
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(b, x, y); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y); };
  auto divideUp = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, add(x, sub(y, i32(1))), y);
  };
  Value cluster = i32(clusterBlocks());
  Value tiles = i32Of(extents[0]), axis1 = i32Of(extents[1]);
  Value blocks = NVVM::GridDimXOp::create(b, b.getI32Type());
  Value block = blockNumber();
  if (clusterBlocks() > 1) {
    tiles = divideUp(tiles, cluster);
    blocks = arith::DivUIOp::create(b, blocks, cluster);
    block = arith::DivUIOp::create(b, block, cluster);
  }
  Value allHeads = mul(axis1, i32Of(extents[2]));
  Value programs = mul(allHeads, tiles);
  auto [whole, rest] = divide(programs, blocks);
  Value takesOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, block, rest);
  Value one = arith::ExtUIOp::create(b, b.getI32Type(), takesOne);

  Value heads =
      divideUp(allHeads, divideUp(programs, mul(blocks, i32(kSectionTurns))));
  Value lastSection = sub(divideUp(allHeads, heads), i32(1));
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

std::array<Value, 3> NvidiaLowering::programIn(const Turns &turns, Value turn) {
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(b, x, y); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y); };
  Value number = add(mul(turn, turns.blocks), turns.block);
  auto [section, place] = turns.section.divide(b, number);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, section,
                                       turns.lastSection);
  Divisor heads(b, b.getLoc(), isLast, turns.lastHeads, turns.heads);
  Value size = mul(heads.divisor, turns.tiles);
  // The section's programs by tile, then by head, from the end: every second
  // one, and back over the others.
  Value isUp = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place,
                                     arith::ShRUIOp::create(b, size, i32(1)));
  Value twice = arith::ShLIOp::create(b, place, i32(1));
  Value last = sub(size, i32(1));
  Value up = sub(sub(last, i32(1)), twice);
  Value down = sub(twice, last);
  auto [tile, headInSection] =
      heads.divide(b, arith::SelectOp::create(b, isUp, up, down));
  Value head = add(mul(section, turns.heads.divisor), headInSection);
  auto [id2, id1] = turns.axis1.divide(b, head);
  if (clusterBlocks() > 1)
    tile = add(mul(tile, i32(clusterBlocks())), rankInCluster());
  return {tile, id1, id2};
}

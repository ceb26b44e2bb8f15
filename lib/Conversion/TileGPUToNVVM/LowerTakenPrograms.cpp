//===- LowerTakenPrograms.cpp - programs that are taken in turn -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp of the load partition, the dealer, takes numbers of programs from a
// counter in global memory and says in slots of shared memory which program a
// turn of the block has. All other warps read them: those that fetch, each for
// its channels, those that compute, and the thread that stores.
//
//===----------------------------------------------------------------------===//

#include "Turns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

ProgramsOp fa::takenPrograms(tile::KernelOp kernel) {
  auto all = kernel.getBody().getOps<ProgramsOp>();
  return all.empty() ? ProgramsOp() : *all.begin();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

namespace {

/// The slots of a kernel's `tgpu.programs`. Turns are i32.
class TakenSlots {
public:
  TakenSlots(NvidiaContext &ctx, ProgramsOp programs)
      : ctx(ctx), b(ctx.b), programs(programs) {}

  void initialize(int64_t readers) {
    int64_t slots = programs.getSlots();
    for (int64_t n = 0; n < 2 * slots; ++n)
      NVVM::MBarrierInitOp::create(b, barrier(ctx.i32(n)),
                                   ctx.i32(n < slots ? 1 : readers), Value());
  }

  //===--- The dealer ---===//

  /// Until all have left the slot of `turn`; those before the first use have.
  void awaitEmpty(Value turn) {
    Value before = arith::XOrIOp::create(b, phaseOf(turn), ctx.i32(1));
    SimtWaitPhaseOp::create(b, empty(turn), before);
  }

  /// By the lane that arrives: what it writes is there for who waits.
  void fill(Value turn, ArrayRef<Value> words, Value lane) {
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, ctx.i32(0));
    scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
      for (auto [n, word] : llvm::enumerate(words))
        LLVM::StoreOp::create(b, word, wordOf(turn, n));
      scf::YieldOp::create(b);
    });
    SimtArriveOp::create(b, full(turn), lane, Value(), /*ranks=*/1);
  }

  //===--- Who reads ---===//

  /// Whether there is a program in `turn`, i1, as soon as that is known.
  Value awaitProgram(Value turn) {
    SimtWaitPhaseOp::create(b, full(turn), phaseOf(turn));
    Value has = LLVM::LoadOp::create(b, b.getI32Type(), wordOf(turn, 0));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, has, ctx.i32(0));
  }

  /// The program's numbers on three axes, i32.
  std::array<Value, 3> readProgram(Value turn) {
    std::array<Value, 3> ids;
    for (auto [axis, id] : llvm::enumerate(ids))
      id = LLVM::LoadOp::create(b, b.getI32Type(), wordOf(turn, 1 + axis));
    return ids;
  }

  /// What was found of it, as the types of those numbers are.
  SmallVector<Value> readFound(Value turn) {
    SmallVector<Value> found;
    for (auto [n, type] : llvm::enumerate(programs.getFound().getTypes())) {
      Value word = LLVM::LoadOp::create(b, b.getI32Type(), wordOf(turn, 4 + n));
      found.push_back(
          type.isIndex() ? arith::IndexCastOp::create(b, type, word).getResult()
                         : word);
    }
    return found;
  }

  /// Of a warp once all of its lanes have read, or of a thread alone.
  void leave(Value turn) {
    Value lane = ctx.i32(0);
    if (ctx.runsInWholeWarps()) {
      NVVM::SyncWarpOp::create(b, ctx.i32(-1));
      lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(kWarpThreads - 1));
    }
    SimtArriveOp::create(b, empty(turn), lane, Value(), /*ranks=*/1);
  }

private:
  Value count() { return ctx.i32(programs.getSlots()); }
  Value slotOf(Value turn) { return arith::RemUIOp::create(b, turn, count()); }

  /// How often the slot of `turn` was used before, modulo 2.
  Value phaseOf(Value turn) {
    return arith::AndIOp::create(b, arith::DivUIOp::create(b, turn, count()),
                                 ctx.i32(1));
  }

  Value pointerTo(int64_t offset, Value number, int64_t bytes) {
    Value distance = arith::MulIOp::create(b, number, ctx.i32(bytes));
    Value at = arith::AddIOp::create(
        b, sharedBase(ctx, *programs.getOffset() + offset), distance);
    return LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), at);
  }

  Value wordOf(Value turn, int64_t word) {
    return pointerTo(4 * word, slotOf(turn), programs.getSlotBytes());
  }

  /// Behind the slots; those of full ones come first.
  Value barrier(Value number) {
    return pointerTo(programs.getSlots() * programs.getSlotBytes(), number, 8);
  }
  Value full(Value turn) { return barrier(slotOf(turn)); }
  Value empty(Value turn) {
    return barrier(arith::AddIOp::create(b, slotOf(turn), count()));
  }

  NvidiaContext &ctx;
  ImplicitLocOpBuilder &b;
  ProgramsOp programs;
};

} // namespace

void fa::initializeTaken(NvidiaContext &ctx, ProgramsOp programs,
                         int64_t readers) {
  TakenSlots(ctx, programs).initialize(readers);
}

//===----------------------------------------------------------------------===//
// The dealer
//===----------------------------------------------------------------------===//

namespace {

class Dealer {
public:
  Dealer(NvidiaContext &ctx, ProgramsOp programs)
      : ctx(ctx), b(ctx.b), programs(programs), slots(ctx, programs),
        turns(takeTurns(ctx)) {
    lane =
        arith::AndIOp::create(b, ctx.threadInBlock, ctx.i32(kWarpThreads - 1));
    counter = openView(ctx, programs.getCounter()).base;
    findNeeded();
  }

  /// Turn 0 is that of the block's number. Of the others one begins when its
  /// slot is empty, and takes numbers until one is not idle, of which there may
  /// be none.
  LogicalResult run() {
    // Nothing of what the kernel before leaves is read earlier.
    for (Operation &op : ctx.kernel.getBody().front())
      if (isKernelWait(op) && failed(lowerOp(ctx, &op)))
        return failure();
    Taken first;
    if (failed(find(turns.block, first)))
      return failure();
    slots.fill(ctx.i32(0), first.words, lane);
    Type i1 = b.getI1Type(), i32 = b.getI32Type();
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    SmallVector<Type> types = {i32, i1};
    SmallVector<Location> locs(2, b.getLoc());
    auto loop = scf::WhileOp::create(b, types, ValueRange{ctx.i32(1), yes});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
    scf::ConditionOp::create(b, before->getArgument(1), before->getArguments());
    Block *body = b.createBlock(&loop.getAfter(), {}, types, locs);
    Value turn = body->getArgument(0);
    slots.awaitEmpty(turn);
    Taken next;
    if (failed(find(take(), next)))
      return failure();
    Value isGiven = yes;
    if (next.idle) {
      Value isPassedOver = arith::AndIOp::create(b, next.exists, next.idle);
      isGiven = arith::XOrIOp::create(b, isPassedOver, yes);
    }
    scf::IfOp::create(b, isGiven, [&](OpBuilder &, Location) {
      slots.fill(turn, next.words, lane);
      scf::YieldOp::create(b);
    });
    Value one = arith::ExtUIOp::create(b, i32, isGiven);
    scf::YieldOp::create(
        b, ValueRange{arith::AddIOp::create(b, turn, one), next.exists});
    return success();
  }

private:
  struct Taken {
    SmallVector<Value> words;
    Value exists, idle; ///< i1; the latter null: none is
  };

  /// What the numbers that are found follow from, in the kernel's body.
  void findNeeded() {
    Block &body = ctx.kernel.getBody().front();
    SmallVector<Value> values(programs.getFound());
    if (programs.getIdle())
      values.push_back(programs.getIdle());
    while (!values.empty()) {
      Operation *op = values.pop_back_val().getDefiningOp();
      op = op ? body.findAncestorOpInBlock(*op) : nullptr;
      if (op && needed.insert(op))
        op->walk([&](Operation *inner) {
          llvm::append_range(values, inner->getOperands());
        });
    }
  }

  /// What there is to say of the program of this number, if there is one.
  LogicalResult find(Value number, Taken &taken) {
    taken.exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                         turns.programs);
    Value last = arith::SubIOp::create(b, turns.programs, ctx.i32(1));
    auto ids =
        programInOrder(ctx, turns, arith::MinUIOp::create(b, number, last));
    mapPrograms(ctx, ids);
    for (Operation &op : ctx.kernel.getBody().front())
      if (needed.contains(&op) && failed(lowerOp(ctx, &op)))
        return failure();
    taken.words.push_back(
        arith::ExtUIOp::create(b, b.getI32Type(), taken.exists));
    llvm::append_range(taken.words, ids);
    for (Value each : programs.getFound()) {
      Value found = ctx.mapped(each);
      taken.words.push_back(found.getType().isIndex() ? ctx.i32Of(found)
                                                      : found);
    }
    if (programs.getIdle())
      taken.idle = ctx.mapped(programs.getIdle());
    return success();
  }

  /// The next number: those of the blocks have been taken. All lanes have it.
  Value take() {
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, ctx.i32(0));
    auto taken = scf::IfOp::create(
        b, isFirst,
        [&](OpBuilder &, Location) {
          Value count = LLVM::AtomicRMWOp::create(
              b, LLVM::AtomicBinOp::add, counter, ctx.i32(1),
              LLVM::AtomicOrdering::monotonic, "device");
          scf::YieldOp::create(b, count);
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(b, ValueRange{ctx.i32(0)});
        });
    Value count = NVVM::ShflOp::create(
        b, b.getI32Type(), ctx.i32(-1), taken.getResult(0), ctx.i32(0),
        ctx.i32(kWarpThreads - 1), NVVM::ShflKind::idx, UnitAttr());
    return arith::AddIOp::create(b, count, turns.blocks);
  }

  NvidiaContext &ctx;
  ImplicitLocOpBuilder &b;
  ProgramsOp programs;
  TakenSlots slots;
  Turns turns;
  Value lane, counter;
  llvm::SetVector<Operation *> needed;
};

} // namespace

LogicalResult fa::lowerDealer(NvidiaContext &ctx, ProgramsOp programs) {
  ctx.views.clear();
  llvm::SaveAndRestore restore(ctx.fetcher, Fetcher::OfWarp);
  return Dealer(ctx, programs).run();
}

//===----------------------------------------------------------------------===//
// Other partitions
//===----------------------------------------------------------------------===//

/// Whether the dealer has found what `op` gives.
static bool isFound(Operation &op, ProgramsOp programs) {
  return op.getNumResults() && llvm::all_of(op.getResults(), [&](Value result) {
           return llvm::is_contained(programs.getFound(), result);
         });
}

LogicalResult fa::lowerTakenPartition(NvidiaContext &ctx, ProgramsOp programs,
                                      Block &region) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto partitions = cast<WarpSpecializeOp>(region.getParentOp());
  bool waitsFirst = region.getParent() == &partitions.getConsumer();
  Block &scalars = ctx.kernel.getBody().front();
  for (Operation &op : scalars)
    if (waitsFirst && isKernelWait(op) && failed(lowerOp(ctx, &op)))
      return failure();
  TakenSlots slots(ctx, programs);
  Type i32 = b.getI32Type(), index = b.getIndexType();
  SmallVector<Type> types = {i32, index};
  SmallVector<Location> locs(2, b.getLoc());
  auto loop =
      scf::WhileOp::create(b, types, ValueRange{ctx.i32(0), ctx.index(0)});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value has = slots.awaitProgram(before->getArgument(0));
  scf::ConditionOp::create(b, has, before->getArguments());
  Block *body = b.createBlock(&loop.getAfter(), {}, types, locs);
  Value turn = body->getArgument(0);
  mapPrograms(ctx, slots.readProgram(turn));
  ctx.mapping.map(programs.getFound(), slots.readFound(turn));
  slots.leave(turn);
  ctx.mapping.map(region.getArgument(0),
                  arith::IndexCastUIOp::create(b, index, turn).getResult());
  ctx.mapping.map(region.getArgument(1), body->getArgument(1));
  auto isDone = [&](Operation &op) {
    return isFound(op, programs) || (waitsFirst && isKernelWait(op));
  };
  if (failed(lowerScalarsInLoop(ctx, isDone)) ||
      failed(lowerBlock(ctx, region)))
    return failure();
  auto passed = cast<PassedOp>(region.getTerminator());
  Value next = arith::AddIOp::create(b, turn, ctx.i32(1));
  scf::YieldOp::create(b, ValueRange{next, ctx.mapped(passed.getSteps())});
  return success();
}

LogicalResult fa::lowerScalarsOnce(NvidiaContext &ctx, ProgramsOp programs) {
  for (Value found : programs.getFound())
    ctx.mapping.map(found,
                    found.getType().isIndex() ? ctx.index(0) : ctx.i32(0));
  for (Operation &op : ctx.kernel.getBody().front())
    if (!isa<WarpSpecializeOp>(op) && !isFound(op, programs) &&
        failed(lowerOp(ctx, &op)))
      return failure();
  return success();
}

void fa::readTakenProgram(NvidiaContext &ctx, ProgramsOp programs,
                          ProgramInOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TakenSlots slots(ctx, programs);
  Value turn = ctx.i32Of(ctx.mapped(op.getTurn()));
  for (auto [result, id] :
       llvm::zip(op.getResults().take_front(3), slots.readProgram(turn)))
    ctx.mapping.map(
        result,
        arith::IndexCastUIOp::create(b, b.getIndexType(), id).getResult());
  ctx.mapping.map(op.getFound(), slots.readFound(turn));
}

static void lowerHasProgram(NvidiaContext &ctx, HasProgramOp op) {
  TakenSlots slots(ctx, takenPrograms(ctx.kernel));
  Value turn = ctx.i32Of(ctx.mapped(op.getTurn()));
  ctx.mapping.map(op.getResult(), slots.awaitProgram(turn));
}

static void lowerLeaveProgram(NvidiaContext &ctx, LeaveProgramOp op) {
  TakenSlots(ctx, takenPrograms(ctx.kernel))
      .leave(ctx.i32Of(ctx.mapped(op.getTurn())));
}

void fa::addTakenProgramsLowerings(NvidiaContext &ctx) {
  ctx.registry.skip<ProgramsOp>(); // the dealer's
  ctx.registry.add(ctx, lowerHasProgram);
  ctx.registry.add(ctx, lowerLeaveProgram);
}

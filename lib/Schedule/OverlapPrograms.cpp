//===- OverlapPrograms.cpp - tgpu-overlap-programs ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramParts.h"

#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOVERLAPPROGRAMS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Divisions by a size are made once for all programs.
static bool divides(memref::DimOp size) {
  return llvm::any_of(size->getUsers(), [](Operation *user) {
    return isa<arith::DivUIOp, arith::DivSIOp>(user);
  });
}

namespace {

/// Builds the loop over programs. What belongs to one of them, tiles and
/// numbers, is in an IRMapping of its own; numbers are cloned when they are
/// asked for.
class ProgramOverlapper {
public:
  ProgramOverlapper(KernelOp kernel, Block &region, ProgramParts &parts)
      : kernel(kernel), region(region), parts(parts),
        passed(cast<PassedOp>(region.getTerminator())),
        b(passed.getLoc(), passed) {
    for (auto found : kernel.getBody().getOps<ProgramsOp>())
      programs = found;
    parts.forEachRest([&](Operation *op) {
      takesTurns |= op->walk([](OrderWaitOp) {
                        return WalkResult::interrupt();
                      }).wasInterrupted();
    });
  }

  void run() {
    std::vector<Operation *> old;
    for (Operation &op : region.without_terminator())
      old.push_back(&op);
    carried = parts.takenFromFirst();
    Value zero = index(0), turns;
    if (programs)
      HasProgramOp::create(b, b.getI1Type(), zero);
    else
      turns = TurnsOp::create(b, b.getIndexType());
    IRMapping first = enter(zero, zero);
    cloneEffects(parts.before, first);
    cloneAll(parts.first, first);
    SmallVector<Value> init = {zero};
    appendCarried(init, first);
    passed.getStepsMutable().assign(programs
                                        ? loopWhileTaken(zero, init)
                                        : loopOverTurns(turns, zero, init));
    for (Operation *op : llvm::reverse(old))
      op->erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  //===--- The loop ---===//

  /// Gives how many steps have passed behind it.
  Value loopOverTurns(Value turns, Value zero, ValueRange init) {
    auto loop = scf::ForOp::create(b, zero, turns, index(1), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto hasNext = [&](Value next) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, turns);
    };
    auto built =
        buildProgram(loop.getInductionVar(), loop.getRegionIterArgs(), hasNext);
    scf::YieldOp::create(b, built.values);
    return loop.getResult(0);
  }

  /// The same where programs are taken in turn: until there is none.
  Value loopWhileTaken(Value zero, ArrayRef<Value> init) {
    SmallVector<Value> values = {zero};
    llvm::append_range(values, init);
    SmallVector<Type> types(ValueRange(values).getTypes());
    SmallVector<Location> locs(types.size(), b.getLoc());
    auto loop = scf::WhileOp::create(b, types, values);
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&loop.getBefore(), {}, types, locs);
    auto hasNext = [&](Value next) -> Value {
      return HasProgramOp::create(b, b.getI1Type(), next);
    };
    auto built = buildProgram(body->getArgument(0),
                              body->getArguments().drop_front(), hasNext);
    built.values.insert(built.values.begin(), built.next);
    scf::ConditionOp::create(b, built.hasNext, built.values);
    Block *behind = b.createBlock(&loop.getAfter(), {}, types, locs);
    scf::YieldOp::create(b, behind->getArguments());
    return loop.getResult(1);
  }

  /// The program of a turn, before which `steps` steps have passed.
  IRMapping enter(Value turn, Value steps) {
    IRMapping program;
    SmallVector<Type> types(3, b.getIndexType());
    if (programs)
      llvm::append_range(types, programs.getFound().getTypes());
    auto ids = ProgramInOp::create(b, types, turn);
    if (programs)
      program.map(programs.getFound(), ids.getFound());
    kernel.walk([&](ProgramIdOp id) {
      program.map(id.getResult(), ids.getResult(id.getAxis()));
    });
    program.map(region.getArguments(), ValueRange{turn, steps});
    for (Value zero : parts.zeros) {
      auto type = cast<RankedTensorType>(zero.getType());
      program.map(zero, arith::ConstantOp::create(
                            b, type, DenseElementsAttr::get(type, 0.0f))
                            .getResult());
    }
    return program;
  }

  //===--- Numbers of a program ---===//

  Value valueOf(Value value, IRMapping &program) {
    if (Value known = program.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || isa<ConsumerIdOp, ChannelOp, AllocOp, NumProgramsOp>(op))
      return value;
    bool isAbove = op->getBlock() == &kernel.getBody().front();
    // What hides a number has effects, but may be computed again.
    if (isAbove ? op->hasTrait<OpTrait::ConstantLike>()
                : !isMemoryEffectFree(op) && !isa<AnewOp>(op))
      return value;
    if (auto size = dyn_cast<memref::DimOp>(op)) {
      Value anew = divides(size)
                       ? value
                       : Value(AnewOp::create(b, b.getIndexType(), value));
      program.map(value, anew);
      return anew;
    }
    clone(op, program);
    return program.lookup(value);
  }

  Operation *clone(Operation *op, IRMapping &program) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          valueOf(operand, program);
    });
    return b.clone(*op, program);
  }

  void cloneOnce(Operation *op, IRMapping &program) {
    if (!op->getNumResults() || !program.contains(op->getResult(0)))
      clone(op, program);
  }

  void cloneAll(ArrayRef<Operation *> ops, IRMapping &program) {
    for (Operation *op : ops)
      cloneOnce(op, program);
  }

  /// Without what is computed when it is asked for.
  void cloneEffects(ArrayRef<Operation *> ops, IRMapping &program) {
    for (Operation *op : ops)
      if (!isMemoryEffectFree(op))
        clone(op, program);
  }

  void appendCarried(SmallVector<Value> &values, IRMapping &program) {
    for (Value value : carried)
      values.push_back(program.lookup(value));
  }

  //===--- A program ---===//

  /// What a turn leaves to the next one.
  struct Turn {
    Value next, hasNext; ///< its number, and whether there is one
    SmallVector<Value> values;
  };

  /// The program of `turn`, which has been begun and left `args`, and the
  /// beginning of the next one.
  Turn buildProgram(Value turn, ValueRange args,
                    llvm::function_ref<Value(Value)> askForNext) {
    IRMapping now = enter(turn, args.front());
    if (programs)
      LeaveProgramOp::create(b, turn);
    now.map(carried, args.drop_front());
    cloneAll(parts.tiles, now);
    for (auto [result, value] :
         llvm::zip(parts.branch.getResults(), parts.left().getOperands()))
      if (value != parts.outputWait.getResult())
        now.map(result, valueOf(value, now));
    cloneEffects(parts.passing, now);
    Value steps = valueOf(passed.getSteps(), now);
    Value next = arith::AddIOp::create(b, turn, index(1));
    Value hasNext = askForNext(next);
    SmallVector<Type> types(args.getTypes());
    types.push_back(parts.outputWait.getResult().getType());
    auto branch = scf::IfOp::create(b, types, hasNext, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      buildNext(now, next, steps);
      b.setInsertionPointToStart(branch.elseBlock());
      buildLast(now, steps);
    }
    for (auto [result, value] :
         llvm::zip(parts.branch.getResults(), parts.left().getOperands()))
      if (value == parts.outputWait.getResult())
        now.map(result, branch.getResults().back());
    cloneAll(parts.behind, now);
    return {next, hasNext, SmallVector<Value>(branch.getResults().drop_back())};
  }

  /// The last output of a program alone.
  void buildLast(IRMapping now, Value steps) {
    cloneAll(parts.last, now);
    SmallVector<Value> values = {steps};
    for (Value value : carried) {
      auto type = cast<RankedTensorType>(value.getType());
      values.push_back(arith::ConstantOp::create(b, type, b.getZeroAttr(type)));
    }
    values.push_back(now.lookup(parts.outputWait.getResult()));
    scf::YieldOp::create(b, values);
  }

  /// The last output of a program and the first tile of the next one, as in
  /// the middle of a program (tgpu-overlap-dots).
  void buildNext(IRMapping now, Value turn, Value steps) {
    IRMapping next = enter(turn, steps);
    cloneEffects(parts.before, next);
    auto [scores, softmax] = splitBehind(parts.first, parts.scores);
    auto [output, ending] = splitBehind(parts.last, parts.output);
    if (takesTurns)
      OrderWaitOp::create(b);
    cloneAll(scores, next);
    cloneAll(output, now);
    if (takesTurns)
      OrderArriveOp::create(b);
    for (Operation *op : softmax)
      if (op != parts.release && op != parts.rounding)
        cloneOnce(op, next);
    cast<DotWaitOp>(next.lookup(parts.scoresWait.getResult()).getDefiningOp())
        .setPending(1);
    Value rounded = endOutput(ending, now, next);
    next.map(parts.rounding.getResult(), rounded);
    SmallVector<Value> values = {steps};
    appendCarried(values, next);
    values.push_back(now.lookup(parts.outputWait.getResult()));
    scf::YieldOp::create(b, values);
  }

  /// Waits for the output of `now`; gives P of `next`, rounded into registers
  /// that the output has read until then.
  Value endOutput(ArrayRef<Operation *> ending, IRMapping &now,
                  IRMapping &next) {
    Value unrounded = next.lookup(parts.rounding.getIn());
    // Begun before the exponents, the wait would hold them up.
    ReleaseOp::create(b, parts.release.getChannel(),
                      valueOf(parts.release.getStep(), next), unrounded);
    DotWaitOp last = parts.outputWait;
    auto wait = DotWaitOp::create(
        b, last.getResult().getType(), unrounded.getType(),
        now.lookup(last.getRunning()), unrounded, /*pending=*/0);
    now.map(last.getResult(), wait.getResult());
    for (Operation *op : ending)
      if (op != last)
        clone(op, now);
    return arith::TruncFOp::create(b, parts.rounding.getType(),
                                   wait.getPassed().front());
  }

  static std::pair<ArrayRef<Operation *>, ArrayRef<Operation *>>
  splitBehind(ArrayRef<Operation *> ops, Operation *op) {
    size_t count = llvm::find(ops, op) - ops.begin() + 1;
    return {ops.take_front(count), ops.drop_front(count)};
  }

  KernelOp kernel;
  Block &region;
  ProgramParts &parts;
  PassedOp passed;
  ProgramsOp programs; ///< null: a block's programs follow from its number
  ImplicitLocOpBuilder b;
  bool takesTurns = false;
  /// Tiles of the first tile of keys that the rest of a program takes.
  SmallVector<Value> carried;
};

struct TgpuOverlapPrograms final
    : fa::impl::TgpuOverlapProgramsBase<TgpuOverlapPrograms> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel->hasAttr(TileGPUDialect::persistentAttrName) ||
        !kernel->hasAttr(KernelOp::someKeysAttrName))
      return;
    SmallVector<WarpSpecializeOp> all(
        kernel.getBody().getOps<WarpSpecializeOp>());
    for (WarpSpecializeOp partitions : all) {
      Block &region = partitions.getConsumer().front();
      ProgramParts parts;
      if (!parts.take(region, partitions.getConsumers()))
        continue;
      ProgramOverlapper(kernel, region, parts).run();
    }
    kernel.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }
};

} // namespace

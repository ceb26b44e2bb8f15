//===- PipelineCopies.cpp - tgpu-pipeline-copies --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSlice.h"
#include "OwnOutput.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetOperations.h"

#include <vector>

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUPIPELINECOPIES
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// A loop whose copies can begin earlier.
struct CopyLoop {
  explicit CopyLoop(scf::ForOp loop) : loop(loop), slice(loop) {}

  /// False: there is no copy in it, or one depends on what the loop computes.
  bool match() {
    for (CopyOp copy : loop.getBody()->getOps<CopyOp>()) {
      copies.push_back(copy);
      buffers.insert(copy.getBuffer());
      if (!slice.add(copy))
        return false;
    }
    return !copies.empty();
  }

  /// Whether its tiles can come behind those of `before` into the same slots:
  /// nothing that touches memory stands between, and what its copies need is
  /// there when the `first` loop begins.
  bool follows(const CopyLoop &before, scf::ForOp first) const {
    scf::ForOp mine = loop, other = before.loop;
    if (mine->getBlock() != other->getBlock() ||
        mine.getStep() != other.getStep() ||
        buffers.size() != before.buffers.size() ||
        !llvm::set_is_subset(buffers, before.buffers))
      return false;
    for (Operation *op = other->getNextNode(); op != mine;
         op = op->getNextNode())
      if (!op || !isMemoryEffectFree(op))
        return false;
    DominanceInfo dominance;
    SmallVector<Value> needed(slice.outside());
    needed.append({mine.getLowerBound(), mine.getUpperBound()});
    return llvm::all_of(needed, [&](Value value) {
      return dominance.properlyDominates(value, first);
    });
  }

  scf::ForOp loop;
  LoopSlice slice;
  SmallVector<CopyOp> copies;
  SetVector<Value> buffers;
};

/// Loops one after the other, whose tiles are one sequence. Copies become
///
///   barrier                          what lay in the slots before was read
///   for s < stages - 1:              the first tiles
///     copy tile s into slot s
///     commit
///   in each loop, for i, slot:       from 0 or from where the one before ended
///     wait stages - 2                this iteration's tiles are there
///     barrier                        for all; nobody reads the next slot
///     copy the tile stages - 1 behind this into slot + stages - 1
///     commit
///     ...                            reads slot
///     yield slot + 1                 modulo stages
///   wait 0
///   barrier                          what comes next may write the slots
///
/// A tile behind the end of its loop is one of the next:
///
///   if (at < end) copies of this loop
///   else if (next begin < next end) copies of the next loop, and so on
class LoopPipeliner {
public:
  LoopPipeliner(MutableArrayRef<CopyLoop> loops, int64_t stages, int64_t limit)
      : loops(loops), stages(stages), limit(limit),
        b(loops[0].loop.getLoc(), loops[0].loop) {}

  /// Does nothing if there is to be one slot or no room for more.
  void run() {
    if (stages == 1)
      return leave("its plan has one slot");
    if (int64_t bytes = bytesGrown(); bytes > limit)
      return leave(llvm::Twine(stages) + " stages take " + llvm::Twine(bytes) +
                   " bytes of shared memory, where a block may have " +
                   llvm::Twine(limit));
    growBuffers();
    buildPrologue();
    Value slot = index(0);
    for (unsigned n = 0; n < loops.size(); ++n) {
      slot = addSlot(loops[n], slot);
      buildSteadyState(n);
    }
    for (CopyLoop &tiles : loops)
      replaceSlots(tiles);
    b.setInsertionPointAfter(loops.back().loop);
    WaitOp::create(b, 0);
    BarrierOp::create(b);
  }

private:
  void leave(const llvm::Twine &why) {
    for (CopyLoop &tiles : loops) {
      tiles.loop->emitRemark("copies each tile when it needs it: ") << why;
      tiles.loop->setAttr(TileGPUDialect::unpipelinedAttrName, b.getUnitAttr());
    }
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// What all buffers of the kernel take once those of the loops have their
  /// slots.
  int64_t bytesGrown() {
    int64_t bytes = 0;
    for (auto alloc :
         loops[0].loop->getParentOfType<KernelOp>().getBody().getOps<AllocOp>())
      bytes += loops[0].buffers.contains(alloc)
                   ? stages * alloc.getType().getSlotBytes()
                   : alloc.getType().getBytes();
    return bytes;
  }

  void growBuffers() {
    for (Value buffer : loops[0].buffers) {
      auto type = cast<BufferType>(buffer.getType());
      buffer.setType(BufferType::get(type.getContext(), stages, type.getShape(),
                                     type.getElementType(), type.getLayout()));
    }
  }

  /// The copies of the tile at `at` of loop `n`, or of a later one if it lies
  /// behind the end, if there is one, into `slot`.
  void buildCopies(unsigned n, Value at, Value slot) {
    CopyLoop &tiles = loops[n];
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                         tiles.loop.getUpperBound());
    bool isLast = n + 1 == loops.size();
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/!isLast);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    mapping.map(tiles.loop.getInductionVar(), at);
    tiles.slice.clone(b, mapping);
    for (CopyOp copy : tiles.copies)
      cast<CopyOp>(b.clone(*copy, mapping)).getSlotMutable().assign(slot);
    if (isLast)
      return;
    b.setInsertionPointToStart(branch.elseBlock());
    // A function of `at` also where it can only be the first: what an iteration
    // never changes would be computed once and kept in registers.
    Value next = arith::AddIOp::create(b, loops[n + 1].loop.getLowerBound(),
                                       behindEnd(tiles.loop, at));
    buildCopies(n + 1, next, slot);
  }

  /// How far behind the last tile's end `at` is, whole tiles.
  Value behindEnd(scf::ForOp loop, Value at) {
    Value begin = loop.getLowerBound(), step = loop.getStep();
    Value length = arith::SubIOp::create(b, loop.getUpperBound(), begin);
    length = arith::MaxSIOp::create(b, length, index(0));
    Value tiles = arith::CeilDivUIOp::create(b, length, step);
    Value end =
        arith::AddIOp::create(b, begin, arith::MulIOp::create(b, tiles, step));
    return arith::SubIOp::create(b, at, end);
  }

  Value stepsAfter(Value iteration, Value step, int64_t steps) {
    Value distance = arith::MulIOp::create(b, step, index(steps));
    return arith::AddIOp::create(b, iteration, distance);
  }

  /// `slot` + `steps`, modulo stages. Of two slots it is the other one: one
  /// instruction instead of nine.
  Value slotAfter(Value slot, int64_t steps) {
    if (stages == 2)
      return arith::SubIOp::create(b, index(1), slot);
    Value sum = arith::AddIOp::create(b, slot, index(steps));
    Value wraps =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, sum, index(stages));
    Value less = arith::SubIOp::create(b, sum, index(stages));
    return arith::SelectOp::create(b, wraps, less, sum);
  }

  void buildPrologue() {
    scf::ForOp first = loops[0].loop;
    BarrierOp::create(b);
    for (int64_t s = 0; s + 1 < stages; ++s) {
      buildCopies(0, stepsAfter(first.getLowerBound(), first.getStep(), s),
                  index(s));
      CommitOp::create(b);
    }
  }

  /// The loop carries the number of its slot, from `start` on; gives the one
  /// behind it.
  Value addSlot(CopyLoop &tiles, Value start) {
    IRRewriter rewriter(b.getContext());
    rewriter.setInsertionPoint(tiles.loop);
    auto next = [&](OpBuilder &builder, Location loc,
                    ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      ImplicitLocOpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(builder.getInsertionBlock(),
                          builder.getInsertionPoint());
      return {slotAfter(args.back(), 1)};
    };
    tiles.loop = cast<scf::ForOp>(*tiles.loop.replaceWithAdditionalYields(
        rewriter, start,
        /*replaceInitOperandUsesInLoop=*/false, next));
    return tiles.loop.getResults().back();
  }

  static Value slotOf(const CopyLoop &tiles) {
    return scf::ForOp(tiles.loop).getRegionIterArgs().back();
  }

  void buildSteadyState(unsigned n) {
    scf::ForOp loop = loops[n].loop;
    b.setInsertionPointToStart(loop.getBody());
    WaitOp::create(b, stages - 2);
    BarrierOp::create(b);
    Value ahead = slotAfter(slotOf(loops[n]), stages - 1);
    buildCopies(n,
                stepsAfter(loop.getInductionVar(), loop.getStep(), stages - 1),
                ahead);
    CommitOp::create(b);
  }

  /// The loop's own copies and what waited for them go; its reads are of the
  /// current slot.
  void replaceSlots(CopyLoop &tiles) {
    tiles.loop.walk([&](ReadOp read) {
      if (tiles.buffers.contains(read.getBuffer()))
        read.getSlotMutable().assign(slotOf(tiles));
    });
    SmallVector<Operation *> old;
    bool waits = false;
    for (CopyOp copy : tiles.copies) {
      old.push_back(copy);
      for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
        if (!isa<CommitOp, WaitOp, BarrierOp>(op))
          break;
        old.push_back(op);
        waits = true;
      }
    }
    // The barrier against the next iteration's copies is that of its start.
    Operation *last = tiles.loop.getBody()->getTerminator()->getPrevNode();
    while (last && !isa<BarrierOp>(last) && isPure(last))
      last = last->getPrevNode();
    if (waits && isa_and_present<BarrierOp>(last) &&
        tiles.loop.getBody()->getOps<WriteOp>().empty())
      old.push_back(last);
    for (Operation *op : old)
      op->erase();
  }

  MutableArrayRef<CopyLoop> loops;
  int64_t stages, limit;
  ImplicitLocOpBuilder b;
};

struct TgpuPipelineCopies final
    : fa::impl::TgpuPipelineCopiesBase<TgpuPipelineCopies> {
  using TgpuPipelineCopiesBase::TgpuPipelineCopiesBase;

  void runOnOperation() override {
    if (stages < 2) {
      emitError(getOperation().getLoc())
          << "expected at least 2 stages, found " << stages.getValue();
      return signalPassFailure();
    }
    OwnOutput own(getOperation());
    std::vector<std::vector<CopyLoop>> chains;
    getOperation().walk([&](scf::ForOp loop) {
      CopyLoop tiles(loop);
      if (!tiles.match())
        return;
      // What was fetched ahead would not be what an iteration stores.
      if (llvm::any_of(tiles.copies, [&](CopyOp copy) {
            return own.contains(copy.getSource());
          }))
        return leave(loop);
      if (chains.empty() ||
          !tiles.follows(chains.back().back(), chains.back().front().loop))
        chains.emplace_back();
      chains.back().push_back(std::move(tiles));
    });
    for (std::vector<CopyLoop> &chain : chains)
      LoopPipeliner(chain, countStages(chain.front()), limit).run();
  }

  static void leave(scf::ForOp loop) {
    loop->emitRemark("copies each tile when it needs it: the kernel writes "
                     "what it reads");
    loop->setAttr(TileGPUDialect::unpipelinedAttrName,
                  UnitAttr::get(loop.getContext()));
  }

  /// As many as the plan of uniform warps says, or as there is room for.
  int64_t countStages(const CopyLoop &tiles) {
    SchedulePlan plan = planOf(getOperation());
    if (!plan.isSpecialized() && plan.slots.step)
      return plan.slots.step;
    auto warps = getOperation()->getAttrOfType<IntegerAttr>(
        TileGPUDialect::warpsAttrName);
    int64_t bytes = 0;
    for (Value buffer : tiles.buffers)
      bytes += cast<BufferType>(buffer.getType()).getSlotBytes();
    bool hasRoom = (stages + 1) * bytes <= oneWarpBytes;
    return stages + (warps && warps.getInt() == 1 && hasRoom);
  }
};

} // namespace

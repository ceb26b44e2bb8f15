//===- PipelineCopies.cpp - tgpu-pipeline-copies --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSlice.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUPIPELINECOPIES
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// One loop. Copies become
///
///   barrier                          what lay in the slots before was read
///   for s < stages - 1:              the first tiles
///     if (begin + s * step < end) copy into slot s
///     commit
///   for i, slot = 0:
///     wait stages - 2                this iteration's tiles are there
///     barrier                        for all; nobody reads the next slot
///     if (i + (stages - 1) * step < end) copy into slot + stages - 1
///     commit
///     ...                            reads slot
///     yield slot + 1                 modulo stages
///   wait 0
///   barrier                          what comes next may write the slots
class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, int64_t stages, int64_t limit)
      : loop(loop), stages(stages), limit(limit), slice(loop),
        b(loop.getLoc(), loop) {}

  /// Does nothing if a copy depends on what the loop computes, or if there is
  /// no room for more slots.
  void run() {
    for (CopyOp copy : loop.getBody()->getOps<CopyOp>()) {
      copies.push_back(copy);
      if (!slice.add(copy))
        return;
    }
    if (copies.empty())
      return;
    if (bytesGrown() > limit) {
      loop->emitRemark("copies each tile when it needs it: ")
          << stages << " stages take " << bytesGrown()
          << " bytes of shared memory, where a block may have " << limit;
      loop->setAttr(TileGPUDialect::unpipelinedAttrName, b.getUnitAttr());
      return;
    }
    growBuffers();
    buildPrologue();
    addSlot();
    buildSteadyState();
    replaceSlots();
    b.setInsertionPointAfter(loop);
    WaitOp::create(b, 0);
    BarrierOp::create(b);
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// What all buffers of the kernel take once this loop's have their slots.
  int64_t bytesGrown() {
    llvm::SmallPtrSet<Operation *, 4> growing;
    for (CopyOp copy : copies)
      growing.insert(copy.getBuffer().getDefiningOp());
    int64_t bytes = 0;
    for (auto alloc :
         loop->getParentOfType<KernelOp>().getBody().getOps<AllocOp>())
      bytes += growing.contains(alloc) ? stages * alloc.getType().getSlotBytes()
                                       : alloc.getType().getBytes();
    return bytes;
  }

  void growBuffers() {
    for (CopyOp copy : copies) {
      BufferType type = copy.getBuffer().getType();
      if (buffers.insert(copy.getBuffer()) && type.getSlots() != stages)
        copy.getBuffer().setType(
            BufferType::get(type.getContext(), stages, type.getShape(),
                            type.getElementType(), type.getLayout()));
    }
  }

  /// The copies of the iteration at `iteration`, if there is one, into `slot`.
  void buildCopies(Value iteration, Value slot) {
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                         iteration, loop.getUpperBound());
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), iteration);
      slice.clone(b, mapping);
      for (CopyOp copy : copies) {
        auto cloned = cast<CopyOp>(b.clone(*copy, mapping));
        cloned.getSlotMutable().assign(slot);
      }
    }
    CommitOp::create(b);
  }

  Value stepsAfter(Value iteration, int64_t steps) {
    Value distance = arith::MulIOp::create(b, loop.getStep(), index(steps));
    return arith::AddIOp::create(b, iteration, distance);
  }

  Value wrapped(Value slot) {
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, slot,
                                        index(stages));
    Value less = arith::SubIOp::create(b, slot, index(stages));
    return arith::SelectOp::create(b, wraps, less, slot);
  }

  void buildPrologue() {
    b.setInsertionPoint(loop);
    BarrierOp::create(b);
    for (int64_t s = 0; s + 1 < stages; ++s)
      buildCopies(stepsAfter(loop.getLowerBound(), s), index(s));
  }

  void addSlot() {
    IRRewriter rewriter(b.getContext());
    rewriter.setInsertionPoint(loop);
    Value zero = arith::ConstantIndexOp::create(rewriter, loop.getLoc(), 0);
    auto next = [&](OpBuilder &builder, Location loc,
                    ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      ImplicitLocOpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(builder.getInsertionBlock(),
                          builder.getInsertionPoint());
      Value sum = arith::AddIOp::create(b, args.front(), index(1));
      return {wrapped(sum)};
    };
    auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, zero,
        /*replaceInitOperandUsesInLoop=*/false, next));
    loop = replaced;
    slot = loop.getRegionIterArgs().back();
  }

  void buildSteadyState() {
    b.setInsertionPointToStart(loop.getBody());
    WaitOp::create(b, stages - 2);
    BarrierOp::create(b);
    Value ahead = wrapped(arith::AddIOp::create(b, slot, index(stages - 1)));
    buildCopies(stepsAfter(loop.getInductionVar(), stages - 1), ahead);
  }

  /// The loop's own copies and what waited for them go; its reads are of the
  /// current slot.
  void replaceSlots() {
    loop.walk([&](ReadOp read) {
      if (buffers.contains(read.getBuffer()))
        read.getSlotMutable().assign(slot);
    });
    SmallVector<Operation *> old;
    bool waits = false;
    for (CopyOp copy : copies) {
      old.push_back(copy);
      for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
        if (!isa<CommitOp, WaitOp, BarrierOp>(op))
          break;
        old.push_back(op);
        waits = true;
      }
    }
    // The barrier against the next iteration's copies is that of its start.
    Operation *last = loop.getBody()->getTerminator()->getPrevNode();
    while (last && !isa<BarrierOp>(last) && isPure(last))
      last = last->getPrevNode();
    if (waits && isa_and_present<BarrierOp>(last) &&
        loop.getBody()->getOps<WriteOp>().empty())
      old.push_back(last);
    for (Operation *op : old)
      op->erase();
  }

  scf::ForOp loop;
  int64_t stages, limit;
  LoopSlice slice;
  ImplicitLocOpBuilder b;
  SmallVector<CopyOp> copies;
  SetVector<Value> buffers;
  Value slot;
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
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      LoopPipeliner(loop, stages, limit).run();
  }
};

} // namespace

//===- Mutate.cpp - tgpu-mutate -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "fa/Emulator/Passes.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TGPUMUTATE
#include "fa/Emulator/Passes.h.inc"
} // namespace fa

using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Faults of the schedule (S7). Each gives how many places it changed.
//===----------------------------------------------------------------------===//

static int64_t dropWait(Operation *kernel) {
  return erase<WaitOp>(collect<WaitOp>(kernel));
}

static int64_t dropCommit(Operation *kernel) {
  return erase<CommitOp>(collect<CommitOp>(kernel));
}

static int64_t dropBarrier(Operation *kernel) {
  return erase<BarrierOp>(collect<BarrierOp>(kernel, /*inLoops=*/true));
}

/// The barriers before the first copies of a loop: another buffer may have the
/// same place.
static int64_t dropEntryBarrier(Operation *kernel) {
  SmallVector<BarrierOp> entries;
  for (BarrierOp barrier : collect<BarrierOp>(kernel)) {
    Operation *next = barrier->getNextNode();
    while (next && next->getNumRegions() == 0 && isPure(next))
      next = next->getNextNode();
    if (isa_and_present<scf::IfOp>(next) &&
        !barrier->getParentOfType<scf::ForOp>())
      entries.push_back(barrier);
  }
  return erase<BarrierOp>(entries);
}

/// A loop that copies ahead: the slot that it reads, and the copies into
/// another.
static int64_t
forEachPipeline(Operation *kernel,
                function_ref<void(ArrayRef<ReadOp>, ArrayRef<CopyOp>)> change) {
  int64_t changed = 0;
  for (scf::ForOp loop : collect<scf::ForOp>(kernel)) {
    auto copies = collect<CopyOp>(loop);
    auto reads = collect<ReadOp>(loop);
    llvm::erase_if(reads, [](ReadOp read) {
      return read.getBuffer().getType().getSlots() < 2;
    });
    if (copies.empty() || reads.empty() ||
        reads.front().getSlot() == copies.front().getSlot())
      continue;
    change(reads, copies);
    ++changed;
  }
  return changed;
}

/// Copies go where this iteration reads.
static int64_t dropStage(Operation *kernel) {
  return forEachPipeline(kernel,
                         [](ArrayRef<ReadOp> reads, ArrayRef<CopyOp> copies) {
                           Value slot = ReadOp(reads.front()).getSlot();
                           for (CopyOp copy : copies)
                             copy.getSlotMutable().assign(slot);
                         });
}

/// Reads take the slot that copies are being brought to.
static int64_t swapSlot(Operation *kernel) {
  return forEachPipeline(kernel,
                         [](ArrayRef<ReadOp> reads, ArrayRef<CopyOp> copies) {
                           Value slot = CopyOp(copies.front()).getSlot();
                           for (ReadOp read : reads)
                             read.getSlotMutable().assign(slot);
                         });
}

/// The copies of the first tile.
static int64_t dropCopy(Operation *kernel) {
  SmallVector<CopyOp> first;
  for (CopyOp copy : collect<CopyOp>(kernel))
    if (!copy->getParentOfType<scf::ForOp>())
      first.push_back(copy);
  return erase<CopyOp>(first);
}

static int64_t shiftMask(Operation *kernel) {
  int64_t changed = 0;
  kernel->walk([&](arith::CmpIOp compare) {
    if (!isa<TensorType>(compare.getType()) ||
        compare.getPredicate() != arith::CmpIPredicate::slt)
      return;
    compare.setPredicate(arith::CmpIPredicate::sle);
    ++changed;
  });
  return changed;
}

/// One split of the keys is left out where they are merged one by one.
static int64_t skipSplit(Operation *kernel) {
  int64_t changed = 0;
  for (scf::ForOp loop : collect<scf::ForOp>(kernel)) {
    if (collect<tile::OnlineMergeOp>(loop).size() != 1)
      continue;
    OpBuilder b(loop);
    Value one = arith::ConstantIndexOp::create(b, loop.getLoc(), 1);
    loop.getLowerBoundMutable().assign(
        arith::AddIOp::create(b, loop.getLoc(), loop.getLowerBound(), one));
    ++changed;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Faults of what one thread does (S8)
//===----------------------------------------------------------------------===//

Value fa::constant(OpBuilder &b, Location loc, Type type, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
}

/// Guards of stores hold always: rows beyond the end are stored, too.
static int64_t storePastEnd(Operation *kernel) {
  int64_t changed = 0;
  kernel->walk([&](LLVM::CondBrOp branch) {
    bool stores = llvm::any_of(*branch.getTrueDest(), [](Operation &op) {
      auto store = dyn_cast<LLVM::StoreOp>(op);
      return store && cast<LLVM::LLVMPointerType>(store.getAddr().getType())
                              .getAddressSpace() == 1;
    });
    if (!stores)
      return;
    OpBuilder b(branch);
    branch.getConditionMutable().assign(
        constant(b, branch.getLoc(), b.getI1Type(), 1));
    ++changed;
  });
  return changed;
}

/// Matrices are read as if the buffer was not swizzled.
static int64_t dropSwizzle(Operation *kernel) {
  int64_t changed = 0;
  for (auto load : collect<NVVM::LdMatrixOp>(kernel)) {
    Value address = load.getPtr();
    while (Operation *op = address.getDefiningOp()) {
      if (!isa<LLVM::GEPOp, LLVM::IntToPtrOp, LLVM::XOrOp>(op))
        break;
      if (isa<LLVM::XOrOp>(op)) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
        ++changed;
        break;
      }
      address = op->getOperand(0);
    }
  }
  return changed;
}

/// f32 is multiplied as if it were tf32.
static int64_t dropRounding(Operation *kernel) {
  auto roundings = collect<NVVM::ConvertFloatToTF32Op>(kernel);
  for (NVVM::ConvertFloatToTF32Op rounding : roundings) {
    OpBuilder b(rounding);
    rounding.replaceAllUsesWith(LLVM::BitcastOp::create(b, rounding.getLoc(),
                                                        b.getI32Type(),
                                                        rounding.getSrc())
                                    .getResult());
    rounding.erase();
  }
  return roundings.size();
}

/// Half of the lanes are left out of the mask.
static int64_t halveShuffleMask(Operation *kernel) {
  auto shuffles = collect<NVVM::ShflOp>(kernel);
  for (NVVM::ShflOp shuffle : shuffles) {
    OpBuilder b(shuffle);
    shuffle.getThreadMaskMutable().assign(
        constant(b, shuffle.getLoc(), b.getI32Type(), 0xffff));
  }
  return shuffles.size();
}

/// Lanes exchange with the wrong neighbours.
static int64_t wrongShuffleLane(Operation *kernel) {
  auto shuffles = collect<NVVM::ShflOp>(kernel);
  for (NVVM::ShflOp shuffle : shuffles) {
    OpBuilder b(shuffle);
    shuffle.getOffsetMutable().assign(
        constant(b, shuffle.getLoc(), b.getI32Type(), 4));
  }
  return shuffles.size();
}

/// Copies go 4 bytes too far.
static int64_t misalignCopy(Operation *kernel) {
  auto copies = collect<NVVM::CpAsyncOp>(kernel);
  for (NVVM::CpAsyncOp copy : copies) {
    OpBuilder b(copy);
    copy.getDstMutable().assign(LLVM::GEPOp::create(
        b, copy.getLoc(), copy.getDst().getType(), b.getI8Type(), copy.getDst(),
        ArrayRef<LLVM::GEPArg>{4}));
  }
  return copies.size();
}

/// Thread 5 leaves at once.
static int64_t exitEarly(Operation *kernel) {
  int64_t changed = 0;
  for (auto id : collect<NVVM::ThreadIdXOp>(kernel)) {
    OpBuilder b(id->getContext());
    Block *entry = id->getBlock();
    Block *rest = entry->splitBlock(std::next(id->getIterator()));
    Block *leave = b.createBlock(rest);
    LLVM::ReturnOp::create(b, id.getLoc(), ValueRange{});
    b.setInsertionPointToEnd(entry);
    Value five = constant(b, id.getLoc(), b.getI32Type(), 5);
    Value is =
        LLVM::ICmpOp::create(b, id.getLoc(), LLVM::ICmpPredicate::eq, id, five);
    LLVM::CondBrOp::create(b, id.getLoc(), is, leave, rest);
    ++changed;
  }
  return changed;
}

/// The next kernel may begin before this one has waited.
static int64_t beginNextFirst(Operation *kernel) {
  int64_t changed = 0;
  for (auto op : collect<NVVM::GriddepcontrolOp>(kernel))
    if (auto wait =
            dyn_cast_if_present<NVVM::GriddepcontrolOp>(op->getPrevNode())) {
      op->moveBefore(wait);
      ++changed;
    }
  return changed;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr Mutation kMutations[] = {
    {"drop-wait", true, dropWait},
    {"drop-commit", true, dropCommit},
    {"drop-barrier", true, dropBarrier},
    {"drop-entry-barrier", true, dropEntryBarrier},
    {"drop-stage", true, dropStage},
    {"swap-slot", true, swapSlot},
    {"drop-copy", true, dropCopy},
    {"shift-mask", true, shiftMask},
    {"skip-split", true, skipSplit},
    {"store-past-end", false, storePastEnd},
    {"drop-swizzle", false, dropSwizzle},
    {"drop-rounding", false, dropRounding},
    {"halve-shuffle-mask", false, halveShuffleMask},
    {"wrong-shuffle-lane", false, wrongShuffleLane},
    {"misalign-copy", false, misalignCopy},
    {"exit-early", false, exitEarly},
    {"drop-block-barrier", false, drop<NVVM::Barrier0Op>},
    {"drop-kernel-wait", false, drop<NVVM::GriddepcontrolOp>},
    {"begin-next-first", false, beginNextFirst},
};

/// All of them, those of warp-specialized kernels last.
static SmallVector<Mutation> allMutations() {
  SmallVector<Mutation> all(std::begin(kMutations), std::end(kMutations));
  llvm::append_range(all, partitionMutations());
  llvm::append_range(all, waveMutations());
  return all;
}

static std::optional<Mutation> find(StringRef fault) {
  for (const Mutation &mutation : allMutations())
    if (mutation.name == fault)
      return mutation;
  return std::nullopt;
}

static std::string unknown(StringRef fault) {
  std::string names;
  for (const Mutation &mutation : allMutations())
    names += (names.empty() ? "" : ", ") + mutation.name.str();
  return "expected a fault of " + names + ", found '" + fault.str() + "'";
}

llvm::Expected<bool> fa::isScheduleFault(StringRef fault) {
  if (std::optional<Mutation> mutation = find(fault))
    return mutation->atSchedule;
  return llvm::createStringError(unknown(fault));
}

namespace {

struct TgpuMutate final : fa::impl::TgpuMutateBase<TgpuMutate> {
  using TgpuMutateBase::TgpuMutateBase;

  void runOnOperation() override {
    std::optional<Mutation> mutation = find(fault);
    if (!mutation) {
      emitError(getOperation().getLoc(), unknown(fault));
      return signalPassFailure();
    }
    int64_t changed = 0;
    for (Operation &kernel : *getOperation().getBody())
      changed += mutation->plant(&kernel);
    if (changed)
      return;
    emitError(getOperation().getLoc())
        << "found no place for '" << fault << "', expected a program at "
        << (mutation->atSchedule ? "S7" : "S8") << " that has one";
    signalPassFailure();
  }
};

} // namespace

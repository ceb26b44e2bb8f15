//===- DeferWaits.cpp - tgpu-defer-waits ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUDEFERWAITS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// A wait for everything, the barrier behind it, and what moves with them to
/// the loop behind.
class Deferral {
public:
  Deferral(WaitOp wait, BarrierOp barrier) : wait(wait) {
    moved.insert(wait);
    moved.insert(barrier);
    for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode())
      op->walk([&](CopyOp copy) { awaited.insert(copy.getBuffer()); });
  }

  /// Whether it finds a loop whose first copies it can pass: what depends on
  /// the tiles that were waited for moves along, and nothing else would notice.
  bool find() {
    for (Operation *op = moved.back()->getNextNode(); op;
         op = op->getNextNode()) {
      loop = dyn_cast<scf::ForOp>(op);
      if (loop)
        return numPassed > 0 && !awaited.empty() &&
               llvm::none_of(overwritten, [&](Value buffer) {
                 return awaited.contains(buffer) || buffers.contains(buffer);
               });
      if (!passes(op))
        return false;
      if (!isa<ReadOp>(op) && !dependsOnMoved(op))
        continue;
      if (auto read = dyn_cast<ReadOp>(op))
        buffers.insert(read.getBuffer());
      else if (!isPure(op))
        return false;
      moved.insert(op);
    }
    return false;
  }

  /// Bytes of the buffers that are read behind the copies now: they cannot
  /// share memory with those of the loop any more.
  int64_t bytesApart() const {
    int64_t bytes = 0;
    for (Value buffer : buffers)
      bytes += cast<BufferType>(buffer.getType()).getBytes();
    return bytes;
  }

  void apply() {
    wait.setPending(numPassed);
    for (Operation *op : moved)
      op->moveBefore(loop);
  }

private:
  /// Notes the groups and the copies of `op`; false if groups could not be
  /// counted, or if something but a read at the kernel's level looks into a
  /// buffer: it would do so before the wait.
  bool passes(Operation *op) {
    numPassed += isa<CommitOp>(op);
    auto isWrong = [&](Operation *inner) {
      if (inner == op && isa<CommitOp, ReadOp>(op))
        return false;
      return isa<CommitOp, WaitOp>(inner) ||
             (!isa<CopyOp>(inner) && llvm::any_of(inner->getOperandTypes(),
                                                  llvm::IsaPred<BufferType>));
    };
    bool good = true;
    op->walk([&](Operation *inner) {
      if (auto copy = dyn_cast<CopyOp>(inner))
        overwritten.insert(copy.getBuffer());
      good &= !isWrong(inner);
    });
    return good;
  }

  bool dependsOnMoved(Operation *op) const {
    bool depends = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        depends |= moved.contains(operand.getDefiningOp());
    });
    return depends;
  }

  WaitOp wait;
  scf::ForOp loop;
  SetVector<Operation *> moved;
  SetVector<Value> buffers;            ///< that the moved read
  llvm::SmallPtrSet<Value, 4> awaited; ///< that copies before the wait fill
  llvm::SmallPtrSet<Value, 4> overwritten;
  int64_t numPassed = 0; ///< groups of copies
};

struct TgpuDeferWaits final : fa::impl::TgpuDeferWaitsBase<TgpuDeferWaits> {
  using TgpuDeferWaitsBase::TgpuDeferWaitsBase;

  void runOnOperation() override {
    for (auto wait : getOperation().getBody().getOps<WaitOp>()) {
      auto barrier = dyn_cast_or_null<BarrierOp>(wait->getNextNode());
      if (!barrier || wait.getPending() != 0)
        continue;
      Deferral deferral(wait, barrier);
      if (!deferral.find() || !hasRoom(deferral.bytesApart()))
        continue;
      // What is in front of the first loop; others have none.
      return deferral.apply();
    }
  }

private:
  /// Whether a multiprocessor holds as many blocks where so many bytes of the
  /// buffers cannot share memory with others. It keeps 1 KiB of each block's
  /// to itself (CUDA C++ Programming Guide, "Shared Memory"), and has as much
  /// as one block may ask for with that.
  bool hasRoom(int64_t apart) {
    constexpr int64_t kept = 1024;
    int64_t parts = getOperation().getParts(), all = 0;
    // Parts are merged where tiles were.
    for (auto alloc : getOperation().getBody().getOps<AllocOp>())
      if (!alloc->hasOneUse() ||
          !isa<tgpu::MergePartsOp>(*alloc->getUsers().begin()))
        all += parts * llvm::alignTo(alloc.getType().getBytes(), 128);
    apart *= parts;
    int64_t blocks = (limit + kept) / (all + kept);
    return blocks > 0 && blocks == (limit + kept) / (all - apart + kept);
  }
};

} // namespace

//===- OverlapKernels.cpp - tgpu-overlap-kernels --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOVERLAPKERNELS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Whether `op` computes numbers, which what is under way on the card cannot
/// change.
static bool isScalar(Operation &op) {
  return isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
         llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// The first operation of the kernel that may touch global memory; its
/// terminator if none does.
static Operation *firstAccess(tile::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto found = llvm::find_if(body, [](Operation &op) {
    return !isa<AllocOp, ChannelOp, ProgramsOp>(op) && !isMemoryEffectFree(&op);
  });
  return found == body.end() ? body.getTerminator() : &*found;
}

static bool isPersistent(tile::KernelOp kernel) {
  return kernel->hasAttr(TileGPUDialect::persistentAttrName);
}

/// Whether its programs end soon after they have begun: they walk nothing.
static bool isBrief(tile::KernelOp kernel) {
  WalkResult walked = kernel.walk([](Operation *op) {
    return isa<LoopLikeOpInterface, tile::DotOp>(op) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// Lets the next kernel begin behind the wait for the one before, so that of
/// three one behind the other the last one never runs beside the first.
static void overlap(tile::KernelOp kernel) {
  Operation *first = firstAccess(kernel);
  OpBuilder b(first);
  auto wait = AwaitKernelOp::create(b, kernel.getLoc());
  BeginNextOp::create(b, kernel.getLoc());
  // Partitions compute the numbers of each of a block's programs.
  if (isPersistent(kernel))
    return;
  // Numbers that need nothing from behind the wait are computed during it.
  DominanceInfo order(kernel);
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(
           first->getIterator(), std::prev(kernel.getBody().front().end()))))
    if (isScalar(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          return order.properlyDominates(operand, wait);
        }))
      op.moveBefore(wait);
}

namespace {

struct TgpuOverlapKernels final
    : fa::impl::TgpuOverlapKernelsBase<TgpuOverlapKernels> {
  void runOnOperation() override {
    SetVector<tile::KernelOp> kernels;
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      auto before = kernel->getAttrOfType<FlatSymbolRefAttr>(
          tile::KernelOp::followsAttrName);
      if (kernel.getParts() > 1 || isPersistent(kernel) || isBrief(kernel))
        kernels.insert(kernel);
      if (!before)
        continue;
      auto first = getOperation().lookupSymbol<tile::KernelOp>(before);
      if (!first) {
        kernel.emitError("expects to follow a kernel of its module, found ")
            << before;
        return signalPassFailure();
      }
      kernels.insert(first);
      kernels.insert(kernel);
    }
    llvm::for_each(kernels, overlap);
  }
};

} // namespace

//===- ExpectMaxima.cpp - tgpu-expect-maxima ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUEXPECTMAXIMA
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// The dot of two slots whose result, perhaps masked, `op` takes while another
/// dot runs; null: there is none.
static DotStartOp scoresDot(OnlineSoftmaxOp op) {
  Value scores = belowMasks(op.getScores());
  auto wait = scores ? scores.getDefiningOp<DotWaitOp>() : DotWaitOp();
  if (!wait || !wait.getPending())
    return {};
  auto start = wait.getRunning().getDefiningOp<DotStartOp>();
  return start && start.getAChannel() && !start.getAcc() ? start : DotStartOp();
}

/// Where what `start` reads on its right is released, in the block of `op`.
static ReleaseOp releaseOf(DotStartOp start, OnlineSoftmaxOp op) {
  for (Operation *user : start.getBChannel().getUsers())
    if (auto release = dyn_cast<ReleaseOp>(user);
        release && release->getBlock() == op->getBlock() &&
        release.getStep() == start.getBStep())
      return release;
  return {};
}

/// Whether its step can be one of p alone: a warp finds in the sums of its
/// threads whether the maxima do.
static bool canExpect(OnlineSoftmaxOp op) {
  return op->hasAttr(TileGPUDialect::heldMaximaAttrName) &&
         op->hasAttr(TileGPUDialect::threadSumsAttrName) &&
         !op->hasAttr(TileGPUDialect::cappedScoresAttrName) &&
         (!op.getScale() || op->hasAttr(TileGPUDialect::rawMaximaAttrName));
}

/// Whether it pays, which was measured (RATIONALE.md, "Roles"): two consumers
/// with less depth wait for keys that are released late.
static bool pays(DotStartOp start) {
  auto roles = start->getParentOfType<RolesOp>();
  int64_t depth = start.getBChannel().getType().getBuffer().getShape()[1];
  return roles && (roles.getConsumers() == 3 || depth >= 128);
}

namespace {

struct TgpuExpectMaxima final
    : fa::impl::TgpuExpectMaximaBase<TgpuExpectMaxima> {
  void runOnOperation() override {
    getOperation().walk([](OnlineSoftmaxOp op) {
      DotStartOp start = canExpect(op) ? scoresDot(op) : DotStartOp();
      ReleaseOp release =
          start && pays(start) ? releaseOf(start, op) : ReleaseOp();
      if (!release)
        return;
      op->setAttr(TileGPUDialect::expectedMaximaAttrName,
                  UnitAttr::get(op.getContext()));
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      ReleaseOp::create(b, release.getLoc(), release.getChannel(),
                        release.getStep());
      release.erase();
    });
  }
};

} // namespace

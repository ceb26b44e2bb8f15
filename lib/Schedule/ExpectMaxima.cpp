//===- ExpectMaxima.cpp - tgpu-expect-maxima ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

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

/// Where the dot of `start` is repeated, and with it the step `op`: behind
/// `expected`, or where three consumers have no registers for scores beside
/// what the dot of the output reads, behind the wait for that.
static Operation *branchBehind(OnlineSoftmaxOp op, ExpectedSoftmaxOp expected) {
  if (op->getParentOfType<RolesOp>().getConsumers() != 3)
    return expected;
  DotWaitOp wait;
  for (Operation *user : expected.getP().getUsers())
    if (auto found = dyn_cast<DotWaitOp>(user))
      wait = found;
  if (!wait || wait->getBlock() != op->getBlock())
    return expected;
  bool othersWait = llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
    return top == wait || wait->isBeforeInBlock(top);
  });
  return othersWait ? wait.getOperation() : expected.getOperation();
}

/// `scores` at `b`, where what is below their masks is mapped.
static Value maskAgain(OpBuilder &b, Value scores, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(scores))
    return known;
  auto masked = scores.getDefiningOp<arith::SelectOp>();
  maskAgain(b, masked.getTrueValue(), mapping);
  return b.clone(*masked, mapping)->getResult(0);
}

/// Replaces `op`; gives what is behind the branch.
static Operation *expect(OnlineSoftmaxOp op, DotStartOp start) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value scores = belowMasks(op.getScores());
  auto expected = ExpectedSoftmaxOp::create(
      b, op.getP().getType(), op.getMax().getType(), b.getI1Type(),
      op.getScores(), op.getMax(), op.getScale());
  Value p = expected.getP();
  op.getP().replaceAllUsesWith(p);
  Operation *before = branchBehind(op, expected);
  if (auto wait = dyn_cast<DotWaitOp>(before))
    p = wait.getPassed()[llvm::find(wait.getThrough(), p) -
                         wait.getThrough().begin()];
  b.setInsertionPointAfter(before);
  auto branch = scf::IfOp::create(b, op.getResultTypes(), expected.getRises(),
                                  /*withElse=*/true);
  branch->setAttr(TileGPUDialect::seldomAttrName, b.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    auto rows = cast<RankedTensorType>(op.getSum().getType());
    Value one =
        arith::ConstantOp::create(b, rows, DenseElementsAttr::get(rows, 1.0f));
    Value sum = arith::AddFOp::create(b, op.getSum(), expected.getSum());
    scf::YieldOp::create(b, ValueRange{p, one, op.getMax(), sum});

    b.setInsertionPointToStart(branch.thenBlock());
    Value again = b.clone(*start)->getResult(0);
    IRMapping mapping;
    mapping.map(scores, DotWaitOp::create(b, scores.getType(), TypeRange(),
                                          again, ValueRange(), /*pending=*/0)
                            .getResult());
    maskAgain(b, op.getScores(), mapping);
    scf::YieldOp::create(b, b.clone(*op, mapping)->getResults());
  }
  p.replaceAllUsesExcept(branch.getResult(0),
                         branch.elseBlock()->getTerminator());
  for (auto [old, value] : llvm::zip(op.getResults(), branch.getResults()))
    old.replaceAllUsesWith(value);
  op.erase();
  return branch;
}

namespace {

struct TgpuExpectMaxima final
    : fa::impl::TgpuExpectMaximaBase<TgpuExpectMaxima> {
  void runOnOperation() override {
    SmallVector<OnlineSoftmaxOp> softmaxes;
    getOperation().walk([&](OnlineSoftmaxOp op) { softmaxes.push_back(op); });
    for (OnlineSoftmaxOp op : softmaxes) {
      DotStartOp start = canExpect(op) ? scoresDot(op) : DotStartOp();
      ReleaseOp release =
          start && pays(start) ? releaseOf(start, op) : ReleaseOp();
      if (!release)
        continue;
      // Repeated, the dot reads the keys once more.
      OpBuilder b(&getContext());
      b.setInsertionPointAfter(expect(op, start));
      ReleaseOp::create(b, release.getLoc(), release.getChannel(),
                        release.getStep());
      release.erase();
    }
  }
};

} // namespace

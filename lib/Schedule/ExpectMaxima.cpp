//===- ExpectMaxima.cpp - tgpu-expect-maxima ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"
#include "fa/Support/ShortCap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUEXPECTMAXIMA
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// What makes scores of a dot's result and of what is received from channels,
/// in a block: to repeat them, nothing of it is kept in registers.
struct ScoreSteps {
  DotWaitOp wait; ///< null: there is none
  SmallVector<ReceiveOp> received;
  llvm::SetVector<Operation *> steps; ///< elementwise, in order
};

/// Whether `value` is made of a dot or of what is received.
bool collectSteps(Value value, Block *block, ScoreSteps &found) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !isTile(value))
    return false;
  if (auto wait = dyn_cast<DotWaitOp>(op)) {
    found.wait = wait;
    return true;
  }
  if (auto receive = dyn_cast<ReceiveOp>(op)) {
    if (!llvm::is_contained(found.received, receive))
      found.received.push_back(receive);
    return true;
  }
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return false;
  bool isMade = found.steps.contains(op);
  if (!isMade)
    for (Value operand : op->getOperands())
      isMade |= collectSteps(operand, block, found);
  if (isMade)
    found.steps.insert(op);
  return isMade;
}

} // namespace

/// Whether scores are `cap * tanh(...)` of what the dot leaves, perhaps scaled,
/// with a cap that most are far below.
static bool isCapped(OnlineSoftmaxOp op, Value dot) {
  APFloat cap(0.0f);
  if (!op.getScale() || !matchPattern(op.getScale(), m_ConstantFloat(&cap)) ||
      cap.convertToFloat() < kLeastShortCap)
    return false;
  Value scores = belowMasks(op.getScores());
  auto tanh = scores && scores.hasOneUse()
                  ? scores.getDefiningOp<math::TanhOp>()
                  : math::TanhOp();
  if (!tanh)
    return false;
  Value inner = tanh.getOperand();
  if (auto product = inner.getDefiningOp<arith::MulFOp>())
    inner = product.getLhs();
  return inner == dot;
}

/// The dot of two slots whose result `op` takes while another dot runs, perhaps
/// masked or with what is received; null: there is none.
static DotStartOp scoresDot(OnlineSoftmaxOp op, const ScoreSteps &scores) {
  DotWaitOp wait = scores.wait;
  if (!wait || !wait.getPending())
    return {};
  Value plain = belowSign(belowMasks(op.getScores()));
  if (scores.received.empty() && plain != wait.getResult() &&
      !isCapped(op, wait.getResult()))
    return {};
  auto start = wait.getRunning().getDefiningOp<DotStartOp>();
  bool canRepeat =
      start && start.getAChannel() &&
      (!start.getAcc() || start.getAcc().getDefiningOp<tgpu::RampOp>());
  return canRepeat ? start : DotStartOp();
}

/// Where the slot of a step is released, in `block`.
static ReleaseOp releaseOf(Value channel, Value step, Block *block) {
  for (Operation *user : channel.getUsers())
    if (auto release = dyn_cast<ReleaseOp>(user);
        release && release->getBlock() == block && release.getStep() == step)
      return release;
  return {};
}

/// Whether its step can be one of p alone: a warp finds in the sums of its
/// threads whether the maxima do.
static bool canExpect(OnlineSoftmaxOp op) {
  return op->hasAttr(TileGPUDialect::heldMaximaAttrName) &&
         op->hasAttr(TileGPUDialect::threadSumsAttrName) &&
         (!op.getScale() || op->hasAttr(TileGPUDialect::rawMaximaAttrName));
}

/// Where the dot of `start` is repeated, and with it the step `op`: behind
/// `expected`, or where threads have no registers for scores beside what the
/// dot of the output reads, behind the wait for that.
static Operation *branchBehind(OnlineSoftmaxOp op, ExpectedSoftmaxOp expected) {
  if (!planOf(op->getParentOfType<KernelOp>()).isShortOfRegisters())
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

/// Replaces `op`; gives what is behind the branch.
static Operation *expect(OnlineSoftmaxOp op, DotStartOp start,
                         const ScoreSteps &scores) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
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
    Value result = DotWaitOp(scores.wait).getResult();
    mapping.map(result, DotWaitOp::create(b, result.getType(), TypeRange(),
                                          again, ValueRange(), /*pending=*/0)
                            .getResult());
    for (Operation *received : scores.received)
      b.clone(*received, mapping);
    for (Operation *step : scores.steps)
      b.clone(*step, mapping);
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
    if (planOf(getOperation()).maximum != MaximumRule::Speculative)
      return;
    SmallVector<OnlineSoftmaxOp> softmaxes;
    getOperation().walk([&](OnlineSoftmaxOp op) { softmaxes.push_back(op); });
    for (OnlineSoftmaxOp op : softmaxes) {
      ScoreSteps scores;
      collectSteps(op.getScores(), op->getBlock(), scores);
      DotStartOp start = canExpect(op) ? scoresDot(op, scores) : DotStartOp();
      if (!start)
        continue;
      // Repeated, the dot reads the keys once more, and what is received is.
      SmallVector<ReleaseOp> releases = {
          releaseOf(start.getBChannel(), start.getBStep(), op->getBlock())};
      for (ReceiveOp received : scores.received)
        releases.push_back(releaseOf(received.getChannel(), received.getStep(),
                                     op->getBlock()));
      if (!llvm::all_of(releases, [](ReleaseOp op) { return bool(op); }))
        continue;
      OpBuilder b(&getContext());
      b.setInsertionPointAfter(expect(op, start, scores));
      for (ReleaseOp release : releases)
        ReleaseOp::create(b, release.getLoc(), release.getChannel(),
                          release.getStep());
      for (ReleaseOp release : releases)
        release.erase();
    }
  }
};

} // namespace

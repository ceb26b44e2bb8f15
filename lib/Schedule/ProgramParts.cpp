//===- ProgramParts.cpp - a consumer's program, taken apart ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramParts.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

static bool isTileLoop(Operation &op) {
  return isa<scf::ForOp>(op) && op.walk([](DotStartOp) {
                                    return WalkResult::interrupt();
                                  }).wasInterrupted();
}

/// The first tile of a chain of two loops is that of the first one if this has
/// any, without a mask, else that of the other. The latter does for both, with
/// a mask that is whole for the former, if only the mask knows where a tile is.
static bool mergeVariants(scf::IfOp either) {
  auto softmaxOf = [](Block *block) {
    auto found = block->getOps<OnlineSoftmaxOp>();
    return found.empty() ? OnlineSoftmaxOp() : *found.begin();
  };
  OnlineSoftmaxOp full = softmaxOf(either.thenBlock()),
                  partial = softmaxOf(either.elseBlock());
  auto areOfDot = [](Value scores) {
    return belowSign(scores).getDefiningOp<DotWaitOp>() != nullptr;
  };
  if (!full || !partial || !areOfDot(full.getScores()))
    return false;
  auto masked = partial.getScores().getDefiningOp<arith::SelectOp>();
  if (!masked || !masked->hasOneUse() || !areOfDot(masked.getTrueValue()) ||
      !matchPattern(masked.getFalseValue(), m_NegInfFloat()))
    return false;
  // What changes P by the places of its elements, as dropout does, knows it,
  // too.
  if (!llvm::all_of(partial.getP().getUsers(), llvm::IsaPred<arith::TruncFOp>))
    return false;
  ImplicitLocOpBuilder b(masked.getLoc(), masked);
  Value whole = BroadcastOp::create(b, masked.getCondition().getType(),
                                    either.getCondition());
  masked.getConditionMutable().assign(
      arith::OrIOp::create(b, whole, masked.getCondition()));
  Operation *yield = either.elseYield();
  either->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  either->getBlock()->getOperations().splice(
      either->getIterator(), either.elseBlock()->getOperations());
  either->erase();
  return true;
}

/// Merges variants in the block of `branch`, before its loops.
static bool makeFirstPlain(scf::IfOp branch) {
  for (Operation &op : llvm::make_early_inc_range(*branch.thenBlock())) {
    if (isTileLoop(op))
      return true;
    if (auto either = dyn_cast<scf::IfOp>(op))
      if (!mergeVariants(either))
        return false;
  }
  return false;
}

void ProgramParts::deal(Block &region) {
  Ops later;
  for (Operation &op : region.without_terminator())
    if (&op != branch)
      (op.isBeforeInBlock(branch) ? before : later).push_back(&op);
  size_t count = 0;
  for (auto [n, op] : llvm::enumerate(later))
    if (isa<scf::ForOp>(op))
      count = n + 1;
  passing.assign(later.begin(), later.begin() + count);
  behind.assign(later.begin() + count, later.end());

  Operation *firstLoop = nullptr, *end = nullptr;
  for (Operation &op : branch.thenBlock()->without_terminator()) {
    if (!firstLoop && isTileLoop(op))
      firstLoop = &op;
    auto release = dyn_cast<ReleaseOp>(op);
    if (isTileLoop(op) ||
        (release && firstLoop &&
         release.getChannel().getDefiningOp<ChannelOp>().getOwn()))
      end = &op;
  }
  for (Operation &op : branch.thenBlock()->without_terminator()) {
    if (op.isBeforeInBlock(firstLoop))
      first.push_back(&op);
    else
      (end->isBeforeInBlock(&op) ? last : tiles).push_back(&op);
  }
}

static bool findDot(ArrayRef<Operation *> ops, DotStartOp &start,
                    DotWaitOp &wait) {
  for (Operation *op : ops) {
    if (auto found = dyn_cast<DotStartOp>(op)) {
      if (start)
        return false;
      start = found;
    } else if (auto found = dyn_cast<DotWaitOp>(op)) {
      wait = found;
    }
  }
  return start && wait && wait.getRunning() == start.getResult() &&
         wait.getThrough().empty();
}

bool ProgramParts::findDots() {
  if (!findDot(first, scores, scoresWait) || !findDot(last, output, outputWait))
    return false;
  for (Operation *op : first) {
    if (auto found = dyn_cast<ReleaseOp>(op))
      release = found;
    if (auto found = dyn_cast<arith::TruncFOp>(op))
      rounding = found;
    // The first tile scales an output of zeros.
    if (auto product = dyn_cast<arith::MulFOp>(op);
        product && product->hasAttr(TileGPUDialect::rescaleAttrName) &&
        matchPattern(product.getLhs(), m_AnyZeroFloat()))
      zeros.push_back(product);
  }
  return rounding && release &&
         llvm::is_contained(left().getOperands(), outputWait.getResult());
}

/// Whether each consumer has two slots for what all loops read.
static bool hasTwoSlots(scf::IfOp branch, int64_t consumers) {
  WalkResult found = branch.walk([&](DotStartOp start) {
    Value channel = start.getAChannel();
    return WalkResult(
        failure(channel &&
                cast<ChannelType>(channel.getType()).getBuffer().getSlots() ==
                    2 * consumers));
  });
  return found.wasInterrupted();
}

bool ProgramParts::take(Block &region, int64_t consumers) {
  for (auto found : region.getOps<scf::IfOp>())
    if (llvm::any_of(*found.thenBlock(), isTileLoop))
      branch = found;
  if (!branch || !hasTwoSlots(branch, consumers) || !makeFirstPlain(branch))
    return false;
  deal(region);
  return findDots();
}

SmallVector<Value> ProgramParts::takenFromFirst() const {
  SmallVector<Value> taken;
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && isTile(value) && llvm::is_contained(first, op) &&
        !llvm::is_contained(zeros, value) && !llvm::is_contained(taken, value))
      taken.push_back(value);
  };
  forEachRest([&](Operation *op) {
    op->walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  });
  scf::IfOp around = branch;
  llvm::for_each(around.thenYield().getOperands(), add);
  return taken;
}

//===- BranchMasks.cpp - tgpu-branch-masks --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewOfArgument.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUBRANCHMASKS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// The scalar of a tile that is the same everywhere; null: it is none.
static Value scalarOf(Value tile) {
  auto spread = tile.getDefiningOp<BroadcastOp>();
  return spread && !isTile(spread.getInput()) ? spread.getInput() : Value();
}

/// Whether `op` reads a tile of what nothing writes while the kernel runs.
static bool readsTile(Operation *op) {
  return isa<LoadOp, GatherOp>(op) && readsInput(op);
}

namespace {

/// Clones what a mask is computed from to where it is applied: tiles would be
/// kept in registers, or computed for the branch alone, as scalars of the same
/// iteration would.
class MaskCloner {
public:
  explicit MaskCloner(arith::SelectOp select)
      : b(select), loop(select->getParentOfType<scf::ForOp>()) {}

  Value clone(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() ||
        !(isMemoryEffectFree(op) || readsTile(op)) ||
        !(isTile(value) || (loop && loop->isAncestor(op))))
      return value;
    for (Value operand : op->getOperands())
      clone(operand);
    return b.clone(*op, mapping)
        ->getResult(cast<OpResult>(value).getResultNumber());
  }

  OpBuilder b;

private:
  scf::ForOp loop;
  IRMapping mapping;
};

} // namespace

/// The scores of `select` where `whole` holds, and else those of them that
/// `mask` lets pass.
static Value buildBranch(MaskCloner &cloner, arith::SelectOp select,
                         Value whole, Value mask) {
  OpBuilder &b = cloner.b;
  Location loc = select.getLoc();
  auto branch =
      scf::IfOp::create(b, loc, select.getType(), whole, /*withElse=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, select.getTrueValue());
  b.setInsertionPointToStart(branch.elseBlock());
  Value masked =
      arith::SelectOp::create(b, loc, cloner.clone(mask), select.getTrueValue(),
                              select.getFalseValue());
  scf::YieldOp::create(b, loc, masked);
  b.setInsertionPoint(select);
  return branch.getResult(0);
}

/// Puts the mask of `select` into a branch, if there are tiles without one.
static void branch(arith::SelectOp select) {
  auto either = select.getCondition().getDefiningOp<arith::OrIOp>();
  Value whole = either ? scalarOf(either.getLhs()) : Value();
  if (!whole || !isTile(select.getResult()))
    return;
  MaskCloner cloner(select);
  // Seldom taken, a branch is better short than without a mask; the short form
  // of a cap has its mask behind the cap.
  auto around = dyn_cast<scf::IfOp>(select->getParentOp());
  if ((around && around->hasAttr(TileGPUDialect::seldomAttrName)) ||
      select.getTrueValue().getDefiningOp<math::TanhOp>()) {
    select.getConditionMutable().assign(cloner.clone(either.getRhs()));
    return;
  }
  select.replaceAllUsesWith(
      buildBranch(cloner, select, whole, either.getRhs()));
  select.erase();
}

static void addConjuncts(Value condition, SmallVectorImpl<Value> &conjuncts) {
  auto both = condition.getDefiningOp<arith::AndIOp>();
  if (!both)
    return conjuncts.push_back(condition);
  addConjuncts(both.getLhs(), conjuncts);
  addConjuncts(both.getRhs(), conjuncts);
}

/// Whether a tile is computed from what is read from memory.
static bool readsMemory(Value tile) {
  Operation *op = tile.getDefiningOp();
  return op && isTile(tile) &&
         (readsTile(op) || llvm::any_of(op->getOperands(), readsMemory));
}

/// Puts what a mask reads for each key into a branch, where that is one side of
/// a disjunction in it whose other side is a scalar.
static void branchReads(arith::SelectOp select) {
  if (!isTile(select.getResult()) ||
      select.getTrueValue().getDefiningOp<math::TanhOp>())
    return;
  SmallVector<Value> conjuncts;
  addConjuncts(select.getCondition(), conjuncts);
  for (Value &conjunct : conjuncts) {
    auto either = conjunct.getDefiningOp<arith::OrIOp>();
    if (!either)
      continue;
    bool isFirst = scalarOf(either.getLhs()) != Value();
    Value whole = scalarOf(isFirst ? either.getLhs() : either.getRhs()),
          read = isFirst ? either.getRhs() : either.getLhs();
    if (!whole || !readsMemory(read))
      continue;
    MaskCloner cloner(select);
    OpBuilder &b = cloner.b;
    Location loc = select.getLoc();
    Value scores = buildBranch(cloner, select, whole, read), rest;
    conjuncts.erase(&conjunct);
    for (Value other : conjuncts)
      rest = rest ? Value(arith::AndIOp::create(b, loc, rest, other)) : other;
    if (rest)
      scores =
          arith::SelectOp::create(b, loc, rest, scores, select.getFalseValue());
    select.replaceAllUsesWith(scores);
    select.erase();
    return;
  }
}

namespace {

struct TgpuBranchMasks final : fa::impl::TgpuBranchMasksBase<TgpuBranchMasks> {
  void runOnOperation() override {
    SmallVector<arith::SelectOp> selects;
    getOperation().walk([&](arith::SelectOp op) { selects.push_back(op); });
    for (arith::SelectOp select : selects)
      branch(select);
    selects.clear();
    getOperation().walk([&](arith::SelectOp op) { selects.push_back(op); });
    for (arith::SelectOp select : selects)
      branchReads(select);
    // What the masks were made of.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }
};

} // namespace

//===- DeferSums.cpp - tgpu-defer-sums ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUDEFERSUMS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// The sums that one online_finalize ends: what flows into it through loops and
/// online softmaxes.
class SumChain {
public:
  explicit SumChain(OnlineFinalizeOp end) : end(end) {}

  /// Does nothing if a sum is used otherwise, too.
  void defer() {
    add(end.getSum());
    while (!pending.empty())
      trace(pending.pop_back_val());
    if (!llvm::all_of(sums, usedInChain))
      return;
    auto part = UnitAttr::get(end.getContext());
    end->setAttr(TileGPUDialect::threadSumsAttrName, part);
    for (OnlineSoftmaxOp op : softmaxes)
      op->setAttr(TileGPUDialect::threadSumsAttrName, part);
    for (OpOperand *start : starts)
      share(*start);
  }

private:
  void add(Value value) {
    if (sums.insert(value))
      pending.push_back(value);
  }

  void addCarried(scf::ForOp loop, unsigned n) {
    OpOperand &init = loop.getInitArgsMutable()[n];
    addSource(init);
    add(loop.getRegionIterArg(n));
    add(loop.getResult(n));
    addSource(loop.getBody()->getTerminator()->getOpOperand(n));
  }

  /// A value that nothing of the chain makes is where the chain starts.
  void addSource(OpOperand &operand) {
    Value value = operand.get();
    if (value.getDefiningOp<OnlineSoftmaxOp>() ||
        value.getDefiningOp<scf::ForOp>() || isa<BlockArgument>(value))
      add(value);
    else
      starts.insert(&operand);
  }

  void trace(Value value) {
    if (auto softmax = value.getDefiningOp<OnlineSoftmaxOp>()) {
      softmaxes.push_back(softmax);
      addSource(softmax.getSumMutable());
    } else if (auto loop = value.getDefiningOp<scf::ForOp>()) {
      addCarried(loop, cast<OpResult>(value).getResultNumber());
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        addCarried(loop, argument.getArgNumber() - 1);
    }
  }

  static bool usedInChain(Value value) {
    return llvm::all_of(value.getUses(), [](OpOperand &use) {
      if (auto softmax = dyn_cast<OnlineSoftmaxOp>(use.getOwner()))
        return &use == &softmax.getSumMutable();
      if (auto finalize = dyn_cast<OnlineFinalizeOp>(use.getOwner()))
        return &use == &finalize.getSumMutable();
      return isa<scf::ForOp, scf::YieldOp>(use.getOwner());
    });
  }

  /// Each of the threads that hold a row begins with its share of the sum. A
  /// power of two: exact.
  void share(OpOperand &start) {
    OpBuilder b(start.getOwner());
    Value value = start.get();
    auto type = cast<RankedTensorType>(value.getType());
    uint32_t lanes = copyBits(layoutOf(value).base, Axis::Lane);
    float part = 1.0f / float(1u << llvm::popcount(lanes));
    Value factor = arith::ConstantOp::create(
        b, value.getLoc(),
        DenseElementsAttr::get(type, b.getF32FloatAttr(part).getValue()));
    start.set(arith::MulFOp::create(b, value.getLoc(), value, factor));
  }

  OnlineFinalizeOp end;
  SetVector<Value> sums;
  SmallVector<Value> pending;
  SmallVector<OnlineSoftmaxOp> softmaxes;
  llvm::SmallSetVector<OpOperand *, 2> starts;
};

struct TgpuDeferSums final : fa::impl::TgpuDeferSumsBase<TgpuDeferSums> {
  void runOnOperation() override {
    getOperation().walk([](OnlineFinalizeOp end) { SumChain(end).defer(); });
  }
};

} // namespace

//===- VerifyStage.cpp - tgpu-verify-stage --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;

namespace fa {
#define GEN_PASS_DEF_TGPUVERIFYSTAGE
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

static bool hasLayout(Value value) {
  return isa_and_present<LayoutAttr>(
      cast<RankedTensorType>(value.getType()).getEncoding());
}

namespace {

struct TgpuVerifyStage final : fa::impl::TgpuVerifyStageBase<TgpuVerifyStage> {
  using TgpuVerifyStageBase::TgpuVerifyStageBase;

  void runOnOperation() override {
    bool good = true;
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      kernel.walk([&](Operation *op) {
        std::string problem = check(op);
        if (problem.empty())
          return;
        good = false;
        // The operation itself, with its regions, may be a whole kernel.
        emitError(op->getLoc())
            << "'" << op->getName() << "' op not at "
            << names[static_cast<int>(stage.getValue())] << ": " << problem;
      });
    if (!good)
      signalPassFailure();
  }

private:
  static constexpr StringLiteral names[] = {
      "stage S4 (layout)", "stage S5 (memory)", "stage S6 (channels)",
      "stage S7 (schedule)"};

  /// What is wrong with `op` at the stage; empty: nothing.
  std::string check(Operation *op) const {
    for (Value value : op->getResults())
      if (isTile(value) && !hasLayout(value))
        return "expected a tile with a layout";
    if (OpTrait::hasElementwiseMappableTraits(op))
      for (Value operand : op->getOperands())
        if (isTile(operand) &&
            !(layoutOf(operand) == layoutOf(op->getResult(0))))
          return "expected operands in the layout of the result";
    if (stage >= GpuStage::S5)
      if (auto convert = dyn_cast<ConvertOp>(op); convert && crosses(convert))
        return "expected a conversion inside each thread";
    if (stage >= GpuStage::S6)
      if (auto copy = dyn_cast<CopyOp>(op);
          copy && copy.getBuffer().getType().getSlots() == 1 &&
          isa<scf::ForOp>(copy->getParentOp()) && couldBeginEarlier(copy))
        return "expected this copy to begin an iteration earlier";
    if (stage >= GpuStage::S7)
      if (auto alloc = dyn_cast<AllocOp>(op); alloc && !alloc.getOffset())
        return "expected a buffer with an offset";
    if (stage >= GpuStage::S7)
      if (auto channel = dyn_cast<ChannelOp>(op);
          channel && !(channel.getOffset() && channel.getBarriers()))
        return "expected a channel with places for slots and barriers";
    return "";
  }

  static bool crosses(ConvertOp convert) {
    auto plan = planConversion(layoutOf(convert.getInput()).base,
                               layoutOf(convert.getResult()).base);
    return !plan || plan->kind > ConversionPlan::Registers;
  }

  /// Whether it reads what the loop does not compute, at indices that are the
  /// induction variable or not computed there either.
  static bool couldBeginEarlier(CopyOp copy) {
    auto loop = cast<scf::ForOp>(copy->getParentOp());
    return !loop->hasAttr(TileGPUDialect::unpipelinedAttrName) &&
           loop.isDefinedOutsideOfLoop(copy.getSource()) &&
           llvm::all_of(copy.getIndices(), [&](Value value) {
             return value == loop.getInductionVar() ||
                    loop.isDefinedOutsideOfLoop(value);
           });
  }
};

} // namespace

//===- VerifyStage.cpp - tile-verify-stage --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FindSource.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"
#include "fa/Fusion/Stage.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILEVERIFYSTAGE
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

/// Whether a dot is behind `value`, through elementwise operations.
static bool comesFromDot(Value value) {
  auto isDot = [](Value v) {
    return isa_and_nonnull<DotOp>(v.getDefiningOp());
  };
  return findSource(value, isDot, [](Operation *op) {
           return OpTrait::hasElementwiseMappableTraits(op);
         }) != Value();
}

/// Whether a dot is after `value`, through elementwise operations.
static bool reachesDot(Value value) {
  llvm::SetVector<Operation *> users;
  getForwardSlice(value, &users, ForwardSliceOptions([](Operation *op) {
                    return isa<DotOp>(op) ||
                           OpTrait::hasElementwiseMappableTraits(op);
                  }));
  return llvm::any_of(users, llvm::IsaPred<DotOp>);
}

namespace {

struct TileVerifyStage final : fa::impl::TileVerifyStageBase<TileVerifyStage> {
  using TileVerifyStageBase::TileVerifyStageBase;

  void runOnOperation() override {
    bool good = true;
    getOperation().walk([&](Operation *op) {
      if (std::string problem = check(op); !problem.empty()) {
        good = false;
        // The operation itself, with its regions, may be a whole kernel.
        emitError(op->getLoc())
            << "'" << op->getName() << "' op not at "
            << names[static_cast<int>(stage.getValue())] << ": " << problem;
      }
    });
    if (!good)
      signalPassFailure();
  }

private:
  static constexpr StringLiteral names[] = {
      "stage S0 (graph)", "stage S1 (attention)", "stage S2 (online)",
      "stage S3 (kernel)"};

  /// What is wrong with `op` at the stage; empty: nothing.
  std::string check(Operation *op) const {
    if (stage < Stage::S2 &&
        isa<OnlineAttentionOp, OnlineFinalizeOp, OnlineMergeOp>(op))
      return "'" + op->getName().getStringRef().str() + "' belongs to S2";
    if (stage < Stage::S3 && isa<KernelOp>(op))
      return "'tile.kernel' belongs to S3";
    if (stage >= Stage::S2 && isa<AttentionOp>(op))
      return "expected online attention, found 'tile.attention'";
    if (stage == Stage::S3)
      return checkKernelOp(op);
    auto softmax = dyn_cast<SoftmaxOp>(op);
    if (stage == Stage::S1 && softmax &&
        !softmax->hasAttr(TileDialect::notFusedAttrName) &&
        comesFromDot(softmax.getInput()) && reachesDot(softmax.getResult()))
      return "expected this softmax between two dots to be fused, or to say "
             "why it is not";
    return "";
  }

  static std::string checkKernelOp(Operation *op) {
    auto kernel = op->getParentOfType<KernelOp>();
    if (kernel && kernel.getUnfused())
      return "";
    if (isa<OnlineAttentionOp, AttentionBackwardOp>(op))
      return "expected kernels, found '" + op->getName().getStringRef().str() +
             "'";
    if (!kernel)
      return "";
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type);
          tile && !tile.hasStaticShape())
        return "expected tiles of static sizes, found " + debugString(type);
    bool touchesMemory =
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
    // A producer's load (tgpu-open-channels). Its dialect is for GPUs alone, so
    // that nothing here is linked with it.
    bool isFetch = op->getName().getStringRef() == "tgpu.fetch";
    if (touchesMemory && !isFetch &&
        !isa<LoadOp, StoreOp, AtomicAddOp, GatherOp, ScatterOp, SequenceOfOp,
             memref::LoadOp>(op) &&
        !isPure(op))
      return "expected memory to be touched by loads, stores, gathers, "
             "scatters and fetches";
    return "";
  }
};

} // namespace

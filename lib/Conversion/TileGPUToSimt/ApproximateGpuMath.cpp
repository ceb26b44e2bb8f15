//===- ApproximateGpuMath.cpp - approximate-gpu-math ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_APPROXIMATEGPUMATH
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

/// Two units in the last place are what the polynomials around a division are
/// worth.
struct ApproximateDivisions final : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (auto division = dyn_cast<arith::DivFOp>(op))
      division.setFastmath(arith::FastMathFlags::afn);
  }
};

/// What upstream expands: all but multiply-adds. A machine has them in one
/// instruction, and polynomials are made of them.
constexpr StringRef kExpanded[] = {
    "acosh", "asinh", "atanh", "ceil",      "clampf", "cosh", "ctlz", "exp2",
    "fpowi", "powf",  "round", "roundeven", "rsqrt",  "sinh", "tan",  "tanh"};

struct ApproximateGpuMath final
    : fa::impl::ApproximateGpuMathBase<ApproximateGpuMath> {
  void runOnOperation() override {
    // What has an approximation takes it; what else there is becomes what has
    // one.
    if (failed(approximate()) || failed(expand()) || failed(approximate()))
      signalPassFailure();
  }

private:
  LogicalResult approximate() {
    // What the machine has an instruction for stays.
    auto scalars = find([](Operation *op) {
      return !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::Exp2Op>(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    ApproximateDivisions listener;
    return rewrite(scalars, std::move(patterns), &listener);
  }

  LogicalResult expand() {
    auto scalars = find([](Operation *op) {
      return is_contained(kExpanded, op->getName().stripDialect());
    });
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(patterns, kExpanded);
    return rewrite(scalars, std::move(patterns), /*listener=*/nullptr);
  }

  SmallVector<Operation *> find(function_ref<bool(Operation *)> isWanted) {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) && isWanted(op))
        found.push_back(op);
    });
    return found;
  }

  /// Rewrites these and what comes of them; the thousands of other operations
  /// are not looked at.
  static LogicalResult rewrite(ArrayRef<Operation *> scalars,
                               RewritePatternSet patterns,
                               RewriterBase::Listener *listener) {
    GreedyRewriteConfig config;
    config.setListener(listener);
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    return applyOpPatternsGreedily(scalars, std::move(patterns), config);
  }
};

} // namespace

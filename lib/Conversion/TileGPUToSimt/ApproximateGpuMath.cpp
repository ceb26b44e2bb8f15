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

struct ApproximateGpuMath final
    : fa::impl::ApproximateGpuMathBase<ApproximateGpuMath> {
  void runOnOperation() override {
    SmallVector<Operation *> scalars;
    getOperation().walk([&](Operation *op) {
      // What the machine has an instruction for stays.
      if (isa<math::MathDialect>(op->getDialect()) &&
          !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::Exp2Op>(op))
        scalars.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    ApproximateDivisions listener;
    GreedyRewriteConfig config;
    config.setListener(&listener);
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(scalars, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

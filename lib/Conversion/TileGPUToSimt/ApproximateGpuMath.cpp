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

struct ApproximateGpuMath final
    : fa::impl::ApproximateGpuMathBase<ApproximateGpuMath> {
  void runOnOperation() override {
    SmallVector<Operation *> scalars;
    llvm::DenseSet<Operation *> exact; // divisions of the program
    getOperation().walk([&](Operation *op) {
      if (isa<arith::DivFOp>(op))
        exact.insert(op);
      // What the machine has an instruction for stays.
      if (isa<math::MathDialect>(op->getDialect()) &&
          !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::Exp2Op>(op))
        scalars.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(scalars, std::move(patterns), config)))
      return signalPassFailure();
    // Two units in the last place are what the polynomials around them are
    // worth.
    getOperation().walk([&](arith::DivFOp division) {
      if (!exact.contains(division))
        division.setFastmath(arith::FastMathFlags::afn);
    });
  }
};

} // namespace

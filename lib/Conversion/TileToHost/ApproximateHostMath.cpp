//===- ApproximateHostMath.cpp - approximate-host-math --------------------===//
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
#define GEN_PASS_DEF_APPROXIMATEHOSTMATH
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct ApproximateHostMath final
    : fa::impl::ApproximateHostMathBase<ApproximateHostMath> {
  void runOnOperation() override {
    SmallVector<Operation *> operations;
    getOperation().walk([&](Operation *op) {
      if (isa<math::ClampFOp>(op) ||
          (isa<math::MathDialect>(op->getDialect()) &&
           isa<VectorType>(op->getResult(0).getType())))
        operations.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(patterns, {"clampf"});
    populateMathPolynomialApproximationPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(
            applyOpPatternsGreedily(operations, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

//===- RaiseLinalg.cpp - tile-raise-linalg --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseGeneric.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILERAISELINALG
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

struct TileRaiseLinalg final : fa::impl::TileRaiseLinalgBase<TileRaiseLinalg> {
  void runOnOperation() override {
    generalize();
    dropDeadResults();
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      if (llvm::any_of(op->getOperandTypes(), [](Type type) {
            return getElementTypeOrSelf(type).isF64();
          }))
        continue;
      FailureOr<Value> result = raiseGeneric(op);
      if (failed(result))
        continue;
      op.getResult(0).replaceAllUsesWith(*result);
      op.erase();
    }
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp op) { dots.push_back(op); });
    for (DotOp op : dots)
      widen(op);
  }

private:
  /// A dot of 16 bits becomes one of f32 that is rounded: products are
  /// accumulated in f32 whatever the result is kept in.
  static void widen(DotOp op) {
    unsigned bits = op.getType().getElementTypeBitWidth();
    if (bits >= 32)
      return;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    RankedTensorType type = op.getType(), wide = type.clone(b.getF32Type());
    Value acc = op.getAcc();
    if (acc)
      acc = arith::ExtFOp::create(b, wide, acc);
    auto dot = DotOp::create(b, wide, op.getA(), op.getB(), acc,
                             op.getTransposeBAttr(), op.getPrecisionAttr());
    op.replaceAllUsesWith(Value(arith::TruncFOp::create(b, type, dot)));
    op.erase();
  }

  /// Of generics with several results those go that nothing reads, such as
  /// where a maximum is.
  void dropDeadResults() {
    SmallVector<Operation *> several;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumResults() > 1 &&
          llvm::any_of(op.getResults(), [](Value v) { return v.use_empty(); }))
        several.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(several, std::move(patterns), config);
  }

  /// Named operations become linalg.generic, but the softmax.
  void generalize() {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp>(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    SmallVector<linalg::SoftmaxOp> softmaxes;
    getOperation().walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
    for (linalg::SoftmaxOp op : softmaxes) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
      if (!type || op->getNumResults() != 1)
        continue;
      Value result = SoftmaxOp::create(b, type, op.getInput(), Value(),
                                       b.getI64IntegerAttr(op.getDimension()));
      if (type != op->getResult(0).getType())
        result = tensor::CastOp::create(b, op->getResult(0).getType(), result);
      op->getResult(0).replaceAllUsesWith(result);
      op.erase();
    }
  }
};

} // namespace

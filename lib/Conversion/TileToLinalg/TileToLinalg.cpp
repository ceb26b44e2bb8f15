//===- TileToLinalg.cpp - convert-tile-to-linalg --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on whole tensors as loops: each as its definition says, one after
// the other. Speed is what fusion is for.
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILETOLINALG
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct ConvertTileToLinalg final
    : fa::impl::ConvertTileToLinalgBase<ConvertTileToLinalg> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.getUnfused())
        continue;
      for (Operation &op :
           llvm::make_early_inc_range(kernel.getBody().front())) {
        if (op.getNumResults() == 0)
          continue;
        auto values = LoopBuilder(&op).lower(&op);
        if (!values)
          continue;
        op.replaceAllUsesWith(*values);
        op.erase();
      }
    }
  }
};

} // namespace

//===- TritonToTile.cpp - triton-to-tile ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TRITONTOTILE
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct TritonToTile final : fa::impl::TritonToTileBase<TritonToTile> {
  void runOnOperation() override {
    bool good = true;
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<triton::FuncOp>())) {
      // Functions that kernels call are in them by now.
      if (!func.isExternal() && func.isPublic())
        good &= succeeded(TritonLowering(func).run());
      func.erase();
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace

void fa::buildTritonPipeline(OpPassManager &pm) {
  pm.addPass(createInlinerPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createTritonToTile());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

//===- InlineCalls.cpp - tile-inline-calls --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_TILEINLINECALLS
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

struct TileInlineCalls final : fa::impl::TileInlineCallsBase<TileInlineCalls> {
  LogicalResult initialize(MLIRContext *) override {
    inliner.clear();
    inliner.addPass(createInlinerPass(/*opPipelines=*/{},
                                      /*defaultPipelineBuilder=*/{}));
    return success();
  }

  void runOnOperation() override {
    if (failed(runPipeline(inliner, getOperation())))
      return signalPassFailure();
    getOperation().walk([&](func::CallOp call) {
      call.emitOpError() << "expected @" << call.getCallee()
                         << " to be inlined, found a function that has no body "
                            "or calls itself";
      signalPassFailure();
    });
  }

private:
  OpPassManager inliner{ModuleOp::getOperationName()};
};

} // namespace

//===- ConvertSimtToLLVM.cpp - convert-simt-to-llvm -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_CONVERTSIMTTOLLVM
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct ConvertSimtToLLVM final
    : fa::impl::ConvertSimtToLLVMBase<ConvertSimtToLLVM> {
  void runOnOperation() override {
    if (failed(expandViews()) || failed(convert()))
      signalPassFailure();
  }

private:
  /// Views of views become an address and strides.
  LogicalResult expandViews() {
    SmallVector<Operation *> views;
    getOperation().walk([&](Operation *op) {
      if (isa<memref::MemRefDialect>(op->getDialect()))
        views.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    memref::populateExpandStridedMetadataPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(views, std::move(patterns), config)))
      return failure();
    // Branches came from loops that carry what not every path needs. Whether
    // anything was simplified does not matter.
    IRRewriter rewriter(&getContext());
    (void)simplifyRegions(rewriter, getOperation()->getRegions());
    return success();
  }

  LogicalResult convert() {
    MLIRContext *context = &getContext();
    const auto &layouts = getAnalysis<DataLayoutAnalysis>();
    LowerToLLVMOptions options(context, layouts.getAtOrAbove(getOperation()));
    LLVMTypeConverter types(context, options, &layouts);
    RewritePatternSet patterns(context);
    populateAffineToStdConversionPatterns(patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    index::populateIndexToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addIllegalDialect<affine::AffineDialect>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }
};

} // namespace

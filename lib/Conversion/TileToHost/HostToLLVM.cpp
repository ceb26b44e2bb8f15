//===- HostToLLVM.cpp - convert-host-to-llvm ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/AMX/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Dialect/X86Vector/Transforms.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_CONVERTHOSTTOLLVM
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// Operations on vectors that upstream's conversion expects in simpler ones.
static void populateVectorSteps(RewritePatternSet &patterns) {
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/true);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorTransferLoweringPatterns(patterns,
                                                 /*maxTransferRank=*/1);
}

namespace {

/// What numbers of a format of 8 bits are: those of e4m3 have NaN alone beside
/// them, those of e5m2 infinities, too.
struct NarrowFormat {
  int32_t mantissa, bias; ///< bits, and what is added to an exponent
  int32_t special;        ///< the first code without a sign that is no number

  static std::optional<NarrowFormat> of(Type type) {
    Type element = getElementTypeOrSelf(type);
    if (isa<Float8E4M3FNType>(element))
      return NarrowFormat{3, 7, 0x7f};
    if (isa<Float8E5M2Type>(element))
      return NarrowFormat{2, 15, 0x7c};
    return std::nullopt;
  }
};

/// Widens numbers of 8 bits, which here are integers already. Their exponent is
/// moved by an addition. A denormal's leading one is found by a subtraction of
/// numbers none of which is a denormal: a process may flush these to zero.
struct WidenNarrow final : OpConversionPattern<arith::ExtFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto format = NarrowFormat::of(op.getIn().getType());
    if (!format)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, widen(b, adaptor.getIn(), *format, op.getType()));
    return success();
  }

private:
  static Type withElement(Type like, Type element) {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(vector.clone(element)) : element;
  }

  static Value widen(ImplicitLocOpBuilder &b, Value codes,
                     const NarrowFormat &format, Type result) {
    Type words = withElement(result, b.getI32Type()),
         floats = withElement(result, b.getF32Type());
    auto number = [&](int64_t value) -> Value {
      Attribute attribute = b.getI32IntegerAttr(static_cast<int32_t>(value));
      if (auto vector = dyn_cast<VectorType>(words))
        attribute = DenseElementsAttr::get(vector, attribute);
      return arith::ConstantOp::create(b, cast<TypedAttr>(attribute));
    };
    auto asFloats = [&](Value bits) -> Value {
      return arith::BitcastOp::create(b, floats, bits);
    };
    Value bits = arith::ExtUIOp::create(b, words, codes);
    Value magnitude = arith::AndIOp::create(b, bits, number(0x7f));
    Value shifted =
        arith::ShLIOp::create(b, magnitude, number(23 - format.mantissa));
    int32_t above = 127 - format.bias;
    Value normal = arith::AddIOp::create(b, shifted, number(above << 23));
    Value least = number((above + 1) << 23); // the least normal number
    Value denormal = arith::SubFOp::create(
        b, asFloats(arith::AddIOp::create(b, shifted, least)), asFloats(least));
    Value isDenormal = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ult, magnitude, number(1 << format.mantissa));
    Value size = arith::SelectOp::create(
        b, isDenormal, Value(arith::BitcastOp::create(b, words, denormal)),
        normal);
    bool isNanAlone = format.special == 0x7f;
    Value isSpecial = arith::CmpIOp::create(
        b, isNanAlone ? arith::CmpIPredicate::eq : arith::CmpIPredicate::uge,
        magnitude, number(format.special));
    // An infinity has no bits behind those of the exponent.
    Value special =
        isNanAlone
            ? number(0x7fc00000)
            : Value(arith::OrIOp::create(b, shifted, number(0x7f800000)));
    size = arith::SelectOp::create(b, isSpecial, special, size);
    Value sign = arith::AndIOp::create(b, bits, number(0x80));
    sign = arith::ShLIOp::create(b, sign, number(24));
    return narrow(b, arith::OrIOp::create(b, size, sign), number(16), floats,
                  result);
  }

  /// The numbers whose bits as f32 are `bits`, as `result`, which has them all.
  static Value narrow(ImplicitLocOpBuilder &b, Value bits, Value half,
                      Type floats, Type result) {
    Type element = getElementTypeOrSelf(result);
    if (element.isBF16()) {
      bits = arith::ShRUIOp::create(b, bits, half);
      bits =
          arith::TruncIOp::create(b, withElement(result, b.getI16Type()), bits);
      return arith::BitcastOp::create(b, result, bits);
    }
    Value wide = arith::BitcastOp::create(b, floats, bits);
    if (element.isF32())
      return wide;
    return element.getIntOrFloatBitWidth() < 32
               ? Value(arith::TruncFOp::create(b, result, wide))
               : Value(arith::ExtFOp::create(b, result, wide));
  }
};

struct ConvertHostToLLVM final
    : fa::impl::ConvertHostToLLVMBase<ConvertHostToLLVM> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    patterns.add<WidenNarrow>(converter, &getContext(), /*benefit=*/2);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    cf::populateAssertToLLVMConversionPattern(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    // Intrinsics where LLVM has them: an instruction, on vectors, for some.
    populateMathToLLVMConversionPatterns(
        converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns);
    populateVectorSteps(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns,
                                           /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/true);
    populateX86VectorLegalizeForLLVMExportPatterns(converter, patterns);
    populateAMXLegalizeForLLVMExportPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addIllegalDialect<
        amx::AMXDialect, arith::ArithDialect, cf::ControlFlowDialect,
        func::FuncDialect, index::IndexDialect, math::MathDialect,
        memref::MemRefDialect, ub::UBDialect, vector::VectorDialect,
        x86vector::X86VectorDialect>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

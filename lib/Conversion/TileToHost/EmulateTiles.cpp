//===- EmulateTiles.cpp - emulate-tiles -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of AMX is a vector of as many rows. A product of tiles rounds its sums
// where tdpbf16ps does: those of the first of each pair and of the second are
// added up apart, then added to each other and to what is there (Intel SDM
// volume 2, "TDPBF16PS"). Denormals, which that flushes, are kept.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_EMULATETILES
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// The function that adds a product; one, as it has 512 steps.
static constexpr llvm::StringLiteral kProduct = "emulated_tile_product";

static VectorType vectorOf(amx::TileType type) {
  return VectorType::get(type.getShape(), type.getElementType());
}

/// Calls `body` with the number of each row of `type` and the place of its
/// first element, where `at` is that of the tile's.
static void
forRows(ImplicitLocOpBuilder &b, VectorType type, ValueRange at,
        llvm::function_ref<void(int64_t row, ValueRange place)> body) {
  for (int64_t row = 0; row < type.getDimSize(0); ++row) {
    SmallVector<Value> place(at);
    place[0] = arith::AddIOp::create(
        b, place[0], Value(arith::ConstantIndexOp::create(b, row)));
    body(row, place);
  }
}

static Value zeros(ImplicitLocOpBuilder &b, VectorType type) {
  return arith::ConstantOp::create(b, type, b.getZeroAttr(type));
}

namespace {

struct EmulateZero final : OpConversionPattern<amx::TileZeroOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(amx::TileZeroOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, zeros(b, vectorOf(op.getRes().getType())));
    return success();
  }
};

struct EmulateLoad final : OpConversionPattern<amx::TileLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(amx::TileLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorType type = vectorOf(op.getRes().getType());
    // Memory may have other elements, pairs of bf16 as integers for instance.
    Type element = op.getBase().getType().getElementType();
    int64_t width = type.getDimSize(1) * type.getElementTypeBitWidth() /
                    element.getIntOrFloatBitWidth();
    auto held = VectorType::get({width}, element);
    Value tile = zeros(b, type);
    forRows(b, type, adaptor.getIndices(), [&](int64_t row, ValueRange place) {
      Value x = vector::LoadOp::create(b, held, adaptor.getBase(), place);
      if (element != type.getElementType())
        x = vector::BitCastOp::create(b, vectorOfRow(type), x);
      tile = vector::InsertOp::create(b, x, tile, row);
    });
    rewriter.replaceOp(op, tile);
    return success();
  }

  static VectorType vectorOfRow(VectorType tile) {
    return VectorType::get({tile.getDimSize(1)}, tile.getElementType());
  }
};

struct EmulateStore final : OpConversionPattern<amx::TileStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(amx::TileStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    forRows(b, vectorOf(op.getVal().getType()), adaptor.getIndices(),
            [&](int64_t row, ValueRange place) {
              Value x = vector::ExtractOp::create(b, adaptor.getVal(), row);
              vector::StoreOp::create(b, x, adaptor.getBase(), place);
            });
    rewriter.eraseOp(op);
    return success();
  }
};

struct EmulateProduct final : OpConversionPattern<amx::TileMulFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(amx::TileMulFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<func::CallOp>(
        op, kProduct, vectorOf(op.getRes().getType()),
        ValueRange{adaptor.getAcc(), adaptor.getLhs(), adaptor.getRhs()});
    return success();
  }
};

/// The function that adds to its first argument the product of `left`, rows of
/// pairs along k, and `right`, lines of pairs.
void buildProduct(ModuleOp module) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(module.getLoc(), module.getBody());
  auto sums = VectorType::get({16, 16}, b.getF32Type()),
       pairs = VectorType::get({16, 32}, b.getBF16Type());
  auto function = func::FuncOp::create(
      b, kProduct, b.getFunctionType({sums, pairs, pairs}, {sums}));
  function.setPrivate();
  // Each of a program's modules has one.
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::WeakODR));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  auto floats = VectorType::get({16}, b.getF32Type()),
       words = VectorType::get({16}, b.getI32Type());
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(words, b.getI32IntegerAttr(value)));
  };
  // The first and the second of each pair of a row, in f32.
  auto widen = [&](Value tile, int64_t row) -> std::pair<Value, Value> {
    Value both = vector::BitCastOp::create(
        b, words, vector::ExtractOp::create(b, tile, row));
    Value first = arith::ShLIOp::create(b, both, splat(16));
    Value second = arith::AndIOp::create(b, both, splat(-0x10000));
    return {vector::BitCastOp::create(b, floats, first),
            vector::BitCastOp::create(b, floats, second)};
  };
  SmallVector<std::pair<Value, Value>> right;
  for (int64_t k = 0; k < 16; ++k)
    right.push_back(widen(body->getArgument(2), k));
  Value result = body->getArgument(0);
  for (int64_t m = 0; m < 16; ++m) {
    auto [first, second] = widen(body->getArgument(1), m);
    Value firsts = zeros(b, floats), seconds = firsts;
    auto add = [&](Value &sum, Value left, Value right, int64_t k) {
      Value x = vector::BroadcastOp::create(
          b, floats, vector::ExtractOp::create(b, left, k));
      sum = vector::FMAOp::create(b, x, right, sum);
    };
    for (int64_t k = 0; k < 16; ++k) {
      add(firsts, first, right[k].first, k);
      add(seconds, second, right[k].second, k);
    }
    Value sum =
        arith::AddFOp::create(b, vector::ExtractOp::create(b, result, m),
                              Value(arith::AddFOp::create(b, firsts, seconds)));
    result = vector::InsertOp::create(b, sum, result, m);
  }
  func::ReturnOp::create(b, result);
}

/// Whether `op` is one of those that convert-tile-to-host makes.
LogicalResult verifyKnown(Operation *op) {
  auto load = dyn_cast<amx::TileLoadOp>(op);
  auto store = dyn_cast<amx::TileStoreOp>(op);
  if ((load && load.getStride()) || (store && store.getStride()))
    return op->emitOpError("expected the stride of its memory, found another");
  auto product = dyn_cast<amx::TileMulFOp>(op);
  if (!product)
    return success();
  Builder b(op->getContext());
  Type sums = amx::TileType::get({16, 16}, b.getF32Type()),
       pairs = amx::TileType::get({16, 32}, b.getBF16Type()),
       left = product.getLhs().getType(), right = product.getRhs().getType(),
       result = product.getRes().getType();
  if (left == pairs && right == pairs && result == sums)
    return success();
  return op->emitOpError("expected the product of two ")
         << pairs << " in " << sums << ", found " << left << " and " << right
         << " in " << result;
}

struct EmulateTiles final : fa::impl::EmulateTilesBase<EmulateTiles> {
  void runOnOperation() override {
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](amx::TileType type) -> Type { return vectorOf(type); });
    RewritePatternSet patterns(&getContext());
    patterns.add<EmulateZero, EmulateLoad, EmulateStore, EmulateProduct>(
        converter, &getContext());
    ConversionTarget target(getContext());
    target.addIllegalDialect<amx::AMXDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    bool multiplies = false;
    WalkResult known = getOperation().walk([&](Operation *op) {
      multiplies |= isa<amx::TileMulFOp>(op);
      return WalkResult(verifyKnown(op));
    });
    if (known.wasInterrupted())
      return signalPassFailure();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    if (multiplies)
      buildProduct(getOperation());
  }
};

} // namespace

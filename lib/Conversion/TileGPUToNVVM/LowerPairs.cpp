//===- LowerPairs.cpp - conversions of two neighbours ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Pairs of bf16, whose bits are the upper ones of f32: ptxas would convert
/// them in the unit that computes exponents.
static bool widenPairs(NvidiaContext &ctx, arith::ExtFOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  // A dot that reads widens what it reads.
  if (auto read = op.getIn().getDefiningOp<ReadOp>(); read && isReadByDot(read))
    return true;
  TileRegisters &registers = ctx.tiles[op.getIn()];
  if (registers.packed.empty() || !getElementTypeOrSelf(op.getIn()).isBF16() ||
      !getElementTypeOrSelf(op.getType()).isF32())
    return false;
  SmallVector<Value> elements;
  for (Value pair : SmallVector<Value>(registers.packed))
    for (Value bits :
         {Value(arith::ShLIOp::create(b, pair, ctx.i32(16))),
          Value(arith::AndIOp::create(b, pair, ctx.i32(0xffff0000)))})
      elements.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
  ctx.setElements(op.getResult(), elements);
  return true;
}

/// f32 to pairs of 16 bits, in one instruction each.
static bool truncatePairs(NvidiaContext &ctx, arith::TruncFOp truncate) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!getElementTypeOrSelf(truncate.getIn()).isF32())
    return false;
  Type narrow = getElementTypeOrSelf(truncate.getType());
  TileLayout layout = layoutOf(truncate.getResult());
  if (contiguousRegisters(layout.base, layout.rank() - 1) < 2 ||
      (!narrow.isF16() && !narrow.isBF16()))
    return false;
  StringRef name =
      narrow.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn";
  SmallVector<Value> elements(ctx.elementsOf(truncate.getIn())), packed;
  Type pair = VectorType::get({2}, narrow);
  for (size_t n = 0; n < elements.size(); n += 2) {
    // The first operand becomes the upper half.
    Value converted =
        LLVM::CallIntrinsicOp::create(b, pair, b.getStringAttr(name),
                                      ValueRange{elements[n + 1], elements[n]})
            .getResult(0);
    packed.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), converted));
  }
  ctx.setPacked(truncate.getResult(), packed);
  return true;
}

/// What LLVM knows to be a multiplication would flush denormals, as those of
/// f32 do.
Value NvidiaContext::scaleHalves(Value halves) {
  constexpr int64_t both256 = 0x5c005c00;
  Value bits = LLVM::BitcastOp::create(b, b.getI32Type(), halves);
  auto product = LLVM::InlineAsmOp::create(
      b, b.getI32Type(), ValueRange{bits, i32(both256)},
      "mul.rn.f16x2 $0, $1, $2;", "=r,r,r",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return LLVM::BitcastOp::create(b, halves.getType(), product.getRes());
}

Value NvidiaContext::toBfloats(Value halves) {
  SmallVector<Value> wide;
  for (int32_t n : {1, 0}) // the first operand becomes the upper half
    wide.push_back(arith::ExtFOp::create(
        b, b.getF32Type(),
        Value(LLVM::ExtractElementOp::create(b, halves, i32(n)))));
  Value pair = LLVM::CallIntrinsicOp::create(
                   b, VectorType::get({2}, b.getBF16Type()),
                   b.getStringAttr("llvm.nvvm.ff2bf16x2.rn"), wide)
                   .getResult(0);
  return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
}

std::array<Value, 2> fa::widenWord(NvidiaContext &ctx, Value word,
                                   bool isAcross, Type format, Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  // Bits of e5m2 need no conversion.
  bool converts = ctx.convertsNarrow && isa<Float8E4M3FNType>(format);
  // What a conversion takes are neighbours, what computes on bits has them two
  // bytes apart.
  if (isAcross == converts) {
    Value bytes =
        LLVM::BitcastOp::create(b, VectorType::get({4}, b.getI8Type()), word);
    bytes = LLVM::ShuffleVectorOp::create(b, bytes, bytes,
                                          ArrayRef<int32_t>{0, 2, 1, 3});
    word = LLVM::BitcastOp::create(b, b.getI32Type(), bytes);
  }
  std::array<Value, 2> words;
  Value pair =
      LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI16Type()), word);
  for (int32_t n : {0, 1}) {
    Value halves;
    if (converts) {
      Value codes = LLVM::ExtractElementOp::create(b, pair, ctx.i32(n));
      halves = LLVM::CallIntrinsicOp::create(
                   b, VectorType::get({2}, b.getF16Type()),
                   b.getStringAttr("llvm.nvvm.e4m3x2.to.f16x2.rn"), codes)
                   .getResult(0);
    } else {
      Value codes =
          n ? Value(arith::ShRUIOp::create(b, word, ctx.i32(8))) : word;
      codes = arith::AndIOp::create(b, codes, ctx.i32(0x00ff00ff));
      halves = widenCodes(ctx, codes, format);
    }
    words[n] = asWord(ctx, halves, element);
  }
  return words;
}

void fa::addPairsLowerings(NvidiaContext &ctx) {
  ctx.registry.addForm(ctx, widenPairs);
  ctx.registry.addForm(ctx, truncatePairs);
}

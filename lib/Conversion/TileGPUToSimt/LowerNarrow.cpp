//===- LowerNarrow.cpp - elements of 8 bits -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No instruction computes with e4m3 or e5m2: their codes are integers until
// they are widened, two at a time, to f16, which has all of their numbers.
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

Type fa::inRegisters(Type type) {
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() == 8
             ? Type(IntegerType::get(type.getContext(), 8))
             : type;
}

MemRefType fa::inRegisters(MemRefType type) {
  return MemRefType::Builder(type).setElementType(
      inRegisters(type.getElementType()));
}

Value SimtContext::scaleHalves(Value halves) {
  auto type = cast<VectorType>(halves.getType());
  Value factor = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF16FloatAttr(256)));
  return arith::MulFOp::create(b, halves, factor);
}

/// The upper halves of what they are as f32.
Value SimtContext::toBfloats(Value halves) {
  SmallVector<Value> bits;
  for (int32_t n : {0, 1}) {
    Value half = LLVM::ExtractElementOp::create(b, halves, i32(n));
    Value wide = arith::ExtFOp::create(b, b.getF32Type(), half);
    bits.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), wide));
  }
  Value low = arith::ShRUIOp::create(b, bits[0], i32(16));
  return arith::OrIOp::create(
      b, low, Value(arith::AndIOp::create(b, bits[1], i32(0xffff0000))));
}

/// A code of e5m2 is the upper byte of a half. The bits of one of e4m3, moved
/// to their place in a half, are its number at another bias, 2^-8 of it. That
/// of a NaN, 1.875, gets an exponent of ones.
Value fa::widenCodes(SimtContext &ctx, Value codes, Type format) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto halves = VectorType::get({2}, b.getF16Type());
  if (isa<Float8E5M2Type>(format))
    return LLVM::BitcastOp::create(
        b, halves, Value(arith::ShLIOp::create(b, codes, ctx.i32(8))));
  auto both = [&](Value x, int64_t mask) -> Value {
    return arith::AndIOp::create(b, x, ctx.i32(mask));
  };
  Value size = both(codes, 0x007f007f);
  Value sign = arith::ShLIOp::create(b, both(codes, 0x00800080), ctx.i32(8));
  Value isNan =
      both(arith::AddIOp::create(b, size, ctx.i32(0x00010001)), 0x00800080);
  Value exponent = arith::MulIOp::create(b, isNan, ctx.i32(0xf8));
  Value bits = arith::OrIOp::create(
      b, Value(arith::ShLIOp::create(b, size, ctx.i32(7))), sign);
  bits = arith::OrIOp::create(b, bits, exponent);
  return ctx.scaleHalves(LLVM::BitcastOp::create(b, halves, bits));
}

Value fa::asWord(SimtContext &ctx, Value halves, Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  return element.isBF16()
             ? ctx.toBfloats(halves)
             : Value(LLVM::BitcastOp::create(b, b.getI32Type(), halves));
}

static bool lowerWidening(SimtContext &ctx, arith::ExtFOp extend) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!tile::isTile(extend.getIn()) ||
      !tile::isStorageFloat(extend.getIn().getType()))
    return false;
  Type format = getElementTypeOrSelf(extend.getIn());
  Type element = getElementTypeOrSelf(extend.getType());
  SmallVector<Value> codes(ctx.elementsOf(extend.getIn())), words, elements;
  for (size_t n = 0; n < codes.size(); n += 2) {
    Value pair = arith::ExtUIOp::create(b, b.getI32Type(), codes[n]);
    if (n + 1 < codes.size()) {
      Value high = arith::ExtUIOp::create(b, b.getI32Type(), codes[n + 1]);
      pair = arith::OrIOp::create(
          b, pair, Value(arith::ShLIOp::create(b, high, ctx.i32(16))));
    }
    Value halves = widenCodes(ctx, pair, format);
    if (element.isF32()) {
      for (int32_t half : {0, 1}) {
        Value x = LLVM::ExtractElementOp::create(b, halves, ctx.i32(half));
        elements.push_back(arith::ExtFOp::create(b, element, x));
      }
      continue;
    }
    words.push_back(asWord(ctx, halves, element));
  }
  if (element.isF32()) {
    elements.resize(codes.size());
    ctx.setElements(extend.getOut(), elements);
  } else if (codes.size() == 1) {
    Value both = LLVM::BitcastOp::create(b, VectorType::get({2}, element),
                                         words.front());
    ctx.setElements(extend.getOut(),
                    {LLVM::ExtractElementOp::create(b, both, ctx.i32(0))});
  } else {
    ctx.setPacked(extend.getOut(), words);
  }
  return true;
}

void fa::addNarrowLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, lowerWidening);
}

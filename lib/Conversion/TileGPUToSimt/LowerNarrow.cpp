//===- LowerNarrow.cpp - elements of 8 bits -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No instruction computes with e4m3: its codes are integers until they are
// widened, two at a time, to f16, which has all of its numbers.
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

Type SimtLowering::inRegisters(Type type) {
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() == 8
             ? Type(IntegerType::get(type.getContext(), 8))
             : type;
}

MemRefType SimtLowering::inRegisters(MemRefType type) {
  return MemRefType::Builder(type).setElementType(
      inRegisters(type.getElementType()));
}

Value SimtLowering::scaleHalves(Value halves) {
  auto type = cast<VectorType>(halves.getType());
  Value factor = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF16FloatAttr(256)));
  return arith::MulFOp::create(b, halves, factor);
}

/// The upper halves of what they are as f32.
Value SimtLowering::toBfloats(Value halves) {
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

/// The bits of a code, moved to their place in a half, are its number at
/// another bias, 2^-8 of it. That of a NaN, 1.875, gets an exponent of ones.
Value SimtLowering::widenCodes(Value codes) {
  auto both = [&](Value x, int64_t mask) -> Value {
    return arith::AndIOp::create(b, x, i32(mask));
  };
  Value size = both(codes, 0x007f007f);
  Value sign = arith::ShLIOp::create(b, both(codes, 0x00800080), i32(8));
  Value isNan =
      both(arith::AddIOp::create(b, size, i32(0x00010001)), 0x00800080);
  Value exponent = arith::MulIOp::create(b, isNan, i32(0xf8));
  Value bits = arith::OrIOp::create(
      b, Value(arith::ShLIOp::create(b, size, i32(7))), sign);
  bits = arith::OrIOp::create(b, bits, exponent);
  return scaleHalves(
      LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), bits));
}

Value SimtLowering::asWord(Value halves, Type element) {
  return element.isBF16()
             ? toBfloats(halves)
             : Value(LLVM::BitcastOp::create(b, b.getI32Type(), halves));
}

bool SimtLowering::lowerWidening(Operation *op) {
  auto extend = dyn_cast<arith::ExtFOp>(op);
  if (!extend || !tile::isTile(extend.getIn()) ||
      !isa<Float8E4M3FNType>(typeOf(extend.getIn()).getElementType()))
    return false;
  Type element = getElementTypeOrSelf(extend.getType());
  SmallVector<Value> codes(elementsOf(extend.getIn())), words, elements;
  for (size_t n = 0; n < codes.size(); n += 2) {
    Value pair = arith::ExtUIOp::create(b, b.getI32Type(), codes[n]);
    if (n + 1 < codes.size()) {
      Value high = arith::ExtUIOp::create(b, b.getI32Type(), codes[n + 1]);
      pair = arith::OrIOp::create(
          b, pair, Value(arith::ShLIOp::create(b, high, i32(16))));
    }
    Value halves = widenCodes(pair);
    if (element.isF32()) {
      for (int32_t half : {0, 1}) {
        Value x = LLVM::ExtractElementOp::create(b, halves, i32(half));
        elements.push_back(arith::ExtFOp::create(b, element, x));
      }
      continue;
    }
    words.push_back(asWord(halves, element));
  }
  if (element.isF32()) {
    elements.resize(codes.size());
    setElements(extend.getOut(), elements);
  } else if (codes.size() == 1) {
    Value both = LLVM::BitcastOp::create(b, VectorType::get({2}, element),
                                         words.front());
    setElements(extend.getOut(),
                {LLVM::ExtractElementOp::create(b, both, i32(0))});
  } else {
    setPacked(extend.getOut(), words);
  }
  return true;
}

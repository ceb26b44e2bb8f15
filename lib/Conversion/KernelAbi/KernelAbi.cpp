//===- KernelAbi.cpp - the arguments of a kernel --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAbi.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fa;

Value WordReader::next() {
  Value at =
      LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                          ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(position++)});
  return LLVM::LoadOp::create(b, b.getI64Type(), at, /*alignment=*/8);
}

Value fa::castDescriptor(ImplicitLocOpBuilder &b, Type type, Value value) {
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

/// A memref over `pointer`. Sizes and strides that the type knows are taken
/// from it, so that address arithmetic sees constants.
static Value buildMemRef(ImplicitLocOpBuilder &b, MemRefType type,
                         Value pointer, WordReader &words) {
  LLVMTypeConverter converter(b.getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, b.getLoc(), converter.convertType(type));
  descriptor.setAllocatedPtr(b, b.getLoc(), pointer);
  descriptor.setAlignedPtr(b, b.getLoc(), pointer);
  descriptor.setConstantOffset(b, b.getLoc(), 0);
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Value word = words.next();
    if (type.isDynamicDim(d))
      descriptor.setSize(b, b.getLoc(), d, word);
    else
      descriptor.setConstantSize(b, b.getLoc(), d, type.getDimSize(d));
  }
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Value word = words.next();
    if (ShapedType::isDynamic(strides[d]))
      descriptor.setStride(b, b.getLoc(), d, word);
    else
      descriptor.setConstantStride(b, b.getLoc(), d, strides[d]);
  }
  return castDescriptor(b, type, descriptor);
}

static Value readScalar(ImplicitLocOpBuilder &b, Type type, Value word) {
  if (isa<IndexType>(type))
    return arith::IndexCastOp::create(b, type, word);
  unsigned width = type.getIntOrFloatBitWidth();
  Value bits = word;
  if (width < 64)
    bits = arith::TruncIOp::create(b, b.getIntegerType(width), word);
  if (isa<FloatType>(type))
    return arith::BitcastOp::create(b, type, bits);
  return bits;
}

Value WordReader::nextExtent() {
  return arith::IndexCastOp::create(b, b.getIndexType(), next());
}

Value WordReader::nextArgument(Type type) {
  Value word = next();
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return readScalar(b, type, word);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value base = LLVM::IntToPtrOp::create(b, pointer, word);
  return buildMemRef(b, memref, base, *this);
}

int64_t fa::countWords(ArrayRef<Type> types) {
  int64_t words = 3;
  for (Type type : types) {
    auto memref = dyn_cast<MemRefType>(type);
    words += memref ? 1 + 2 * memref.getRank() : 1;
  }
  return words;
}

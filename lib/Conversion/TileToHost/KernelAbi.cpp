//===- KernelAbi.cpp - the arguments of a host kernel ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host kernel is
//   void f(i64 pid0, i64 pid1, i64 pid2, const i64 *words, void *scratch)
// with, in `words`, three grid extents and then the arguments in order: of a
// memref the pointer to its element 0, its sizes and its strides; of a scalar
// its bits, zero-extended.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fa;

namespace {

/// Reads the words of the argument array one after the other.
class WordReader {
public:
  WordReader(ImplicitLocOpBuilder &b, Value words) : b(b), words(words) {}

  Value next() {
    Value at =
        LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(position++)});
    return LLVM::LoadOp::create(b, b.getI64Type(), at, /*alignment=*/8);
  }

private:
  ImplicitLocOpBuilder &b;
  Value words;
  int32_t position = 0;
};

} // namespace

static Value castTo(ImplicitLocOpBuilder &b, Type type, Value value) {
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

/// A memref over `pointer`. Sizes and strides that the type knows are taken
/// from it, so that address arithmetic sees constants.
static Value buildMemRef(ImplicitLocOpBuilder &b, MemRefType type,
                         Value pointer, WordReader *words) {
  LLVMTypeConverter converter(b.getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, b.getLoc(), converter.convertType(type));
  descriptor.setAllocatedPtr(b, b.getLoc(), pointer);
  descriptor.setAlignedPtr(b, b.getLoc(), pointer);
  descriptor.setConstantOffset(b, b.getLoc(), 0);
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Value word = words->next();
    if (type.isDynamicDim(d))
      descriptor.setSize(b, b.getLoc(), d, word);
    else
      descriptor.setConstantSize(b, b.getLoc(), d, type.getDimSize(d));
  }
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Value word = words->next();
    if (ShapedType::isDynamic(strides[d]))
      descriptor.setStride(b, b.getLoc(), d, word);
    else
      descriptor.setConstantStride(b, b.getLoc(), d, strides[d]);
  }
  return castTo(b, type, descriptor);
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

/// Scratch as bytes of unknown number; the launch provides `fa.scratch_bytes`.
static Value buildScratch(ImplicitLocOpBuilder &b, Value pointer) {
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  LLVMTypeConverter converter(b.getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, b.getLoc(), converter.convertType(type));
  descriptor.setAllocatedPtr(b, b.getLoc(), pointer);
  descriptor.setAlignedPtr(b, b.getLoc(), pointer);
  descriptor.setConstantOffset(b, b.getLoc(), 0);
  descriptor.setConstantSize(b, b.getLoc(), 0, INT64_MAX);
  descriptor.setConstantStride(b, b.getLoc(), 0, 1);
  return castTo(b, type, descriptor);
}

func::FuncOp fa::createHostFunction(tile::KernelOp kernel,
                                    ImplicitLocOpBuilder &b,
                                    HostArguments &arguments) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  b.setInsertionPoint(kernel);
  auto function = func::FuncOp::create(
      b, kernel.getSymName(),
      b.getFunctionType({i64, i64, i64, pointer, pointer}, {}));
  Block *entry = function.addEntryBlock();
  function.setArgAttr(3, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
  function.setArgAttr(4, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
  b.setInsertionPointToStart(entry);
  for (unsigned axis = 0; axis < 3; ++axis)
    arguments.programIds.push_back(arith::IndexCastOp::create(
        b, b.getIndexType(), entry->getArgument(axis)));
  WordReader words(b, entry->getArgument(3));
  for (unsigned axis = 0; axis < 3; ++axis)
    arguments.gridExtents.push_back(
        arith::IndexCastOp::create(b, b.getIndexType(), words.next()));
  for (Type type : kernel.getArgumentTypes()) {
    Value word = words.next();
    if (auto memref = dyn_cast<MemRefType>(type)) {
      Value base = LLVM::IntToPtrOp::create(b, pointer, word);
      arguments.arguments.push_back(buildMemRef(b, memref, base, &words));
    } else {
      arguments.arguments.push_back(readScalar(b, type, word));
    }
  }
  arguments.scratch = buildScratch(b, entry->getArgument(4));
  return function;
}

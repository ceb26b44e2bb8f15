//===- KernelAbi.cpp - the arguments of a host kernel ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host kernel is
//   void f(i64 pid0, i64 pid1, i64 pid2, const i64 *words, void *scratch)
//
//===----------------------------------------------------------------------===//

#include "../KernelAbi/KernelAbi.h"
#include "HostKernel.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fa;

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
  return castDescriptor(b, type, descriptor);
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
    arguments.gridExtents.push_back(words.nextExtent());
  for (Type type : kernel.getArgumentTypes())
    arguments.arguments.push_back(words.nextArgument(type));
  arguments.scratch = buildScratch(b, entry->getArgument(4));
  return function;
}

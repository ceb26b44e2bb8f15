//===- UnfusedKernel.cpp - one program on whole tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnfusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// A boolean has a byte of its own in memory.
static Type inMemory(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

static Type argumentType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  return MemRefType::get(
      tensor.getShape(), inMemory(tensor.getElementType()),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

static KernelOp createUnfusedKernel(ImplicitLocOpBuilder &b,
                                    func::FuncOp function, StringRef name,
                                    ArrayRef<Attribute> rules) {
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto add = [&](Type type, Access access) {
    NamedAttrList list;
    types.push_back(argumentType(type));
    if (isa<MemRefType>(types.back()))
      list.append(KernelOp::accessAttrName,
                  AccessAttr::get(b.getContext(), access));
    attributes.push_back(list.getDictionary(b.getContext()));
  };
  for (Type type : function.getArgumentTypes())
    add(type, Access::In);
  for (Type type : function.getResultTypes())
    add(type, Access::Out);
  auto one = AffineMap::get(0, 0, b.getAffineConstantExpr(1), b.getContext());
  auto kernel = KernelOp::create(
      b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
      AffineMapAttr::get(one), b.getDenseI64ArrayAttr({}),
      b.getArrayAttr(rules), /*entry=*/StringAttr(),
      /*reference=*/FlatSymbolRefAttr(), /*unfused=*/b.getUnitAttr(),
      b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
  Block &block = kernel.getBody().emplaceBlock();
  for (Type type : types)
    block.addArgument(type, kernel.getLoc());
  b.setInsertionPointToStart(&block);
  return kernel;
}

/// The tensor in an argument's memory.
static Value readArgument(ImplicitLocOpBuilder &b, Value memory, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return memory;
  Type element = inMemory(tensor.getElementType());
  Value value = bufferization::ToTensorOp::create(
      b, tensor.clone(element), memory, /*restrict=*/true, /*writable=*/false);
  if (element == tensor.getElementType())
    return value;
  // Any byte but 0 is true.
  Value zero = BroadcastOp::create(
      b, cast<RankedTensorType>(value.getType()),
      arith::ConstantIntOp::create(b, 0, 8), [&] {
        SmallVector<Value> sizes;
        for (int64_t d = 0; d < tensor.getRank(); ++d)
          if (tensor.isDynamicDim(d))
            sizes.push_back(tensor::DimOp::create(b, value, d));
        return sizes;
      }());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
}

static void writeResult(ImplicitLocOpBuilder &b, Value value, Value memory) {
  auto tensor = cast<RankedTensorType>(value.getType());
  Type element = inMemory(tensor.getElementType());
  if (element != tensor.getElementType())
    value = arith::ExtUIOp::create(b, tensor.clone(element), value);
  bufferization::MaterializeInDestinationOp::create(b, /*result=*/Type(), value,
                                                    memory, /*restrict=*/true,
                                                    /*writable=*/true);
}

LogicalResult fa::buildUnfusedKernel(func::FuncOp function, StringRef name) {
  for (Type type : function.getResultTypes())
    if (!isa<RankedTensorType>(type))
      return emitError(function.getLoc())
             << "expected results that are tensors, found " << type;
  if (!function.getBody().hasOneBlock())
    return emitError(function.getLoc())
           << "expected a body of one block, found "
           << function.getBody().getBlocks().size();
  FailureOr<SmallVector<Attribute>> rules = collectSizeRules(function);
  if (failed(rules))
    return failure();
  ImplicitLocOpBuilder b(function.getLoc(), function);
  KernelOp kernel = createUnfusedKernel(b, function, name, *rules);
  IRMapping mapping;
  for (BlockArgument argument : function.getArguments())
    mapping.map(argument,
                readArgument(b, kernel.getArgument(argument.getArgNumber()),
                             argument.getType()));
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  unsigned next = function.getNumArguments();
  for (Value result : body.getTerminator()->getOperands())
    writeResult(b, mapping.lookupOrDefault(result), kernel.getArgument(next++));
  tile::ReturnOp::create(b);
  return success();
}

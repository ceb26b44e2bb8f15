//===- KernelWriter.cpp - kernels that are written at S3 ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Type fa::elementTypeOf(Builder &b, ElementType type) {
  switch (type) {
  case ElementType::F16:
    return b.getF16Type();
  case ElementType::BF16:
    return b.getBF16Type();
  case ElementType::I32:
    return b.getI32Type();
  case ElementType::I64:
    return b.getI64Type();
  default:
    return b.getF32Type();
  }
}

int64_t fa::tileColumns(int64_t columns) {
  constexpr int64_t least = 32, most = 128;
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(columns), least, most);
}

unsigned KernelWriter::add(Type element, ArrayRef<int64_t> sizes,
                           tile::Access access, bool isRows) {
  MLIRContext *context = b.getContext();
  SmallVector<int64_t> strides(sizes.size(), ShapedType::kDynamic);
  NamedAttrList list;
  list.append(KernelOp::accessAttrName, AccessAttr::get(context, access));
  if (aligned && isRows) {
    strides.back() = 1;
    list.append(KernelOp::alignmentAttrName, b.getI64IntegerAttr(16));
  }
  types.push_back(MemRefType::get(
      sizes, element, StridedLayoutAttr::get(context, /*offset=*/0, strides)));
  attributes.push_back(list.getDictionary(context));
  return types.size() - 1;
}

void KernelWriter::addEqual(unsigned argument, unsigned dim, unsigned other,
                            unsigned otherDim) {
  rules.push_back(SizeRuleAttr::get(b.getContext(), SizeRuleKind::Equal,
                                    argument, dim, other, otherDim,
                                    /*factor=*/1));
}

AffineExpr KernelWriter::size(unsigned argument, unsigned dim) {
  names.append({argument, dim});
  return b.getAffineSymbolExpr(names.size() / 2 - 1);
}

KernelOp KernelWriter::create(StringRef name, StringRef entry,
                              ArrayRef<AffineExpr> extents) {
  auto grid = AffineMap::get(0, names.size() / 2, extents, b.getContext());
  kernel = KernelOp::create(
      b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
      AffineMapAttr::get(grid), b.getDenseI64ArrayAttr(names),
      b.getArrayAttr(rules), b.getStringAttr(entry),
      /*reference=*/FlatSymbolRefAttr(), /*unfused=*/UnitAttr(),
      b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
  Block *block = &kernel.getBody().emplaceBlock();
  for (Type type : types)
    block->addArgument(type, kernel.getLoc());
  b.setInsertionPointToStart(block);
  return kernel;
}

Value KernelWriter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KernelWriter::dim(unsigned number, unsigned dim) {
  return memref::DimOp::create(b, argument(number), dim);
}

/// The sizes that are not the number 1.
static SmallVector<int64_t> keptSizes(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> kept;
  for (OpFoldResult size : sizes)
    if (std::optional<int64_t> number = getConstantIntValue(size); number != 1)
      kept.push_back(number.value_or(ShapedType::kDynamic));
  return kept;
}

Value KernelWriter::reducedPart(Value memref, ArrayRef<int64_t> kept,
                                ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes, int64_t step) {
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  strides.back() = b.getIndexAttr(step);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      kept, cast<MemRefType>(memref.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(b, cast<MemRefType>(type), memref, offsets,
                                   sizes, strides);
}

Value KernelWriter::part(Value memref, ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes, int64_t step) {
  SmallVector<int64_t> kept = keptSizes(sizes.drop_back());
  int64_t columns =
      getConstantIntValue(sizes.back()).value_or(ShapedType::kDynamic);
  kept.push_back(columns);
  // Upstream tells by their strides which dimensions of size 1 were dropped.
  return reducedPart(memref, kept, offsets, sizes, columns == 1 ? 1 : step);
}

Value KernelWriter::vectorPart(Value memref, ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes) {
  return reducedPart(memref, keptSizes(sizes), offsets, sizes, /*step=*/1);
}

Value KernelWriter::load(Value view, ArrayRef<int64_t> sizes, ValueRange at) {
  Type element = cast<MemRefType>(view.getType()).getElementType();
  Value loaded = LoadOp::create(b, tile(sizes, element), view, at,
                                /*in_bounds=*/false);
  auto type = dyn_cast<FloatType>(element);
  if (!type || type.getWidth() >= 32)
    return loaded;
  return arith::ExtFOp::create(b, tile(sizes, b.getF32Type()), loaded);
}

void KernelWriter::store(Value value, Value view, ValueRange at) {
  Type element = cast<MemRefType>(view.getType()).getElementType();
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() != element)
    value = arith::TruncFOp::create(b, type.clone(element), value);
  StoreOp::create(b, value, view, at);
}

Value KernelWriter::constant(RankedTensorType type, float value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

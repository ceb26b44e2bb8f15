//===- WorkspaceSignature.cpp - what kernels of a launch hand over --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkspaceSignature.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

unsigned fa::firstOfWorkspace(const AttentionFunction &source) {
  func::FuncOp function = source.function;
  return function.getNumArguments() + function.getNumResults();
}

SmallVector<Type> fa::workspaceTypes(const AttentionFunction &source) {
  OnlineAttentionOp attention = source.attention;
  auto acc = cast<RankedTensorType>(attention.getAccOut().getType());
  Builder b(attention.getContext());
  auto typeOf = [&](ArrayRef<int64_t> inner) -> Type {
    SmallVector<int64_t> sizes(4, ShapedType::kDynamic), strides;
    sizes.append(inner.begin(), inner.end());
    int64_t stride = 1;
    for (int64_t size : llvm::reverse(sizes)) {
      strides.insert(strides.begin(), stride);
      stride = ShapedType::isDynamic(size) || ShapedType::isDynamic(stride)
                   ? ShapedType::kDynamic
                   : stride * size;
    }
    return MemRefType::get(
        sizes, b.getF32Type(),
        StridedLayoutAttr::get(b.getContext(), /*offset=*/0, strides));
  };
  return {typeOf({acc.getDimSize(3)}), typeOf({}), typeOf({})};
}

int64_t fa::countColumnTiles(const AttentionFunction &source,
                             const KernelShape &shape) {
  OnlineAttentionOp attention = source.attention;
  auto acc = cast<RankedTensorType>(attention.getAccOut().getType());
  return llvm::divideCeil(acc.getDimSize(3), shape.columns);
}

/// The sizes of a tensor in workspace behind the number of splits.
static AffineMap workspaceSizes(const AttentionFunction &source, Type type,
                                SizeNames &names) {
  SmallVector<AffineExpr> sizes;
  for (unsigned dim = 0; dim < 3; ++dim)
    sizes.push_back(names.size(source.q, source.q.number, dim));
  for (int64_t size : cast<MemRefType>(type).getShape().drop_front(4))
    sizes.push_back(getAffineConstantExpr(size, type.getContext()));
  return names.map(sizes);
}

AffineExpr fa::nameWorkspaceSizes(const AttentionFunction &source,
                                  SizeNames &names) {
  for (unsigned dim = 0; dim < 3; ++dim)
    names.size(source.q, source.q.number, dim);
  AffineExpr rows = names.size(source.k, source.k.number, 2);
  if (!source.table)
    return rows;
  return names.size(*source.table, source.table->number, 1) * rows;
}

void fa::setCounterAttributes(KernelOp kernel, const AttentionFunction &source,
                              SizeNames &names) {
  Builder b(kernel.getContext());
  kernel.setArgAttr(firstOfWorkspace(source), KernelOp::workspaceAttrName,
                    AffineMapAttr::get(names.map({})));
  kernel->setAttr(KernelOp::counterAttrName, b.getUnitAttr());
  // Dimension 0 of workspace is the number of splits.
  kernel->setAttr(KernelOp::splitsAttrName, b.getI64IntegerAttr(1));
}

static void setLeastKeys(KernelOp kernel, const AttentionFunction &source,
                         SizeNames &names) {
  kernel->setAttr(KernelOp::leastKeysAttrName,
                  AffineMapAttr::get(
                      names.map({nameWorkspaceSizes(source, names) -
                                 names.size(source.q, source.q.number, 2)})));
}

void fa::setPriceAttributes(KernelOp kernel, const AttentionFunction &source,
                            const KernelShape &shape, SizeNames &names) {
  Builder b(kernel.getContext());
  kernel->setAttr(KernelOp::priceAttrName,
                  b.getDenseI64ArrayAttr(shape.price->numbers()));
  kernel->setAttr(
      KernelOp::pricedKeysAttrName,
      AffineMapAttr::get(names.map({nameWorkspaceSizes(source, names)})));
  if (shape.growsWithRows)
    setLeastKeys(kernel, source, names);
}

void fa::setSplitAttributes(KernelOp kernel, const AttentionFunction &source,
                            const KernelShape &shape, SizeNames &names) {
  Builder b(kernel.getContext());
  ArrayRef<Type> types = kernel.getArgumentTypes();
  for (unsigned n = firstOfWorkspace(source); n < types.size(); ++n)
    kernel.setArgAttr(
        n, KernelOp::workspaceAttrName,
        AffineMapAttr::get(workspaceSizes(source, types[n], names)));
  if (shape.part != KernelShape::Split)
    return;
  kernel->setAttr(
      KernelOp::splitKeysAttrName,
      AffineMapAttr::get(names.map({nameWorkspaceSizes(source, names)})));
  if (shape.growsWithRows)
    setLeastKeys(kernel, source, names);
  if (shape.keysOfSplit)
    kernel->setAttr(KernelOp::keysOfSplitAttrName,
                    b.getI64IntegerAttr(shape.keysOfSplit));
  if (shape.splits)
    kernel->setAttr(KernelOp::splitsAttrName,
                    b.getI64IntegerAttr(shape.splits));
}

//===- NamedTensor.cpp - tensors by the names of dimensions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedTensor.h"

#include "FunctionPart.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

NamedTensor fa::findBase(NamedTensor named) {
  while (Operation *op = named.value.getDefiningOp()) {
    auto before = isMemoryView(op) ? namesBefore(op, named.dims) : std::nullopt;
    if (!before)
      break;
    named = {op->getOperand(0), *before};
  }
  return named;
}

/// Groups with one named dimension each, and those of size 1 beside it.
static SmallVector<ReassociationIndices> groupsOf(ArrayRef<int> dims) {
  SmallVector<ReassociationIndices> groups(1);
  bool isNamed = false;
  for (auto [n, name] : llvm::enumerate(dims)) {
    if (name != kNoDim && isNamed)
      groups.emplace_back();
    isNamed |= name != kNoDim;
    groups.back().push_back(n);
  }
  return groups;
}

Value fa::rearrange(ImplicitLocOpBuilder &b, NamedTensor from,
                    ArrayRef<int> dims, RankedTensorType type) {
  auto isNone = [](int name) { return name == kNoDim; };
  if (llvm::any_of(from.dims, isNone)) {
    from.value =
        tensor::CollapseShapeOp::create(b, from.value, groupsOf(from.dims));
    llvm::erase_if(from.dims, isNone);
  }
  SmallVector<int64_t> permutation, sizes;
  for (int name : dims)
    if (!isNone(name)) {
      permutation.push_back(llvm::find(from.dims, name) - from.dims.begin());
      sizes.push_back(typeOf(from.value).getDimSize(permutation.back()));
    }
  if (!llvm::is_sorted(permutation))
    from.value = TransposeOp::create(b, typeOf(from.value).clone(sizes),
                                     from.value, permutation);
  if (!llvm::any_of(dims, isNone))
    return from.value;
  return tensor::ExpandShapeOp::create(
      b, type.clone(typeOf(from.value).getElementType()), from.value,
      groupsOf(dims));
}

//===- IterationSpace.cpp - the loops of a linalg.generic -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value fa::transposed(ImplicitLocOpBuilder &b, Value value,
                     ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(permutation.size())))
    return value;
  SmallVector<int64_t> sizes;
  for (int64_t from : permutation)
    sizes.push_back(typeOf(value).getDimSize(from));
  return TransposeOp::create(b, typeOf(value).clone(sizes), value, permutation);
}

Value fa::expanded(ImplicitLocOpBuilder &b, Value value, int64_t dim) {
  SmallVector<int64_t> sizes(typeOf(value).getShape());
  sizes.insert(sizes.begin() + dim, 1);
  return ExpandDimsOp::create(b, typeOf(value).clone(sizes), value, dim);
}

FailureOr<SmallVector<int64_t>> fa::positionsOf(AffineMap map) {
  SmallVector<int64_t> positions;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (llvm::is_contained(positions, dim.getPosition()))
        return failure();
      positions.push_back(dim.getPosition());
    } else if (auto zero = dyn_cast<AffineConstantExpr>(expr);
               zero && zero.getValue() == 0) {
      positions.push_back(-1);
    } else {
      return failure();
    }
  }
  return positions;
}

IterationSpace::IterationSpace(ImplicitLocOpBuilder &b, linalg::GenericOp op)
    : b(b) {
  shape = op.getStaticLoopRanges();
  values.resize(shape.size());
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [n, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && !sources[dim.getPosition()].first)
        sources[dim.getPosition()] = {operand.get(), n};
  }
}

SmallVector<Value> IterationSpace::dynamicSizes() {
  SmallVector<Value> result;
  for (auto [d, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size)) {
      if (!values[d]) {
        auto [source, dim] = sources[d];
        values[d] = tensor::DimOp::create(b, source, dim);
      }
      result.push_back(values[d]);
    }
  return result;
}

FailureOr<Value> IterationSpace::align(Value value,
                                       ArrayRef<int64_t> positions) {
  if (Value uniform = getUniform(value))
    value = uniform;
  if (isa<TensorType>(value.getType())) {
    SmallVector<int64_t> free; // dimensions of size 1, read at 0
    for (auto [n, position] : llvm::enumerate(positions)) {
      if (position >= 0)
        continue;
      if (typeOf(value).getDimSize(n) != 1)
        return failure(); // the first of several
      free.push_back(n);
    }
    SmallVector<int64_t> order, missing;
    for (int64_t d = 0; d < rank(); ++d) {
      const auto *found = llvm::find(positions, d);
      if (found != positions.end()) {
        order.push_back(found - positions.begin());
      } else if (!free.empty()) {
        order.push_back(free.front());
        free.erase(free.begin());
      } else {
        missing.push_back(d);
      }
    }
    if (!free.empty())
      return failure();
    value = transposed(b, value, order);
    for (int64_t d : missing)
      value = expanded(b, value, d);
  }
  RankedTensorType wanted = type(getElementTypeOrSelf(value.getType()));
  if (value.getType() == wanted)
    return value;
  return Value(BroadcastOp::create(b, wanted, value, dynamicSizes()));
}

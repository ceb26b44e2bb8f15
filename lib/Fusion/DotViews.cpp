//===- DotViews.cpp - a dot whose operands are seen otherwise -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DotViews.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

RankedTensorType fa::permuted(RankedTensorType type,
                              ArrayRef<int64_t> permutation) {
  return type.clone(llvm::map_to_vector(
      permutation, [&](int64_t from) { return type.getDimSize(from); }));
}

std::pair<Value, SmallVector<int64_t>> fa::wholeTranspose(Value value) {
  auto permutation = llvm::to_vector(llvm::seq(typeOf(value).getRank()));
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    for (int64_t &from : permutation)
      from = transpose.getPermutation()[from];
    value = transpose.getInput();
  }
  return {value, permutation};
}

Value fa::transposedWhole(Value value, ArrayRef<int64_t> permutation) {
  auto [source, before] = wholeTranspose(value);
  SmallVector<int64_t> whole;
  for (int64_t from : permutation)
    whole.push_back(before[from]);
  if (llvm::is_sorted(whole))
    return source;
  OpBuilder b(source.getContext());
  b.setInsertionPointAfterValue(source);
  return TransposeOp::create(b, source.getLoc(),
                             permuted(typeOf(source), whole), source, whole);
}

bool fa::areLeading(ArrayRef<ReassociationIndices> groups) {
  return groups.size() >= 2 &&
         llvm::all_of(groups.take_back(2), [](ArrayRef<int64_t> group) {
           return group.size() == 1;
         });
}

Value fa::swapLast(Value value) {
  int64_t rank = typeOf(value).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return transposedWhole(value, permutation);
}

static bool areLastSwapped(ArrayRef<int64_t> permutation) {
  auto swapped = llvm::to_vector(llvm::seq<int64_t>(permutation.size()));
  std::swap(swapped.back(), swapped.end()[-2]);
  return permutation == ArrayRef(swapped);
}

/// Whether each row of one operand meets one of the other in every leading
/// dimension, and none is shared.
static bool haveSameLeading(Value a, Value b) {
  return llvm::all_of(llvm::zip(typeOf(a).getShape().drop_back(2),
                                typeOf(b).getShape().drop_back(2)),
                      [](auto pair) {
                        auto [x, y] = pair;
                        return x == y && !ShapedType::isDynamic(x);
                      });
}

/// The dot of `a` and `b`, as `dot` otherwise is, in front of it.
static DotOp makeDot(DotOp dot, RankedTensorType type, Value a, Value b,
                     bool transposeB) {
  OpBuilder builder(dot);
  return DotOp::create(builder, dot.getLoc(), type, a, b, Value(), transposeB,
                       dot.getPrecision());
}

DotOp fa::transposeDot(DotOp dot, ArrayRef<int64_t> permutation) {
  int64_t rank = dot.getType().getRank(), row = rank - 2, column = rank - 1;
  auto leading = permutation.drop_back(2);
  SmallVector<int64_t> ofA(permutation), ofB(leading);
  ofB.append({row, column});
  if (permutation[row] == column && permutation[column] == row) {
    // (A Bᵀ)ᵀ = B Aᵀ
    if (!haveSameLeading(dot.getA(), dot.getB()))
      return {};
    Value a = dot.getTransposeB() ? dot.getB() : swapLast(dot.getB());
    return makeDot(dot, permuted(dot.getType(), permutation),
                   transposedWhole(a, ofB), transposedWhole(dot.getA(), ofB),
                   /*transposeB=*/true);
  }
  if (permutation[column] != column)
    return {};
  int64_t newRow = permutation[row];
  if (newRow != row) {
    // What was the row is a leading dimension, along which B is shared as it is
    // along the one that becomes the row.
    if (typeOf(dot.getB()).getDimSize(newRow) != 1)
      return {};
    *llvm::find(ofB, row) = newRow;
  }
  return makeDot(dot, permuted(dot.getType(), permutation),
                 transposedWhole(dot.getA(), ofA),
                 transposedWhole(dot.getB(), ofB), dot.getTransposeB());
}

/// `value` expanded to `sizes`; what was collapsed the same way is not, and
/// that may have been in front of a transpose of the last two dimensions.
static Value expandWhole(Value value, ArrayRef<ReassociationIndices> groups,
                         SmallVector<int64_t> sizes) {
  RankedTensorType type = typeOf(value).clone(sizes);
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
      collapse && collapse.getSrcType() == type &&
      ArrayRef(collapse.getReassociationIndices()) == groups)
    return collapse.getSrc();
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (transpose && areLastSwapped(transpose.getPermutation())) {
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return swapLast(expandWhole(transpose.getInput(), groups, sizes));
  }
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  return tensor::ExpandShapeOp::create(b, value.getLoc(), type, value, groups);
}

/// `value` with leading dimensions expanded to those of `sizes`, a dimension of
/// size 1 to such ones. Null if sizes do not agree.
static Value expandLeading(Value value, ArrayRef<int64_t> whole,
                           ArrayRef<ReassociationIndices> groups,
                           ArrayRef<int64_t> sizes) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> result;
  for (auto [d, group] : llvm::enumerate(groups)) {
    int64_t size = type.getDimSize(d);
    bool isShared = size == 1 && whole[d] != 1;
    if (group.size() == 1) {
      result.push_back(size);
      continue;
    }
    if (!isShared && (size != whole[d] || ShapedType::isDynamic(size)))
      return {};
    for (int64_t part : group)
      result.push_back(isShared ? 1 : sizes[part]);
  }
  return expandWhole(value, groups, result);
}

DotOp fa::expandDot(DotOp dot, ArrayRef<ReassociationIndices> groups,
                    ArrayRef<int64_t> sizes) {
  ArrayRef<int64_t> whole = dot.getType().getShape();
  if (!areLeading(groups))
    return {};
  Value a = expandLeading(dot.getA(), whole, groups, sizes);
  Value b = expandLeading(dot.getB(), whole, groups, sizes);
  if (!a || !b)
    return {};
  return makeDot(dot, dot.getType().clone(sizes), a, b, dot.getTransposeB());
}

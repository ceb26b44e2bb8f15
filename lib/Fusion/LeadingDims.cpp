//===- LeadingDims.cpp - any leading dimensions as batches and heads ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeadingDims.h"
#include "ChainParts.h"
#include "DotViews.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Which of `type`'s dimensions become one: batches, heads, and each of the
/// `numLast` last by itself.
static SmallVector<ReassociationIndices> groupsOf(const AttentionChain &chain,
                                                  int64_t numLast) {
  int64_t n = chain.numLeading();
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t d = 0; d < n; ++d)
    groups[d >= chain.firstHeadDim].push_back(d);
  for (int64_t d = 0; d < numLast; ++d)
    groups.push_back({n + d});
  return groups;
}

/// The type of `type` with batches and heads as one dimension each.
static RankedTensorType canonicalType(const AttentionChain &chain,
                                      RankedTensorType type) {
  int64_t n = chain.numLeading();
  SmallVector<int64_t> sizes = {
      productOf(type.getShape().take_front(chain.firstHeadDim)),
      productOf(
          type.getShape().slice(chain.firstHeadDim, n - chain.firstHeadDim))};
  llvm::append_range(sizes, type.getShape().drop_front(n));
  return type.clone(sizes);
}

Value fa::toCanonical(ImplicitLocOpBuilder &b, const AttentionChain &chain,
                      Value value) {
  RankedTensorType type = typeOf(value);
  if (chain.numLeading() == 2)
    return value;
  if (chain.numLeading() > 2)
    return tensor::CollapseShapeOp::create(b, canonicalType(chain, type), value,
                                           groupsOf(chain, 2));
  while (typeOf(value).getRank() < 4) {
    SmallVector<int64_t> sizes(typeOf(value).getShape());
    sizes.insert(sizes.begin(), 1);
    value = ExpandDimsOp::create(b, type.clone(sizes), value, 0);
  }
  return value;
}

/// `value`, [b, h, ..], as `type`, [leading.., ..], of the order of q.
static Value asLeading(ImplicitLocOpBuilder &b, const AttentionChain &chain,
                       Value value, RankedTensorType type) {
  int64_t n = chain.numLeading(), numLast = type.getRank() - n;
  if (n == 2)
    return value;
  if (n > 2) {
    SmallVector<OpFoldResult> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
      else if (d < n + 1)
        sizes.push_back(Value(tensor::DimOp::create(b, chain.q, d)));
      else
        sizes.push_back(Value(tensor::DimOp::create(b, chain.v, d)));
    }
    return tensor::ExpandShapeOp::create(b, type, value,
                                         groupsOf(chain, numLast), sizes);
  }
  // The dimensions of size 1 in front go away.
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t d = 0; d < 3 - n; ++d)
    groups.front().push_back(d);
  for (int64_t d = 3 - n; d < numLast + 2; ++d)
    groups.push_back({d});
  return tensor::CollapseShapeOp::create(b, type, value, groups);
}

Value fa::fromCanonical(ImplicitLocOpBuilder &b, const AttentionChain &chain,
                        Value value, RankedTensorType type) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  SmallVector<int64_t> inverse(order);
  llvm::copy(chain.order, order.begin());
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from] = to;
  return transposedWhole(asLeading(b, chain, value, permuted(type, order)),
                         inverse);
}

void fa::dropExpansion(tensor::CollapseShapeOp collapse) {
  auto [source, order] = wholeTranspose(collapse.getSrc());
  auto expand = source.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand)
    return;
  auto before = expand.getReassociationIndices();
  SmallVector<int64_t> permutation;
  for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
    ReassociationIndices moved;
    for (int64_t d : group)
      moved.push_back(order[d]);
    auto *found = llvm::find(before, moved);
    if (found == before.end())
      return;
    permutation.push_back(found - before.begin());
  }
  Value result = transposedWhole(expand.getSrc(), permutation);
  if (result.getType() == collapse.getType())
    collapse.replaceAllUsesWith(result);
}

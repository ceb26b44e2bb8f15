//===- RowView.cpp - a value that is repeated along a tensor --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowView.h"

#include "Tile/Tile.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

RowView RowView::of(Value value) {
  auto rank = typeOf(value).getRank();
  return {value, llvm::to_vector(llvm::seq<int64_t>(rank))};
}

void RowView::strip() {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0 ||
        !isa<RankedTensorType>(op->getOperand(0).getType()) || !stripOne(op))
      return;
    value = op->getOperand(0);
  }
}

bool RowView::isAlong(int64_t dim, int64_t rank) const {
  int64_t next = 0;
  for (auto [d, position] : llvm::enumerate(dims)) {
    if (next == dim)
      ++next;
    if (position != next && !(position < 0 && typeOf(value).getDimSize(d) == 1))
      return false;
    ++next;
  }
  return next == rank || (next == dim && dim == rank - 1);
}

bool RowView::stripOne(Operation *op) {
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    dims.erase(dims.begin() + expand.getDim());
    return true;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    RankedTensorType input = typeOf(broadcast.getInput());
    for (int64_t d = 0; d < input.getRank(); ++d)
      if (input.getDimSize(d) == 1 && broadcast.getType().getDimSize(d) != 1)
        dims[d] = -1;
    return true;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return regroup(expand.getReassociationIndices(), expand.getResultType(),
                   expand.getSrcType().getRank());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return spread(collapse.getReassociationIndices(), collapse.getSrcType());
  return isa<tensor::CastOp>(op);
}

bool RowView::regroup(ArrayRef<ReassociationIndices> groups,
                      RankedTensorType wide, int64_t rank) {
  SmallVector<int64_t> before;
  for (const ReassociationIndices &group : groups) {
    SmallVector<int64_t> several;
    for (int64_t d : group)
      if (wide.getDimSize(d) != 1)
        several.push_back(dims[d]);
    if (several.size() > 1)
      return false;
    before.push_back(several.empty() ? -1 : several[0]);
  }
  dims = before;
  return static_cast<int64_t>(before.size()) == rank;
}

bool RowView::spread(ArrayRef<ReassociationIndices> groups,
                     RankedTensorType wide) {
  SmallVector<int64_t> before(wide.getRank(), -1);
  for (auto [n, group] : llvm::enumerate(groups)) {
    int64_t several = 0;
    for (int64_t d : group)
      if (wide.getDimSize(d) != 1 && ++several == 1)
        before[d] = dims[n];
    if (several > 1)
      return false;
  }
  dims = before;
  return true;
}

//===- PendingDots.cpp - dots that an online softmax computes -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"

using namespace mlir;
using namespace fa;

/// A dot is left to the online softmax that is the only reader of its scores,
/// through elementwise operations with one reader each.
tile::OnlineSoftmaxOp fa::findSoftmax(HostContext &ctx, tile::DotOp dot) {
  if (ctx.alongRows || dot.getType().getRank() != 2 ||
      !dot.getType().getElementType().isF32())
    return {};
  Value value = dot.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != dot->getBlock())
      return {};
    if (auto softmax = dyn_cast<tile::OnlineSoftmaxOp>(user))
      return softmax.getScores() == value &&
                     findPendingDot(softmax.getScores()) == dot
                 ? softmax
                 : tile::OnlineSoftmaxOp();
    if (!isLazy(user) || !OpTrait::hasElementwiseMappableTraits(user))
      return {};
    value = user->getResult(0);
  }
  return {};
}

bool fa::isPending(HostContext &ctx, tile::DotOp dot) {
  return static_cast<bool>(findSoftmax(ctx, dot));
}

tile::DotOp fa::findPendingDot(Value scores) {
  if (auto dot = scores.getDefiningOp<tile::DotOp>())
    return dot;
  Operation *op = scores.getDefiningOp();
  if (!op || !OpTrait::hasElementwiseMappableTraits(op))
    return {};
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()) && operand.hasOneUse())
      if (tile::DotOp dot = findPendingDot(operand))
        return dot;
  return {};
}

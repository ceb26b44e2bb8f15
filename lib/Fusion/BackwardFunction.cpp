//===- BackwardFunction.cpp - functions that are gradients ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardFunction.h"

#include "AttentionFunction.h"

using namespace mlir;
using namespace fa;

/// Sets the views of the operands of `match`. Gives the reason if one is not a
/// view of an argument.
static std::string matchOperandViews(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  ArgumentView dlse;
  for (auto [value, view, name] :
       {std::tuple(op.getQ(), &match.q, "q"),
        std::tuple(op.getK(), &match.k, "k"),
        std::tuple(op.getV(), &match.v, "v"),
        std::tuple(op.getOutput(), &match.output, "the output"),
        std::tuple(op.getLse(), &match.lse, "the log-sum-exp"),
        std::tuple(op.getDout(), &match.dout, "the output's gradient"),
        std::tuple(op.getDlse(), &dlse, "the log-sum-exp's gradient")}) {
    if (!value)
      continue;
    FailureOr<ArgumentView> found = ArgumentView::ofOperand(value);
    if (failed(found) || found->isPart)
      return std::string(name) + " is computed in the function, where a view "
                                 "of an argument is expected";
    *view = *found;
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 4 && type.isDynamicDim(3))
      return std::string(name) + " has a dynamic head dim";
  }
  if (op.getDlse())
    match.dlse = dlse;
  return matchScoreOperands(op.getScale(), op.getCaptures(), match.captures);
}

/// Sets the gradients of `match`: all that the function returns.
static std::string matchGradients(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  for (auto [value, gradient] :
       {std::pair(op.getDq(), &match.dq), std::pair(op.getDk(), &match.dk),
        std::pair(op.getDv(), &match.dv)}) {
    if (!value)
      continue;
    SmallVector<Operation *> epilogue;
    FailureOr<ArgumentView> view = failure();
    if (value.hasOneUse())
      view = ArgumentView::ofResult(value, epilogue);
    if (failed(view) || !epilogue.empty())
      return "a gradient is not returned as it is, or in another shape";
    *gradient = *view;
  }
  func::FuncOp function = match.function;
  if (op.getNumResults() != function.getNumResults())
    return "the function returns something else, too";
  return "";
}

BackwardFunction fa::matchBackward(func::FuncOp function, std::string &reason) {
  BackwardFunction match;
  match.function = function;
  auto ops =
      llvm::to_vector(function.getBody().getOps<tile::AttentionBackwardOp>());
  if (ops.size() != 1 ||
      !function.getBody().getOps<tile::OnlineAttentionOp>().empty()) {
    reason = "the function has " + std::to_string(ops.size()) +
             " gradients of an attention and attentions beside them, where one "
             "is expected";
    return match;
  }
  match.op = ops.front();
  reason = matchOperandViews(match);
  if (reason.empty())
    reason = matchGradients(match);
  return match;
}

//===- BackwardFunction.cpp - functions that are gradients ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardFunction.h"

#include "AttentionFunction.h"
#include "ElementReads.h"

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
        std::pair(op.getDv(), &match.dv),
        std::pair(op.getDcapture(), &match.dcapture)}) {
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

/// Sets `match.reads`, if there is a gradient of a captured tensor. Gives the
/// reason if it has no kernel.
static std::string matchReads(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  if (!op.getDcapture())
    return "";
  Value captured = op.getScore().getArgument(5 + *op.getCapture());
  auto read = dyn_cast<tensor::ExtractOp>(*captured.user_begin());
  if (!captured.hasOneUse() || !read || !readsInBounds(read))
    return "scores read more than one element of the tensor whose gradient is "
           "wanted";
  for (Value index : read.getIndices())
    match.reads.push_back(getCoordinate(index));
  auto query = llvm::find(match.reads, 2), key = llvm::find(match.reads, 3);
  bool isTwice = llvm::any_of(llvm::seq<int64_t>(4), [&](int64_t n) {
    return llvm::count(match.reads, n) > 1;
  });
  if (isTwice || (query == match.reads.end() && key == match.reads.end()) ||
      (key != match.reads.end() && query != match.reads.end() && key < query))
    return "the tensor whose gradient is wanted is read neither at queries nor "
           "at keys, at keys before queries, or at one of them twice";
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
  if (reason.empty())
    reason = matchReads(match);
  return match;
}

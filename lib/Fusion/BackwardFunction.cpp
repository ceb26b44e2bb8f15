//===- BackwardFunction.cpp - functions that are gradients ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardFunction.h"

#include "AttentionFunction.h"
#include "ElementReads.h"

#include "fa/Fusion/QueryRange.h"

using namespace mlir;
using namespace fa;

/// Sets the views of the operands of `match`. Gives the reason if one is not a
/// view of an argument.
static std::string matchOperandViews(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  ArgumentView dlse, sink;
  for (auto [value, view, name] :
       {std::tuple(op.getQ(), &match.q, "q"),
        std::tuple(op.getK(), &match.k, "k"),
        std::tuple(op.getV(), &match.v, "v"),
        std::tuple(op.getOutput(), &match.output, "the output"),
        std::tuple(op.getLse(), &match.lse, "the log-sum-exp"),
        std::tuple(op.getDout(), &match.dout, "the output's gradient"),
        std::tuple(op.getDlse(), &dlse, "the log-sum-exp's gradient"),
        std::tuple(op.getSink(), &sink, "the sink")}) {
    if (!value)
      continue;
    FailureOr<ArgumentView> found =
        ArgumentView::ofOperand(value, /*takesPacked=*/true);
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
  if (op.getSink())
    match.sink = sink;
  if (std::string reason = matchRng(op.getRng(), match.rng); !reason.empty())
    return reason;
  return matchScoreOperands(op.getScale(), op.getCaptures(), match.captures);
}

/// Whether `value` of a score region is computed from the score.
static bool readsScore(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() == 0;
  return llvm::any_of(value.getDefiningOp()->getOperands(), readsScore);
}

/// Sets the reads of `gradient`, which scores read as `captured`. Gives the
/// reason if it has no kernel.
static std::string matchReads(Value captured, CapturedGradient &gradient) {
  auto read = captured.hasOneUse()
                  ? dyn_cast<tensor::ExtractOp>(*captured.user_begin())
                  : tensor::ExtractOp();
  if (!read)
    return "scores read more than one element of the tensor whose gradient is "
           "wanted";
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    int64_t n = getCoordinate(index);
    if (n < 0 && !hasFixedIndex(read, dim)) {
      n = CapturedGradient::kComputed;
      gradient.place = index;
    }
    gradient.reads.push_back(n);
  }
  if (gradient.isTable() &&
      (llvm::count(gradient.reads, CapturedGradient::kComputed) > 1 ||
       gradient.readsAt(2) || gradient.readsAt(3)))
    return "the tensor whose gradient is wanted is read at a computed place in "
           "one dimension and beside it at another one, or at queries or keys, "
           "where batches and heads are expected";
  if (gradient.isTable() && readsScore(gradient.place))
    return "the tensor whose gradient is wanted is read at a place that is "
           "computed from the score";
  bool isTwice = llvm::any_of(llvm::seq<int64_t>(4), [&](int64_t n) {
    return llvm::count(gradient.reads, n) > 1;
  });
  auto query = llvm::find(gradient.reads, 2),
       key = llvm::find(gradient.reads, 3);
  bool isTurned = query != gradient.reads.end() && key < query;
  if (isTwice || isTurned)
    return "the tensor whose gradient is wanted is read at keys before "
           "queries, or at one coordinate twice";
  return "";
}

/// Sets the gradients of `match`: all that the function returns.
static std::string matchGradients(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  auto viewOf = [](Value value) -> std::optional<ArgumentView> {
    SmallVector<Operation *> epilogue;
    if (!value.hasOneUse())
      return std::nullopt;
    if (!isa<TensorType>(value.getType())) {
      OpOperand &use = *value.use_begin();
      ArgumentView number;
      number.number = use.getOperandNumber();
      return isa<func::ReturnOp>(use.getOwner()) ? std::optional(number)
                                                 : std::nullopt;
    }
    std::optional<ArgumentView> view = ArgumentView::ofResult(value, epilogue);
    return epilogue.empty() ? view : std::nullopt;
  };
  std::string other =
      "a gradient is not returned as it is, or in another shape";
  for (auto [value, gradient] :
       {std::pair(op.getDq(), &match.dq), std::pair(op.getDk(), &match.dk),
        std::pair(op.getDv(), &match.dv),
        std::pair(op.getDsink(), &match.dsink)}) {
    if (!value)
      continue;
    *gradient = viewOf(value);
    if (!*gradient)
      return other;
  }
  for (auto [value, number, effect] :
       llvm::zip(op.getDcaptures(), op.getWrt(), op.getEffects())) {
    auto view = viewOf(value);
    if (!view)
      return other;
    CapturedGradient &gradient = match.dcaptures.emplace_back(
        CapturedGradient{*view, &effect, {}, {}, {}});
    if (!isa<TensorType>(value.getType()))
      continue;
    gradient.tensor = match.captures[llvm::count_if(
        op.getCaptures().take_front(number),
        [](Value capture) { return isa<TensorType>(capture.getType()); })];
    Value captured = op.getScore().getArgument(5 + number);
    if (std::string reason = matchReads(captured, gradient); !reason.empty())
      return reason;
  }
  func::FuncOp function = match.function;
  if (op.getNumResults() != function.getNumResults())
    return "the function returns something else, too";
  return "";
}

/// Whether what belongs together is packed by the same offsets, and all that is
/// wanted of packed sequences has a kernel. Gives the reason if not.
static std::string checkPacked(BackwardFunction &match) {
  tile::AttentionBackwardOp op = match.op;
  SmallVector<const ArgumentView *> ofQueries = {&match.output, &match.lse,
                                                 &match.dout},
                                    ofKeys = {&match.v};
  auto addIf = [](auto &views, const std::optional<ArgumentView> &view) {
    if (view)
      views.push_back(&*view);
  };
  addIf(ofQueries, match.dlse);
  addIf(ofQueries, match.dq);
  addIf(ofKeys, match.dk);
  addIf(ofKeys, match.dv);
  auto areLike = [](ArrayRef<const ArgumentView *> views,
                    const ArgumentView &first) {
    return llvm::all_of(views, [&](const ArgumentView *view) {
      return view->offsets == first.offsets;
    });
  };
  if (!areLike(ofQueries, match.q))
    return "the output, the log-sum-exp or a gradient is not packed as the "
           "queries are";
  if (!areLike(ofKeys, match.k))
    return "the values or a gradient are not packed as the keys are";
  if (match.isPacked() &&
      llvm::any_of(match.dcaptures, [](const CapturedGradient &gradient) {
        return !gradient.isOfHeads() || gradient.readsAt(0);
      }))
    return "a tensor whose gradient is wanted is read at sequences, queries, "
           "keys or a computed place of packed sequences, where heads alone "
           "are expected";
  return matchOffsets({&op.getScore(), &op.getMask(), &op.getDerivative()},
                      {&match.q, &match.k}, match.captures);
}

/// Keys that no query of a KV head sees are not read, but those of one of its
/// heads are.
bool BackwardFunction::takesWholeHeads() const {
  tile::AttentionBackwardOp attention = op;
  Region &mask = attention.getMask();
  return dq && dk && dv && !isPacked() && !keyLists && !queryLists &&
         !numRowSums() &&
         analyzeMask(mask).lengths().size() ==
             analyzeMaskOfKeys(mask).lengths().size();
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
    reason = checkPacked(match);
  if (reason.empty()) {
    match.keyLists =
        BlockLists::matchKeys(match.op, match.q, match.k, match.captures);
    match.queryLists =
        BlockLists::matchQueries(match.op, match.q, match.k, match.captures);
  }
  return match;
}

//===- AttentionFunction.cpp - functions that are one attention -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionFunction.h"
#include "ElementReads.h"
#include "KernelBuilder.h"

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;

/// The [hq] tensor that the state of `attention` begins with, or null.
static Value findSink(tile::OnlineAttentionOp attention) {
  Value value = attention.getMax();
  if (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    value = broadcast.getInput();
  while (auto expand = value.getDefiningOp<tile::ExpandDimsOp>())
    value = expand.getInput();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 1 ? value : Value();
}

/// Whether a slice leaves out rows of the argument, and not columns alone.
static bool leavesOutRows(const ArgumentView &view) {
  auto rows = ArrayRef(view.dims).drop_back();
  if (view.offsets) // how many sequences there are is no size of the argument
    rows = rows.drop_front();
  return view.isPart && llvm::any_of(rows, [](const ViewDim &dim) {
           return dim.parts.empty();
         });
}

/// Whether sizes of operands that are parts of arguments agree with those of
/// the others, which a rule cannot say of a part. Gives the reason if not.
static std::string checkParts(AttentionFunction &match) {
  tile::OnlineAttentionOp op = match.attention;
  std::pair<const ArgumentView *, Value> operands[] = {
      {&match.q, op.getQ()}, {&match.k, op.getK()}, {&match.v, op.getV()}};
  if (llvm::none_of(operands,
                    [](auto entry) { return leavesOutRows(*entry.first); }))
    return "";
  for (int64_t d = 0; d < 3; ++d) {
    // There may be more or fewer queries than keys.
    auto agree = ArrayRef(operands).drop_front(d == 2 ? 1 : 0);
    bool isCut = llvm::any_of(
        agree, [&](auto entry) { return entry.first->dims[d].parts.empty(); });
    for (auto [view, value] : agree)
      if (isCut && cast<RankedTensorType>(value.getType()).isDynamicDim(d))
        return "a slice of an argument is used with a tensor whose size is "
               "known at launch only";
  }
  for (Value capture : op.getCaptures())
    if (auto type = dyn_cast<RankedTensorType>(capture.getType());
        type && !type.hasStaticShape())
      return "a slice of an argument is used with scores that read a tensor "
             "whose size is known at launch only";
  return "";
}

std::string fa::matchOffsets(ArrayRef<Region *> regions,
                             ArrayRef<const ArgumentView *> batches,
                             ArrayRef<ArgumentView> captures) {
  bool areUsed = llvm::any_of(
      batches, [](const ArgumentView *view) { return bool(view->offsets); });
  for (Region *region : regions)
    region->walk([&](tensor::ExtractOp extract) {
      areUsed |= llvm::any_of(extract.getIndices(), isNextBatch);
    });
  if (!areUsed)
    return "";
  bool areOwn = llvm::all_of(
      batches, [](const ArgumentView *view) { return view->hasOwnSize(0); });
  for (const ArgumentView &view : captures)
    for (unsigned d = 0; d < view.dims.size(); ++d)
      areOwn &= view.hasOwnSize(d);
  return areOwn ? ""
                : "offsets of sequences are used with a tensor one of whose "
                  "dimensions is several of an argument";
}

/// Whether the offsets of packed sequences can be checked against the sizes of
/// what is read beside them. Gives the reason if not.
static std::string checkPacked(const AttentionFunction &match) {
  if (match.k.offsets != match.v.offsets)
    return "k and v are packed by different offsets";
  tile::OnlineAttentionOp op = match.attention;
  // Of pages the table has the batch.
  SmallVector<const ArgumentView *> batches = {
      &match.q, match.table ? &*match.table : &match.k};
  batches.append(match.scales());
  return matchOffsets({&op.getScore(), &op.getMask()}, batches, match.captures);
}

std::string fa::matchScoreOperands(Value scale, OperandRange captures,
                                   std::vector<ArgumentView> &views) {
  if (!isKernelScalar(scale))
    return "the scale is computed from tensors in the function";
  for (Value capture : captures) {
    if (!isa<TensorType>(capture.getType())) {
      if (!isKernelScalar(capture))
        return "a scalar that the scores read is computed from tensors in the "
               "function";
      continue;
    }
    FailureOr<ArgumentView> found = ArgumentView::ofOperand(capture);
    if (failed(found) || found->isPart)
      return "a tensor that the scores read is computed in the function, where "
             "a view of an argument is expected";
    views.push_back(*found);
  }
  return "";
}

std::string fa::matchRng(Value rng, std::optional<ArgumentView> &view) {
  if (!rng)
    return "";
  FailureOr<ArgumentView> found = ArgumentView::ofOperand(rng);
  if (failed(found) || found->isPart)
    return "the seed of its dropout is computed in the function, where a view "
           "of an argument is expected";
  view = *found;
  return "";
}

/// Whether the mask of `op` lets no key pass from `lengths[b]` on.
static bool endsAtLengths(tile::OnlineAttentionOp op, Value lengths) {
  auto isLength = [&](const KeyBound &bound) {
    const AffineForm &form = bound.forms.front();
    if (bound.forms.size() != 1 || form.constant != -1 ||
        form.terms.size() != 1 || form.terms[0].second != 1)
      return false;
    Value value = form.terms[0].first;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      value = cast.getIn();
    auto extract = value.getDefiningOp<tensor::ExtractOp>();
    if (!extract || getCoordinate(extract.getIndices()[0]) != 0)
      return false;
    auto tensor = cast<BlockArgument>(extract.getTensor());
    unsigned leading = op.getMask().getNumArguments() - op.getCaptures().size();
    return op.getCaptures()[tensor.getArgNumber() - leading] == lengths;
  };
  return llvm::any_of(analyzeMask(op.getMask()).lengths(), isLength);
}

/// Whether a score or a mask reads a tensor at the number of a key.
static bool readsAtKeys(tile::OnlineAttentionOp op) {
  bool reads = false;
  for (Region *region : {&op.getScore(), &op.getMask()})
    region->walk([&](tensor::ExtractOp extract) {
      reads |= llvm::any_of(extract.getIndices(), [](Value index) {
        return getCoordinate(index) == 3;
      });
    });
  return reads;
}

/// Sets the table of `match`, whose keys and values lie in pages if those of
/// one of them do. Gives the reason if a kernel cannot find them.
static std::string matchPages(AttentionFunction &match) {
  tile::OnlineAttentionOp op = match.attention;
  auto k = op.getK().getDefiningOp<tile::PagedOp>(),
       v = op.getV().getDefiningOp<tile::PagedOp>();
  if (!k && !v)
    return "";
  if (!k || !v || k.getTable() != v.getTable() ||
      k.getLengths() != v.getLengths())
    return "keys and values do not lie in pages of one table";
  if (!endsAtLengths(op, k.getLengths()))
    return "keys that lie in pages are not masked where their lengths end";
  if (readsAtKeys(op))
    return "scores of keys that lie in pages read a tensor at keys";
  FailureOr<ArgumentView> table = ArgumentView::ofOperand(k.getTable());
  if (failed(table) || table->isPart || leavesOutRows(match.k) ||
      leavesOutRows(match.v) || match.k.offsets || match.v.offsets)
    return "a table of pages or a page is computed in the function";
  match.table = *table;
  return "";
}

/// Sets the views of the scales of keys and values. Gives the reason if one is
/// not a view of an argument.
static std::string matchScales(AttentionFunction &match) {
  tile::OnlineAttentionOp op = match.attention;
  constexpr StringLiteral reason =
      "the scales of its keys or values are computed in the function, where a "
      "view of an argument is expected";
  // One tensor may be the scales of both.
  for (Value scales : op.getKeyScales()) {
    FailureOr<ArgumentView> found = ArgumentView::ofOperand(scales);
    if (failed(found) || found->isPart)
      return reason.str();
    match.keyScales.push_back(*found);
  }
  if (op.getValueScales()) {
    FailureOr<ArgumentView> found =
        ArgumentView::ofOperand(op.getValueScales());
    if (failed(found) || found->isPart)
      return reason.str();
    match.valueScales = *found;
  }
  return "";
}

SmallVector<const ArgumentView *> AttentionFunction::scales() const {
  SmallVector<const ArgumentView *> all;
  for (const ArgumentView &view : keyScales)
    all.push_back(&view);
  if (valueScales)
    all.push_back(&*valueScales);
  return all;
}

/// The queries of `op` as they are in memory: beside keys of 8 bits they may
/// be, too.
static Value narrowQueries(tile::OnlineAttentionOp op) {
  auto wider = op.getQ().getDefiningOp<arith::ExtFOp>();
  bool isNarrow = wider && tile::isStorageFloat(wider.getIn().getType()) &&
                  tile::isStorageFloat(op.getK().getType());
  return isNarrow ? wider.getIn() : Value(op.getQ());
}

/// What the rows of `value` lie in: pages, or itself.
static Value findMemory(Value value) {
  auto paged = value.getDefiningOp<tile::PagedOp>();
  return paged ? Value(paged.getPages()) : value;
}

/// What `value` is packed from, by which offsets, or itself.
static std::pair<Value, Value> findPacked(Value value) {
  auto ragged = value.getDefiningOp<tile::RaggedOp>();
  return ragged ? std::pair(ragged.getRows(), ragged.getOffsets())
                : std::pair(value, Value());
}

/// Whether `values` are the first columns of `keys`, most of them: a fifth of
/// the work that a product with all of them takes may be for nothing, which is
/// less than to load the others again.
static bool areFirstColumns(Value values, Value keys) {
  auto [ofValues, valueOffsets] = findPacked(findMemory(values));
  auto [ofKeys, keyOffsets] = findPacked(findMemory(keys));
  if (ofValues == ofKeys && valueOffsets == keyOffsets)
    return true;
  auto slice = ofValues.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != ofKeys || valueOffsets != keyOffsets ||
      slice.getDroppedDims().any() || !isKnownSlice(slice) ||
      llvm::any_of(slice.getStaticOffsets(), [](int64_t n) { return n != 0; }))
    return false;
  ArrayRef<int64_t> all = slice.getSourceType().getShape(),
                    some = slice.getType().getShape();
  return all.drop_back() == some.drop_back() &&
         4 * all.back() <= 5 * some.back();
}

/// Sets the views of the operands of `match`. Gives the reason if one is not a
/// view of an argument.
static std::string matchOperands(AttentionFunction &match) {
  tile::OnlineAttentionOp op = match.attention;
  for (auto [value, view, name] :
       {std::tuple(narrowQueries(op), &match.q, "q"),
        std::tuple(Value(op.getK()), &match.k, "k"),
        std::tuple(Value(op.getV()), &match.v, "v")}) {
    FailureOr<ArgumentView> found =
        ArgumentView::ofOperand(findMemory(value), /*takesPacked=*/true);
    if (failed(found))
      return std::string(name) + " is computed in the function, where a view "
                                 "of an argument is expected";
    *view = *found;
    auto type = cast<RankedTensorType>(value.getType());
    if (type.isDynamicDim(3))
      return std::string(name) + " has a dynamic head dim";
  }
  match.sharesTiles = areFirstColumns(op.getV(), op.getK());
  if (std::string reason = checkParts(match); !reason.empty())
    return reason;
  if (std::string reason = matchPages(match); !reason.empty())
    return reason;
  if (std::string reason =
          matchScoreOperands(op.getScale(), op.getCaptures(), match.captures);
      !reason.empty())
    return reason;
  if (!match.table)
    match.lists = BlockLists::matchKeys(op, match.q, match.k, match.captures);
  if (Value sink = findSink(op)) {
    FailureOr<ArgumentView> found = ArgumentView::ofOperand(sink);
    if (failed(found) || found->isPart)
      return "the sink is computed in the function";
    match.sink = *found;
  }
  if (std::string reason = matchRng(op.getRng(), match.rng); !reason.empty())
    return reason;
  if (std::string reason = matchScales(match); !reason.empty())
    return reason;
  return checkPacked(match);
}

/// Sets the results of `match`: all that the function returns.
static std::string matchResults(AttentionFunction &match) {
  Value state = match.attention.getAccOut();
  auto finalize =
      state.hasOneUse()
          ? dyn_cast<tile::OnlineFinalizeOp>(*state.getUsers().begin())
          : tile::OnlineFinalizeOp();
  if (!finalize)
    return "its state is read by something else than tile.online_finalize";
  if (finalize.getMaxOut())
    return "its maxima stay apart";
  for (Value value : finalize.getResults()) {
    if (value.use_empty())
      continue;
    SmallVector<Operation *> epilogue;
    FailureOr<ArgumentView> view = ArgumentView::ofResult(value, epilogue);
    if (failed(view))
      return "its result is not returned as it is, or in another shape";
    if (view->offsets != match.q.offsets)
      return "its result is not packed as its queries are";
    for (Operation *op : epilogue)
      for (Value operand : op->getOperands())
        if (auto uniform = operand.getDefiningOp<tile::BroadcastOp>();
            uniform && !isKernelScalar(uniform.getInput()))
          return "a scalar that its result is combined with is computed from "
                 "tensors in the function";
    match.results.push_back(
        {value == finalize.getLse(), *view, std::move(epilogue)});
  }
  if (match.results.size() != match.function.getNumResults())
    return "the function returns something else, too";
  return "";
}

AttentionFunction fa::matchFunction(func::FuncOp function,
                                    std::string &reason) {
  AttentionFunction match;
  match.function = function;
  if (!function.getBody().hasOneBlock()) {
    reason = "its body has " +
             std::to_string(function.getBody().getBlocks().size()) +
             " blocks, where one is expected";
    return match;
  }
  auto attentions =
      llvm::to_vector(function.getBody().getOps<tile::OnlineAttentionOp>());
  if (attentions.size() != 1) {
    reason = "the function has " + std::to_string(attentions.size()) +
             " attentions, where one is expected";
    return match;
  }
  match.attention = attentions.front();
  reason = matchOperands(match);
  if (reason.empty())
    reason = matchResults(match);
  return match;
}

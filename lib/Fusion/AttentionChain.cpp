//===- AttentionChain.cpp - dot, elementwise, softmax, dot ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"
#include "ChainParts.h"
#include "DotViews.h"
#include "FindSource.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Follows elementwise operations from the softmax back to the one dot that the
/// scores come from.
static DotOp findScoreDot(Value value) {
  Value source = findSource(
      value, [](Value v) { return isa_and_nonnull<DotOp>(v.getDefiningOp()); },
      [](Operation *op) { return OpTrait::hasElementwiseMappableTraits(op); });
  return source ? source.getDefiningOp<DotOp>() : DotOp();
}

/// Why no dot was found that `scores` come from.
static std::string describeNoDot(Value scores) {
  Operation *view = nullptr;
  Value dot = findSource(
      scores, [](Value v) { return isa_and_nonnull<DotOp>(v.getDefiningOp()); },
      [&](Operation *op) {
        if (isView(op) && !view)
          view = op;
        return isView(op) || OpTrait::hasElementwiseMappableTraits(op);
      });
  if (!dot || !view)
    return "the scores do not come from a tile.dot through elementwise "
           "operations";
  return "'" + view->getName().getStringRef().str() +
         "' between the dot and the softmax is not what the dot gives of other "
         "views of its operands";
}

int64_t fa::productOf(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return ShapedType::kDynamic;
    result *= size;
  }
  return result;
}

/// What is collapsed, by all collapses in a row as one, and how.
static std::pair<Value, SmallVector<ReassociationIndices>>
wholeCollapse(tensor::CollapseShapeOp collapse) {
  Value source = collapse.getSrc();
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  while (auto before = source.getDefiningOp<tensor::CollapseShapeOp>()) {
    auto inner = before.getReassociationIndices();
    for (ReassociationIndices &group : groups) {
      ReassociationIndices all;
      for (int64_t d : group)
        llvm::append_range(all, inner[d]);
      group = all;
    }
    source = before.getSrc();
  }
  return {source, groups};
}

/// K or V without the repetition of its heads for each query head of a group:
/// heads [.., hkv, s, d] seen as [.., hkv, 1, s, d], broadcast and collapsed,
/// alone or together with the batches before them, or a leading dimension of 1
/// broadcast. A dot shares heads by itself.
static Value peelRepetition(Value value) {
  int64_t rank = typeOf(value).getRank();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    Value input = broadcast.getInput();
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type ||
        type.getDimSize(rank - 1) != typeOf(value).getDimSize(rank - 1) ||
        (type.getDimSize(rank - 2) == 1 &&
         typeOf(value).getDimSize(rank - 2) != 1))
      return value;
    return peelRepetition(input);
  }
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || rank < 3)
    return value;
  auto [source, groups] = wholeCollapse(collapse);
  auto broadcast = source.getDefiningOp<BroadcastOp>();
  auto input = broadcast
                   ? dyn_cast<RankedTensorType>(broadcast.getInput().getType())
                   : RankedTensorType();
  if (!input)
    return value;
  // Only leading dimensions are collapsed, and only the last of the heads' is
  // broadcast.
  ReassociationIndices &heads = groups[rank - 3];
  int64_t repeated = input.getRank() - 3;
  if (heads.size() < 2 || heads.back() != repeated)
    return value;
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (d != repeated && input.getDimSize(d) == 1 &&
        typeOf(source).getDimSize(d) != 1)
      return value;
  if (input.getDimSize(repeated) != 1)
    return value;
  auto expand = broadcast.getInput().getDefiningOp<ExpandDimsOp>();
  bool isAdded = expand && static_cast<int64_t>(expand.getDim()) == repeated;
  if (isAdded && input.getRank() == rank + 1)
    return expand.getInput();
  // Without the repeated dimension, what is left of the groups.
  SmallVector<int64_t> sizes;
  for (ArrayRef<int64_t> group : groups) {
    if (group.back() == repeated)
      group = group.drop_back();
    SmallVector<int64_t> parts;
    for (int64_t d : group)
      parts.push_back(input.getDimSize(d));
    sizes.push_back(productOf(parts));
  }
  Value whole = broadcast.getInput();
  OpBuilder b(collapse);
  if (isAdded) {
    whole = expand.getInput();
    heads.pop_back();
    groups[rank - 2] = {repeated};
    groups[rank - 1] = {repeated + 1};
  }
  return tensor::CollapseShapeOp::create(b, collapse.getLoc(),
                                         input.clone(sizes), whole, groups);
}

/// What `value` is a widening of, seen as `value` sees that; null if it is
/// none.
static Value peelExtension(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto wider = dyn_cast_or_null<arith::ExtFOp>(op))
    return wider.getIn();
  Value inner = isView(op) ? peelExtension(op->getOperand(0)) : Value();
  return inner ? cloneView(op, inner) : Value();
}

/// Whether elements of `rows` have 8 bits, which are widened to Q's type or, of
/// Q itself, to P's.
static bool is8bit(Value rows) { return isStorageFloat(rows.getType()); }

/// Finds V as it is in memory. `p` is what the dot reads of the probabilities,
/// which were rounded to `rounded` where they have been widened again.
static std::string findValues(AttentionChain &chain, Value p, Type rounded) {
  chain.v = peelRepetition(chain.outputDot.getB());
  chain.v = peelRepetition(peelScales(chain.v, chain.valueScales));
  if (chain.outputDot.getTransposeB())
    chain.v = swapLast(chain.v);
  chain.v = peelRepetition(chain.v);
  Type wide = typeOf(chain.v).getElementType(), expected = wide;
  if (Value narrow = peelExtension(chain.v)) {
    chain.v = peelRepetition(narrow);
    // Beside numbers of 8 bits P is rounded to Q's type.
    bool isRounded = is8bit(chain.v)
                         ? rounded || !wide.isF32()
                         : rounded == typeOf(chain.v).getElementType();
    chain.wideP = !isRounded;
    expected = chain.wideP ? Type(Float32Type::get(p.getContext())) : wide;
  } else if (rounded) {
    return "the probabilities are rounded and widened again, and V is not";
  }
  return getElementTypeOrSelf(p.getType()) == expected
             ? ""
             : "the probabilities and V have different element types";
}

/// Finds the dot that reads the probabilities. Gives the reason if there is no
/// such dot.
static std::string findOutputDot(AttentionChain &chain) {
  Value p = chain.softmax.getResult();
  if (!p.hasOneUse())
    return "the probabilities are read by more than one operation";
  Operation *user = *p.getUsers().begin();
  if (auto dropout = dyn_cast<DropoutOp>(user);
      dropout && dropout.getInput() == p) {
    chain.dropout = dropout;
    p = dropout.getResult();
    if (!p.hasOneUse())
      return "the probabilities are read by more than one operation";
    user = *p.getUsers().begin();
  }
  Type rounded;
  while (isa<arith::TruncFOp, arith::ExtFOp>(user) && !rounded) {
    if (isa<arith::ExtFOp>(user) && p.getDefiningOp<arith::TruncFOp>())
      rounded = getElementTypeOrSelf(p.getType());
    p = user->getResult(0);
    if (!p.hasOneUse())
      return "the probabilities are read by more than one operation";
    user = *p.getUsers().begin();
  }
  chain.outputDot = dyn_cast<DotOp>(user);
  if (!chain.outputDot || chain.outputDot.getA() != p ||
      chain.outputDot.getAcc())
    return "the probabilities are not the left operand of a tile.dot";
  if (chain.outputDot->getBlock() != chain.softmax->getBlock())
    return "the dot with V is in another block than the softmax";
  if (std::string reason = findValues(chain, p, rounded); !reason.empty())
    return reason;
  chain.roundedP = rounded ? rounded : getElementTypeOrSelf(p.getType());
  chain.result = chain.outputDot;
  if (chain.outputDot.getResult().hasOneUse())
    if (auto truncation = dyn_cast<arith::TruncFOp>(
            *chain.outputDot.getResult().getUsers().begin());
        truncation && truncation->getBlock() == chain.outputDot->getBlock())
      chain.result = truncation;
  return "";
}

/// Takes the same widening off Q and K: products of narrow numbers are exact.
static void peelWidening(AttentionChain &chain) {
  Value q = peelExtension(chain.q), k = peelExtension(chain.k);
  if (k && is8bit(k)) { // to Q's type, or both to f32
    if (q && (is8bit(q) || getElementTypeOrSelf(chain.k.getType()).isF32()))
      chain.q = q;
    chain.k = k;
    return;
  }
  if (!q || !k || getElementTypeOrSelf(q) != getElementTypeOrSelf(k) ||
      getElementTypeOrSelf(q) != getElementTypeOrSelf(chain.v))
    return;
  chain.q = q;
  chain.k = k;
}

/// Finds Q and K, and what they are multiplied with.
static void findOperands(AttentionChain &chain) {
  chain.q = peelFactors(chain.scoreDot.getA(), chain.factors);
  chain.k = peelFactors(chain.scoreDot.getB(), chain.factors);
  chain.k = peelScales(peelRepetition(chain.k), chain.keyScales);
  chain.k = peelRepetition(chain.k);
  if (!chain.scoreDot.getTransposeB())
    chain.k = swapLast(chain.k);
  peelWidening(chain);
  chain.k = peelRepetition(chain.k);
}

/// Gives the reason if no attention has operands of such types.
static std::string checkTypes(const AttentionChain &chain) {
  Type q = typeOf(chain.q).getElementType();
  if (!is8bit(chain.k) && !is8bit(chain.v))
    return q == typeOf(chain.k).getElementType()
               ? ""
               : "Q and K have different element types";
  if (!is8bit(chain.k) || !is8bit(chain.v))
    return "of K and V one alone has elements of 8 bits";
  if (is8bit(chain.q)) // what P is rounded to says what is computed with
    return !chain.wideP && (chain.roundedP.isF16() || chain.roundedP.isBF16())
               ? ""
               : "Q has elements of 8 bits, and the probabilities are not "
                 "rounded to f16 or bf16";
  if (!q.isF16() && !q.isBF16())
    return "K and V have elements of 8 bits, and Q has none of 16";
  return chain.wideP || chain.roundedP == q
             ? ""
             : "the probabilities are not rounded to Q's type";
}

/// Finds the precision of both dots. One of narrow numbers has none: their
/// products are exact. Gives the reason if they differ.
static std::string findPrecision(AttentionChain &chain) {
  bool wideScores = typeOf(chain.q).getElementType().isF32();
  bool wideOutput = chain.wideP || typeOf(chain.v).getElementType().isF32();
  DotPrecision ofScores = chain.scoreDot.getPrecision(),
               ofOutput = chain.outputDot.getPrecision();
  if (wideScores && wideOutput && ofScores != ofOutput)
    return "its dots are of different precision, " +
           stringifyDotPrecision(ofScores).str() + " and " +
           stringifyDotPrecision(ofOutput).str();
  if (wideScores || wideOutput)
    chain.precision = wideScores ? ofScores : ofOutput;
  return "";
}

/// Sets how many keys scales of some keys are for. Gives the reason if they
/// are for different numbers, or V has several.
static std::string findScaleKeys(AttentionChain &chain) {
  if (chain.valueScales.size() > 1)
    return "V is multiplied with more than one number for each batch and head";
  SmallVector<RowScales> all(chain.keyScales);
  all.append(chain.valueScales);
  for (const RowScales &scales : all) {
    if (!scales.keys)
      continue;
    if (chain.scaleKeys && chain.scaleKeys != scales.keys)
      return "K and V are multiplied with numbers for " +
             std::to_string(chain.scaleKeys) + " and for " +
             std::to_string(scales.keys) + " keys each";
    chain.scaleKeys = scales.keys;
  }
  return "";
}

/// Puts leading dimensions along which K and V are shared behind the others.
static void orderLeading(AttentionChain &chain) {
  int64_t n = chain.numLeading();
  RankedTensorType q = typeOf(chain.q), k = typeOf(chain.k),
                   v = typeOf(chain.v);
  auto isShared = [&](int64_t d) {
    return k.getDimSize(d) == 1 && v.getDimSize(d) == 1 && q.getDimSize(d) != 1;
  };
  for (bool shared : {false, true})
    for (int64_t d = 0; d < n; ++d)
      if (isShared(d) == shared)
        chain.order.push_back(d);
  if (chain.isOrdered())
    return;
  SmallVector<int64_t> permutation(chain.order);
  permutation.append({n, n + 1});
  for (Value *operand : {&chain.q, &chain.k, &chain.v})
    *operand = transposedWhole(*operand, permutation);
}

/// Finds which leading dimensions are heads and which are batches. Gives the
/// reason if K and V are not shared as heads of a group are.
static std::string findHeads(AttentionChain &chain) {
  RankedTensorType q = typeOf(chain.q), k = typeOf(chain.k);
  int64_t n = chain.numLeading();
  if (k.getShape().take_front(n) != typeOf(chain.v).getShape().take_front(n))
    return "K and V have different batches or heads";
  auto isShared = [&](int64_t d) {
    return k.getDimSize(d) == 1 && q.getDimSize(d) != 1;
  };
  int64_t firstShared = n;
  while (firstShared > 0 && isShared(firstShared - 1))
    --firstShared;
  chain.firstHeadDim = std::max<int64_t>(n - 1, 0);
  if (n >= 3 && firstShared < n)
    chain.firstHeadDim = std::max<int64_t>(1, firstShared - 1);
  for (int64_t d = 0; d < chain.firstHeadDim; ++d)
    if (q.getDimSize(d) != k.getDimSize(d))
      return "K is shared along dimension " + std::to_string(chain.order[d]) +
             ", which is not the heads'";
  return "";
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

/// Finds the sink as one number for each head. Gives the reason if it is more.
static std::string matchSink(AttentionChain &chain) {
  Value value = chain.softmax.getSink();
  if (!value)
    return "";
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  // [hq] among dimensions of 1: those of the heads.
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t heads = chain.numLeading() - 1;
  while (auto expand = value.getDefiningOp<ExpandDimsOp>())
    value = expand.getInput();
  if (!type || heads < 0 || !chain.isOrdered() ||
      typeOf(value).getRank() != 1 || chain.firstHeadDim != heads)
    return "the sink is not one number for each head";
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != heads && type.getDimSize(d) != 1)
      return "the sink is not one number for each head";
  chain.sink = value;
  return "";
}

std::string AttentionChain::match(SoftmaxOp softmax, bool takeSentinels,
                                  AttentionChain &chain) {
  chain.softmax = softmax;
  RankedTensorType type = softmax.getType();
  if (type.getRank() < 2)
    return "the scores are of rank 1, without queries";
  if (softmax.getNormalizedDim() != type.getRank() - 1)
    return "the softmax is not over the last dimension";
  if (!type.getElementType().isF32())
    return "the softmax is not computed in f32";
  chain.scoreDot = findScoreDot(softmax.getInput());
  if (!chain.scoreDot)
    return describeNoDot(softmax.getInput());
  if (chain.scoreDot.getAcc() ||
      !chain.scoreDot.getType().getElementType().isF32())
    return "the dot of the scores has an accumulator or does not give f32";
  if (std::string reason = findOutputDot(chain); !reason.empty())
    return reason;
  findOperands(chain);
  if (std::string reason = checkTypes(chain); !reason.empty())
    return reason;
  if (std::string reason = findPrecision(chain); !reason.empty())
    return reason;
  orderLeading(chain);
  if (!chain.isOrdered() && chain.dropout)
    return "dropout counts heads in another order than that in which they "
           "share K and V";
  if (!chain.isOrdered() &&
      !(chain.keyScales.empty() && chain.valueScales.empty()))
    return "scales of K and V count heads in another order than that in which "
           "they share K and V";
  if (std::string reason = findScaleKeys(chain); !reason.empty())
    return reason;
  if (std::string reason = findHeads(chain); !reason.empty())
    return reason;
  if (std::string reason = matchSink(chain); !reason.empty())
    return reason;
  chain.modified = softmax.getInput();
  for (Operation *user : chain.modified.getUsers()) {
    if (user == softmax)
      continue;
    chain.lse = dyn_cast<LogSumExpOp>(user);
    if (!chain.lse)
      return "the scores are read by another operation than the softmax";
    if (chain.lse.getSink() != softmax.getSink())
      return "the softmax and the log-sum-exp have different sinks";
  }
  auto isLse = [&](Value v) { return v == chain.lse.getResult(); };
  if (chain.lse && findSource(chain.v, isLse))
    return "V is computed from the log-sum-exp";
  peelMasks(chain, takeSentinels);
  peelScale(chain);
  return "";
}

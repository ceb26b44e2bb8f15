//===- AttentionChain.cpp - dot, elementwise, softmax, dot ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value fa::getUniform(Value value) {
  if (!isa<TensorType>(value.getType()))
    return value;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getUniform(broadcast.getInput());
  if (auto expand = value.getDefiningOp<ExpandDimsOp>())
    return getUniform(expand.getInput());
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return {};
  OpBuilder b(value.getDefiningOp());
  b.setInsertionPointAfterValue(value);
  return arith::ConstantOp::create(b, value.getLoc(),
                                   constant.getSplatValue<TypedAttr>());
}

/// The number that is everywhere in `value`, if it is known.
static std::optional<APFloat> getNumber(Value value) {
  DenseElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) && splat.isSplat() &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getNumber(broadcast.getInput());
  if (auto expand = value.getDefiningOp<ExpandDimsOp>())
    return getNumber(expand.getInput());
  if (auto wider = value.getDefiningOp<arith::ExtFOp>())
    return getNumber(wider.getIn());
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValue();
  return std::nullopt;
}

/// Whether a select of `value` takes an element out: −inf, or a number that is
/// meant so.
static bool isMaskValue(Value value, bool takeSentinels, bool &sentinel) {
  std::optional<APFloat> number = getNumber(value);
  if (!number || !number->isNegative())
    return false;
  if (number->isInfinity()) {
    sentinel = false;
    return true;
  }
  bool narrow = &number->getSemantics() == &APFloat::IEEEhalf();
  bool low = narrow ? number->isLargest() : number->convertToDouble() <= -1e30;
  sentinel = true;
  return low && takeSentinels;
}

/// Whether `op` only looks at its first operand in another shape.
static bool isView(Operation *op) {
  return isa_and_nonnull<TransposeOp, ExpandDimsOp, BroadcastOp,
                         tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

/// The view operation `op` of another operand.
static Value cloneView(Operation *op, Value operand) {
  OpBuilder b(op);
  IRMapping mapping;
  mapping.map(op->getOperand(0), operand);
  Operation *view = b.clone(*op, mapping);
  view->getResult(0).setType(
      typeOf(view->getResult(0)).clone(getElementTypeOrSelf(operand)));
  return view->getResult(0);
}

/// `value` with its last two dimensions swapped.
static Value swapLast(Value value) {
  RankedTensorType type = typeOf(value);
  int64_t rank = type.getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation() == ArrayRef(permutation))
    return transpose.getInput();
  SmallVector<int64_t> sizes(type.getShape());
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  return TransposeOp::create(b, value.getLoc(), type.clone(sizes), value,
                             permutation);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// The f32 scalar of a factor; `inverse`: of a divisor.
static Value asFactor(Operation *at, Value uniform, bool inverse) {
  ImplicitLocOpBuilder b(at->getLoc(), at);
  if (!uniform.getType().isF32())
    uniform = uniform.getType().getIntOrFloatBitWidth() < 32
                  ? b.createOrFold<arith::ExtFOp>(b.getF32Type(), uniform)
                  : b.createOrFold<arith::TruncFOp>(b.getF32Type(), uniform);
  if (!inverse)
    return uniform;
  return b.createOrFold<arith::DivFOp>(
      arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f)), uniform);
}

/// Takes multiplications by something uniform off `value`, the latest first.
static Value peelFactors(Value value, SmallVectorImpl<Value> &factors) {
  Operation *op = value.getDefiningOp();
  if (auto multiply = dyn_cast_or_null<arith::MulFOp>(op)) {
    for (auto [x, y] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                        std::pair(multiply.getRhs(), multiply.getLhs())})
      if (Value uniform = getUniform(y)) {
        factors.push_back(asFactor(op, uniform, /*inverse=*/false));
        return peelFactors(x, factors);
      }
  } else if (auto divide = dyn_cast_or_null<arith::DivFOp>(op)) {
    if (Value uniform = getUniform(divide.getRhs())) {
      factors.push_back(asFactor(op, uniform, /*inverse=*/true));
      return peelFactors(divide.getLhs(), factors);
    }
  } else if (auto narrower = dyn_cast_or_null<arith::TruncFOp>(op)) {
    // Widened, multiplied and narrowed again.
    SmallVector<Value> inner;
    Value source = peelFactors(narrower.getIn(), inner);
    auto wider = source.getDefiningOp<arith::ExtFOp>();
    if (!inner.empty() && wider &&
        wider.getIn().getType() == narrower.getType()) {
      factors.append(inner);
      return peelFactors(wider.getIn(), factors);
    }
  } else if (isView(op) && isa<TensorType>(op->getOperand(0).getType())) {
    SmallVector<Value> inner;
    Value source = peelFactors(op->getOperand(0), inner);
    if (!inner.empty()) {
      factors.append(inner);
      return cloneView(op, source);
    }
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Follows elementwise operations from the softmax back to the one dot that the
/// scores come from.
static DotOp findScoreDot(Value value) {
  if (auto dot = value.getDefiningOp<DotOp>())
    return dot;
  Operation *op = value.getDefiningOp();
  if (!op || !OpTrait::hasElementwiseMappableTraits(op))
    return {};
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      if (DotOp dot = findScoreDot(operand))
        return dot;
  return {};
}

/// K or V without the repetition of its heads for each query head of a group:
/// heads [.., hkv, s, d] seen as [.., hkv, 1, s, d], broadcast and collapsed,
/// or a leading dimension of 1 broadcast. A dot shares heads by itself.
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
  auto broadcast =
      collapse ? collapse.getSrc().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!broadcast || rank < 3)
    return value;
  auto input = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
  if (!input || input.getRank() != rank + 1)
    return value;
  // Only the heads are collapsed, and only the new dimension is broadcast.
  auto groups = collapse.getReassociationIndices();
  for (auto [d, group] : llvm::enumerate(groups))
    if (group.size() != (static_cast<int64_t>(d) == rank - 3 ? 2u : 1u))
      return value;
  RankedTensorType wide = typeOf(collapse.getSrc());
  for (int64_t d = 0; d <= rank; ++d)
    if (d != rank - 2 && input.getDimSize(d) == 1 && wide.getDimSize(d) != 1)
      return value;
  if (input.getDimSize(rank - 2) != 1)
    return value;
  if (auto expand = broadcast.getInput().getDefiningOp<ExpandDimsOp>();
      expand && static_cast<int64_t>(expand.getDim()) == rank - 2)
    return expand.getInput();
  SmallVector<int64_t> sizes(input.getShape());
  sizes.erase(sizes.begin() + rank - 2);
  OpBuilder b(collapse);
  return tensor::CollapseShapeOp::create(
      b, collapse.getLoc(), input.clone(sizes), broadcast.getInput(), groups);
}

/// Finds the dot that reads the probabilities. Gives the reason if there is no
/// such dot.
static std::string findOutputDot(AttentionChain &chain) {
  Value p = chain.softmax.getResult();
  if (!p.hasOneUse())
    return "the probabilities are read by more than one operation";
  Operation *user = *p.getUsers().begin();
  if (isa<arith::TruncFOp, arith::ExtFOp>(user)) {
    p = user->getResult(0);
    if (!p.hasOneUse())
      return "the probabilities are read by more than one operation";
    user = *p.getUsers().begin();
  }
  chain.outputDot = dyn_cast<DotOp>(user);
  if (!chain.outputDot || chain.outputDot.getA() != p ||
      chain.outputDot.getAcc())
    return "the probabilities are not the left operand of a tile.dot";
  chain.v = peelRepetition(chain.outputDot.getB());
  if (auto wider = chain.v.getDefiningOp<arith::ExtFOp>()) {
    chain.wideP = true;
    chain.v = peelRepetition(wider.getIn());
  }
  if (chain.outputDot.getTransposeB())
    chain.v = swapLast(chain.v);
  Type expected = chain.wideP ? Type(Float32Type::get(p.getContext()))
                              : typeOf(chain.v).getElementType();
  if (getElementTypeOrSelf(p.getType()) != expected)
    return "the probabilities and V have different element types";
  chain.result = chain.outputDot;
  if (chain.outputDot.getResult().hasOneUse())
    if (auto truncation = dyn_cast<arith::TruncFOp>(
            *chain.outputDot.getResult().getUsers().begin()))
      chain.result = truncation;
  return "";
}

/// Takes the same widening off Q and K: products of narrow numbers are exact.
static void peelWidening(AttentionChain &chain) {
  auto q = chain.q.getDefiningOp<arith::ExtFOp>();
  auto k = chain.k.getDefiningOp<arith::ExtFOp>();
  if (!q || !k ||
      getElementTypeOrSelf(q.getIn()) != getElementTypeOrSelf(k.getIn()) ||
      getElementTypeOrSelf(q.getIn()) !=
          getElementTypeOrSelf(chain.v.getType()))
    return;
  chain.q = q.getIn();
  chain.k = k.getIn();
}

/// Finds Q and K, and what they are multiplied with.
static void findOperands(AttentionChain &chain) {
  chain.q = peelFactors(chain.scoreDot.getA(), chain.factors);
  chain.k = peelFactors(chain.scoreDot.getB(), chain.factors);
  peelWidening(chain);
  chain.k = peelRepetition(chain.k);
  if (!chain.scoreDot.getTransposeB())
    chain.k = swapLast(chain.k);
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
      return "K is shared along dimension " + std::to_string(d) +
             ", which is not the heads'";
  return "";
}

//===----------------------------------------------------------------------===//
// Masks, scale, sink
//===----------------------------------------------------------------------===//

/// An addend of 0 where a condition holds and a mask value elsewhere: the
/// select, behind views that are applied to `condition` as well.
static Value getAddedMask(Value value, bool takeSentinels, bool &negated,
                          bool &sentinel) {
  Operation *op = value.getDefiningOp();
  if (isView(op) && isa<TensorType>(op->getOperand(0).getType())) {
    Value inner =
        getAddedMask(op->getOperand(0), takeSentinels, negated, sentinel);
    return inner ? cloneView(op, inner) : Value();
  }
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return getAddedMask(op->getOperand(0), takeSentinels, negated, sentinel);
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  if (!select || !isa<TensorType>(select.getCondition().getType()))
    return {};
  auto isZero = [](Value x) {
    std::optional<APFloat> number = getNumber(x);
    return number && number->isZero();
  };
  negated = isZero(select.getFalseValue());
  if (!negated && !isZero(select.getTrueValue()))
    return {};
  Value other = negated ? select.getTrueValue() : select.getFalseValue();
  return isMaskValue(other, takeSentinels, sentinel) ? select.getCondition()
                                                     : Value();
}

/// Takes masks off the end of the score computation.
static void peelMasks(AttentionChain &chain, bool takeSentinels) {
  while (true) {
    bool sentinel = false, negated = false;
    if (auto select = chain.modified.getDefiningOp<arith::SelectOp>()) {
      if (!isa<TensorType>(select.getCondition().getType()))
        return;
      negated = !isMaskValue(select.getFalseValue(), takeSentinels, sentinel);
      if (negated &&
          !isMaskValue(select.getTrueValue(), takeSentinels, sentinel))
        return;
      chain.masks.push_back({select.getCondition(), negated, sentinel});
      chain.modified = negated ? select.getFalseValue() : select.getTrueValue();
      continue;
    }
    auto add = chain.modified.getDefiningOp<arith::AddFOp>();
    if (!add)
      return;
    bool found = false;
    for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()),
                        std::pair(add.getRhs(), add.getLhs())})
      if (Value condition = getAddedMask(y, takeSentinels, negated, sentinel)) {
        chain.masks.push_back({condition, negated, sentinel});
        chain.modified = x;
        found = true;
        break;
      }
    if (!found)
      return;
  }
}

/// Uniform multipliers of the dot's result become part of the scale.
static void peelScale(AttentionChain &chain) {
  chain.scores = chain.scoreDot.getResult();
  while (chain.scores.hasOneUse()) {
    Operation *user = *chain.scores.getUsers().begin();
    Value other;
    bool inverse = false;
    if (auto multiply = dyn_cast<arith::MulFOp>(user)) {
      other = multiply.getLhs() == chain.scores ? multiply.getRhs()
                                                : multiply.getLhs();
    } else if (auto divide = dyn_cast<arith::DivFOp>(user)) {
      inverse = true;
      other = divide.getLhs() == chain.scores ? divide.getRhs() : Value();
    }
    Value uniform = other ? getUniform(other) : Value();
    if (!uniform)
      return;
    chain.factors.push_back(asFactor(user, uniform, inverse));
    chain.scores = user->getResult(0);
  }
}

/// Finds the sink as one number for each head. Gives the reason if it is more.
static std::string findSink(AttentionChain &chain) {
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
  if (!type || heads < 0 || typeOf(value).getRank() != 1 ||
      chain.firstHeadDim != heads)
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
    return "the scores do not come from a tile.dot through elementwise "
           "operations";
  if (chain.scoreDot.getAcc() ||
      !chain.scoreDot.getType().getElementType().isF32())
    return "the dot of the scores has an accumulator or does not give f32";
  if (std::string reason = findOutputDot(chain); !reason.empty())
    return reason;
  findOperands(chain);
  if (typeOf(chain.q).getElementType() != typeOf(chain.k).getElementType())
    return "Q and K have different element types";
  if (std::string reason = findPrecision(chain); !reason.empty())
    return reason;
  if (std::string reason = findHeads(chain); !reason.empty())
    return reason;
  if (std::string reason = findSink(chain); !reason.empty())
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
  peelMasks(chain, takeSentinels);
  peelScale(chain);
  return "";
}

//===- FuseAttention.cpp - tile-fuse-attention ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementRegion.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"
#include "fa/Fusion/Stage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILEFUSEATTENTION
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

/// One chain dot -> elementwise -> softmax -> dot, as found.
struct Chain {
  DotOp scoreDot, outputDot;
  SoftmaxOp softmax;
  LogSumExpOp lse; ///< of the same scores, or null
  Value q, k, v;   ///< k and v as [b, h, s, d]
  Value scores;    ///< the scores that the regions start from
  Value scale;     ///< null: 1
  Value sink;      ///< [hq], or null
  Value modified;  ///< what the score region yields, as a tensor
  SmallVector<std::pair<Value, bool>> masks; ///< condition, whether negated
  Operation *result; ///< the dot, or the conversion of its result
};

} // namespace

/// The scalar that is everywhere in `value`, or null.
static Value getUniform(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    if (!isa<TensorType>(broadcast.getInput().getType()))
      return broadcast.getInput();
    return getUniform(broadcast.getInput());
  }
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  return {};
}

static bool isNegativeInfinity(Value value) {
  if (Value scalar = getUniform(value))
    value = scalar;
  return matchPattern(value, m_NegInfFloat());
}

/// `value` with its last two dimensions swapped, looked through rather than
/// computed; null if it is not transposed so.
static Value getTransposed(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation() == ArrayRef<int64_t>{0, 1, 3, 2})
    return transpose.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// Finding a chain
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

/// Takes selects of −inf off the end of the score computation.
static void peelMasks(Chain &chain) {
  while (auto select = chain.modified.getDefiningOp<arith::SelectOp>()) {
    if (isNegativeInfinity(select.getFalseValue())) {
      chain.masks.push_back({select.getCondition(), false});
      chain.modified = select.getTrueValue();
    } else if (isNegativeInfinity(select.getTrueValue())) {
      chain.masks.push_back({select.getCondition(), true});
      chain.modified = select.getFalseValue();
    } else {
      return;
    }
  }
}

/// A uniform multiplier of the dot's result becomes the scale.
static void peelScale(Chain &chain) {
  chain.scores = chain.scoreDot.getResult();
  if (!chain.scores.hasOneUse())
    return;
  auto multiply = dyn_cast<arith::MulFOp>(*chain.scores.getUsers().begin());
  if (!multiply)
    return;
  Value other =
      multiply.getLhs() == chain.scores ? multiply.getRhs() : multiply.getLhs();
  Value uniform = getUniform(other);
  if (DenseElementsAttr splat;
      !uniform && matchPattern(other, m_Constant(&splat)) && splat.isSplat()) {
    OpBuilder builder(multiply);
    uniform = arith::ConstantOp::create(builder, multiply.getLoc(),
                                        splat.getSplatValue<TypedAttr>());
  }
  if (!uniform || !uniform.getType().isF32())
    return;
  chain.scale = uniform;
  chain.scores = multiply.getResult();
}

/// Finds the dot that reads the probabilities. Gives the reason if there is no
/// such dot.
static StringRef findOutputDot(Chain &chain) {
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
  chain.v = chain.outputDot.getB();
  if (chain.outputDot.getTransposeB()) {
    chain.v = getTransposed(chain.v);
    if (!chain.v)
      return "V is given transposed";
  }
  chain.result = chain.outputDot;
  if (chain.outputDot.getResult().hasOneUse())
    if (auto truncation = dyn_cast<arith::TruncFOp>(
            *chain.outputDot.getResult().getUsers().begin()))
      chain.result = truncation;
  return "";
}

/// Finds K as [b, h, s, d]. Gives the reason if that is not at hand.
static StringRef findKeys(Chain &chain) {
  chain.q = chain.scoreDot.getA();
  chain.k = chain.scoreDot.getB();
  if (!chain.scoreDot.getTransposeB()) {
    chain.k = getTransposed(chain.k);
    if (!chain.k)
      return "K is contracted over its second last dimension and is not the "
             "result of a tile.transpose [0, 1, 3, 2]";
  }
  return "";
}

/// Finds the sink as one number for each head. Gives the reason if it is more.
static StringRef findSink(Chain &chain) {
  Value value = chain.softmax.getSink();
  if (!value)
    return "";
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  // [hq] as [1, hq, 1]: dimension 1 is the one that was there.
  auto outer = value.getDefiningOp<ExpandDimsOp>();
  auto inner =
      outer ? outer.getInput().getDefiningOp<ExpandDimsOp>() : ExpandDimsOp();
  bool alongHeads = inner && ((outer.getDim() == 0 && inner.getDim() == 1) ||
                              (outer.getDim() == 2 && inner.getDim() == 0));
  if (!alongHeads ||
      cast<RankedTensorType>(inner.getInput().getType()).getRank() != 1)
    return "the sink is not one number for each head";
  chain.sink = inner.getInput();
  return "";
}

/// What stands between `chain.softmax` and a fused attention; empty: nothing.
static StringRef matchChain(Chain &chain) {
  RankedTensorType type = chain.softmax.getType();
  if (type.getRank() != 4)
    return "scores are not of rank 4 [batch, head, query, key]";
  if (chain.softmax.getNormalizedDim() != 3)
    return "the softmax is not over the last dimension";
  if (!type.getElementType().isF32())
    return "the softmax is not computed in f32";
  chain.scoreDot = findScoreDot(chain.softmax.getInput());
  if (!chain.scoreDot)
    return "the scores do not come from a tile.dot through elementwise "
           "operations";
  if (chain.scoreDot.getAcc() ||
      !chain.scoreDot.getType().getElementType().isF32())
    return "the dot of the scores has an accumulator or does not give f32";
  if (StringRef reason = findOutputDot(chain); !reason.empty())
    return reason;
  if (StringRef reason = findKeys(chain); !reason.empty())
    return reason;
  if (StringRef reason = findSink(chain); !reason.empty())
    return reason;
  chain.modified = chain.softmax.getInput();
  for (Operation *user : chain.modified.getUsers()) {
    if (user == chain.softmax)
      continue;
    chain.lse = dyn_cast<LogSumExpOp>(user);
    if (!chain.lse)
      return "the scores are read by another operation than the softmax";
    if (chain.lse.getSink() != chain.softmax.getSink())
      return "the softmax and the log-sum-exp have different sinks";
  }
  peelMasks(chain);
  peelScale(chain);
  return "";
}

//===----------------------------------------------------------------------===//
// Building the attention
//===----------------------------------------------------------------------===//

namespace {

/// The regions of one attention while they are built.
class RegionPair {
public:
  explicit RegionPair(Location loc) : loc(loc) {
    Builder b(loc.getContext());
    score.addArgument(b.getF32Type(), loc);
    for (int i = 0; i < 4; ++i) {
      score.addArgument(b.getIndexType(), loc);
      mask.addArgument(b.getIndexType(), loc);
    }
    captures.blocks = {&score, &mask};
  }

  /// The operation that cannot be taken into a region, or null.
  Operation *build(Chain &chain) {
    SmallVector<Value> at(score.getArguments().begin() + 1,
                          score.getArguments().begin() + 5);
    ElementBuilder scoreBuilder(loc, &score, captures, chain.scores,
                                score.getArgument(0), at);
    Value element = scoreBuilder.build(chain.modified, at);
    if (!element)
      return scoreBuilder.blocker;
    YieldOp::create(scoreBuilder.b, element);

    at.assign(mask.getArguments().begin(), mask.getArguments().begin() + 4);
    ElementBuilder maskBuilder(loc, &mask, captures, chain.scoreDot.getResult(),
                               Value(), at);
    Value all;
    // The select nearest to the dot was peeled last.
    for (auto [condition, negated] : llvm::reverse(chain.masks)) {
      Value term = maskBuilder.build(condition, at);
      if (!term)
        return maskBuilder.blocker ? maskBuilder.blocker
                                   : chain.softmax.getOperation();
      if (negated) {
        Value one = arith::ConstantIntOp::create(maskBuilder.b, 1, 1);
        term = arith::XOrIOp::create(maskBuilder.b, term, one);
      }
      all = all ? arith::AndIOp::create(maskBuilder.b, all, term) : term;
    }
    if (all)
      YieldOp::create(maskBuilder.b, all);
    return nullptr;
  }

  /// Moves the blocks into `op`; an identity or an empty mask stays empty.
  void moveInto(AttentionOp op) {
    if (score.back().getOperand(0) != score.getArgument(0))
      moveBlock(score, op.getScore());
    if (!mask.empty())
      moveBlock(mask, op.getMask());
  }

  RegionCaptures captures;

private:
  static void moveBlock(Block &from, Region &to) {
    Block &block = to.emplaceBlock();
    SmallVector<Location> locs(from.getNumArguments(),
                               UnknownLoc::get(to.getContext()));
    block.addArguments(from.getArgumentTypes(), locs);
    for (auto [old, now] : llvm::zip(from.getArguments(), block.getArguments()))
      old.replaceAllUsesWith(now);
    block.getOperations().splice(block.end(), from.getOperations());
  }

  Location loc;
  Block score, mask;
};

struct TileFuseAttention final
    : fa::impl::TileFuseAttentionBase<TileFuseAttention> {
  void runOnOperation() override {
    SmallVector<SoftmaxOp> softmaxes;
    getOperation().walk([&](SoftmaxOp op) { softmaxes.push_back(op); });
    for (SoftmaxOp softmax : softmaxes)
      fuse(softmax);
  }

  void fuse(SoftmaxOp softmax) {
    Chain chain;
    chain.softmax = softmax;
    if (StringRef reason = matchChain(chain); !reason.empty())
      return refuse(softmax, reason);
    RegionPair regions(softmax.getLoc());
    if (Operation *blocker = regions.build(chain))
      return refuse(softmax,
                    "'" + blocker->getName().getStringRef() +
                        "' between the dot and the softmax is not elementwise");
    replace(chain, regions);
  }

  static void refuse(SoftmaxOp softmax, const Twine &reason) {
    softmax.emitRemark("attention is not fused: ") << reason;
    softmax->setAttr(notFusedAttr,
                     StringAttr::get(softmax.getContext(), reason));
  }

  void replace(Chain &chain, RegionPair &regions) {
    ImplicitLocOpBuilder b(chain.softmax.getLoc(), chain.result);
    if (!chain.scale)
      chain.scale = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
    Type lse = chain.lse ? chain.lse.getType() : Type();
    auto attention = AttentionOp::create(
        b, chain.result->getResult(0).getType(), lse, chain.q, chain.k, chain.v,
        chain.scale, chain.sink, regions.captures.values.getArrayRef());
    regions.moveInto(attention);
    chain.result->getResult(0).replaceAllUsesWith(attention.getOutput());
    if (chain.lse) {
      chain.lse.getResult().replaceAllUsesWith(attention.getLse());
      chain.lse.erase();
    }
    eraseDead(chain.result);
  }

  /// Erases `op`, whose results are unused, and what only it needed.
  void eraseDead(Operation *op) {
    SmallVector<Operation *> sources;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !llvm::is_contained(sources, source))
        sources.push_back(source);
    op->erase();
    for (Operation *source : sources)
      if (isOpTriviallyDead(source))
        eraseDead(source);
  }
};

} // namespace

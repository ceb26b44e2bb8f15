//===- FuseAttention.cpp - tile-fuse-attention ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"
#include "ChainParts.h"
#include "DeadOps.h"
#include "ElementRegion.h"
#include "LeadingDims.h"

#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Fusion/Passes.h"
#include "fa/Fusion/Stage.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
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

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// The regions of one attention while they are built.
class RegionPair {
public:
  RegionPair(const AttentionChain &chain, Location loc)
      : chain(chain), loc(loc) {
    Builder b(loc.getContext());
    score.addArgument(b.getF32Type(), loc);
    for (int i = 0; i < 4; ++i) {
      score.addArgument(b.getIndexType(), loc);
      mask.addArgument(b.getIndexType(), loc);
    }
    captures.blocks = {&score, &mask};
  }

  /// The operation that cannot be taken into a region, or null.
  Operation *build() {
    SmallVector<Value> at = coordinates(score, 1);
    ElementBuilder scoreBuilder(loc, &score, captures, chain.scores,
                                score.getArgument(0), at);
    Value element = scoreBuilder.build(chain.modified, at);
    if (!element)
      return scoreBuilder.blocker;
    YieldOp::create(scoreBuilder.b, element);

    if (chain.masks.empty())
      return nullptr;
    at = coordinates(mask, 0);
    ElementBuilder maskBuilder(loc, &mask, captures,
                               tile::DotOp(chain.scoreDot).getResult(), Value(),
                               at);
    Value all;
    // The mask nearest to the dot was peeled last.
    for (const AttentionChain::Mask &each : llvm::reverse(chain.masks)) {
      Value term = maskBuilder.build(each.condition, at);
      if (!term)
        return maskBuilder.blocker
                   ? maskBuilder.blocker
                   : tile::SoftmaxOp(chain.softmax).getOperation();
      if (each.negated) {
        Value one = arith::ConstantIntOp::create(maskBuilder.b, 1, 1);
        term = arith::XOrIOp::create(maskBuilder.b, term, one);
      }
      all = all ? arith::AndIOp::create(maskBuilder.b, all, term) : term;
    }
    YieldOp::create(maskBuilder.b, all);
    return nullptr;
  }

  /// Moves the blocks into `op`; an identity or an empty mask stays empty.
  void moveInto(AttentionOp op) {
    eraseDead(score);
    eraseDead(mask);
    if (score.back().getOperand(0) != score.getArgument(0))
      moveBlock(score, op.getScore());
    if (!mask.empty())
      moveBlock(mask, op.getMask());
  }

  RegionCaptures captures;

private:
  /// The coordinates of an element in the program's own dimensions, from those
  /// of the attention: arguments `first` and on of `block`.
  SmallVector<Value> coordinates(Block &block, unsigned first) {
    ImplicitLocOpBuilder b(loc, loc.getContext());
    b.setInsertionPointToEnd(&block);
    int64_t n = chain.numLeading();
    SmallVector<Value> ofQ(n), at(n);
    split(b, block, block.getArgument(first), 0, chain.firstHeadDim, ofQ);
    split(b, block, block.getArgument(first + 1), chain.firstHeadDim, n, ofQ);
    for (auto [index, d] : llvm::zip(ofQ, chain.order))
      at[d] = index;
    at.push_back(block.getArgument(first + 2));
    at.push_back(block.getArgument(first + 3));
    return at;
  }

  /// Dimensions `begin` to `end` from their common index.
  void split(ImplicitLocOpBuilder &b, Block &block, Value index, int64_t begin,
             int64_t end, SmallVectorImpl<Value> &at) {
    SmallVector<int64_t> several; // the others have one index
    for (int64_t d = begin; d < end; ++d)
      if (typeOf(chain.q).getDimSize(d) != 1)
        several.push_back(d);
      else
        at[d] = arith::ConstantIndexOp::create(b, 0);
    for (int64_t d : llvm::reverse(ArrayRef(several).drop_front(
             std::min<size_t>(1, several.size())))) {
      Value size = sizeOf(b, block, d);
      at[d] = arith::RemUIOp::create(b, index, size);
      index = arith::DivUIOp::create(b, index, size);
    }
    if (!several.empty())
      at[several.front()] = index;
  }

  Value sizeOf(ImplicitLocOpBuilder &b, Block &block, int64_t d) {
    RankedTensorType type = typeOf(chain.q);
    if (!type.isDynamicDim(d))
      return arith::ConstantIndexOp::create(b, type.getDimSize(d));
    Value &size = sizes[d];
    if (!size) {
      OpBuilder outside(chain.result);
      size = tensor::DimOp::create(outside, loc, chain.q, d);
    }
    return captures.get(size, &block);
  }

  /// Erases what was built and nothing reads.
  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  static void moveBlock(Block &from, Region &to) {
    Block &block = to.emplaceBlock();
    SmallVector<Location> locs(from.getNumArguments(),
                               UnknownLoc::get(to.getContext()));
    block.addArguments(from.getArgumentTypes(), locs);
    for (auto [old, now] : llvm::zip(from.getArguments(), block.getArguments()))
      old.replaceAllUsesWith(now);
    block.getOperations().splice(block.end(), from.getOperations());
  }

  const AttentionChain &chain;
  Location loc;
  Block score, mask;
  llvm::DenseMap<int64_t, Value> sizes; ///< of leading dimensions of q
};

} // namespace

//===----------------------------------------------------------------------===//
// Sentinels
//===----------------------------------------------------------------------===//

/// Whether `bound` lets the key `slope * i + offset` pass for every i from 0 to
/// numQueries - 1 (dynamic: for every i).
static bool lets(const KeyBound &bound, int64_t slope, int64_t offset,
                 int64_t numQueries) {
  return llvm::any_of(bound.forms, [&](const AffineForm &form) {
    if (!form.terms.empty() || !form.rowTerms.empty())
      return false;
    int64_t sign = bound.upper ? 1 : -1;
    int64_t perRow = sign * (form.query - slope);
    int64_t first = sign * (form.constant - offset);
    if (ShapedType::isDynamic(numQueries))
      return first >= 0 && perRow >= 0;
    return first >= 0 && first + perRow * (numQueries - 1) >= 0;
  });
}

/// Whether every row of queries provably keeps a key under the mask of `op`.
static bool keepsAKey(AttentionOp op) {
  int64_t numQueries = typeOf(op.getQ()).getDimSize(2);
  int64_t numKeys = typeOf(op.getK()).getDimSize(2);
  // The first key, and, if there are as many, the key of the row's own number
  // from the front and from the back.
  SmallVector<std::pair<int64_t, int64_t>> keys = {{0, 0}};
  if (!ShapedType::isDynamic(numQueries) && numQueries <= numKeys)
    keys.append({{1, 0}, {1, numKeys - numQueries}});
  MaskRule rule = analyzeMask(op.getMask());
  return llvm::any_of(rule.intervals, [&](const KeyInterval &interval) {
    return interval.complete && llvm::any_of(keys, [&](auto key) {
             return llvm::all_of(interval.bounds, [&](const KeyBound &bound) {
               return lets(bound, key.first, key.second, numQueries);
             });
           });
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileFuseAttention final
    : fa::impl::TileFuseAttentionBase<TileFuseAttention> {
  using TileFuseAttentionBase::TileFuseAttentionBase;

  void runOnOperation() override {
    getOperation().walk(measureNarrow);
    eraseDeadOps(getOperation());
    SmallVector<SoftmaxOp> softmaxes;
    getOperation().walk([&](SoftmaxOp op) { softmaxes.push_back(op); });
    for (SoftmaxOp softmax : softmaxes)
      fuse(softmax);
    getOperation().walk(dropExpansion);
    eraseDeadOps(getOperation());
  }

  /// Sizes of widened tensors are those of arguments, which kernels know.
  static void measureNarrow(tensor::DimOp dim) {
    if (auto wide = dim.getSource().getDefiningOp<arith::ExtFOp>())
      dim.getSourceMutable().assign(wide.getIn());
  }

  void fuse(SoftmaxOp softmax) {
    // First with sentinels as masks; where that cannot be shown to be right,
    // they are scores like any other.
    for (bool takeSentinels : {true, false}) {
      AttentionChain chain;
      std::string reason = AttentionChain::match(softmax, takeSentinels, chain);
      if (!reason.empty())
        return refuse(softmax, reason);
      RegionPair regions(chain, softmax.getLoc());
      if (Operation *blocker = regions.build())
        return refuse(softmax, "'" + blocker->getName().getStringRef() +
                                   "' between the dot and the softmax is not "
                                   "elementwise");
      AttentionOp attention = create(chain, regions);
      bool sentinels =
          llvm::any_of(chain.masks, [](const AttentionChain::Mask &m) {
            return m.sentinel;
          });
      if (sentinels && !assumeNoEmptyRows && !keepsAKey(attention)) {
        attention.erase();
        continue;
      }
      return replace(chain, attention);
    }
  }

  static AttentionOp create(AttentionChain &chain, RegionPair &regions) {
    ImplicitLocOpBuilder b(chain.softmax.getLoc(), chain.result);
    Value scale;
    for (Value factor : chain.factors)
      scale = scale ? b.createOrFold<arith::MulFOp>(scale, factor) : factor;
    if (!scale)
      scale = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
    Value q = toCanonical(b, chain, chain.q);
    Value k = toCanonical(b, chain, chain.k);
    Value v = toCanonical(b, chain, chain.v);
    if (isStorageFloat(q.getType()))
      q = arith::ExtFOp::create(b, typeOf(q).clone(chain.roundedP), q);
    Type element = getElementTypeOrSelf(chain.result->getResult(0).getType());
    SmallVector<int64_t> sizes(typeOf(q).getShape().drop_back());
    auto lse = chain.lse ? RankedTensorType::get(sizes, b.getF32Type())
                         : RankedTensorType();
    sizes.push_back(typeOf(v).getDimSize(3));
    SmallVector<Value> keyScales = llvm::map_to_vector(
        chain.keyScales, [](const RowScales &all) { return all.numbers; });
    auto attention = AttentionOp::create(
        b, RankedTensorType::get(sizes, element), lse, q, k, v, scale,
        keyScales,
        chain.valueScales.empty() ? Value() : chain.valueScales.front().numbers,
        chain.sink, chain.dropout ? chain.dropout.getRng() : Value(),
        regions.captures.values.getArrayRef(),
        chain.dropout ? chain.dropout.getProbabilityAttr() : FloatAttr(),
        chain.wideP, chain.precision,
        chain.scaleKeys ? b.getI64IntegerAttr(chain.scaleKeys) : IntegerAttr());
    regions.moveInto(attention);
    return attention;
  }

  static void replace(AttentionChain &chain, AttentionOp attention) {
    ImplicitLocOpBuilder b(chain.softmax.getLoc(), chain.result);
    Value result = chain.result->getResult(0);
    result.replaceAllUsesWith(
        fromCanonical(b, chain, attention.getOutput(), typeOf(result)));
    if (chain.lse) {
      RankedTensorType type = chain.lse.getType();
      chain.lse.getResult().replaceAllUsesWith(
          fromCanonical(b, chain, attention.getLse(), type));
      chain.lse.erase();
    }
    // What reads the log-sum-exp may be before what was the second dot.
    Block *block = chain.result->getBlock();
    chain.result->erase();
    sortTopologically(block);
  }

  static void refuse(SoftmaxOp softmax, const Twine &reason) {
    softmax.emitRemark("attention is not fused: ") << reason;
    softmax->setAttr(TileDialect::notFusedAttrName,
                     StringAttr::get(softmax.getContext(), reason));
  }
};

} // namespace

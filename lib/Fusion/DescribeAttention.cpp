//===- DescribeAttention.cpp - an attention's facts for a plan ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeAttention.h"

#include "CapturedReads.h"
#include "ElementReads.h"
#include "KernelBuilder.h"
#include "KeyDistances.h"

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;

static MaskFacts describeMask(const MaskRule &rule) {
  MaskFacts facts;
  const KeyInterval &first = rule.intervals.front();
  facts.intervals = rule.intervals.size();
  facts.isComplete = llvm::all_of(
      rule.intervals, [](const KeyInterval &each) { return each.complete; });
  facts.growsWithQuery = rule.growsWithQuery();
  facts.hasLowerBound = rule.hasLowerBound();
  facts.readsRows = rule.readsRows();
  facts.lengths = rule.lengths().size();
  facts.hasLengthsAlone = facts.lengths == int64_t(first.bounds.size());
  facts.width = first.width();
  return facts;
}

static AttentionFacts::Element describeElement(Type type) {
  if (type.isF32())
    return AttentionFacts::F32;
  return type.isBF16() ? AttentionFacts::BF16 : AttentionFacts::F16;
}

static AttentionFacts::Blocks
describeBlocks(const std::optional<BlockLists> &lists) {
  return lists ? AttentionFacts::Blocks{lists->queries, lists->keys}
               : AttentionFacts::Blocks();
}

/// What a forward and its gradients have in common.
template <typename OpT> static AttentionFacts describe(OpT op) {
  auto columnsOf = [](Value rows) {
    return cast<RankedTensorType>(rows.getType()).getDimSize(3);
  };
  AttentionFacts facts;
  facts.headDim = columnsOf(op.getQ());
  facts.valueDim = columnsOf(op.getV());
  facts.element = describeElement(getElementTypeOrSelf(op.getQ().getType()));
  facts.allowsTf32 = op.getPrecision() != tile::DotPrecision::Ieee;
  facts.mask = describeMask(analyzeMask(op.getMask()));
  facts.modifiesScores = !op.getScore().empty();
  facts.dropsProbabilities = op.getRng() != Value();
  return facts;
}

/// Whether each score reads an element of a tensor for itself.
static bool readsByScore(Region &score) {
  auto walk = score.walk([](tensor::ExtractOp read) {
    for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
      int64_t coordinate = getCoordinate(index);
      if (coordinate != 0 && coordinate != 1 && !hasFixedIndex(read, dim))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}

AttentionFacts fa::describeAttention(const BackwardFunction &source) {
  AttentionFacts facts = describe(source.op);
  // Terms of sums over rows take registers as changed scores do.
  tile::AttentionBackwardOp op = source.op;
  facts.modifiesScores |= !op.getEffects().empty();
  facts.readsByScore = readsByScore(op.getScore());
  facts.hasCostlyScores = facts.readsByScore || !op.getDerivative().empty();
  facts.isPacked = source.isPacked();
  facts.keyLists = describeBlocks(source.keyLists);
  facts.queryLists = describeBlocks(source.queryLists);
  return facts;
}

AttentionFacts fa::describeAttention(const AttentionFunction &source) {
  tile::OnlineAttentionOp attention = source.attention;
  func::FuncOp function = source.function;
  AttentionFacts facts = describe(attention);
  facts.hasFoldableScale = hasFoldableScale(attention);
  facts.hasFoldableMagnitude = hasFoldableMagnitude(attention);
  facts.hasWideProbabilities = attention.getWideP();
  facts.hasShortCap = hasShortCap(attention);
  if (auto bias = findLinearBias(attention))
    facts.bias = {bias->isRamp(), bias->isAbsolute};
  for (const ArgumentView *view : scoreTiles(source)) {
    Type captured = function.getArgument(view->number).getType();
    int64_t bits = cast<RankedTensorType>(captured).getElementTypeBitWidth();
    facts.scoreBytes += llvm::divideCeil(bits, 8);
    ++facts.scoreTiles;
  }
  if (auto keys = function->getAttrOfType<IntegerAttr>(
          tile::TileDialect::batchInvariantAttrName))
    facts.splitKeys = keys.getInt();
  facts.sharesTiles = source.sharesTiles;
  facts.results = source.results.size();
  facts.isPacked = source.q.offsets || source.k.offsets;
  facts.hasPages = source.table.has_value();
  if (source.lists) {
    facts.keyLists = describeBlocks(source.lists);
    // Where a program's keys begin, and how many they are, is read; what its
    // intervals would be is not walked.
    facts.mask = MaskFacts();
    facts.mask.isComplete = facts.mask.hasLengthsAlone = false;
    facts.mask.hasLowerBound = facts.mask.readsRows = true;
  }
  facts.hasNarrowKeys = tile::isStorageFloat(attention.getK().getType());
  facts.modifiesScores |= attention.getScaleKeys().has_value();
  facts.hasNarrowQueries = tile::isStorageFloat(attention.getQ().getType());
  return facts;
}

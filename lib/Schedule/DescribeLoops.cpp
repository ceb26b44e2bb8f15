//===- DescribeLoops.cpp - a kernel's facts for its schedule --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeLoops.h"

#include "LeftTiles.h"
#include "PartitionColumns.h"

#include "fa/Layout/NamedLayouts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

BufferType fa::rampNumbers(tile::RampOp ramp) {
  int64_t shape[] = {ramp.getType().getDimSize(1), 8};
  MLIRContext *context = ramp.getContext();
  auto layout =
      LayoutAttr::get(context, swizzledShared(shape[0], shape[1], /*bytes=*/2));
  return BufferType::get(context, 1, shape, BFloat16Type::get(context), layout);
}

/// Whether `value` is computed from tiles: who fetches could not know it.
static bool followsFromTiles(Value value) {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp())
      ops.insert(op);
  };
  add(value);
  for (size_t n = 0; n < ops.size(); ++n) {
    WalkResult walk = ops[n]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        add(operand);
      bool touchesTiles = llvm::any_of(inner->getOperands(), isTile) ||
                          llvm::any_of(inner->getResults(), isTile);
      return touchesTiles ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return true;
  }
  return false;
}

static bool boundsFollowFromTiles(const FetchedTiles &tiles) {
  return llvm::any_of(tiles.loops, [](FetchingLoop entry) {
    return llvm::any_of(ValueRange{entry.loop.getLowerBound(),
                                   entry.loop.getUpperBound(),
                                   entry.loop.getStep()},
                        followsFromTiles);
  });
}

/// Whether a softmax of the loop takes anything else than what a dot of Q and
/// K gives, perhaps masked.
static bool changesScores(scf::ForOp loop) {
  for (auto softmax : loop.getBody()->getOps<OnlineSoftmaxOp>()) {
    Value scores = belowSign(belowMasks(softmax.getScores()));
    auto dot = scores ? scores.getDefiningOp<DotOp>() : DotOp();
    if (scores &&
        (!dot || (dot.getAcc() && dot.getAcc().getDefiningOp<tile::RampOp>())))
      return true;
  }
  return false;
}

static LoopFacts::StepDot describe(DotOp dot) {
  LoopFacts::StepDot facts;
  facts.columns = typeOf(dot.getResult()).getDimSize(1);
  facts.depth = typeOf(dot.getA()).getDimSize(1);
  facts.readsExchange = dot.getA().getDefiningOp<ExchangeOp>() != nullptr;
  facts.hasOwnLeft =
      !facts.readsExchange && !dot.getA().getDefiningOp<LoadOp>();
  facts.accumulates = dot.getAcc() && dot.getResult().hasOneUse() &&
                      isa<scf::YieldOp>(*dot->getUsers().begin());
  return facts;
}

static int64_t slotBytes(const FetchedTile &tile) {
  return slotsFor(tile.type(), 1).getSlotBytes();
}

/// Of the slot that `tile` is widened from; none if it is not.
static void noteNarrow(const FetchedTile &tile, std::vector<int64_t> &bytes) {
  if (tile.isWidened())
    bytes.push_back(slotsFor(typeOf(LoadOp(tile.load)), 1).getSlotBytes());
}

/// Columns of a slot of 16 bits for `tile`: of 8 bits its lines have more.
static int64_t slotColumns(const FetchedTile &tile) {
  RankedTensorType type = tile.type();
  BufferType slot = slotsFor(type, 1);
  return isStorageFloat(type) ? llvm::alignTo(type.getDimSize(1), 64)
                              : slot.getShape()[1];
}

static LoopFacts describe(KernelOp kernel, const FetchedTiles &tiles,
                          int64_t consumers) {
  LoopFacts facts;
  const FetchingLoop &first = tiles.loops.front();
  scf::ForOp loop = first.loop;
  facts.consumers = consumers;
  auto note = [&](const FetchedTile &tile) {
    facts.hasOrigin |= !tile.box.origin.isZero() || tile.box.pages;
  };
  for (const FetchedTile &tile : tiles.own) {
    facts.programBytes.push_back(slotBytes(tile));
    noteNarrow(tile, facts.narrowProgramBytes);
    note(tile);
  }
  for (const FetchedTile &tile : tiles.whole) {
    facts.wholeBytes.push_back(slotBytes(tile));
    noteNarrow(tile, facts.narrowProgramBytes);
    note(tile);
  }
  for (const FetchedTile &vector : first.vectors)
    facts.vectorBytes.push_back(
        vectorSlots(typeOf(LoadOp(vector.load)), 1).getSlotBytes());
  for (ExchangeOp exchange : first.exchanges)
    facts.exchangeBytes.push_back(exchangeSlots(exchange, 1).getSlotBytes());
  for (const FetchedTile &fetched : first.fetched) {
    int64_t readers =
        llvm::count_if(loop.getBody()->getOps<DotOp>(), [&](DotOp dot) {
          return rightLoad(dot) == LoadOp(fetched.load);
        });
    facts.step.push_back({fetched.type().getDimSize(0), slotColumns(fetched),
                          slotBytes(fetched), readers});
    noteNarrow(fetched, facts.narrowBytes);
    note(fetched);
  }
  for (const FetchedTile &left : first.lefts) {
    facts.leftBytes.push_back(slotBytes(left));
    for (int64_t n = 0; n < consumers; ++n)
      noteNarrow(left, facts.narrowBytes);
    note(left);
  }
  for (auto dot : loop.getBody()->getOps<DotOp>())
    facts.dots.push_back(describe(dot));
  facts.hasSoftmax = !loop.getBody()->getOps<OnlineSoftmaxOp>().empty();
  for (const FetchedTile &score : first.scores)
    facts.scoreBytes.push_back(slotBytes(score));
  LoadOp line =
      tiles.own.empty() ? first.fetched.front().load : tiles.own.front().load;
  facts.lineRows = typeOf(line).getDimSize(0);
  kernel.walk([&](tile::RampOp ramp) {
    facts.rampBytes = rampNumbers(ramp).getBytes();
    return WalkResult::interrupt();
  });
  facts.beginsApart = followsFromOwnRows(loop.getLowerBound());
  facts.hasSomeKeys = kernel->hasAttr(KernelOp::someKeysAttrName);
  facts.changesScores = changesScores(loop);
  if (auto atMost =
          kernel->getAttrOfType<DenseI64ArrayAttr>(KernelOp::atMostAttrName)) {
    BlockArgument keys = first.fetched.front().box.argument;
    facts.isForFewKeys = atMost[0] == int64_t(keys.getArgNumber());
    facts.isForFewQueries = !facts.isForFewKeys;
  }
  if (auto cluster =
          kernel->getAttrOfType<IntegerAttr>(KernelOp::clusterAttrName))
    facts.cluster = cluster.getInt();
  facts.hasCounter = kernel->hasAttr(KernelOp::counterAttrName);
  return facts;
}

std::optional<LoopFacts> fa::describeLoops(KernelOp kernel,
                                           std::string &reason) {
  OwningOpRef<KernelOp> trial = kernel.clone();
  reason = partitionTiles(*trial, kWarpgroupRows);
  if (!reason.empty())
    return std::nullopt;
  int64_t consumers =
      (*trial)
          ->getAttrOfType<IntegerAttr>(TileGPUDialect::consumersAttrName)
          .getInt();
  reason = whyNotSpecialized(consumers);
  if (!reason.empty())
    return std::nullopt;
  auto tiles = findFetchedTiles(*trial, reason);
  if (!tiles)
    return std::nullopt;
  if (boundsFollowFromTiles(*tiles)) {
    reason = "the bounds of a loop are computed from tiles";
    return std::nullopt;
  }
  LoopFacts facts = describe(*trial, *tiles, consumers);
  reason = whyNotSpecialized(facts);
  if (!reason.empty())
    return std::nullopt;
  return facts;
}

std::string fa::whyOtherThanPlanned(KernelOp kernel, const FetchedTiles &tiles,
                                    const SchedulePlan &plan) {
  int64_t consumers =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::consumersAttrName)
          .getInt();
  auto differ = [](StringRef what, int64_t found, int64_t planned) {
    return (what + " are " + Twine(found) + ", planned are " + Twine(planned))
        .str();
  };
  if (consumers != plan.consumers())
    return differ("groups of rows", consumers, plan.consumers());
  bool converts = plan.find("convert") != nullptr;
  if (tiles.areWidened() != converts)
    return differ("partitions that widen tiles", tiles.areWidened(), converts);
  auto isWidened = [](const FetchedTile &tile) { return tile.isWidened(); };
  const FetchingLoop &first = tiles.loops.front();
  bool hasNarrow = llvm::any_of(first.fetched, isWidened) ||
                   llvm::any_of(first.lefts, isWidened);
  if (hasNarrow != (plan.slots.narrow > 0))
    return differ("tiles of a step that are widened", hasNarrow,
                  plan.slots.narrow);
  size_t scores = tiles.loops.front().scores.size();
  if (scores != plan.slots.scores.size())
    return differ("tiles that lie as scores do", scores,
                  plan.slots.scores.size());
  bool exchanges = !tiles.loops.front().exchanges.empty();
  if (exchanges != (plan.slots.exchange > 0))
    return differ("tiles that consumers exchange", exchanges,
                  plan.slots.exchange);
  if (!(tiles.own.empty() && tiles.whole.empty()) &&
      plan.slots.program % consumers)
    return differ("slots of a tile for each of " + std::to_string(consumers) +
                      " groups a multiple of that",
                  plan.slots.program, consumers);
  if (boundsFollowFromTiles(tiles))
    return "the bounds of a loop are computed from tiles";
  return "";
}

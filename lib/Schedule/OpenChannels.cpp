//===- OpenChannels.cpp - tgpu-open-channels ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildProducer.h"
#include "DescribeLoops.h"
#include "FetchedTiles.h"
#include "LeftTiles.h"
#include "NarrowTiles.h"
#include "PartitionColumns.h"
#include "PartitionScalars.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOPENCHANNELS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

class ChannelOpener {
public:
  ChannelOpener(KernelOp kernel, FetchedTiles tiles, SchedulePlan plan)
      : kernel(kernel), plan(std::move(plan)),
        consumers(this->plan.consumers()), tiles(std::move(tiles)),
        b(kernel.getLoc(), kernel.getContext()) {}

  void run() {
    for (FetchingLoop &entry : tiles.loops)
      for (auto dot : entry.loop.getBody()->getOps<DotOp>())
        multiplyInHalves(dot);
    openChannels();
    buildPartitions();
    shareRows();
    buildProducer(b, partitions, tiles);
    buildConverter(b, partitions, tiles);
    consume();
    takePrograms();
    for (auto *fetched : {&tiles.own, &tiles.whole})
      for (FetchedTile &tile : *fetched)
        erase(tile);
  }

private:
  /// What is fetched is no load.
  static void erase(FetchedTile &tile) {
    if (tile.widening)
      tile.widening.erase();
    tile.load.erase();
  }

  //===--- Channels ---===//

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  TypedValue<ChannelType> open(RankedTensorType tile, int64_t slots,
                               bool own = false) {
    BufferType buffer =
        tile.getRank() == 1 ? vectorSlots(tile, slots) : slotsFor(tile, slots);
    auto type = ChannelType::get(b.getContext(), buffer);
    return ChannelOp::create(b, type, IntegerAttr(), IntegerAttr(), own)
        .getResult();
  }

  /// The channel that `tile` is read from, and of one that is widened the one
  /// that it is fetched to, of `narrow` slots.
  void open(FetchedTile &tile, int64_t slots, int64_t narrow,
            bool own = false) {
    tile.channel = open(tile.type(), slots, own);
    if (!tile.isWidened())
      return;
    tile.channel.getDefiningOp<ChannelOp>().setWidened(true);
    tile.narrow = open(typeOf(tile.load), narrow, own);
    tile.narrow.getDefiningOp<ChannelOp>().setNarrow(true);
  }

  /// What ramps are multiplied with, all of which are alike.
  void openNumbers() {
    kernel.walk([&](tile::RampOp ramp) {
      numbers =
          AllocOp::create(b, rampNumbers(ramp), IntegerAttr()).getResult();
      return WalkResult::interrupt();
    });
  }

  /// Loops one after the other use the same channels.
  void openChannels() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    openNumbers();
    // What is widened once in a program comes through a slot for each consumer.
    for (FetchedTile &tile : tiles.own)
      open(tile, plan.slots.program, consumers, /*own=*/true);
    for (FetchedTile &tile : tiles.whole)
      open(tile, plan.slots.program / consumers, 1);
    for (FetchedTile &first : tiles.loops[0].fetched)
      open(first, plan.slots.step, plan.slots.narrow);
    for (FetchedTile &first : tiles.loops[0].lefts)
      open(first, consumers * plan.slots.step, consumers * plan.slots.narrow,
           /*own=*/true);
    openScores();
    for (FetchedTile &vector : tiles.loops[0].vectors)
      vector.channel = open(typeOf(vector.load), plan.slots.step);
    for (FetchingLoop &entry : tiles.loops) {
      for (auto [vector, first] :
           llvm::zip(entry.vectors, tiles.loops[0].vectors))
        vector.channel = first.channel;
      for (auto [fetched, first] :
           llvm::zip(entry.fetched, tiles.loops[0].fetched))
        shareChannels(fetched, first);
      for (auto [left, first] : llvm::zip(entry.lefts, tiles.loops[0].lefts))
        shareChannels(left, first);
      for (auto [fetched, first] :
           llvm::zip(entry.scores, tiles.loops[0].scores))
        fetched.channel = first.channel;
    }
  }

  static void shareChannels(FetchedTile &tile, const FetchedTile &first) {
    tile.channel = first.channel;
    tile.narrow = first.narrow;
  }

  /// Channels of tiles that lie as scores do, of those that have slots.
  void openScores() {
    for (FetchingLoop &entry : tiles.loops) {
      auto old = std::move(entry.scores);
      entry.scores.clear();
      for (auto [tile, slots] : llvm::zip_equal(old, plan.slots.scores))
        if (slots)
          entry.scores.push_back(tile);
    }
    auto slots = llvm::make_filter_range(plan.slots.scores,
                                         [](int64_t number) { return number; });
    for (auto [tile, number] : llvm::zip_equal(tiles.loops[0].scores, slots))
      tile.channel = open(typeOf(tile.load), number, /*own=*/true);
  }

  //===--- Partitions ---===//

  /// Scalars stay above; what has to do with tiles is the consumer's.
  void buildPartitions() {
    Block *body = &kernel.getBody().front();
    Operation *terminator = body->getTerminator();
    b.setInsertionPoint(terminator);
    partitions = WarpSpecializeOp::create(b, consumers);
    for (Region *region :
         {&partitions.getProducer(), &partitions.getConsumer()})
      region->emplaceBlock().addArguments({b.getIndexType(), b.getIndexType()},
                                          {b.getLoc(), b.getLoc()});
    Block *consumer = &partitions.getConsumer().front();
    for (Operation &op : llvm::make_early_inc_range(*body))
      if (&op != partitions && &op != terminator && !isScalar(op, consumer))
        op.moveBefore(consumer, consumer->end());
  }

  /// Whether `op`, with all that is inside of it, has to do with scalars alone,
  /// of which none is computed in `consumer`.
  static bool isScalar(Operation &op, Block *consumer) {
    WalkResult walk = op.walk([&](Operation *inner) {
      bool touchesTiles = llvm::any_of(inner->getOperands(), isTile) ||
                          llvm::any_of(inner->getResults(), isTile) ||
                          isa<StoreOp>(inner);
      bool isAbove = llvm::none_of(inner->getOperands(), [&](Value operand) {
        return operand.getParentBlock() == consumer;
      });
      return WalkResult(success(!touchesTiles && isAbove));
    });
    return !walk.wasInterrupted();
  }

  /// Consumers walk the keys that their rows see, the producer those of all.
  void shareRows() {
    SmallVector<OwnRowsOp> ops(kernel.getBody().getOps<OwnRowsOp>());
    b.setInsertionPoint(partitions);
    Block *body = &kernel.getBody().front();
    IRMapping all;
    for (OwnRowsOp own : ops) {
      all.map(own.getOffset(), index(0));
      all.map(own.getCount(), index(own.getRows()));
    }
    for (FetchingLoop &entry : tiles.loops) {
      entry.begin = cloneScalar(b, entry.loop.getLowerBound(), all, body);
      entry.end = cloneScalar(b, entry.loop.getUpperBound(), all, body);
    }
    for (OwnRowsOp own : ops) {
      b.setInsertionPoint(own);
      Value rows = index(own.getRows() / consumers);
      own.getOffset().replaceAllUsesWith(
          arith::MulIOp::create(b, consumerIdOf(kernel), rows));
      own.getCount().replaceAllUsesWith(rows);
      own.erase();
    }
  }

  //===--- Programs ---===//

  /// In turn, if the plan says so, by who finds whether there is anything to
  /// do, and for all what memory says of a program, as where its sequence lies.
  void takePrograms() {
    SmallVector<IdleOp> idle(kernel.getBody().getOps<IdleOp>());
    if (plan.dynamic) {
      b.setInsertionPoint(partitions);
      SmallVector<Value> found;
      for (Operation &op : kernel.getBody().front())
        if (isa<SequenceOfOp>(op) || (isa<memref::LoadOp>(op) &&
                                      op.getResult(0).getType().isInteger(32)))
          llvm::append_range(found, op.getResults());
      ProgramsOp::create(b, kernel.getArguments().back(), found,
                         idle.empty() ? Value() : idle.front().getCondition(),
                         plan.dynamic, IntegerAttr());
    }
    for (IdleOp op : idle)
      op.erase();
  }

  //===--- Consumers ---===//

  void consume() {
    Block &region = partitions.getConsumer().front();
    b.setInsertionPointToStart(&region);
    Value own = tiles.own.empty() ? Value()
                                  : ownStep(b, region.getArgument(0),
                                            consumerIdOf(kernel), consumers);
    programs = region.getArgument(0);
    for (FetchedTile &tile : tiles.own)
      AwaitOp::create(b, tile.channel, own);
    for (FetchedTile &tile : tiles.whole)
      AwaitOp::create(b, tile.channel, programs);
    Value steps = region.getArgument(1);
    LeftTiles leftOut(b, tiles.loops, steps);
    bool hasLeftOut = plan.dealsRows() && leftOut.any();
    auto pass = [&](Value step) { passTile(step); };
    if (hasLeftOut)
      steps = leftOut.passFirst(steps, pass);
    for (FetchingLoop &loop : tiles.loops)
      steps = consumeLoop(loop, steps, own);
    b.setInsertionPointAfterValue(steps);
    for (FetchedTile &tile : tiles.own)
      ReleaseOp::create(b, tile.channel, own);
    for (FetchedTile &tile : tiles.whole)
      ReleaseOp::create(b, tile.channel, programs);
    if (hasLeftOut)
      steps = leftOut.passLast(steps, pass);
    b.setInsertionPointToEnd(&region);
    PassedOp::create(b, steps);
  }

  /// A tile that this consumer's rows do not see.
  void passTile(Value step) {
    for (auto *all : {&tiles.loops[0].fetched, &tiles.loops[0].vectors})
      for (FetchedTile &fetched : *all) {
        AwaitOp::create(b, fetched.channel, step);
        ReleaseOp::create(b, fetched.channel, step);
      }
    for (auto *all : {&tiles.loops[0].lefts, &tiles.loops[0].scores})
      for (FetchedTile &tile : *all) {
        Value own = ownStep(b, step, consumerIdOf(kernel), consumers);
        AwaitOp::create(b, tile.channel, own);
        ReleaseOp::create(b, tile.channel, own);
      }
  }

  /// ptxas unrolls a loop whose end it knows, and then has no registers for
  /// three consumers (C7512).
  void hideEnd(scf::ForOp loop) {
    if (!getConstantIntValue(loop.getUpperBound()))
      return;
    b.setInsertionPoint(loop);
    loop.setUpperBound(
        AnewOp::create(b, b.getIndexType(), loop.getUpperBound()));
  }

  /// Gives the steps that have passed after the loop.
  Value consumeLoop(FetchingLoop &entry, Value before, Value own) {
    hideEnd(entry.loop);
    IRRewriter rewriter(b.getContext());
    rewriter.setInsertionPoint(entry.loop);
    auto next = [&](OpBuilder &builder, Location loc,
                    ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      return {arith::AddIOp::create(builder, loc, args.front(), one)};
    };
    auto loop = cast<scf::ForOp>(*entry.loop.replaceWithAdditionalYields(
        rewriter, before, /*replaceInitOperandUsesInLoop=*/false, next));
    Value step = loop.getRegionIterArgs().back();
    SmallVector<DotOp> dots(loop.getBody()->getOps<DotOp>());
    for (auto [number, exchange] : llvm::enumerate(entry.exchanges))
      openExchange(exchange, number, step);
    for (const FetchedTile &fetched : entry.fetched)
      awaitAndRelease(fetched, dots, step);
    Value ownOfStep;
    if (!entry.lefts.empty()) {
      b.setInsertionPointToStart(loop.getBody());
      ownOfStep = ownStep(b, step, consumerIdOf(kernel), consumers);
    }
    for (const FetchedTile &left : entry.lefts)
      awaitAndRelease(left, dots, ownOfStep);
    for (DotOp dot : dots)
      runDot(dot, entry, step, own, ownOfStep);
    for (auto *fetched : {&entry.fetched, &entry.lefts})
      for (FetchedTile &tile : *fetched)
        erase(tile);
    for (FetchedTile &vector : entry.vectors)
      receive(vector, step);
    for (FetchedTile &tile : entry.scores) {
      b.setInsertionPoint(tile.load);
      receive(tile, ownStep(b, step, consumerIdOf(kernel), consumers));
    }
    return loop.getResults().back();
  }

  /// Loops one after the other use the same slots.
  void openExchange(ExchangeOp exchange, size_t number, Value step) {
    if (number == exchanged.size()) {
      // In front of all others, so that it begins where a swizzle does.
      b.setInsertionPointToStart(&kernel.getBody().front());
      BufferType slots = exchangeSlots(exchange, plan.slots.exchange);
      exchanged.push_back(AllocOp::create(b, slots, IntegerAttr()));
    }
    exchange.getBufferMutable().assign(exchanged[number]);
    exchange.getStepMutable().assign(step);
  }

  void receive(FetchedTile &tile, Value step) {
    b.setInsertionPoint(tile.load);
    b.setLoc(tile.load.getLoc());
    AwaitOp::create(b, tile.channel, step);
    auto received =
        ReceiveOp::create(b, tile.load.getType(), tile.channel, step);
    ReleaseOp::create(b, tile.channel, step);
    tile.load.getResult().replaceAllUsesWith(received.getResult());
    tile.load.erase();
  }

  /// Before the first dot that reads the tile and behind the last.
  void awaitAndRelease(const FetchedTile &fetched, ArrayRef<DotOp> dots,
                       Value step) {
    auto reads = [&](DotOp dot) {
      return rightLoad(dot) == LoadOp(fetched.load) ||
             dot.getA() == fetched.tile();
    };
    DotOp first = *llvm::find_if(dots, reads);
    b.setInsertionPoint(first);
    b.setLoc(first.getLoc());
    AwaitOp::create(b, fetched.channel, step);
    DotOp last = *llvm::find_if(llvm::reverse(dots), reads);
    b.setInsertionPointAfter(last);
    b.setLoc(last.getLoc());
    ReleaseOp::create(b, fetched.channel, step);
  }

  void runDot(DotOp dot, const FetchingLoop &entry, Value step, Value own,
              Value ownOfStep) {
    const FetchedTile *right = nullptr;
    Value rightStep;
    auto find = [&](ArrayRef<FetchedTile> all, Value at) {
      for (const FetchedTile &known : all)
        if (rightLoad(dot) == LoadOp(known.load)) {
          right = &known;
          rightStep = at;
        }
    };
    find(entry.fetched, step);
    find(tiles.whole, programs);
    find(tiles.own, own);
    b.setInsertionPoint(dot);
    b.setLoc(dot.getLoc());
    Value a = dot.getA(), leftChannel, leftStep;
    auto findLeft = [&](ArrayRef<FetchedTile> all, Value at) {
      for (const FetchedTile &known : all)
        if (dot.getA() == known.tile()) {
          a = {};
          leftChannel = known.channel;
          leftStep = at;
        }
    };
    findLeft(tiles.whole, programs);
    findLeft(tiles.own, own);
    findLeft(entry.lefts, ownOfStep);
    auto columns = dot.getB().getDefiningOp<ColumnsOp>();
    if (auto ramp = dot.getAcc() ? dot.getAcc().getDefiningOp<tile::RampOp>()
                                 : tile::RampOp()) {
      dot.getAccMutable().assign(
          tgpu::RampOp::create(b, ramp.getType(), ramp.getFactor(),
                               ramp.getRow(), ramp.getColumn(), numbers));
      ramp.erase();
    }
    auto running =
        DotStartOp::create(b, RunningType::get(b.getContext(), typeOf(dot)), a,
                           leftChannel, leftStep, right->channel, rightStep,
                           columns ? columns.getFirst() : Value(), dot.getAcc(),
                           dot.getTransposeB(), IntegerAttr());
    int64_t depth = typeOf(dot.getA()).getDimSize(1);
    if (depth != running.slotDepth())
      running.setDepth(depth);
    auto wait = DotWaitOp::create(b, typeOf(dot), TypeRange(), running,
                                  ValueRange(), /*pending=*/0);
    dot.getResult().replaceAllUsesWith(wait.getResult());
    dot.erase();
    if (columns)
      columns.erase();
  }

  KernelOp kernel;
  SchedulePlan plan;
  int64_t consumers;
  FetchedTiles tiles;
  SmallVector<Value> exchanged;   ///< buffers of what consumers exchange
  Value programs;                 ///< how many this consumer has run before
  TypedValue<BufferType> numbers; ///< null: there are no ramps
  ImplicitLocOpBuilder b;
  WarpSpecializeOp partitions;
};

struct TgpuOpenChannels final
    : fa::impl::TgpuOpenChannelsBase<TgpuOpenChannels> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      SchedulePlan plan = planOf(kernel);
      if (plan.isSpecialized() && failed(openChannels(kernel, plan)))
        return signalPassFailure();
    }
  }

  static LogicalResult openChannels(KernelOp kernel, const SchedulePlan &plan) {
    const Partition &compute = *plan.find("compute");
    std::string reason = partitionTiles(kernel, compute.rows);
    std::optional<FetchedTiles> tiles;
    if (reason.empty())
      tiles = findFetchedTiles(kernel, reason);
    if (reason.empty())
      reason = whyOtherThanPlanned(kernel, *tiles, plan);
    if (reason.empty() && plan.dynamic &&
        !kernel->hasAttr(KernelOp::counterAttrName))
      reason = "it has no counter to take programs from (tile.counter)";
    if (!reason.empty())
      return emitError(kernel.getLoc())
             << "expected a kernel whose warps can be specialized as its plan "
                "says: "
             << reason;
    auto unit = UnitAttr::get(kernel.getContext());
    if (plan.persistent)
      kernel->setAttr(TileGPUDialect::persistentAttrName, unit);
    if (plan.dynamic)
      kernel->setAttr(TileGPUDialect::dynamicAttrName, unit);
    ChannelOpener(kernel, std::move(*tiles), plan).run();
    return success();
  }
};

} // namespace

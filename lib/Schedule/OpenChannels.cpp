//===- OpenChannels.cpp - tgpu-open-channels ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FetchedTiles.h"
#include "LeftTiles.h"
#include "PartitionRows.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// More than the barriers of all channels take.
static constexpr int64_t kBarrierBytes = 1024;

namespace {

class ChannelOpener {
public:
  ChannelOpener(KernelOp kernel, FetchedTiles tiles, int64_t consumers,
                const fa::TgpuOpenChannelsOptions &options)
      : kernel(kernel), consumers(consumers), options(options),
        lefts(std::move(tiles.lefts)), loops(std::move(tiles.loops)),
        b(kernel.getLoc(), kernel.getContext()) {}

  /// Why there are no roles; empty: there are.
  std::string run() {
    openChannels();
    buildRoles();
    if (!boundsAreAbove())
      return "the bounds of a loop are computed from tiles";
    shareRows();
    buildProducer();
    consume();
    for (FetchedTile &left : lefts)
      left.load.erase();
    return "";
  }

private:
  //===--- Channels ---===//

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// Slots have rows of whole lines of 128 bytes, as the swizzle is. Behind a
  /// tile that has not are columns that no dot reads.
  BufferType slotsOf(RankedTensorType tile, int64_t slots) {
    int64_t bytes = tile.getElementTypeBitWidth() / 8, line = 128 / bytes;
    TileLayout layout = swizzledShared(
        llvm::bit_ceil(uint64_t(tile.getDimSize(0))), line, bytes);
    layout.repeat = llvm::divideCeil(tile.getDimSize(1), line);
    int64_t shape[] = {tile.getDimSize(0), layout.size(1)};
    return BufferType::get(b.getContext(), slots, shape, tile.getElementType(),
                           LayoutAttr::get(b.getContext(), layout));
  }

  TypedValue<ChannelType> open(RankedTensorType tile, int64_t slots,
                               bool own = false) {
    auto type = ChannelType::get(b.getContext(), slotsOf(tile, slots));
    return ChannelOp::create(b, type, IntegerAttr(), IntegerAttr(), own)
        .getResult();
  }

  /// Of a channel that a loop reads.
  int64_t countSlots() {
    int64_t bytes = 0, keys = 0, slots = options.stages;
    for (FetchedTile &fetched : loops[0].fetched) {
      RankedTensorType tile = typeOf(fetched.load);
      bytes += slotsOf(tile, 1).getSlotBytes();
      keys = tile.getDimSize(0);
    }
    if (keys < options.keys && bytes <= keys * options.keyBytes &&
        (!options.limit || roomBeside(3) >= 0))
      slots = std::max<int64_t>(slots, 3);
    bool areApart =
        consumers > 1 && followsFromOwnRows(loops[0].loop.getLowerBound());
    return areApart && 2 * slots * bytes <= options.apartBytes ? 2 * slots
                                                               : slots;
  }

  /// Of what all loops read: a slot for each consumer, or two, where programs
  /// begin before the end of others and there is room.
  int64_t leftSlots(int64_t slots) {
    if (!options.ahead || !options.persistent || !loops[0].scores.empty() ||
        !kernel->hasAttr(KernelOp::someKeysAttrName))
      return consumers;
    int64_t room = roomBeside(slots);
    for (FetchedTile &left : lefts)
      room -= consumers * slotsOf(typeOf(left.load), 1).getSlotBytes();
    return room >= 0 ? 2 * consumers : consumers;
  }

  /// The step of the slot that consumer `id` owns, when `passed` tiles of each
  /// have passed.
  Value ownStep(Value passed, Value id) {
    Value before = arith::MulIOp::create(b, passed, index(consumers));
    return arith::AddIOp::create(b, before, id);
  }

  /// What ramps are multiplied with, all of which are alike.
  void openNumbers() {
    kernel.walk([&](tile::RampOp ramp) {
      int64_t shape[] = {ramp.getType().getDimSize(1), 8};
      auto layout = LayoutAttr::get(
          b.getContext(), swizzledShared(shape[0], shape[1], /*bytes=*/2));
      numbers = AllocOp::create(b,
                                BufferType::get(b.getContext(), 1, shape,
                                                b.getBF16Type(), layout),
                                IntegerAttr())
                    .getResult();
      return WalkResult::interrupt();
    });
  }

  /// Loops one after the other use the same channels.
  void openChannels() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    openNumbers();
    int64_t slots = countSlots(), left = leftSlots(slots);
    for (FetchedTile &tile : lefts)
      tile.channel = open(typeOf(tile.load), left, /*own=*/true);
    for (FetchedTile &first : loops[0].fetched)
      first.channel = open(typeOf(first.load), slots);
    openScores(slots);
    for (FetchingLoop &entry : loops) {
      for (auto [fetched, first] : llvm::zip(entry.fetched, loops[0].fetched))
        fetched.channel = first.channel;
      for (auto [fetched, first] : llvm::zip(entry.scores, loops[0].scores))
        fetched.channel = first.channel;
    }
  }

  /// What is left of the shared memory beside channels of `slots` slots, a slot
  /// for each consumer, and slots of one line for the outputs.
  int64_t roomBeside(int64_t slots) {
    int64_t line =
        128 * typeOf(lefts.empty() ? loops[0].fetched[0].load : lefts[0].load)
                  .getDimSize(0);
    int64_t room = options.limit - kBarrierBytes - consumers * line;
    if (numbers)
      room -= numbers.getType().getBytes();
    for (FetchedTile &left : lefts)
      room -= consumers * slotsOf(typeOf(left.load), 1).getSlotBytes();
    for (FetchedTile &fetched : loops[0].fetched)
      room -= slots * slotsOf(typeOf(fetched.load), 1).getSlotBytes();
    return room;
  }

  /// Channels of tiles that lie as scores do, as far as there is room: each
  /// consumer has a slot, or two where all of them can have.
  void openScores(int64_t slots) {
    int64_t room = roomBeside(slots), bytes = 0;
    SmallVector<bool> fits;
    for (FetchedTile &tile : loops[0].scores) {
      int64_t more = consumers * slotsOf(typeOf(tile.load), 1).getSlotBytes();
      fits.push_back(bytes + more <= room);
      bytes += fits.back() ? more : 0;
    }
    for (FetchingLoop &entry : loops) {
      auto old = std::move(entry.scores);
      entry.scores.clear();
      for (auto [tile, does] : llvm::zip(old, fits))
        if (does)
          entry.scores.push_back(tile);
    }
    int64_t ofEach = 2 * bytes <= room ? 2 : 1;
    for (FetchedTile &tile : loops[0].scores)
      tile.channel = open(typeOf(tile.load), ofEach * consumers, /*own=*/true);
  }

  //===--- Roles ---===//

  /// Scalars stay above; what has to do with tiles is the consumer's.
  void buildRoles() {
    Block *body = &kernel.getBody().front();
    Operation *terminator = body->getTerminator();
    b.setInsertionPoint(terminator);
    roles = RolesOp::create(b, consumers);
    for (Region *region : {&roles.getProducer(), &roles.getConsumer()})
      region->emplaceBlock().addArguments({b.getIndexType(), b.getIndexType()},
                                          {b.getLoc(), b.getLoc()});
    Block *consumer = &roles.getConsumer().front();
    for (Operation &op : llvm::make_early_inc_range(*body))
      if (&op != roles && &op != terminator && !isScalar(op, consumer))
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

  /// Whether the producer can walk the loops: their bounds are computed above.
  bool boundsAreAbove() {
    return llvm::all_of(loops, [&](FetchingLoop &entry) {
      return llvm::all_of(
          ValueRange{entry.loop.getLowerBound(), entry.loop.getUpperBound(),
                     entry.loop.getStep()},
          [&](Value bound) {
            return bound.getParentBlock() == &kernel.getBody().front();
          });
    });
  }

  /// Consumers walk the keys that their rows see, the producer those of all.
  void shareRows() {
    SmallVector<OwnRowsOp> ops(kernel.getBody().getOps<OwnRowsOp>());
    b.setInsertionPoint(roles);
    IRMapping all;
    for (OwnRowsOp own : ops) {
      all.map(own.getOffset(), index(0));
      all.map(own.getCount(), index(own.getRows()));
    }
    for (FetchingLoop &entry : loops) {
      entry.begin = cloneScalar(entry.loop.getLowerBound(), all);
      entry.end = cloneScalar(entry.loop.getUpperBound(), all);
    }
    for (OwnRowsOp own : ops) {
      b.setInsertionPoint(own);
      Value rows = index(own.getRows() / consumers);
      own.getOffset().replaceAllUsesWith(
          arith::MulIOp::create(b, consumerId(), rows));
      own.getCount().replaceAllUsesWith(rows);
      own.erase();
    }
  }

  /// `value`, where the consumer's number is `id` and loops are at `mapping`.
  Value cloneScalar(Value value, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    bool changes = false;
    for (Value operand : op->getOperands())
      changes |= cloneScalar(operand, mapping) != operand;
    bool isInside = op->getBlock() != &kernel.getBody().front();
    if (!changes && !isInside)
      return value;
    return b.clone(*op, mapping)
        ->getResult(cast<OpResult>(value).getResultNumber());
  }

  void fetch(FetchedTile &fetched, Value step, IRMapping &mapping) {
    b.setLoc(fetched.load.getLoc());
    AcquireOp::create(b, fetched.channel, step);
    auto build = [&](OpFoldResult at) {
      auto value = dyn_cast<Value>(at);
      return value ? cloneScalar(value, mapping)
                   : index(*getConstantIntValue(at));
    };
    const TensorBox &box = fetched.box;
    SmallVector<Value> start;
    for (OpFoldResult at : box.start)
      start.push_back(build(at));
    Value end = box.end ? build(box.end) : Value();
    if (box.origin) {
      Value origin = build(box.origin), &row = start[box.dims[0]];
      row = arith::AddIOp::create(b, origin, row);
      if (end)
        end = arith::AddIOp::create(b, origin, end);
    }
    FetchOp::create(b, box.argument, start, box.dims, end,
                    /*joined=*/bool(box.origin), fetched.channel, step);
  }

  /// Into the slot of each consumer, when `passed` tiles of each have passed.
  void fetchForEach(FetchedTile &tile, Value passed, const IRMapping &loops) {
    for (int64_t consumer = 0; consumer < consumers; ++consumer) {
      IRMapping own = loops;
      Value id = index(consumer);
      own.map(consumerId(), id);
      fetch(tile, ownStep(passed, id), own);
    }
  }

  void buildProducer() {
    Block &region = roles.getProducer().front();
    b.setInsertionPointToStart(&region);
    for (FetchedTile &left : lefts)
      fetchForEach(left, region.getArgument(0), {});
    Value step = region.getArgument(1);
    for (FetchingLoop &loop : loops) {
      b.setLoc(loop.loop.getLoc());
      auto walk = scf::ForOp::create(b, loop.begin, loop.end,
                                     loop.loop.getStep(), step);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(walk.getBody());
      IRMapping mapping;
      mapping.map(loop.loop.getInductionVar(), walk.getInductionVar());
      for (FetchedTile &fetched : loop.fetched)
        fetch(fetched, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &tile : loop.scores)
        fetchForEach(tile, walk.getRegionIterArg(0), mapping);
      Value next = arith::AddIOp::create(b, walk.getRegionIterArg(0), index(1));
      scf::YieldOp::create(b, next);
      step = walk.getResult(0);
    }
    PassedOp::create(b, step);
  }

  //===--- Consumers ---===//

  Value consumerId() {
    return *kernel.getBody().front().getOps<ConsumerIdOp>().begin();
  }

  void consume() {
    Block &region = roles.getConsumer().front();
    b.setInsertionPointToStart(&region);
    Value own =
        lefts.empty() ? Value() : ownStep(region.getArgument(0), consumerId());
    for (FetchedTile &left : lefts)
      AwaitOp::create(b, left.channel, own);
    Value steps = region.getArgument(1);
    LeftTiles leftOut(b, loops, steps);
    bool hasLeftOut = consumers > 1 && leftOut.any();
    auto pass = [&](Value step) { passTile(step); };
    if (hasLeftOut)
      steps = leftOut.passFirst(steps, pass);
    for (FetchingLoop &loop : loops)
      steps = consumeLoop(loop, steps, own);
    b.setInsertionPointAfterValue(steps);
    for (FetchedTile &left : lefts)
      ReleaseOp::create(b, left.channel, own);
    if (hasLeftOut)
      steps = leftOut.passLast(steps, pass);
    b.setInsertionPointToEnd(&region);
    PassedOp::create(b, steps);
  }

  /// A tile that this consumer's rows do not see.
  void passTile(Value step) {
    for (FetchedTile &fetched : loops[0].fetched) {
      AwaitOp::create(b, fetched.channel, step);
      ReleaseOp::create(b, fetched.channel, step);
    }
    for (FetchedTile &tile : loops[0].scores) {
      Value own = ownStep(step, consumerId());
      AwaitOp::create(b, tile.channel, own);
      ReleaseOp::create(b, tile.channel, own);
    }
  }

  /// Gives the steps that have passed after the loop.
  Value consumeLoop(FetchingLoop &entry, Value before, Value own) {
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
    for (auto [dot, fetched] : llvm::zip_equal(dots, entry.fetched))
      runDot(dot, fetched, step, own);
    for (FetchedTile &tile : entry.scores)
      receive(tile, step);
    return loop.getResults().back();
  }

  void receive(FetchedTile &tile, Value step) {
    b.setInsertionPoint(tile.load);
    b.setLoc(tile.load.getLoc());
    Value own = ownStep(step, consumerId());
    AwaitOp::create(b, tile.channel, own);
    auto received =
        ReceiveOp::create(b, tile.load.getType(), tile.channel, own);
    ReleaseOp::create(b, tile.channel, own);
    tile.load.getResult().replaceAllUsesWith(received.getResult());
    tile.load.erase();
  }

  void runDot(DotOp dot, FetchedTile &fetched, Value step, Value own) {
    b.setInsertionPoint(dot);
    b.setLoc(dot.getLoc());
    AwaitOp::create(b, fetched.channel, step);
    const FetchedTile *left =
        llvm::find_if(lefts, [&](const FetchedTile &known) {
          return known.load == dot.getA().getDefiningOp();
        });
    Value a = dot.getA(), leftChannel, leftStep;
    if (left != lefts.end()) {
      a = {};
      leftChannel = left->channel;
      leftStep = own;
    }
    if (auto ramp = dot.getAcc() ? dot.getAcc().getDefiningOp<tile::RampOp>()
                                 : tile::RampOp()) {
      dot.getAccMutable().assign(
          tgpu::RampOp::create(b, ramp.getType(), ramp.getFactor(),
                               ramp.getRow(), ramp.getColumn(), numbers));
      ramp.erase();
    }
    auto running =
        DotStartOp::create(b, RunningType::get(b.getContext(), typeOf(dot)), a,
                           leftChannel, leftStep, fetched.channel, step,
                           dot.getAcc(), dot.getTransposeB(), IntegerAttr());
    int64_t depth = typeOf(dot.getA()).getDimSize(1);
    if (depth != running.slotDepth())
      running.setDepth(depth);
    auto wait = DotWaitOp::create(b, typeOf(dot), TypeRange(), running,
                                  ValueRange(), /*pending=*/0);
    ReleaseOp::create(b, fetched.channel, step);
    dot.getResult().replaceAllUsesWith(wait.getResult());
    LoadOp load = fetched.load;
    dot.erase();
    load.erase();
  }

  KernelOp kernel;
  int64_t consumers;
  fa::TgpuOpenChannelsOptions options;
  SmallVector<FetchedTile> lefts;
  std::vector<FetchingLoop> loops;
  TypedValue<BufferType> numbers; ///< null: there are no ramps
  ImplicitLocOpBuilder b;
  RolesOp roles;
};

struct TgpuOpenChannels final
    : fa::impl::TgpuOpenChannelsBase<TgpuOpenChannels> {
  using TgpuOpenChannelsBase::TgpuOpenChannelsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (!kernel.getUnfused())
        openChannels(kernel);
  }

  /// Why `kernel`, which is lost then, has no roles; empty: it has.
  std::string openChannelsIn(KernelOp kernel) {
    std::string reason = partitionRows(kernel, /*rows=*/64);
    if (!reason.empty())
      return reason;
    int64_t consumers =
        kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::consumersAttrName)
            .getInt();
    auto tiles = findFetchedTiles(kernel, consumers, reason);
    if (!tiles)
      return reason;
    return ChannelOpener(
               kernel, std::move(*tiles), consumers,
               {stages, keys, keyBytes, apartBytes, limit, ahead, persistent})
        .run();
  }

  void openChannels(KernelOp kernel) {
    // A kernel that cannot have roles stays as it is.
    OwningOpRef<KernelOp> trial = kernel.clone();
    std::string reason = openChannelsIn(*trial);
    if (!reason.empty()) {
      emitRemark(kernel.getLoc()) << "stays with one role: " << reason;
      return;
    }
    kernel->setAttrs((*trial)->getAttrs());
    if (persistent)
      kernel->setAttr(TileGPUDialect::persistentAttrName,
                      UnitAttr::get(kernel.getContext()));
    kernel.getBody().takeBody(trial->getBody());
  }
};

} // namespace

//===- OpenChannels.cpp - tgpu-open-channels ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionRows.h"
#include "TensorBox.h"

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

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

namespace {

/// A load that becomes a fetch of the producer.
struct Fetched {
  LoadOp load;
  TensorBox box;
  TypedValue<ChannelType> channel;
};

/// A loop over tiles of keys: what it fetches, in order.
struct FetchingLoop {
  scf::ForOp loop;
  SmallVector<Fetched> fetched;
};

class ChannelOpener {
public:
  ChannelOpener(KernelOp kernel, int64_t stages)
      : kernel(kernel), consumers(consumersOf(kernel)), stages(stages),
        b(kernel.getLoc(), kernel.getContext()) {}

  /// Why there are no roles; empty: there are.
  std::string run() {
    if (!find())
      return reason;
    openChannels();
    buildRoles();
    if (!boundsAreAbove())
      return "the bounds of a loop are computed from tiles";
    buildProducer();
    consume();
    for (Fetched &left : lefts)
      left.load.erase();
    return "";
  }

private:
  static int64_t consumersOf(KernelOp kernel) {
    return kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::consumersAttrName)
        .getInt();
  }

  bool refuse(const Twine &why) {
    reason = why.str();
    return false;
  }

  //===--- What can be fetched ---===//

  bool find() {
    // Two and three warpgroups of consumers have 232 and 160 registers a thread
    // (setmaxnreg); four would wait for more than there are.
    if (consumers > 3)
      return refuse("its rows are those of " + Twine(consumers) +
                    " warpgroups, where a block has registers for three");
    WalkResult walk = kernel.walk([&](Operation *op) {
      if (isa<TransposeOp, ReduceOp>(op))
        return WalkResult((refuse("'" + op->getName().getStringRef() +
                                  "' may move a tile between threads"),
                           failure()));
      auto dot = dyn_cast<DotOp>(op);
      return WalkResult(success(!dot || findOperands(dot)));
    });
    if (walk.wasInterrupted())
      return false;
    return loops.empty() ? refuse("no loop has a dot") : fetchAlike();
  }

  /// One step counts the tiles of all loops: a channel that a loop leaves out
  /// would be behind.
  bool fetchAlike() {
    for (FetchingLoop &entry : loops) {
      bool alike = entry.fetched.size() == loops[0].fetched.size();
      for (auto [one, other] : llvm::zip(entry.fetched, loops[0].fetched))
        alike &= one.load.getType() == other.load.getType();
      if (!alike)
        return refuse("loops fetch different tiles");
    }
    return true;
  }

  bool findOperands(DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!loop || loop->getParentOp() != kernel)
      return refuse("a dot is not in a loop of its own");
    auto right = dot.getB().getDefiningOp<LoadOp>();
    if (!right || right->getBlock() != dot->getBlock() || !right->hasOneUse())
      return refuse("the right operand of a dot is not a load beside it");
    if (!fits(dot))
      return false;
    auto found = fetch(right);
    if (!found)
      return false;
    if (loops.empty() || loops.back().loop != loop)
      loops.push_back({loop, {}});
    loops.back().fetched.push_back(*found);
    auto left = dot.getA().getDefiningOp<LoadOp>();
    if (!left ||
        llvm::any_of(lefts, [&](Fetched &known) { return known.load == left; }))
      return true;
    bool onlyLeft = llvm::all_of(left->getUses(), [](OpOperand &use) {
      auto user = dyn_cast<DotOp>(use.getOwner());
      return user && &use == &user.getAMutable();
    });
    if (!onlyLeft || left->getBlock() != &kernel.getBody().front())
      return refuse("the left operand of a dot is used otherwise, too");
    auto leftFound = fetch(left);
    if (!leftFound)
      return false;
    lefts.push_back(*leftFound);
    return true;
  }

  /// What wgmma takes.
  bool fits(DotOp dot) {
    RankedTensorType a = typeOf(dot.getA()), right = typeOf(dot.getB()),
                     r = typeOf(dot.getResult());
    Type element = a.getElementType();
    if (!(element.isF16() || element.isBF16()) ||
        right.getElementType() != element || !r.getElementType().isF32())
      return refuse("a dot is not of f16 or bf16 with f32 results");
    if (r.getDimSize(0) != 64 || r.getDimSize(1) % 8 || r.getDimSize(1) > 256 ||
        a.getDimSize(1) % 16 || right.getDimSize(0) % 8 ||
        right.getDimSize(0) > 256)
      return refuse("a dot's sizes are not those of a warpgroup");
    return true;
  }

  std::optional<Fetched> fetch(LoadOp load) {
    auto box = findTensorBox(load, reason);
    if (!box)
      return std::nullopt;
    if (!llvm::isPowerOf2_64(typeOf(load).getDimSize(0))) {
      refuse("a tile's rows are no power of two");
      return std::nullopt;
    }
    return Fetched{load, *box, {}};
  }

  //===--- Channels ---===//

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// Slots have rows of whole lines of 128 bytes, as the swizzle is. Behind a
  /// tile that has not are columns that no dot reads.
  TypedValue<ChannelType> open(RankedTensorType tile, int64_t slots,
                               bool own = false) {
    int64_t bytes = tile.getElementTypeBitWidth() / 8, line = 128 / bytes;
    TileLayout layout = swizzledShared(tile.getDimSize(0), line, bytes);
    layout.repeat = llvm::divideCeil(tile.getDimSize(1), line);
    int64_t shape[] = {tile.getDimSize(0), layout.size(1)};
    auto buffer =
        BufferType::get(b.getContext(), slots, shape, tile.getElementType(),
                        LayoutAttr::get(b.getContext(), layout));
    return ChannelOp::create(b, ChannelType::get(b.getContext(), buffer),
                             IntegerAttr(), IntegerAttr(), own)
        .getResult();
  }

  /// A slot for each consumer.
  int64_t ownSlots() const { return consumers; }

  /// The step of the slot that consumer `id` owns, in a region of `roles`.
  Value ownStep(Block &region, Value id) {
    Value before =
        arith::MulIOp::create(b, region.getArgument(0), index(ownSlots()));
    return arith::AddIOp::create(b, before, id);
  }

  /// Loops one after the other use the same channels.
  void openChannels() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    for (Fetched &left : lefts)
      left.channel = open(typeOf(left.load), ownSlots(), /*own=*/true);
    for (Fetched &first : loops[0].fetched)
      first.channel = open(typeOf(first.load), stages);
    for (FetchingLoop &entry : loops)
      for (auto [fetched, first] : llvm::zip(entry.fetched, loops[0].fetched))
        fetched.channel = first.channel;
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

  void fetch(Fetched &fetched, Value step, IRMapping &mapping) {
    b.setLoc(fetched.load.getLoc());
    AcquireOp::create(b, fetched.channel, step);
    auto build = [&](OpFoldResult at) {
      auto value = dyn_cast<Value>(at);
      return value ? cloneScalar(value, mapping)
                   : index(*getConstantIntValue(at));
    };
    SmallVector<Value> start;
    for (OpFoldResult at : fetched.box.start)
      start.push_back(build(at));
    Value end = fetched.box.end ? build(fetched.box.end) : Value();
    FetchOp::create(b, fetched.box.argument, start, fetched.box.dims, end,
                    fetched.channel, step);
  }

  void buildProducer() {
    Block &region = roles.getProducer().front();
    b.setInsertionPointToStart(&region);
    for (Fetched &left : lefts)
      for (int64_t consumer = 0; consumer < consumers; ++consumer) {
        IRMapping mapping;
        mapping.map(consumerId(), index(consumer));
        fetch(left, ownStep(region, mapping.lookup(consumerId())), mapping);
      }
    Value step = region.getArgument(1);
    for (FetchingLoop &loop : loops) {
      b.setLoc(loop.loop.getLoc());
      auto walk = scf::ForOp::create(b, loop.loop.getLowerBound(),
                                     loop.loop.getUpperBound(),
                                     loop.loop.getStep(), step);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(walk.getBody());
      IRMapping mapping;
      mapping.map(loop.loop.getInductionVar(), walk.getInductionVar());
      for (Fetched &fetched : loop.fetched)
        fetch(fetched, walk.getRegionIterArg(0), mapping);
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
    Value own = lefts.empty() ? Value() : ownStep(region, consumerId());
    for (Fetched &left : lefts)
      AwaitOp::create(b, left.channel, own);
    Value steps = region.getArgument(1);
    for (FetchingLoop &loop : loops)
      steps = consumeLoop(loop, steps, own);
    b.setInsertionPointAfterValue(steps);
    for (Fetched &left : lefts)
      ReleaseOp::create(b, left.channel, own);
    b.setInsertionPointToEnd(&region);
    PassedOp::create(b, steps);
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
    return loop.getResults().back();
  }

  void runDot(DotOp dot, Fetched &fetched, Value step, Value own) {
    b.setInsertionPoint(dot);
    b.setLoc(dot.getLoc());
    AwaitOp::create(b, fetched.channel, step);
    const Fetched *left = llvm::find_if(lefts, [&](const Fetched &known) {
      return known.load == dot.getA().getDefiningOp();
    });
    Value a = dot.getA(), leftChannel, leftStep;
    if (left != lefts.end()) {
      a = {};
      leftChannel = left->channel;
      leftStep = own;
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
  int64_t consumers, stages;
  ImplicitLocOpBuilder b;
  std::string reason;
  SmallVector<Fetched> lefts;
  SmallVector<FetchingLoop> loops;
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

  void openChannels(KernelOp kernel) {
    // A kernel that cannot have roles stays as it is.
    OwningOpRef<KernelOp> trial = kernel.clone();
    std::string reason = partitionRows(*trial, /*rows=*/64);
    if (reason.empty())
      reason = ChannelOpener(*trial, stages).run();
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

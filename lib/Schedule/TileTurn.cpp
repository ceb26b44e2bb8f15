//===- TileTurn.cpp - what a consumer does for one tile -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileTurn.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

bool fa::isOfVector(Value channel) {
  return cast<ChannelType>(channel.getType()).getBuffer().getShape()[0] == 1;
}

void TileTurn::begin(const LoopDot &dot) {
  for (size_t channel : dot.channels)
    await(tiles.channels[channel], now);
  for (Value operand : dot.start->getOperands())
    need(operand);
  waitForOperandsOf(dot.start);
  Operation *start = b.clone(*dot.start, mapping);
  running.push_back({&dot, start->getResult(0)});
}

void TileTurn::awaitAll() {
  for (const LoopChannel &channel : tiles.channels)
    if (tiles.isReadIn(channel, 0))
      await(channel, now);
  awaitKeptVectors();
}

void TileTurn::beginLate(const LoopDot &dot, Value left, Value acc) {
  // A dot of stage 0 has awaited it in the turn before.
  for (size_t channel : dot.channels)
    if (!tiles.isReadIn(tiles.channels[channel], 0))
      await(tiles.channels[channel], before);
  IRMapping late;
  late.map(tiles.step, before);
  late.map(dot.start.getA(), left);
  late.map(dot.start.getAcc(), acc);
  running.push_back({&dot, b.clone(*dot.start, late)->getResult(0)});
}

void TileTurn::await(const LoopChannel &channel, Value at) {
  if (!awaited.insert(&channel).second)
    return;
  b.setLoc(channel.await.getLoc());
  if (channel.isOwn)
    need(channel.await.getStep());
  AwaitOp::create(b, channel.channel, slotOf(channel, at));
}

Value TileTurn::slotOf(const LoopChannel &channel, Value at) {
  return channel.isOwn ? mapping.lookupOrDefault(channel.await.getStep()) : at;
}

void TileTurn::need(Value value) {
  llvm::SmallSetVector<Operation *, 8> slice;
  auto add = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && llvm::is_contained(tiles.early, op))
      slice.insert(op);
  };
  add(value);
  for (size_t n = 0; n < slice.size(); ++n)
    slice[n]->walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  for (Operation *op : tiles.early)
    if (slice.contains(op))
      emit(op);
}

void TileTurn::emit(Operation *op) {
  if (!emitted.insert(op).second)
    return;
  waitForOperandsOf(op);
  if (!isOfVector(op))
    emitVectorsOf(op);
  auto receive = dyn_cast<ReceiveOp>(op);
  if (receive)
    emitSyncs<AwaitOp>(receive);
  b.clone(*op, mapping);
  if (receive)
    emitSyncs<ReleaseOp>(receive);
}

template <typename SyncOp> void TileTurn::emitSyncs(ReceiveOp receive) {
  for (Operation *op : tiles.early)
    if (auto sync = dyn_cast<SyncOp>(op);
        sync && sync.getChannel() == receive.getChannel() && !isKept(sync))
      emit(op);
}

bool TileTurn::isKept(Operation *op) const {
  auto release = dyn_cast<ReleaseOp>(op);
  return release && llvm::is_contained(keptVectors, release.getChannel());
}

/// While dots run. Among what is computed, they would part it: ptxas interleaves
/// nothing across a wait.
void TileTurn::awaitKeptVectors() {
  for (Operation *op : tiles.early)
    if (auto await = dyn_cast<AwaitOp>(op);
        await && llvm::is_contained(keptVectors, await.getChannel()))
      emit(op);
}

void TileTurn::releaseKeptVectors() {
  for (Value channel : keptVectors)
    ReleaseOp::create(b, channel, before);
}

/// Whether `op` brings a vector, or is made of one alone and no tile of its
/// own.
bool TileTurn::isOfVector(Operation *op) {
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return fa::isOfVector(receive.getChannel());
  if (auto await = dyn_cast<AwaitOp>(op))
    return fa::isOfVector(await.getChannel());
  if (auto release = dyn_cast<ReleaseOp>(op))
    return fa::isOfVector(release.getChannel());
  bool isSpread =
      isa<ExpandDimsOp, BroadcastOp>(op) ||
      (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
       isTile(op->getResult(0)) && typeOf(op->getResult(0)).getRank() == 1);
  return isSpread && llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *source = operand.getDefiningOp();
           return source && llvm::is_contained(tiles.early, source) &&
                  isOfVector(source);
         });
}

/// Behind the waits, so that no registers hold them until then.
void TileTurn::emitVectorsOf(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && llvm::is_contained(tiles.early, source) &&
          isOfVector(source)) {
        emitVectorsOf(source);
        emit(source);
      }
    }
  });
}

void TileTurn::waitForOperandsOf(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (const LoopDot *dot = tiles.dotOf(operand))
        waitFor(*llvm::find_if(
            running, [&](const Running &each) { return each.dot == dot; }));
  });
}

void TileTurn::compute(bool holdsReleases) {
  isHolding = holdsReleases;
  awaitKeptVectors();
  // What is left needs a result: computed before the wait it would hold up
  // what runs behind.
  auto first = llvm::find_if(running, [](const Running &each) {
    return !each.dot->isLast && !each.isWaitedFor;
  });
  if (first != running.end())
    waitFor(*first);
  for (Operation *op : tiles.early)
    if (!isOfVector(op))
      emit(op);
  // Those that nothing reads.
  for (Operation *op : tiles.early)
    if (!isKept(op))
      emit(op);
  isHolding = false;
  for (const LoopChannel *channel : held)
    ReleaseOp::create(
        b, channel->channel, slotOf(*channel, now),
        mapping.lookupOrDefault(tiles.late().front()->rounding.getIn()));
}

void TileTurn::finish() {
  for (Running &each : running)
    waitFor(each);
}

void TileTurn::waitFor(Running &each) {
  if (each.isWaitedFor)
    return;
  // Dots finish in the order in which they began. Waited for behind a later
  // one, ptxas would take its accumulators for registers that are written.
  for (Running *before = running.begin(); before != &each; ++before)
    waitFor(*before);
  each.isWaitedFor = true;
  const LoopDot &dot = *each.dot;
  SmallVector<Value, 1> through;
  // What the next turn's late dot takes is rounded after the wait: the
  // registers of the old one are read until then.
  if (dot.isLate())
    if (Value unrounded = mapping.lookupOrNull(dot.rounding.getIn()))
      through.push_back(unrounded);
  Type tile = cast<RunningType>(each.value.getType()).getTile();
  int64_t later = running.end() - &each - 1;
  auto wait = DotWaitOp::create(b, tile, ValueRange(through).getTypes(),
                                each.value, through, later);
  if (dot.isLate())
    mapping.map(tiles.carriedArg(dot), wait.getResult());
  else
    mapping.map(dot.wait.getResult(), wait.getResult());
  if (!through.empty())
    mapping.map(dot.rounding.getIn(), wait.getPassed().front());
  release(dot);
  if (dot.isLate() && llvm::all_of(tiles.late(), [&](const LoopDot *late) {
        return isWaitedFor(*late);
      }))
    releaseKeptVectors();
}

bool TileTurn::isWaitedFor(const LoopDot &dot) const {
  return llvm::any_of(running, [&](const Running &each) {
    return each.dot == &dot && each.isWaitedFor;
  });
}

void TileTurn::release(const LoopDot &dot) {
  for (size_t channel : dot.channels)
    release(dot, tiles.channels[channel]);
}

void TileTurn::release(const LoopDot &dot, const LoopChannel &channel) {
  bool isLate = tiles.isReadIn(channel, 1);
  if (isLate != dot.isLate())
    return;
  for (size_t reader : channel.readers) {
    const LoopDot &other = tiles.dots[reader];
    if (other.isLate() == isLate && !isWaitedFor(other))
      return;
  }
  if (isHolding && !isLate)
    return held.push_back(&channel);
  b.setLoc(channel.release.getLoc());
  ReleaseOp::create(b, channel.channel, slotOf(channel, isLate ? before : now));
}

//===- TileLoop.cpp - a loop of dots, taken apart -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileLoop.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

std::string TileLoop::match(ArrayRef<PlannedDot> planned) {
  step = loop.getRegionIterArgs().back();
  std::string why = matchDots(planned);
  for (LoopDot &dot : dots)
    if (why.empty() && dot.isLate())
      why = matchLate(dot);
  return why.empty() ? classify() : why;
}

std::string TileLoop::matchDots(ArrayRef<PlannedDot> planned) {
  SmallVector<DotStartOp> starts(loop.getBody()->getOps<DotStartOp>());
  auto yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [start, plan] : llvm::zip_equal(starts, planned)) {
    LoopDot &dot = dots.emplace_back();
    dot.start = start;
    dot.planned = plan;
    bool stays = loop.isDefinedOutsideOfLoop(start.getBStep());
    if (!start->hasOneUse() || (!stays && start.getBStep() != step))
      return "a dot that does not read the tile of its step";
    dot.wait = dyn_cast<DotWaitOp>(*start->getUsers().begin());
    if (!dot.wait)
      return "a dot without a wait";
    Value result = dot.wait.getResult();
    dot.isLast = result.hasOneUse() && llvm::is_contained(yielded, result);
    if (!stays)
      if (std::string why = matchChannel(dots.size() - 1, start.getBChannel());
          !why.empty())
        return why;
    Value left = start.getAChannel();
    if (!left || loop.isDefinedOutsideOfLoop(start.getAStep()))
      continue;
    if (std::string why = matchChannel(dots.size() - 1, left); !why.empty())
      return why;
  }
  return "";
}

std::string TileLoop::matchChannel(size_t number, Value channel) {
  auto known = llvm::find_if(channels, [&](const LoopChannel &each) {
    return each.channel == channel;
  });
  dots[number].channels.push_back(known - channels.begin());
  if (known == channels.end()) {
    LoopChannel &read = channels.emplace_back();
    read.channel = channel;
    read.isOwn = channel.getDefiningOp<ChannelOp>().getOwn();
    for (Operation *user : channel.getUsers()) {
      if (user->getBlock() != loop.getBody())
        continue;
      if (auto await = dyn_cast<AwaitOp>(user))
        read.await = await;
      if (auto release = dyn_cast<ReleaseOp>(user))
        read.release = release;
    }
    if (!read.await || !read.release)
      return "a channel that is not awaited and released in each step";
  }
  channels[dots[number].channels.back()].readers.push_back(number);
  return "";
}

std::string TileLoop::matchLate(LoopDot &dot) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  if (!dot.isLast || !dot.start.getAcc() || !dot.start.getA())
    return "a dot of stage 1 that does not add to a carried tile";
  dot.carried =
      llvm::find(yield.getOperands(), dot.wait.getResult()).getIndex();
  dot.rounding = dot.start.getA().getDefiningOp<arith::TruncFOp>();
  if (!dot.rounding || dot.rounding->getBlock() != loop.getBody() ||
      !dot.rounding->hasOneUse())
    return "a dot of stage 1 whose left operand is not rounded for it alone";
  return "";
}

std::string TileLoop::classify() {
  llvm::SmallPtrSet<Operation *, 8> apart;
  llvm::SmallPtrSet<Value, 4> carried;
  for (const LoopDot &dot : dots) {
    apart.insert({dot.start, dot.wait});
    if (dot.isLate()) {
      apart.insert(dot.rounding);
      carried.insert(carriedArg(dot));
    }
  }
  for (const LoopChannel &channel : channels)
    apart.insert({channel.await, channel.release});
  llvm::SmallPtrSet<Operation *, 8> afterWait;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!apart.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return carried.contains(operand) ||
                 afterWait.contains(operand.getDefiningOp());
        }))
      afterWait.insert(&op);
  // What late dots take is computed before the carried tiles are there, and
  // neither a dot of stage 0 nor what is carried otherwise may wait for them.
  auto isLate = [&](Value value) {
    return value && (carried.contains(value) ||
                     afterWait.contains(value.getDefiningOp()));
  };
  for (const LoopDot &dot : dots) {
    if (dot.isLate() && isLate(dot.rounding.getIn()))
      return "a left operand that is computed from what dots of stage 1 add to";
    if (dot.isLate() && !isLate(dot.start.getAcc()))
      return "a dot of stage 1 that does not add to a carried tile";
    if (!dot.isLate() &&
        (isLate(dot.start.getA()) || isLate(dot.start.getAcc())))
      return "a dot of stage 0 that reads what dots of stage 1 add to";
  }
  if (llvm::any_of(loop.getBody()->getTerminator()->getOperands(), isLate))
    return "a carried value that is computed from what dots of stage 1 add to";
  spreadLate(afterWait);
  for (Operation &op : loop.getBody()->without_terminator())
    if (!apart.contains(&op))
      (afterWait.contains(&op) ? rescaling : early).push_back(&op);
  for (Operation *op : rescaling)
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == loop.getBody() &&
          !carried.contains(operand) &&
          !afterWait.contains(operand.getDefiningOp()) &&
          !llvm::is_contained(taken, operand))
        taken.push_back(operand);
  if (!llvm::all_of(rescaling, isMemoryEffectFree))
    return "what dots of stage 1 add to has side effects";
  // Such are computed as soon as they are needed; no kernel stores what it
  // loads.
  for (const LoopDot &dot : dots)
    if (!dot.isLate())
      for (Operation *op : sliceOf(dot))
        if (!isMemoryEffectFree(op) &&
            !isa<LoadOp, GatherOp, DotWaitOp, ExchangeOp>(op))
          return ("'" + op->getName().getStringRef() +
                  "' in what a dot of stage 0 reads")
              .str();
  return "";
}

llvm::SetVector<Operation *> TileLoop::sliceOf(const LoopDot &dot) const {
  llvm::SetVector<Operation *> slice;
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == loop.getBody())
      slice.insert(op);
  };
  llvm::for_each(dot.start->getOperands(), add);
  for (size_t n = 0; n < slice.size(); ++n)
    if (!dotOf(slice[n]->getResult(0)))
      slice[n]->walk(
          [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  return slice;
}

std::string TileLoop::whyStuck() const {
  for (const LoopChannel &channel : channels)
    if (isReadIn(channel, 0) && isReadIn(channel, 1) &&
        cast<ChannelType>(channel.channel.getType()).getBuffer().getSlots() < 2)
      return "expected two slots of a tile that dots of both stages read, "
             "found 1";
  for (const LoopDot &dot : dots) {
    if (dot.isLate())
      continue;
    for (Operation *op : sliceOf(dot)) {
      const LoopDot *needed = dotOf(op->getResult(0));
      if (needed && needed->planned.order > dot.planned.order)
        return ("expected the dot of order " + Twine(dot.planned.order) +
                " behind the one whose result it needs, whose order is " +
                Twine(needed->planned.order))
            .str();
    }
  }
  return "";
}

SmallVector<const LoopDot *> TileLoop::inOrder() const {
  SmallVector<const LoopDot *> sorted(llvm::make_pointer_range(dots));
  llvm::sort(sorted, [](const LoopDot *one, const LoopDot *other) {
    return one->planned.order < other->planned.order;
  });
  return sorted;
}

SmallVector<const LoopDot *> TileLoop::late() const {
  SmallVector<const LoopDot *> found = inOrder();
  llvm::erase_if(found, [](const LoopDot *dot) { return !dot->isLate(); });
  return found;
}

BlockArgument TileLoop::carriedArg(const LoopDot &dot) const {
  return loop.getRegionIterArg(dot.carried);
}

const LoopDot *TileLoop::dotOf(Value value) const {
  auto found = llvm::find_if(dots, [&](const LoopDot &dot) {
    return !dot.isLate() && dot.wait.getResult() == value;
  });
  return found == dots.end() ? nullptr : &*found;
}

bool TileLoop::isReadIn(const LoopChannel &channel, int64_t stage) const {
  return llvm::any_of(channel.readers, [&](size_t reader) {
    return dots[reader].planned.stage == stage;
  });
}

void TileLoop::spreadLate(llvm::SmallPtrSetImpl<Operation *> &afterWait) {
  for (Operation &op : llvm::reverse(loop.getBody()->without_terminator()))
    if (isa<BroadcastOp, ExpandDimsOp>(op) &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return afterWait.contains(user); }))
      afterWait.insert(&op);
}

bool TileLoop::follows(const TileLoop &before) const {
  scf::ForOp first = before.loop;
  bool onlyThis = llvm::all_of(first->getUsers(), [&](Operation *user) {
    return user == loop.getOperation();
  });
  auto isAlike = [](const LoopDot &mine, const LoopDot &theirs) {
    return mine.carried == theirs.carried &&
           mine.start.getBChannel() == theirs.start.getBChannel() &&
           (!mine.isLate() ||
            mine.rounding.getType() == theirs.rounding.getType());
  };
  return loop->getBlock() == first->getBlock() && onlyThis &&
         loop.getInitArgs() == ValueRange(first.getResults()) &&
         llvm::all_of_zip(dots, before.dots, isAlike) && rescalesAs(before);
}

bool TileLoop::rescalesAs(const TileLoop &other) const {
  if (taken.size() != other.taken.size() ||
      rescaling.size() != other.rescaling.size())
    return false;
  IRMapping pairs;
  pairs.map(taken, other.taken);
  for (auto [mine, theirs] : llvm::zip_equal(late(), other.late()))
    pairs.map(carriedArg(*mine), other.carriedArg(*theirs));
  auto isPair = [&](Value mine, Value theirs) {
    return success(mine.getType() == theirs.getType() &&
                   pairs.lookupOrDefault(mine) == theirs);
  };
  return llvm::all_of_zip(
      rescaling, other.rescaling, [&](Operation *x, Operation *y) {
        return OperationEquivalence::isEquivalentTo(
            x, y, isPair,
            [&](Value mine, Value theirs) { pairs.map(mine, theirs); },
            OperationEquivalence::IgnoreLocations);
      });
}

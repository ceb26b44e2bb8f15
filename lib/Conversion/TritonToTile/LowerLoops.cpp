//===- LowerLoops.cpp - loops and what they carry -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// What a loop carries
//===----------------------------------------------------------------------===//

LogicalResult TritonLowering::appendParts(Operation *user, Value source,
                                          SmallVectorImpl<Value> &parts) {
  if (auto known = blocks.find(source); known != blocks.end()) {
    for (Value at : known->second.offsets)
      parts.push_back(math.orZero(at));
    return success();
  }
  if (auto known = addresses.find(source); known != addresses.end()) {
    Addresses from = known->second;
    parts.push_back(from.unordered ? from.unordered
                                   : math.orZero(from.offsets.base));
    return success();
  }
  if (auto tile = findAffine(source)) {
    parts.push_back(math.orZero(tile->base));
    return success();
  }
  FailureOr<Value> value = get(user, source);
  if (failed(value))
    return failure();
  parts.push_back(*value);
  return success();
}

bool fa::forCarried(OpOperand &use, llvm::function_ref<void(Value)> reach) {
  Operation *op = use.getOwner(), *parent = op->getParentOp();
  unsigned n = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (n < loop.getNumControlOperands())
      return true;
    n -= loop.getNumControlOperands();
    reach(loop.getRegionIterArg(n));
    reach(loop.getResult(n));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    reach(loop.getBeforeArguments()[n]);
  } else if (isa<scf::ConditionOp>(op)) {
    if (n == 0)
      return true;
    reach(cast<scf::WhileOp>(parent).getAfterArguments()[n - 1]);
    reach(parent->getResult(n - 1));
  } else if (!isa<scf::YieldOp>(op)) {
    return false;
  } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    reach(loop.getRegionIterArg(n));
    reach(loop.getResult(n));
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    reach(loop.getBeforeArguments()[n]);
  } else {
    reach(parent->getResult(n));
  }
  return true;
}

void TritonLowering::findReduced() {
  SmallVector<Value> work;
  auto add = [&](Value value) {
    if (value.getType().isIntOrIndexOrFloat() && reduced.insert(value).second)
      work.push_back(value);
  };
  func.walk(
      [&](triton::ReduceOp op) { llvm::for_each(op->getResults(), add); });
  // What a condition chooses, and what is at an address, is a scalar.
  auto isOfScalar = [](OpOperand &use) {
    return isa<scf::IfOp, triton::LoadOp>(use.getOwner());
  };
  while (!work.empty()) {
    for (OpOperand &use : work.pop_back_val().getUses())
      if (!isOfScalar(use) && !forCarried(use, add))
        llvm::for_each(use.getOwner()->getResults(), add);
  }
}

/// Whether `op` leaves sums of steps such, where its operands are.
static bool keepsSteps(Operation *op) {
  return isa<triton::MakeRangeOp, triton::SplatOp, triton::ExpandDimsOp,
             triton::BroadcastOp, triton::TransOp, arith::ConstantOp,
             arith::ExtSIOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::DivSIOp, arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp,
             scf::ForOp, scf::WhileOp>(op);
}

void TritonLowering::findComputed() {
  SmallVector<Value> work;
  auto add = [&](Value value) {
    if (isIntegerTile(value) && computed.insert(value).second)
      work.push_back(value);
  };
  func.walk([&](Operation *op) {
    auto splat = dyn_cast<triton::SplatOp>(op);
    if (!keepsSteps(op) || (splat && reduced.contains(splat.getSrc())))
      llvm::for_each(op->getResults(), add);
  });
  while (!work.empty()) {
    for (OpOperand &use : work.pop_back_val().getUses())
      if (!forCarried(use, add))
        llvm::for_each(use.getOwner()->getResults(), add);
  }
}

LogicalResult TritonLowering::appendCarried(Operation *user, Value source,
                                            Value carried,
                                            SmallVectorImpl<Value> &parts) {
  if (computed.contains(carried)) {
    FailureOr<Value> tile = get(user, source);
    if (failed(tile))
      return failure();
    parts.push_back(*tile);
    return success();
  }
  if (failed(appendParts(user, source, parts)))
    return failure();
  Value &last = parts.back();
  if (reduced.contains(carried) && !isa<RankedTensorType>(last.getType()))
    last = broadcast(last, RankedTensorType::get(1, last.getType()));
  return success();
}

void TritonLowering::assignParts(Value target, Value like, ValueRange &parts) {
  auto take = [&] {
    Value first = parts.front();
    parts = parts.drop_front();
    return first;
  };
  if (computed.contains(target)) {
    values.map(target, take());
  } else if (auto known = blocks.find(like); known != blocks.end()) {
    TensorBlock block = known->second;
    for (Value &at : block.offsets)
      at = take();
    blocks[target] = block;
  } else if (auto known = addresses.find(like); known != addresses.end()) {
    Addresses from = known->second;
    (from.unordered ? from.unordered : from.offsets.base) = take();
    addresses[target] = from;
  } else if (auto tile = findAffine(like)) {
    tile->base = take();
    integers[target] = *tile;
  } else {
    values.map(target, take());
  }
}

static bool haveSameNumbers(ArrayRef<Value> x, ArrayRef<Value> y) {
  return llvm::all_of(llvm::zip_equal(x, y), [](auto pair) {
    return isSameNumber(std::get<0>(pair), std::get<1>(pair));
  });
}

LogicalResult TritonLowering::checkParts(Operation *user, Value value,
                                         Value like) {
  auto same = [&](bool isSame) {
    return isSame ? success()
                  : LogicalResult(refuse(user, "it carries addresses whose "
                                               "steps change in the loop"));
  };
  if (auto known = blocks.find(like); known != blocks.end()) {
    FailureOr<TensorBlock> block = findBlock(user, value);
    if (failed(block))
      return failure();
    const TensorBlock &first = known->second;
    return same(block->memory == first.memory &&
                isSameNumber(block->base, first.base) &&
                haveSameNumbers(block->sizes, first.sizes) &&
                haveSameNumbers(block->strides, first.strides));
  }
  if (auto known = addresses.find(like); known != addresses.end()) {
    Addresses first = known->second;
    FailureOr<Addresses> from = findAddresses(user, value);
    if (failed(from))
      return failure();
    return same(from->memory == first.memory &&
                bool(from->unordered) == bool(first.unordered) &&
                haveSameNumbers(from->offsets.steps, first.offsets.steps));
  }
  if (auto first = findAffine(like)) {
    std::optional<AffineTile> tile = findAffine(value);
    return same(tile && haveSameNumbers(tile->steps, first->steps));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Ends an iteration of `loop`, which has carried `inits` as `carried`.
LogicalResult TritonLowering::yieldParts(Operation *loop, ValueRange yielded,
                                         ValueRange inits, ValueRange carried,
                                         ValueRange lowered) {
  SmallVector<Value> parts;
  for (auto [value, init, argument] : llvm::zip_equal(yielded, inits, carried))
    if ((!computed.contains(argument) &&
         failed(checkParts(loop, value, init))) ||
        failed(appendCarried(loop, value, argument, parts)))
      return failure();
  if (TypeRange(ValueRange(parts)) != TypeRange(lowered))
    return refuse(loop, "it carries a number that becomes one that was "
                        "computed of a tile");
  scf::YieldOp::create(b, loop->getLoc(), parts);
  return success();
}

LogicalResult TritonLowering::lowerFor(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return refuse(loop, "no kernel has a loop over numbers without a sign");
  SmallVector<Value> bounds, inits;
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) {
    FailureOr<Value> value = getIndex(loop, bound);
    if (failed(value))
      return failure();
    bounds.push_back(*value);
  }
  if (guard) // no step, then
    bounds[1] = arith::SelectOp::create(b, guard, bounds[1], bounds[0]);
  for (auto [init, carried] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs()))
    if (failed(appendCarried(loop, init, carried, inits)))
      return failure();
  auto lowered = scf::ForOp::create(b, bounds[0], bounds[1], bounds[2], inits);
  ValueRange arguments = lowered.getRegionIterArgs();
  for (auto [arg, init] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    assignParts(arg, init, arguments);
  {
    OpBuilder::InsertionGuard guard(b);
    if (!lowered.getBody()->empty())
      lowered.getBody()->back().erase();
    b.setInsertionPointToEnd(lowered.getBody());
    values.map(loop.getInductionVar(), b.createOrFold<arith::IndexCastOp>(
                                           loop.getInductionVar().getType(),
                                           lowered.getInductionVar()));
    if (failed(lowerBlock(*loop.getBody())))
      return failure();
    if (failed(yieldParts(loop, loop.getYieldedValues(), loop.getInitArgs(),
                          loop.getRegionIterArgs(), inits)))
      return failure();
  }
  b.setLoc(loop.getLoc());
  ValueRange results = lowered.getResults();
  for (auto [result, init] :
       llvm::zip_equal(loop.getResults(), loop.getInitArgs()))
    assignParts(result, init, results);
  return success();
}

/// Whether something that is not carried of what `source` is, such as a step,
/// is computed in `region`.
bool TritonLowering::isMadeIn(Region &region, Value source) {
  auto isInside = [&](Value value) {
    return value && region.isAncestor(value.getParentRegion());
  };
  if (auto known = blocks.find(source); known != blocks.end()) {
    const TensorBlock &block = known->second;
    return isInside(block.base) || llvm::any_of(block.sizes, isInside) ||
           llvm::any_of(block.strides, isInside);
  }
  if (auto known = addresses.find(source); known != addresses.end())
    return llvm::any_of(known->second.offsets.steps, isInside);
  auto tile = findAffine(source);
  return tile && llvm::any_of(tile->steps, isInside);
}

/// What the condition hands to the body, and so the types of the results, is
/// known when the condition has been lowered: the operation is made last.
LogicalResult TritonLowering::lowerWhile(scf::WhileOp loop) {
  SmallVector<Value> inits;
  for (auto [init, carried] :
       llvm::zip_equal(loop.getInits(), loop.getBeforeArguments()))
    if (failed(appendCarried(loop, init, carried, inits)))
      return failure();
  OperationState state(loop.getLoc(), scf::WhileOp::getOperationName());
  state.addOperands(inits);
  Region *before = state.addRegion(), *after = state.addRegion();
  // Lowers `from` into `to`, which is handed `parts` of what `likes` are.
  auto lower = [&](Block *from, Region *to, ValueRange likes,
                   ValueRange parts) {
    Block &block = to->emplaceBlock();
    for (Value part : parts)
      block.addArgument(part.getType(), loop.getLoc());
    b.setInsertionPointToEnd(&block);
    ValueRange arguments = block.getArguments();
    for (auto [argument, like] : llvm::zip_equal(from->getArguments(), likes))
      assignParts(argument, like, arguments);
    return lowerBlock(*from);
  };
  scf::ConditionOp condition = loop.getConditionOp();
  if (Operation *division = findDivision(*loop.getBeforeBody());
      division && guard)
    return refuse(division,
                  "it stands in a loop's condition, which is computed "
                  "where a branch or an early return has left, too");
  {
    OpBuilder::InsertionGuard insertion(b);
    if (failed(lower(loop.getBeforeBody(), before, loop.getInits(), inits)))
      return failure();
    b.setLoc(loop.getLoc());
    FailureOr<Value> holds = getScalar(loop, condition.getCondition());
    if (failed(holds))
      return failure();
    if (guard) // not once, then
      holds = Value(arith::AndIOp::create(b, guard, *holds));
    SmallVector<Value> handed;
    for (auto [value, argument] :
         llvm::zip_equal(condition.getArgs(), loop.getAfterArguments())) {
      if (!computed.contains(argument) && isMadeIn(*before, value))
        return refuse(loop, "it carries addresses whose steps change in the "
                            "loop");
      if (failed(appendCarried(loop, value, argument, handed)))
        return failure();
    }
    scf::ConditionOp::create(b, *holds, handed);
    state.addTypes(TypeRange(ValueRange(handed)));
    if (failed(
            lower(loop.getAfterBody(), after, condition.getArgs(), handed)) ||
        failed(yieldParts(loop, loop.getYieldOp().getResults(), loop.getInits(),
                          loop.getBeforeArguments(), inits)))
      return failure();
  }
  b.setLoc(loop.getLoc());
  ValueRange results = b.create(state)->getResults();
  for (auto [result, value] :
       llvm::zip_equal(loop.getResults(), condition.getArgs()))
    assignParts(result, value, results);
  return success();
}

//===- LowerControl.cpp - loops and branches ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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

void TritonLowering::assignParts(Value target, Value like, ValueRange &parts) {
  auto take = [&] {
    Value first = parts.front();
    parts = parts.drop_front();
    return first;
  };
  if (auto known = blocks.find(like); known != blocks.end()) {
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
// Loops and branches
//===----------------------------------------------------------------------===//

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
  for (Value init : loop.getInitArgs())
    if (failed(appendParts(loop, init, inits)))
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
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<Value> parts;
    for (auto [value, init] :
         llvm::zip_equal(yield.getOperands(), loop.getInitArgs()))
      if (failed(checkParts(loop, value, init)) ||
          failed(appendParts(loop, value, parts)))
        return failure();
    if (TypeRange(parts) != lowered.getResultTypes())
      return refuse(loop, "it carries a number that becomes one that was "
                          "computed of a tile");
    scf::YieldOp::create(b, loop.getLoc(), parts);
  }
  b.setLoc(loop.getLoc());
  ValueRange results = lowered.getResults();
  for (auto [result, init] :
       llvm::zip_equal(loop.getResults(), loop.getInitArgs()))
    assignParts(result, init, results);
  return success();
}

void TritonLowering::narrowGuard(Value condition, bool expected) {
  if (!expected)
    condition = arith::XOrIOp::create(
        b, condition, arith::ConstantIntOp::create(b, 1, /*width=*/1));
  guard = guard ? Value(arith::AndIOp::create(b, guard, condition)) : condition;
}

/// Whether `branch` computes numbers of numbers alone, without memory, and says
/// nothing of them.
static bool isOfScalars(scf::IfOp branch) {
  auto scalars = [](TypeRange types) {
    return llvm::all_of(types,
                        [](Type type) { return type.isIntOrIndexOrFloat(); });
  };
  return !branch
              .walk([&](Operation *op) {
                return !isa<triton::AssertOp, LLVM::AssumeOp>(op) &&
                               scalars(op->getOperandTypes()) &&
                               scalars(op->getResultTypes())
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

LogicalResult TritonLowering::lowerIf(scf::IfOp branch) {
  FailureOr<Value> condition = get(branch, branch.getCondition());
  if (failed(condition))
    return failure();
  if (isa<RankedTensorType>(condition->getType()))
    return refuse(branch, "its condition was computed of a tile");
  return isOfScalars(branch) ? lowerScalarIf(branch, *condition)
                             : lowerGuardedIf(branch, *condition);
}

LogicalResult TritonLowering::lowerScalarIf(scf::IfOp branch, Value condition) {
  auto lowered = scf::IfOp::create(b, branch.getResultTypes(), condition,
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/bool(branch.elseBlock()));
  auto fill = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToEnd(to);
    if (failed(lowerBlock(*from)))
      return failure();
    SmallVector<Value> parts;
    for (Value value : from->getTerminator()->getOperands()) {
      FailureOr<Value> part = get(branch, value);
      if (failed(part))
        return failure();
      parts.push_back(*part);
    }
    if (TypeRange(parts) != branch.getResultTypes())
      return LogicalResult(
          refuse(branch, "it gives a number that was computed of a tile"));
    scf::YieldOp::create(b, branch.getLoc(), parts);
    return success();
  };
  if (failed(fill(branch.thenBlock(), lowered.thenBlock())) ||
      (branch.elseBlock() &&
       failed(fill(branch.elseBlock(), lowered.elseBlock()))))
    return failure();
  b.setLoc(branch.getLoc());
  values.map(branch.getResults(), lowered.getResults());
  return success();
}

/// Both sides are computed; what each reads and writes is guarded.
LogicalResult TritonLowering::lowerGuardedIf(scf::IfOp branch,
                                             Value condition) {
  Value outer = guard;
  SmallVector<Value> sides[2];
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    if (!block)
      continue;
    for (Operation &op : *block)
      if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(
              op))
        return refuse(&op, "it stands in a branch around tiles, both sides of "
                           "which are computed");
    b.setLoc(branch.getLoc());
    narrowGuard(condition, block == branch.thenBlock());
    if (failed(lowerBlock(*block)))
      return failure();
    guard = outer;
    for (Value value : block->getTerminator()->getOperands()) {
      FailureOr<Value> part = get(branch, value);
      if (failed(part))
        return failure();
      sides[block == branch.elseBlock()].push_back(*part);
    }
  }
  b.setLoc(branch.getLoc());
  for (auto [n, result] : llvm::enumerate(branch.getResults())) {
    Value yes = sides[0][n], no = sides[1][n], which = condition;
    if (yes.getType() != no.getType())
      return refuse(branch, "it gives a number that was computed of a tile");
    if (auto type = dyn_cast<RankedTensorType>(yes.getType()))
      which = broadcast(condition,
                        cast<RankedTensorType>(type.clone(b.getI1Type())));
    values.map(result, arith::SelectOp::create(b, which, yes, no).getResult());
  }
  return success();
}

/// What is said where nothing happens holds.
LogicalResult TritonLowering::lowerAssert(Operation *op, Value condition,
                                          StringRef message, bool promise) {
  FailureOr<Value> holds = get(op, condition);
  if (failed(holds))
    return failure();
  if (guard) {
    Value never = arith::XOrIOp::create(
        b, guard, arith::ConstantIntOp::create(b, 1, /*width=*/1));
    if (auto type = dyn_cast<RankedTensorType>(holds->getType()))
      never = broadcast(never, type);
    holds = Value(arith::OrIOp::create(b, *holds, never));
  }
  tile::AssertOp::create(b, *holds, message, promise);
  return success();
}

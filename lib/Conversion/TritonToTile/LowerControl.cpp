//===- LowerControl.cpp - branches and assertions -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fa;

void TritonLowering::narrowGuard(Value condition, bool expected) {
  if (!expected)
    condition = arith::XOrIOp::create(
        b, condition, arith::ConstantIntOp::create(b, 1, /*width=*/1));
  guard = guard ? Value(arith::AndIOp::create(b, guard, condition)) : condition;
}

bool TritonLowering::isOfScalars(scf::IfOp branch) {
  auto isScalar = [&](Value value) {
    return value.getType().isIntOrIndexOrFloat() &&
           (!reduced.contains(value) || value == branch.getCondition());
  };
  return !branch
              .walk([&](Operation *op) {
                return !isa<triton::AssertOp, LLVM::AssumeOp>(op) &&
                               llvm::all_of(op->getOperands(), isScalar) &&
                               llvm::all_of(op->getResults(), isScalar)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

LogicalResult TritonLowering::lowerIf(scf::IfOp branch) {
  FailureOr<Value> condition = getScalar(branch, branch.getCondition());
  if (failed(condition))
    return failure();
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

Operation *fa::findDivision(Block &block) {
  auto found = llvm::find_if(block, [](Operation &op) {
    return isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(
        op);
  });
  return found == block.end() ? nullptr : &*found;
}

/// Both sides are computed; what each reads and writes is guarded.
LogicalResult TritonLowering::lowerGuardedIf(scf::IfOp branch,
                                             Value condition) {
  Value outer = guard;
  SmallVector<Value> sides[2];
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    if (!block)
      continue;
    if (Operation *division = findDivision(*block))
      return refuse(division, "it stands in a branch around tiles, both sides "
                              "of which are computed");
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
    Value which = condition, both[] = {sides[0][n], sides[1][n]};
    makeAlike(both);
    if (auto type = dyn_cast<RankedTensorType>(both[0].getType()))
      which = broadcast(condition,
                        cast<RankedTensorType>(type.clone(b.getI1Type())));
    values.map(result,
               arith::SelectOp::create(b, which, both[0], both[1]).getResult());
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

//===- LowerPrograms.cpp - which block runs which programs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

bool NvidiaLowering::isPersistent() const {
  return kernel->hasAttr(TileGPUDialect::persistentAttrName);
}

/// The scalars of a persistent kernel belong to each of its programs: they are
/// lowered with the roles.
LogicalResult NvidiaLowering::lowerBody() {
  if (!isPersistent())
    return SimtLowering::lowerBody();
  for (RolesOp roles : kernel.getBody().getOps<RolesOp>())
    return lowerRoles(roles);
  return kernel.emitOpError("expects roles where it is persistent");
}

/// In turn t each of the n blocks runs one program: block b the (t / 2 * n +
/// b)-th, of the last ones in every second turn. Where the work grows or
/// shrinks along an axis, the two of a pair are as much as those of any other.
struct NvidiaLowering::Turns {
  Value programs, blocks, block; ///< how many, n, b; i32, as all numbers here
  Value count;                   ///< of the turns that this block takes part in
};

LogicalResult NvidiaLowering::lowerRole(Block &region) {
  // What was made for the other role is not there for this one.
  views.clear();
  if (!isPersistent()) {
    for (Value argument : region.getArguments())
      mapping.map(argument, index(0));
    return lowerBlock(region);
  }
  Turns turns = takeTurns();
  auto loop = scf::ForOp::create(b, i32(0), turns.count, i32(1), index(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value turn = loop.getInductionVar();
  mapPrograms(programIn(turns, turn));
  mapping.map(
      region.getArgument(0),
      arith::IndexCastUIOp::create(b, b.getIndexType(), turn).getResult());
  mapping.map(region.getArgument(1), loop.getRegionIterArg(0));
  for (Operation &op : kernel.getBody().front())
    if (!isa<RolesOp>(op) && failed(lowerOp(&op)))
      return failure();
  if (failed(lowerBlock(region)))
    return failure();
  auto passed = cast<PassedOp>(region.getTerminator());
  scf::YieldOp::create(b, mapped(passed.getSteps()));
  return success();
}

//===----------------------------------------------------------------------===//
// Turns of a persistent kernel
//===----------------------------------------------------------------------===//

NvidiaLowering::Turns NvidiaLowering::takeTurns() {
  Turns turns;
  turns.programs = i32Of(extents[0]);
  for (Value extent : {extents[1], extents[2]})
    turns.programs = arith::MulIOp::create(b, turns.programs, i32Of(extent));
  turns.blocks = NVVM::GridDimXOp::create(b, b.getI32Type());
  turns.block = blockNumber();
  auto [whole, rest] = divide(turns.programs, turns.blocks);
  Value takesOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, turns.block, rest);
  Value one = arith::ExtUIOp::create(b, b.getI32Type(), takesOne);
  turns.count = arith::AddIOp::create(b, whole, one);
  return turns;
}

Value NvidiaLowering::programIn(const Turns &turns, Value turn) {
  Value pairs = arith::ShRUIOp::create(b, turn, i32(1));
  Value forth = arith::AddIOp::create(
      b, arith::MulIOp::create(b, pairs, turns.blocks), turns.block);
  Value last = arith::SubIOp::create(b, turns.programs, i32(1));
  Value back = arith::SubIOp::create(b, last, forth);
  Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), turn);
  return arith::SelectOp::create(b, isOdd, back, forth);
}

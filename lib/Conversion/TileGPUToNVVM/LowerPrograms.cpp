//===- LowerPrograms.cpp - which block runs which programs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

bool SimtLowering::isPersistent() const {
  return kernel->hasAttr(TileGPUDialect::persistentAttrName);
}

/// The scalars of a persistent kernel belong to each of its programs: they are
/// lowered with the roles.
LogicalResult SimtLowering::lowerBody() {
  Block &body = kernel.getBody().front();
  if (!isPersistent()) {
    mapInOrder(NVVM::BlockIdXOp::create(b, b.getI32Type()));
    return lowerBlock(body);
  }
  for (RolesOp roles : body.getOps<RolesOp>())
    return lowerRoles(roles);
  return kernel.emitOpError("expects roles where it is persistent");
}

/// In every turn each of the n blocks runs one program: block b the b-th, in
/// every second turn the b-th from the end. Where the work shrinks from one
/// program to the next, all blocks have as much.
struct SimtLowering::Turns {
  Value blocks, forth, back; ///< n, b, n - 1 - b; i32, as all numbers here
  Value count;               ///< of those that this block takes part in
};

LogicalResult SimtLowering::lowerRole(Block &region) {
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
  Value start = arith::MulIOp::create(b, turn, turns.blocks);
  Value number = arith::AddIOp::create(b, start, positionIn(turns, turn));
  if (kernel->hasAttr(tile::KernelOp::longestFirstAttrName))
    mapInGroups(number, turns.blocks);
  else
    mapInOrder(number);
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

SimtLowering::Turns SimtLowering::takeTurns() {
  Value programs = i32Of(extents[0]);
  for (Value extent : {extents[1], extents[2]})
    programs = arith::MulIOp::create(b, programs, i32Of(extent));
  Turns turns;
  turns.blocks = NVVM::GridDimXOp::create(b, b.getI32Type());
  turns.forth = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value last = arith::SubIOp::create(b, turns.blocks, i32(1));
  turns.back = arith::SubIOp::create(b, last, turns.forth);
  Value whole = arith::DivUIOp::create(b, programs, turns.blocks);
  Value rest = arith::RemUIOp::create(b, programs, turns.blocks);
  Value takesOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         positionIn(turns, whole), rest);
  Value one = arith::ExtUIOp::create(b, b.getI32Type(), takesOne);
  turns.count = arith::AddIOp::create(b, whole, one);
  return turns;
}

Value SimtLowering::positionIn(const Turns &turns, Value turn) {
  Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), turn);
  return arith::SelectOp::create(b, isOdd, turns.back, turns.forth);
}

//===----------------------------------------------------------------------===//
// Numbers of programs
//===----------------------------------------------------------------------===//

Value SimtLowering::i32Of(Value value) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(), value);
}

void SimtLowering::mapPrograms(ArrayRef<Value> ids) {
  SmallVector<Value> indices;
  for (Value id : ids)
    indices.push_back(arith::IndexCastUIOp::create(b, b.getIndexType(), id));
  kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      mapping.map(id.getResult(), indices[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      mapping.map(num.getResult(), extents[num.getAxis()]);
  });
}

std::pair<Value, Value> SimtLowering::divide(Value x, Value y) {
  Value quotient = arith::DivUIOp::create(b, x, y);
  Value product = arith::MulIOp::create(b, quotient, y);
  return {quotient, arith::SubIOp::create(b, x, product)};
}

/// 31 bits number all programs; a division of 64 takes a hundred instructions.
void SimtLowering::mapInOrder(Value number) {
  auto [outer, id0] = divide(number, i32Of(extents[0]));
  auto [id2, id1] = divide(outer, i32Of(extents[1]));
  mapPrograms({id0, id1, id2});
}

/// Along axis 0 the work shrinks. All that axes 1 and 2 number take their
/// longest programs first, but in groups of as many as four turns have programs
/// for: what a group reads (K and V of so many heads) stays in the L2 cache.
void SimtLowering::mapInGroups(Value number, Value blocks) {
  Value rows = i32Of(extents[0]), inner = i32Of(extents[1]);
  Value heads = arith::MulIOp::create(b, inner, i32Of(extents[2]));
  Value most =
      arith::DivUIOp::create(b, arith::MulIOp::create(b, blocks, i32(4)), rows);
  most = arith::MaxUIOp::create(b, most, i32(1));
  auto [group, within] = divide(number, arith::MulIOp::create(b, most, rows));
  Value first = arith::MulIOp::create(b, group, most);
  Value size =
      arith::MinUIOp::create(b, most, arith::SubIOp::create(b, heads, first));
  auto [id0, at] = divide(within, size);
  auto [id2, id1] = divide(arith::AddIOp::create(b, first, at), inner);
  mapPrograms({id0, id1, id2});
}

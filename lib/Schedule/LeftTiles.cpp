//===- LeftTiles.cpp - tiles that a consumer leaves out -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeftTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;

bool fa::followsFromOwnRows(Value value) {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp())
      ops.insert(op);
  };
  add(value);
  for (size_t n = 0; n < ops.size(); ++n) {
    if (isa<tile::OwnRowsOp>(ops[n]))
      return true;
    for (Value operand : ops[n]->getOperands())
      add(operand);
  }
  return false;
}

LeftTiles::LeftTiles(ImplicitLocOpBuilder &b, ArrayRef<FetchingLoop> loops,
                     Value steps)
    : b(b) {
  auto lowerBound = [](const FetchingLoop &entry) {
    return scf::ForOp(entry.loop).getLowerBound();
  };
  Value size = scf::ForOp(loops[0].loop).getStep();
  if (loops[0].begin != lowerBound(loops[0]))
    before = behindTiles(steps, loops[0].begin, lowerBound(loops[0]), size);
  if (!before && llvm::all_of(loops, [](const FetchingLoop &entry) {
        return entry.end == scf::ForOp(entry.loop).getUpperBound();
      }))
    return;
  behind = steps;
  for (const FetchingLoop &entry : loops)
    behind = behindTiles(behind, entry.begin, entry.end, size);
}

/// The step behind those of the tiles from `begin` to `end`, which begin with
/// `step`.
Value LeftTiles::behindTiles(Value step, Value begin, Value end, Value size) {
  Value keys = arith::SubIOp::create(b, end, begin);
  keys = arith::MaxSIOp::create(b, keys, arith::ConstantIndexOp::create(b, 0));
  return arith::AddIOp::create(b, step,
                               arith::CeilDivUIOp::create(b, keys, size));
}

/// In 32 bits, of which the registers of three consumers hold few enough.
void LeftTiles::passTiles(Value from, Value to, Pass pass) {
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value count = arith::IndexCastOp::create(b, b.getI32Type(),
                                           arith::SubIOp::create(b, to, from));
  auto loop = scf::ForOp::create(b, number(0), count, number(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value passed =
      arith::IndexCastOp::create(b, b.getIndexType(), loop.getInductionVar());
  pass(arith::AddIOp::create(b, from, passed));
}

Value LeftTiles::passFirst(Value step, Pass pass) {
  if (!before)
    return step;
  passTiles(step, before, pass);
  return before;
}

Value LeftTiles::passLast(Value step, Pass pass) {
  if (!behind)
    return step;
  passTiles(step, behind, pass);
  return behind;
}

//===- LowerExtremes.cpp - loops that find a smallest or largest value ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of a mask that are read for each row, such as where its document
// begins, are looked at row by row before the loops over keys. Row after row, a
// program would wait for as many loads: here several are under way, of each
// lane of the warp its own.
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;

static constexpr int64_t kLanes = 32;
/// Rows that a thread looks at beside each other: of a warp those of a tile, of
/// one thread alone what hides most of a load.
static constexpr int64_t kRowsOfLane = 4, kRowsOfThread = 8;

/// What `result` of the loop is found by: min(what was found, a value of this
/// iteration) or max; null if by something else.
static Operation *findExtreme(scf::ForOp loop, unsigned result) {
  Value argument = loop.getRegionIterArg(result);
  Operation *op = loop.getYieldedValues()[result].getDefiningOp();
  if (!isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op) ||
      op->getOperand(0) != argument || !argument.hasOneUse() ||
      !(isa<IndexType>(argument.getType()) || argument.getType().isInteger(32)))
    return nullptr;
  return op;
}

bool fa::findsExtremes(scf::ForOp loop) {
  if (loop.getNumResults() == 0 || !matchPattern(loop.getStep(), m_One()))
    return false;
  for (unsigned n = 0; n < loop.getNumResults(); ++n)
    if (!findExtreme(loop, n))
      return false;
  return llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
    return llvm::none_of(op.getResults(), tile::isTile) &&
           (isa<memref::LoadOp>(op) || isPure(&op));
  });
}

/// What `exchange` makes of the i32 that `value` is, or of its halves.
static Value exchangeWords(SimtContext &ctx, Value value,
                           llvm::function_ref<Value(Value)> exchange) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (value.getType().isInteger(32))
    return exchange(value);
  Value wide = arith::IndexCastOp::create(b, b.getI64Type(), value);
  Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  auto exchanged = [&](Value part) -> Value {
    part = arith::TruncIOp::create(b, b.getI32Type(), part);
    return arith::ExtUIOp::create(b, b.getI64Type(), exchange(part));
  };
  Value low = exchanged(wide);
  Value high = exchanged(arith::ShRUIOp::create(b, wide, half));
  wide = arith::OrIOp::create(b, low, arith::ShLIOp::create(b, high, half));
  return arith::IndexCastOp::create(b, b.getIndexType(), wide);
}

/// All threads walk as many rounds; those that would be beyond the last row
/// look at that once more.
LogicalResult fa::lowerExtremes(SimtContext &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool inWarps = ctx.runsInWholeWarps();
  int64_t lanes = inWarps ? kLanes : 1;
  int64_t rows = inWarps ? kRowsOfLane : kRowsOfThread;
  Value end = ctx.mapped(loop.getUpperBound());
  Value last = arith::SubIOp::create(b, end, ctx.index(1));
  SmallVector<Value> found;
  for (Value init : loop.getInitArgs())
    found.push_back(ctx.mapped(init));
  auto lowered = scf::ForOp::create(b, ctx.mapped(loop.getLowerBound()), end,
                                    ctx.index(lanes * rows), found);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lowered.getBody());
    found.assign(lowered.getRegionIterArgs().begin(),
                 lowered.getRegionIterArgs().end());
    Value first = lowered.getInductionVar();
    if (inWarps) {
      Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(kLanes - 1));
      lane = arith::IndexCastUIOp::create(b, b.getIndexType(), lane);
      first = arith::AddIOp::create(b, first, lane);
    }
    for (int64_t n = 0; n < rows; ++n) {
      Value row = arith::AddIOp::create(b, first, ctx.index(n * lanes));
      ctx.mapping.map(loop.getInductionVar(),
                      arith::MinSIOp::create(b, row, last).getResult());
      for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), found))
        ctx.mapping.map(argument, value);
      if (failed(lowerBlock(ctx, *loop.getBody())))
        return failure();
      for (auto [value, yielded] : llvm::zip(found, loop.getYieldedValues()))
        value = ctx.mapped(yielded);
    }
    scf::YieldOp::create(b, found);
  }
  for (unsigned n = 0; n < loop.getNumResults(); ++n) {
    Value value = lowered.getResult(n);
    Operation *extreme = findExtreme(loop, n);
    for (uint32_t mask = 1; inWarps && mask < kLanes; mask *= 2) {
      IRMapping operands;
      operands.map(extreme->getOperand(0), value);
      auto ofLane = [&](Value word) { return ctx.shuffleXor(word, mask); };
      operands.map(extreme->getOperand(1), exchangeWords(ctx, value, ofLane));
      value = b.clone(*extreme, operands)->getResult(0);
    }
    if (inWarps)
      value = exchangeWords(ctx, value,
                            [&](Value word) { return ctx.sameInAll(word); });
    ctx.mapping.map(loop.getResult(n), value);
  }
  return success();
}

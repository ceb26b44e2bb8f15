//===- LowerSequence.cpp - packed sequences are found by the lanes --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First slots of sequences ascend. So the lanes of a warp, each of which looks
// at one of 32 sequences, say by a ballot how many have begun: of every 32nd
// sequence first, a thousand of them at a time, then of the 32 from the last
// one on.
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

static void lowerSequenceByLanes(NvidiaContext &ctx, tile::SequenceOfOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!ctx.runsInWholeWarps())
    return lowerSequenceOf(ctx, op);
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  auto widen = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), x);
  };
  Value offsets = ctx.mapped(op.getOffsets()),
        slot = ctx.i32Of(ctx.mapped(op.getSlot()));
  // As many as there are sequences: the last offset is none's first.
  Value count = arith::SubIOp::create(
      b, ctx.i32Of(memref::DimOp::create(b, offsets, 0)), ctx.i32(1));
  Value lane =
      arith::AndIOp::create(b, ctx.threadInBlock, ctx.i32(kWarpThreads - 1));
  auto firstOf = [&](Value sequence) -> Value {
    Value at = arith::MinSIOp::create(b, sequence, count);
    Value offset = memref::LoadOp::create(b, offsets, widen(at));
    return add(arith::DivUIOp::create(b, offset, ctx.i32(op.getRows())), at);
  };
  // Of the lanes' sequences.
  auto countBegun = [&](Value sequence, Value first) -> Value {
    Value isOne =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, sequence, count);
    Value isBefore =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ule, first, slot);
    Value isBegun = arith::AndIOp::create(b, isOne, isBefore);
    Value lanes = NVVM::VoteSyncOp::create(b, b.getI32Type(), ctx.i32(-1),
                                           isBegun, NVVM::VoteSyncKind::ballot);
    return LLVM::CtPopOp::create(b, b.getI32Type(), lanes);
  };
  auto lastOf = [&](Value begun) -> Value {
    return arith::MaxSIOp::create(
        b, arith::SubIOp::create(b, begun, ctx.i32(1)), ctx.i32(0));
  };
  auto coarse = scf::ForOp::create(b, ctx.i32(0), count,
                                   ctx.i32(kWarpThreads * kWarpThreads),
                                   ValueRange{ctx.i32(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(coarse.getBody());
    Value sequence = add(coarse.getInductionVar(),
                         arith::MulIOp::create(b, lane, ctx.i32(kWarpThreads)));
    Value begun = add(coarse.getRegionIterArg(0),
                      countBegun(sequence, firstOf(sequence)));
    scf::YieldOp::create(b, begun);
  }
  Value known = arith::MulIOp::create(b, lastOf(coarse.getResult(0)),
                                      ctx.i32(kWarpThreads));
  Value sequence = add(known, lane), first = firstOf(sequence);
  Value last = lastOf(countBegun(sequence, first));
  Value found = NVVM::ShflOp::create(b, b.getI32Type(), ctx.i32(-1), first,
                                     last, ctx.i32(kWarpThreads - 1),
                                     NVVM::ShflKind::idx, UnitAttr());
  ctx.mapping.map(op.getSequence(), widen(add(known, last)));
  ctx.mapping.map(op.getFirst(), widen(found));
}

void fa::addSequenceLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerSequenceByLanes);
}

//===- LowerCopy.cpp - loads direct to LDS, reads that transpose ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer load with the lds bit writes what lane l loads to M0 + 16 l (CDNA4
// ISA, 9.1.9 "Memory Buffer Load to LDS"): places in LDS are given, so that a
// swizzle decides which element a lane loads. What lies behind num_records
// arrives as 0, as in registers.
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Bytes that a lane and a wave write at a time.
static constexpr int64_t kLaneBytes = 16, kWaveBytes = 64 * kLaneBytes;

ArrayAttr fa::copyScopes(AmdContext &ctx) {
  if (!ctx.scopes) {
    auto domain = LLVM::AliasScopeDomainAttr::get(
        ctx.b.getContext(), ctx.b.getStringAttr("loads direct to LDS"));
    ctx.scopes = ctx.b.getArrayAttr(LLVM::AliasScopeAttr::get(domain));
  }
  return ctx.scopes;
}

static void lowerCopy(AmdContext &ctx, CopyOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  GlobalView view = openView(ctx, op.getSource());
  BufferType type = op.getBuffer().getType();
  TileLayout shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t vector = kLaneBytes / bytes;
  TileLayout lanes = {linearLanes(shared.base, vector, ctx.warps), 1};
  int64_t copyBytes = bytes * shared.base.size(0) * shared.base.size(1);
  auto [descriptor, step] =
      describeRows(ctx, view, ctx.mapped(op.getIndices()[0]),
                   type.getShape()[0], op.getInBounds());
  Value wave = ROCDL::ReadfirstlaneOp::create(
      b, b.getI32Type(), arith::ShRUIOp::create(b, ctx.thread, ctx.i32(6)));
  Value ofWave = arith::AddIOp::create(
      b, slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot())),
      arith::MulIOp::create(b, wave, ctx.i32(kWaveBytes)));
  auto load = [&](int64_t copy, int64_t reg) {
    int64_t behind = copy * copyBytes + reg / vector * ctx.warps * kWaveBytes;
    Value to = LLVM::IntToPtrOp::create(b, ctx.sharedPointer(),
                                        offsetBy(ctx, ofWave, behind));
    Value column = arith::AddIOp::create(
        b, ctx.mapped(op.getIndices()[1]),
        arith::AddIOp::create(b, ctx.coordinate(lanes, reg, 1),
                              ctx.index(copy * shared.base.size(1))));
    Value offset = arith::AddIOp::create(
        b,
        arith::MulIOp::create(b, ctx.i32Of(ctx.coordinate(lanes, reg, 0)),
                              step),
        ctx.i32Of(arith::MulIOp::create(b, column, ctx.index(bytes))));
    Value operands[] = {descriptor,
                        to,
                        ctx.i32(kLaneBytes),
                        offset,
                        /*soffset=*/ctx.i32(0),
                        ctx.i32(0),
                        /*aux=*/ctx.i32(0)};
    auto begun = ROCDL::RawPtrBufferLoadLdsOp::create(b, TypeRange(), operands);
    begun.setAliasScopesAttr(copyScopes(ctx));
  };
  auto loadAll = [&] {
    for (int64_t copy = 0; copy < shared.repeat; ++copy)
      for (int64_t reg = 0; reg < lanes.numRegisters(); reg += vector)
        load(copy, reg);
  };
  Value first = ctx.isFirstCopy(lanes);
  if (!first)
    return loadAll();
  scf::IfOp::create(b, first, [&](OpBuilder &, Location) {
    loadAll();
    scf::YieldOp::create(b);
  });
}

/// For all, not for groups: with two slots there is one under way. S_WAITCNT
/// (CDNA4 ISA, 4.4): vmcnt, bits 0 to 3, 14 and 15, is 0; expcnt and lgkmcnt
/// are what they never exceed.
static void lowerWait(AmdContext &ctx, WaitOp) {
  ImplicitLocOpBuilder &b = ctx.b;
  ROCDL::SWaitcntOp::create(b, 0xf << 8 | 0x7 << 4);
}

void fa::lowerTurnedRead(AmdContext &ctx, ReadOp op, const TurnedRead &plan) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t copyBytes = 2 * shared.base.size(0) * shared.base.size(1);
  SmallVector<uint32_t> bases;
  for (uint32_t step : plan.laneOffsets)
    bases.push_back(2 * step);
  for (uint32_t step : plan.warpOffsets)
    bases.push_back(2 * step);
  Value slot =
      ctx.opaque(slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot())));
  Type four = VectorType::get({4}, type.getElementType()),
       two = VectorType::get({2}, b.getI32Type());
  SmallVector<Value> words;
  for (int64_t copy = 0; copy < layout.repeat; ++copy)
    for (uint32_t group = 0; group < 1u << plan.groupOffsets.size(); ++group) {
      uint32_t offset = 0;
      for (auto [bit, step] : llvm::enumerate(plan.groupOffsets))
        if (group >> bit & 1)
          offset ^= 2 * step;
      auto read = ROCDL::ds_read_tr16_b64::create(
          b, four,
          swizzledAddress(ctx, offsetBy(ctx, slot, copy * copyBytes), bases,
                          offset));
      isBesideCopies(ctx, read);
      Value pairs = LLVM::BitcastOp::create(b, two, read);
      for (int64_t n : {0, 1})
        words.push_back(LLVM::ExtractElementOp::create(b, pairs, ctx.i32(n)));
    }
  ctx.setPacked(op.getResult(), words);
}

/// s_barrier waits for waves, not for their memory (CDNA3 ISA, 4.4): the writes
/// to LDS before it are complete when the first fence has waited for lgkmcnt,
/// and no read moves above the second. Loads from global memory stay under way
/// unless global memory is ordered, too: the fences then wait for vmcnt.
static void lowerBarrier(AmdContext &ctx, BarrierOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Attribute tag =
      LLVM::MMRATagAttr::get(b.getContext(), "amdgpu-synchronize-as", "local");
  auto fence = [&](LLVM::AtomicOrdering ordering) {
    auto fence = LLVM::FenceOp::create(b, ordering, "workgroup");
    if (!op.getGlobal())
      fence->setDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName(), tag);
  };
  fence(LLVM::AtomicOrdering::release);
  ROCDL::SBarrierOp::create(b);
  fence(LLVM::AtomicOrdering::acquire);
}

void fa::addCopyLowerings(AmdContext &ctx) {
  ctx.registry.skip<CommitOp>(); // a wait is for all copies
  ctx.registry.add(ctx, lowerCopy);
  ctx.registry.add(ctx, lowerWait);
  ctx.registry.add(ctx, lowerBarrier);
}

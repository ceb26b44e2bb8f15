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

#include "AmdLowering.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Bytes that a lane and a wave write at a time.
static constexpr int64_t kLaneBytes = 16, kWaveBytes = 64 * kLaneBytes;

ArrayAttr AmdLowering::copyScopes() {
  if (!scopes) {
    auto domain = LLVM::AliasScopeDomainAttr::get(
        b.getContext(), b.getStringAttr("loads direct to LDS"));
    scopes = b.getArrayAttr(LLVM::AliasScopeAttr::get(domain));
  }
  return scopes;
}

void AmdLowering::lowerCopy(CopyOp op) {
  GlobalView view = openView(op.getSource());
  BufferType type = op.getBuffer().getType();
  TileLayout shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t vector = kLaneBytes / bytes;
  TileLayout lanes = {linearLanes(shared.base, vector, warps), 1};
  int64_t copyBytes = bytes * shared.base.size(0) * shared.base.size(1);
  auto [descriptor, step] = describeRows(view, mapped(op.getIndices()[0]),
                                         type.getShape()[0], op.getInBounds());
  Value wave = ROCDL::ReadfirstlaneOp::create(
      b, b.getI32Type(), arith::ShRUIOp::create(b, thread, i32(6)));
  Value ofWave = arith::AddIOp::create(
      b, slotAddress(op.getBuffer(), mapped(op.getSlot())),
      arith::MulIOp::create(b, wave, i32(kWaveBytes)));
  auto load = [&](int64_t copy, int64_t reg) {
    int64_t behind = copy * copyBytes + reg / vector * warps * kWaveBytes;
    Value to =
        LLVM::IntToPtrOp::create(b, sharedPointer(), offsetBy(ofWave, behind));
    Value column = arith::AddIOp::create(
        b, mapped(op.getIndices()[1]),
        arith::AddIOp::create(b, coordinate(lanes, reg, 1),
                              index(copy * shared.base.size(1))));
    Value offset = arith::AddIOp::create(
        b, arith::MulIOp::create(b, i32Of(coordinate(lanes, reg, 0)), step),
        i32Of(arith::MulIOp::create(b, column, index(bytes))));
    Value operands[] = {descriptor,         to,     i32(kLaneBytes), offset,
                        /*soffset=*/i32(0), i32(0), /*aux=*/i32(0)};
    auto begun = ROCDL::RawPtrBufferLoadLdsOp::create(b, TypeRange(), operands);
    begun.setAliasScopesAttr(copyScopes());
  };
  auto loadAll = [&] {
    for (int64_t copy = 0; copy < shared.repeat; ++copy)
      for (int64_t reg = 0; reg < lanes.numRegisters(); reg += vector)
        load(copy, reg);
  };
  Value first = isFirstCopy(lanes);
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
void AmdLowering::waitForCopies() {
  ROCDL::SWaitcntOp::create(b, 0xf << 8 | 0x7 << 4);
}

void AmdLowering::lowerTurnedRead(ReadOp op, const TurnedRead &plan) {
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t copyBytes = 2 * shared.base.size(0) * shared.base.size(1);
  SmallVector<uint32_t> bases;
  for (uint32_t step : plan.laneOffsets)
    bases.push_back(2 * step);
  for (uint32_t step : plan.warpOffsets)
    bases.push_back(2 * step);
  Value slot = opaque(slotAddress(op.getBuffer(), mapped(op.getSlot())));
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
          swizzledAddress(offsetBy(slot, copy * copyBytes), bases, offset));
      isBesideCopies(read);
      Value pairs = LLVM::BitcastOp::create(b, two, read);
      for (int64_t n : {0, 1})
        words.push_back(LLVM::ExtractElementOp::create(b, pairs, i32(n)));
    }
  setPacked(op.getResult(), words);
}

//===- LowerShared.cpp - tiles from and to shared memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtMemory.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value fa::offsetBy(SimtContext &ctx, Value address, int64_t bytes) {
  ImplicitLocOpBuilder &b = ctx.b;
  return bytes ? Value(arith::AddIOp::create(b, address, ctx.i32(bytes)))
               : address;
}

Value fa::sharedBase(SimtContext &ctx, int64_t offset) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value start =
      LLVM::AddressOfOp::create(b, ctx.sharedPointer(), ctx.sharedName);
  start = LLVM::PtrToIntOp::create(b, b.getI32Type(), start);
  if (ctx.ownShared)
    start = arith::AddIOp::create(b, start, ctx.ownShared);
  return offsetBy(ctx, start, offset);
}

Value fa::slotAddress(SimtContext &ctx, TypedValue<BufferType> buffer,
                      Value slot) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto alloc = buffer.getDefiningOp<AllocOp>();
  Value base = sharedBase(ctx, *alloc.getOffset());
  if (buffer.getType().getSlots() == 1)
    return base;
  Value number = arith::IndexCastUIOp::create(b, b.getI32Type(), slot);
  Value bytes = arith::MulIOp::create(b, number,
                                      ctx.i32(buffer.getType().getSlotBytes()));
  return arith::AddIOp::create(b, base, bytes);
}

/// Slots begin at multiples of 256 bytes and swizzles XOR inside of those, so
/// that the XOR of a register can come last: one address for all registers.
Value fa::swizzledAddress(SimtContext &ctx, Value address,
                          ArrayRef<uint32_t> threadBases, uint32_t offset) {
  ImplicitLocOpBuilder &b = ctx.b;
  uint32_t reached = 0;
  for (uint32_t basis : threadBases)
    reached |= basis;
  uint32_t meets = offset & reached;
  assert(meets < 256 && "a swizzle stays inside of the banks' bytes");
  Value at = arith::AddIOp::create(b, address, ctx.threadLinear(threadBases));
  if (meets)
    at = arith::XOrIOp::create(b, at, ctx.i32(meets));
  at = LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), at);
  if (offset == meets)
    return at;
  return LLVM::GEPOp::create(b, at.getType(), b.getI8Type(), at,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset - meets)});
}

std::pair<SmallVector<uint32_t>, SmallVector<uint32_t>>
fa::byteOffsets(const LinearLayout &registers, const LinearLayout &shared,
                int64_t bytes) {
  auto map = shared.composeInverse(registers);
  assert(map && "a buffer holds every element");
  auto of = [&](Axis axis) -> ArrayRef<Place> {
    return (*map)[static_cast<int>(axis)];
  };
  SmallVector<uint32_t> threads, offsets;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (const Place &place : of(axis))
      threads.push_back(bytes * place[Axis::Offset]);
  for (int64_t reg = 0; reg < registers.count(Axis::Register); ++reg) {
    uint32_t offset = 0;
    for (auto [bit, place] : llvm::enumerate(of(Axis::Register)))
      if (reg >> bit & 1)
        offset ^= place[Axis::Offset];
    offsets.push_back(bytes * offset);
  }
  return {threads, offsets};
}

SmallVector<CopyOffsets> fa::offsetsOfCopies(const TileLayout &registers,
                                             const TileLayout &shared,
                                             int64_t bytes) {
  SmallVector<CopyOffsets> copies;
  for (int64_t copy = 0; copy < registers.repeat; ++copy) {
    CopyPlace place = placeOfCopy(shared, copy);
    auto [threads, offsets] =
        byteOffsets(inRowsOf(place, registers.base), place.rows, bytes);
    for (uint32_t &offset : offsets)
      offset ^= bytes * place.column;
    copies.push_back({bytes * place.begin, threads, offsets});
  }
  return copies;
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

void fa::lowerRead(SimtContext &ctx, ReadOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t count = layout.base.count(Axis::Register);
  Value slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  auto copies = offsetsOfCopies(layout, shared, bytes);
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    const CopyOffsets &copy = copies[reg / count];
    Value at = swizzledAddress(ctx, offsetBy(ctx, slot, copy.begin),
                               copy.threads, copy.registers[reg % count]);
    elements.push_back(
        LLVM::LoadOp::create(b, inRegisters(type.getElementType()), at));
  }
  ctx.setElements(op.getResult(), elements);
}

static void lowerWrite(SimtContext &ctx, WriteOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getValue()),
             shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t count = layout.base.count(Axis::Register);
  auto copies = offsetsOfCopies(layout, shared, bytes);
  Value slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  // Threads that hold copies write the same value to the same place.
  for (auto [reg, value] :
       llvm::enumerate(SmallVector<Value>(ctx.elementsOf(op.getValue())))) {
    const CopyOffsets &copy = copies[reg / count];
    Value at = swizzledAddress(ctx, offsetBy(ctx, slot, copy.begin),
                               copy.threads, copy.registers[reg % count]);
    LLVM::StoreOp::create(b, value, at);
  }
}

void fa::addSharedLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerRead);
  ctx.registry.add(ctx, lowerWrite);
}

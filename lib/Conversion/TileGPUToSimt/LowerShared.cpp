//===- LowerShared.cpp - tiles from and to shared memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value SimtLowering::offsetBy(Value address, int64_t bytes) {
  return bytes ? Value(arith::AddIOp::create(b, address, i32(bytes))) : address;
}

Value SimtLowering::sharedBase(int64_t offset) {
  Value start = LLVM::AddressOfOp::create(b, sharedPointer(), sharedName);
  start = LLVM::PtrToIntOp::create(b, b.getI32Type(), start);
  if (ownShared)
    start = arith::AddIOp::create(b, start, ownShared);
  return offsetBy(start, offset);
}

Value SimtLowering::slotAddress(TypedValue<BufferType> buffer, Value slot) {
  auto alloc = buffer.getDefiningOp<AllocOp>();
  Value base = sharedBase(*alloc.getOffset());
  if (buffer.getType().getSlots() == 1)
    return base;
  Value number = arith::IndexCastUIOp::create(b, b.getI32Type(), slot);
  Value bytes =
      arith::MulIOp::create(b, number, i32(buffer.getType().getSlotBytes()));
  return arith::AddIOp::create(b, base, bytes);
}

/// Slots begin at multiples of 256 bytes and swizzles XOR inside of those, so
/// that the XOR of a register can come last: one address for all registers.
Value SimtLowering::swizzledAddress(Value address,
                                    ArrayRef<uint32_t> threadBases,
                                    uint32_t offset) {
  uint32_t reached = 0;
  for (uint32_t basis : threadBases)
    reached |= basis;
  uint32_t meets = offset & reached;
  assert(meets < 256 && "a swizzle stays inside of the banks' bytes");
  Value at = arith::AddIOp::create(b, address, threadLinear(threadBases));
  if (meets)
    at = arith::XOrIOp::create(b, at, i32(meets));
  at = LLVM::IntToPtrOp::create(b, sharedPointer(), at);
  if (offset == meets)
    return at;
  return LLVM::GEPOp::create(b, at.getType(), b.getI8Type(), at,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset - meets)});
}

std::pair<SmallVector<uint32_t>, SmallVector<uint32_t>>
SimtLowering::byteOffsets(const LinearLayout &registers,
                          const LinearLayout &shared, int64_t bytes) {
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

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

void SimtLowering::lowerRead(ReadOp op) {
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t copyBytes = bytes * shared.base.size(0) * shared.base.size(1);
  int64_t count = layout.base.count(Axis::Register);
  Value slot = slotAddress(op.getBuffer(), mapped(op.getSlot()));
  auto [bases, offsets] = byteOffsets(layout.base, shared.base, bytes);
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Value at = swizzledAddress(offsetBy(slot, reg / count * copyBytes), bases,
                               offsets[reg % count]);
    elements.push_back(
        LLVM::LoadOp::create(b, inRegisters(type.getElementType()), at));
  }
  setElements(op.getResult(), elements);
}

void SimtLowering::lowerWrite(WriteOp op) {
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getValue()),
             shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t copyBytes = bytes * shared.base.size(0) * shared.base.size(1);
  int64_t count = layout.base.count(Axis::Register);
  auto [bases, offsets] = byteOffsets(layout.base, shared.base, bytes);
  Value slot = slotAddress(op.getBuffer(), mapped(op.getSlot()));
  // Threads that hold copies write the same value to the same place.
  for (auto [reg, value] :
       llvm::enumerate(SmallVector<Value>(elementsOf(op.getValue())))) {
    Value at = swizzledAddress(offsetBy(slot, reg / count * copyBytes), bases,
                               offsets[reg % count]);
    LLVM::StoreOp::create(b, value, at);
  }
}

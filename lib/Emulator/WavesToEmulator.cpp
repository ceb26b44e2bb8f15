//===- WavesToEmulator.cpp - rocdl operations as calls --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRewriter.h"

#include "fa/Machine/LaneMoves.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

namespace {
/// D is side x side; a lane gives `count` elements of A and of B.
struct MfmaShape {
  int64_t side = 0, count = 0;
};
} // namespace

static MfmaShape shapeOf(Operation *op) {
  using namespace ROCDL;
  return llvm::TypeSwitch<Operation *, MfmaShape>(op)
      .Case<mfma_f32_32x32x2f32>([](auto) { return MfmaShape{32, 1}; })
      .Case<mfma_f32_16x16x4f32>([](auto) { return MfmaShape{16, 1}; })
      .Case<mfma_f32_32x32x8f16, mfma_f32_32x32x8bf16_1k>(
          [](auto) { return MfmaShape{32, 4}; })
      .Case<mfma_f32_16x16x16f16, mfma_f32_16x16x16bf16_1k>(
          [](auto) { return MfmaShape{16, 4}; })
      .Case<mfma_f32_32x32x16_f16, mfma_f32_32x32x16_bf16>(
          [](auto) { return MfmaShape{32, 8}; })
      .Case<mfma_f32_16x16x32_f16, mfma_f32_16x16x32_bf16>(
          [](auto) { return MfmaShape{16, 8}; })
      .Default([](Operation *) { return MfmaShape{}; });
}

/// The products are of f32: the host widens. cbsz, abid and blgp must be 0.
LogicalResult KernelRewriter::rewriteMfma(Operation *op) {
  auto shape = shapeOf(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands().take_front(2)) {
    auto type = dyn_cast<VectorType>(operand.getType());
    if (type && type.getElementType().isInteger(16)) {
      type = VectorType::get(type.getShape(), b.getBF16Type());
      operand = LLVM::BitcastOp::create(b, type, operand);
    }
    if (type)
      operand = LLVM::FPExtOp::create(
          b, VectorType::get(type.getShape(), b.getF32Type()), operand);
    operands.push_back(operand);
  }
  operands.push_back(op->getOperand(2));
  for (Value modifier : op->getOperands().drop_front(3)) {
    auto constant = modifier.getDefiningOp<LLVM::ConstantOp>();
    auto number =
        constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    if (!number || !number.getValue().isZero())
      return op->emitOpError("the emulator has mfma without modifiers only");
  }
  return call(op, "fa_emu_mfma", operands, {shape.side, shape.count});
}

/// Descriptors by which everything was loaded.
void KernelRewriter::dropDescriptors() {
  kernel.walk([](ROCDL::MakeBufferRsrcOp op) {
    if (op->use_empty())
      op->erase();
  });
}

/// A descriptor is the operands of the operation that makes it. Null after an
/// error: one from elsewhere, or a load with one of `modifiers`.
static ROCDL::MakeBufferRsrcOp openDescriptor(Operation *op, Value descriptor,
                                              ValueRange modifiers) {
  auto made = descriptor.getDefiningOp<ROCDL::MakeBufferRsrcOp>();
  if (made && matchPattern(made.getStride(), m_Zero()) &&
      llvm::all_of(modifiers,
                   [](Value value) { return matchPattern(value, m_Zero()); }))
    return made;
  op->emitOpError("the emulator has accesses by descriptors that are made in "
                  "place, without a stride, a scalar offset and modifiers "
                  "only");
  return {};
}

LogicalResult KernelRewriter::rewriteBufferLoad(ROCDL::RawPtrBufferLoadOp op) {
  auto descriptor =
      openDescriptor(op, op.getRsrc(), {op.getSoffset(), op.getAux()});
  if (!descriptor)
    return failure();
  int64_t bytes = layout.getTypeSize(op.getType()).getFixedValue();
  return call(
      op, "fa_emu_load_buffer",
      {descriptor.getBase(), op.getOffset(), descriptor.getNumRecords()},
      {bytes});
}

LogicalResult
KernelRewriter::rewriteBufferStore(ROCDL::RawPtrBufferStoreOp op) {
  auto descriptor =
      openDescriptor(op, op.getRsrc(), {op.getSoffset(), op.getAux()});
  if (!descriptor)
    return failure();
  int64_t bytes = layout.getTypeSize(op.getVdata().getType()).getFixedValue();
  return call(op, "fa_emu_store_buffer",
              {descriptor.getBase(), op.getOffset(), descriptor.getNumRecords(),
               op.getVdata()},
              {bytes});
}

LogicalResult
KernelRewriter::rewriteDirectLoad(ROCDL::RawPtrBufferLoadLdsOp op) {
  auto descriptor = openDescriptor(
      op, op.getRsrc(), {op.getSoffset(), op.getOffset(), op.getAux()});
  APInt bytes;
  if (!descriptor)
    return failure();
  if (!matchPattern(op.getSize(), m_ConstantInt(&bytes)) || bytes != 16)
    return op.emitOpError("the emulator has direct loads of 16 bytes only");
  return call(op, "fa_emu_load_direct",
              {descriptor.getBase(), op.getVoffset(),
               descriptor.getNumRecords(), op.getLdsPtr()},
              {16});
}

/// CDNA3 ISA, S_WAITCNT: vmcnt is bits 0 to 3, 14 and 15.
LogicalResult KernelRewriter::rewriteWait(ROCDL::SWaitcntOp op) {
  uint32_t counts = op.getBitfield();
  if ((counts & 0x3ff0) != 0xf70)
    return op.emitOpError("the emulator has waits for vmcnt alone");
  return call(op, "fa_emu_wait_vector", {},
              {(counts & 0xf) | (counts >> 14 & 3) << 4});
}

LogicalResult KernelRewriter::rewriteLaneMove(ROCDL::DPPUpdateOp op) {
  if (layout.getTypeSizeInBits(op.getType()) != 32)
    return op.emitOpError("the emulator moves words of 32 bits from lane to "
                          "lane, found ")
           << op.getType();
  if (!isLaneMove(op.getDppCtrl()))
    return op.emitOpError("expected a control word of DPP, found ")
           << op.getDppCtrl();
  return call(
      op, "fa_emu_move_lanes", {op.getOld(), op.getSrc()},
      {op.getDppCtrl(), op.getRowMask(), op.getBankMask(), op.getBoundCtrl()});
}

std::optional<LogicalResult> KernelRewriter::rewriteForWaves(Operation *op) {
  if (auto fence = dyn_cast<LLVM::FenceOp>(op)) {
    bool isRelease = fence.getOrdering() == LLVM::AtomicOrdering::release;
    bool isAcquire = fence.getOrdering() == LLVM::AtomicOrdering::acquire;
    if ((!isRelease && !isAcquire) || fence.getSyncscope() != "workgroup")
      return op->emitOpError("the emulator has fences that release or acquire "
                             "in a workgroup");
    return call(op, "fa_emu_wave_fence", {}, {isAcquire});
  }
  if (!isa<ROCDL::ROCDLDialect>(op->getDialect()))
    return std::nullopt;
  if (shapeOf(op).side)
    return rewriteMfma(op);
  // What the back end may reorder does not show.
  if (isa<ROCDL::SchedBarrier, ROCDL::SchedGroupBarrier>(op)) {
    op->erase();
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ROCDL::ThreadIdXOp op) {
        return call(op, "fa_emu_thread_id", {});
      })
      .Case(
          [&](ROCDL::BlockIdXOp op) { return call(op, "fa_emu_block_id", {}); })
      .Case([&](ROCDL::SBarrierOp op) {
        return call(op, "fa_emu_wave_barrier", {});
      })
      .Case([&](ROCDL::RawPtrBufferLoadOp op) { return rewriteBufferLoad(op); })
      .Case(
          [&](ROCDL::RawPtrBufferStoreOp op) { return rewriteBufferStore(op); })
      .Case([&](ROCDL::RawPtrBufferLoadLdsOp op) {
        return rewriteDirectLoad(op);
      })
      .Case([&](ROCDL::SWaitcntOp op) { return rewriteWait(op); })
      .Case([&](ROCDL::ds_read_tr16_b64 op) {
        return call(op, "fa_emu_read_turned", op->getOperands());
      })
      .Case([&](ROCDL::MakeBufferRsrcOp op) { return success(); })
      .Case([&](ROCDL::ReadfirstlaneOp op) {
        return call(op, "fa_emu_read_first", op->getOperands());
      })
      .Case([&](ROCDL::DsBpermuteOp op) {
        return call(op, "fa_emu_permute", op->getOperands());
      })
      .Case([&](ROCDL::DPPUpdateOp op) { return rewriteLaneMove(op); })
      .Case([&](ROCDL::BallotOp op) {
        return call(op, "fa_emu_ballot", op->getOperands());
      })
      .Case([&](ROCDL::Permlane16SwapOp op) {
        return call(op, "fa_emu_swap_rows", op->getOperands(), {16});
      })
      .Case([&](ROCDL::Permlane32SwapOp op) {
        return call(op, "fa_emu_swap_rows", op->getOperands(), {32});
      })
      .Case([&](ROCDL::ROCDLExp2 op) { return callPure(op, "fa_emu_exp2"); })
      .Case([&](ROCDL::ROCDLLog op) { return callPure(op, "fa_emu_log2"); })
      .Default([](Operation *op) {
        return op->emitOpError("the emulator does not know this operation");
      });
}

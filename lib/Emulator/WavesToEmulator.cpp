//===- WavesToEmulator.cpp - rocdl operations as calls --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRewriter.h"

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

/// A descriptor is the operands of the operation that makes it.
LogicalResult KernelRewriter::rewriteBufferLoad(ROCDL::RawPtrBufferLoadOp op) {
  auto descriptor = op.getRsrc().getDefiningOp<ROCDL::MakeBufferRsrcOp>();
  if (!descriptor || !matchPattern(op.getSoffset(), m_Zero()) ||
      !matchPattern(op.getAux(), m_Zero()) ||
      !matchPattern(descriptor.getStride(), m_Zero()))
    return op.emitOpError("the emulator has loads by descriptors that are made "
                          "in place, without a stride, a scalar offset and "
                          "modifiers only");
  int64_t bytes = layout.getTypeSize(op.getType()).getFixedValue();
  return call(
      op, "fa_emu_load_buffer",
      {descriptor.getBase(), op.getOffset(), descriptor.getNumRecords()},
      {bytes});
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
      .Case([&](ROCDL::MakeBufferRsrcOp op) { return success(); })
      .Case([&](ROCDL::ReadfirstlaneOp op) {
        return call(op, "fa_emu_read_first", op->getOperands());
      })
      .Case([&](ROCDL::DsBpermuteOp op) {
        return call(op, "fa_emu_permute", op->getOperands());
      })
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

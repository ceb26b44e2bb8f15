//===- MutateWaves.cpp - faults of AMD's programs -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Faults of what one lane does (S8).
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "fa/Machine/LaneMoves.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;

static SmallVector<LLVM::FenceOp> fences(Operation *kernel,
                                         LLVM::AtomicOrdering ordering) {
  auto found = collect<LLVM::FenceOp>(kernel);
  llvm::erase_if(found, [&](LLVM::FenceOp fence) {
    return fence.getOrdering() != ordering;
  });
  return found;
}

/// Nobody waits for lgkmcnt before a barrier.
static int64_t dropLdsRelease(Operation *kernel) {
  return erase<LLVM::FenceOp>(fences(kernel, LLVM::AtomicOrdering::release));
}

/// The wait for lgkmcnt comes behind the barrier.
static int64_t lateRelease(Operation *kernel) {
  int64_t changed = 0;
  for (auto fence : fences(kernel, LLVM::AtomicOrdering::release))
    if (auto barrier =
            dyn_cast_or_null<ROCDL::SBarrierOp>(fence->getNextNode())) {
      fence->moveAfter(barrier);
      ++changed;
    }
  return changed;
}

/// Reads may move above the barrier.
static int64_t dropAcquire(Operation *kernel) {
  return erase<LLVM::FenceOp>(fences(kernel, LLVM::AtomicOrdering::acquire));
}

static bool isIn(Value pointer, unsigned space) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() ==
         space;
}

/// Nobody waits for loads direct to LDS.
static int64_t dropVectorWait(Operation *kernel) {
  return erase<ROCDL::SWaitcntOp>(collect<ROCDL::SWaitcntOp>(kernel));
}

/// Where the reads of a transposed tile are: those of 8 bytes, or those that
/// transpose.
static SmallVector<Value> turnedAddresses(Operation *kernel) {
  SmallVector<Value> addresses;
  for (auto read : collect<ROCDL::ds_read_tr16_b64>(kernel))
    addresses.push_back(read.getPtr());
  for (auto load : collect<LLVM::LoadOp>(kernel)) {
    auto type = dyn_cast<VectorType>(load.getType());
    if (isIn(load.getAddr(), 3) && type && type.getNumElements() == 2)
      addresses.push_back(load.getAddr());
  }
  return addresses;
}

/// Such reads forget one XOR of the swizzle each.
static int64_t wrongTurn(Operation *kernel) {
  int64_t changed = 0;
  for (Value address : turnedAddresses(kernel)) {
    while (Operation *op = address.getDefiningOp()) {
      if (isa<LLVM::XOrOp>(op)) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
        ++changed;
        break;
      }
      if (!isa<LLVM::GEPOp, LLVM::IntToPtrOp>(op))
        break;
      address = op->getOperand(0);
    }
  }
  return changed;
}

/// What is outside of a view is read all the same.
static int64_t readPastEnd(Operation *kernel) {
  int64_t changed = 0;
  for (auto load : collect<LLVM::LoadOp>(kernel))
    if (auto select = load.getAddr().getDefiningOp<LLVM::SelectOp>();
        select && isIn(load.getAddr(), 1)) {
      load.getAddrMutable().assign(select.getTrueValue());
      ++changed;
    }
  return changed;
}

static void lengthen(ROCDL::MakeBufferRsrcOp descriptor) {
  OpBuilder b(descriptor);
  descriptor.getNumRecordsMutable().assign(LLVM::ConstantOp::create(
      b, descriptor.getLoc(), b.getI64Type(), b.getI64IntegerAttr(UINT32_MAX)));
}

/// Descriptors reach further than the rows that there are.
static int64_t longDescriptor(Operation *kernel) {
  auto descriptors = collect<ROCDL::MakeBufferRsrcOp>(kernel);
  llvm::for_each(descriptors, lengthen);
  return descriptors.size();
}

/// Those of stores alone.
static int64_t longStore(Operation *kernel) {
  auto stores = collect<ROCDL::RawPtrBufferStoreOp>(kernel);
  for (auto store : stores)
    lengthen(store.getRsrc().getDefiningOp<ROCDL::MakeBufferRsrcOp>());
  return stores.size();
}

/// The right operands of dots have their depth backwards.
static int64_t wrongDepthOrder(Operation *kernel) {
  int64_t changed = 0;
  kernel->walk([&](Operation *op) {
    if (!op->getName().getStringRef().starts_with("rocdl.mfma."))
      return;
    Value operand = op->getOperand(0);
    auto type = dyn_cast<VectorType>(operand.getType());
    if (!type)
      return;
    SmallVector<int32_t> backwards;
    for (int32_t n = type.getNumElements(); n > 0; --n)
      backwards.push_back(n - 1);
    OpBuilder b(op);
    op->setOperand(0, LLVM::ShuffleVectorOp::create(b, op->getLoc(), operand,
                                                    operand, backwards));
    ++changed;
  });
  return changed;
}

/// Lanes of a row get the word of the one before.
static int64_t wrongLaneMove(Operation *kernel) {
  auto moves = collect<ROCDL::DPPUpdateOp>(kernel);
  for (auto move : moves)
    move.setDppCtrl(kRowRor + 1);
  return moves.size();
}

ArrayRef<Mutation> fa::waveMutations() {
  static constexpr Mutation mutations[] = {
      {"drop-lds-wait", false, dropLdsRelease},
      {"late-lds-wait", false, lateRelease},
      {"drop-acquire", false, dropAcquire},
      {"drop-vector-wait", false, dropVectorWait},
      {"wrong-turn", false, wrongTurn},
      {"read-past-end", false, readPastEnd},
      {"long-descriptor", false, longDescriptor},
      {"long-store", false, longStore},
      {"wrong-depth-order", false, wrongDepthOrder},
      {"wrong-lane-move", false, wrongLaneMove},
  };
  return mutations;
}

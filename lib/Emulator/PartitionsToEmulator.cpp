//===- PartitionsToEmulator.cpp - warp specialization in the emulator -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRewriter.h"

#include "fa/Emulator/Site.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Registers of running products
//===----------------------------------------------------------------------===//

/// Calls `visit` for each value that a branch passes to a block argument.
static void
forEachPassed(LLVM::LLVMFuncOp kernel,
              llvm::function_ref<void(Value, BlockArgument)> visit) {
  kernel.walk([&](BranchOpInterface branch) {
    for (unsigned n = 0; n < branch->getNumSuccessors(); ++n) {
      SuccessorOperands passed = branch.getSuccessorOperands(n);
      for (unsigned i = 0; i < passed.size(); ++i)
        if (Value value = passed[i])
          visit(value, branch->getSuccessor(n)->getArgument(i));
    }
  });
}

/// Results of products, and arguments of blocks that are passed any, may be
/// read by products and waits alone.
void KernelRewriter::watchReads() {
  llvm::SetVector<Value> running;
  kernel.walk([&](SimtWgmmaOp op) {
    for (Value result : op.getResults())
      running.insert(result);
  });
  for (size_t before = 0; before != running.size();) {
    before = running.size();
    forEachPassed(kernel, [&](Value from, BlockArgument to) {
      if (running.contains(from))
        running.insert(to);
    });
  }
  for (Value value : running)
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      if (isa<SimtWgmmaOp, SimtWgmmaWaitOp, BranchOpInterface>(user))
        continue;
      b.setLoc(user->getLoc());
      b.setInsertionPoint(user);
      insertCall(user, "fa_emu_read_register", value);
    }
}

/// Whether the operation only puts halves of a word together, or takes them
/// apart: no instruction, once registers are chosen.
static bool isMove(Operation *op) {
  return isa_and_present<LLVM::BitcastOp, LLVM::InsertElementOp,
                         LLVM::ExtractElementOp>(op);
}

/// Values that can be one register: what branches pass, and what moves make of
/// it. A register is taken for free after the last product that names it, so
/// that writing any of them may write what a running product reads.
static llvm::EquivalenceClasses<void *> findRegisters(LLVM::LLVMFuncOp kernel) {
  llvm::EquivalenceClasses<void *> registers;
  auto unite = [&](Value from, Value to) {
    // Constants are copied.
    if (from.getType().isIntOrIndexOrFloat() || isa<VectorType>(from.getType()))
      if (!matchPattern(from, m_Constant()) &&
          !from.getDefiningOp<LLVM::PoisonOp>())
        registers.unionSets(from.getAsOpaquePointer(), to.getAsOpaquePointer());
  };
  forEachPassed(kernel, unite);
  kernel.walk([&](Operation *op) {
    if (isMove(op))
      for (Value operand : op->getOperands())
        unite(operand, op->getResult(0));
  });
  kernel.walk([&](SimtWgmmaOp op) {
    if (op.isFromRegisters())
      for (Value word : op.getA())
        unite(word, op.getA().front());
  });
  return registers;
}

void KernelRewriter::watchWrites() {
  auto registers = findRegisters(kernel);
  auto leaderOf = [&](Value value) -> void * {
    auto member = registers.findLeader(value.getAsOpaquePointer());
    return member == registers.member_end() ? nullptr : *member;
  };
  llvm::DenseMap<void *, int64_t> numbers;
  kernel.walk([&](SimtWgmmaOp op) {
    if (op.isFromRegisters())
      leftRegisters[op] =
          numbers
              .try_emplace(leaderOf(op.getA().front()), int64_t(numbers.size()))
              .first->second;
  });
  if (numbers.empty())
    return;
  SmallVector<std::pair<Operation *, int64_t>> writes;
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || isMove(op))
      return;
    auto it = numbers.find(leaderOf(op->getResult(0)));
    if (it != numbers.end())
      writes.push_back({op, it->second});
  });
  for (auto [op, number] : writes) {
    b.setLoc(op->getLoc());
    b.setInsertionPointAfter(op);
    insertCall(op, "fa_emu_write_register", {}, number);
  }
}

void KernelRewriter::watchRegisters() {
  watchReads();
  watchWrites();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The number of a type of factors (ProductOperands.h).
static int64_t factorOf(Type element) {
  return llvm::TypeSwitch<Type, int64_t>(element)
      .Case([](BFloat16Type) { return 0; })
      .Case([](Float16Type) { return 1; })
      .Case([](Float8E4M3FNType) { return 2; })
      .Case([](Float8E5M2Type) { return 3; });
}

LogicalResult KernelRewriter::rewriteProduct(SimtWgmmaOp op) {
  int64_t flags = op.isFromRegisters() | op.getTransposeB() << 2 |
                  !op.getAcc().empty() << 3 | op.getTransposeA() << 4;
  auto number = leftRegisters.find(op);
  return call(op, "fa_emu_product", op->getOperands(),
              {op.getN(), flags,
               number == leftRegisters.end() ? -1 : number->second,
               factorOf(op.getElement()) | factorOf(op.getElementOfB()) << 2});
}

LogicalResult KernelRewriter::rewriteProductWait(SimtWgmmaWaitOp op) {
  auto count = int64_t(op.getValues().size());
  if (count > kEmulatorSlots)
    return op.emitOpError("the emulator passes at most ")
           << kEmulatorSlots << " values through a wait, found " << count;
  return call(op, "fa_emu_product_wait", op.getValues(),
              {int64_t(op.getPending()), count});
}

LogicalResult
KernelRewriter::rewriteBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) {
  if (op.getMode() != NVVM::TMALoadMode::TILE || op.getIsCTAOnly() ||
      op.getPredicate())
    return op.emitOpError(
        "the emulator has boxes in tile mode, fetched without "
        "a predicate");
  SmallVector<Value> operands = {op.getDstMem(), op.getTmaDescriptor()};
  llvm::append_range(operands, op.getCoordinates());
  operands.push_back(op.getMbar());
  if (Value ranks = op.getMulticastMask())
    operands.push_back(ranks);
  return call(
      op, "fa_emu_copy_box", operands,
      {int64_t(op.getCoordinates().size()), bool(op.getMulticastMask())});
}

LogicalResult
KernelRewriter::rewriteBox(NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op) {
  if (op.getMode() != NVVM::TMAStoreMode::TILE || !op.getPredicate())
    return op.emitOpError("the emulator has boxes in tile mode, stored by the "
                          "threads of a predicate");
  SmallVector<Value> operands = {op.getSrcMem(), op.getTmaDescriptor(),
                                 op.getPredicate()};
  llvm::append_range(operands, op.getCoordinates());
  return call(op, "fa_emu_store_box", operands,
              {int64_t(op.getCoordinates().size())});
}

std::optional<LogicalResult>
KernelRewriter::rewriteForPartitions(Operation *op) {
  using Result = std::optional<LogicalResult>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](NVVM::MBarrierInitOp op) {
        return call(op, "fa_emu_barrier_init", op->getOperands());
      })
      .Case<NVVM::FenceMbarrierInitOp, NVVM::FenceProxyOp>(
          [&](auto op) { return call(op, "fa_emu_proxy_fence", {}); })
      .Case([&](NVVM::MBarrierArriveExpectTxOp op) {
        return call(op, "fa_emu_arrive_expecting", op->getOperands());
      })
      .Case([&](SimtArriveOp op) {
        ValueRange operands = op->getOperands().take_front(2);
        if (op.getRanks() == 1)
          return call(op, "fa_emu_arrive_first", operands);
        return call(op, "fa_emu_arrive_at_ranks", operands,
                    {int64_t(op.getRanks())});
      })
      .Case([&](SimtWaitPhaseOp op) {
        return call(op, "fa_emu_wait_phase", op->getOperands());
      })
      .Case([&](NVVM::ClusterArriveOp op) {
        return call(op, "fa_emu_arrive_at_cluster", {});
      })
      .Case([&](NVVM::ClusterWaitOp op) {
        return call(op, "fa_emu_wait_for_cluster", {});
      })
      .Case([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) {
        return rewriteBox(op);
      })
      .Case([&](NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op) {
        return rewriteBox(op);
      })
      .Case([&](NVVM::CpAsyncBulkCommitGroupOp op) {
        return call(op, "fa_emu_commit_stores", {});
      })
      .Case([&](NVVM::CpAsyncBulkWaitGroupOp op) {
        return call(op, "fa_emu_wait_stores", {}, {int64_t(op.getGroup())});
      })
      .Case([&](NVVM::SetMaxRegisterOp op) {
        return call(op, "fa_emu_exchange_registers", {},
                    {op.getRegCount(),
                     op.getAction() == NVVM::SetMaxRegisterAction::increase,
                     maxRegisters});
      })
      .Case([&](NVVM::ElectSyncOp op) {
        return call(op, "fa_emu_elect", op->getOperands(),
                    {bool(op.getMembermask())});
      })
      .Case([&](NVVM::BarrierArriveOp op) -> LogicalResult {
        if (!op.getBarrierId())
          return op.emitOpError("the emulator has barriers with a number");
        return call(op, "fa_emu_arrive_named", op->getOperands());
      })
      .Case([&](NVVM::WgmmaFenceAlignedOp op) {
        return call(op, "fa_emu_product_fence", {});
      })
      .Case([&](NVVM::WgmmaGroupSyncAlignedOp op) {
        return call(op, "fa_emu_product_commit", {});
      })
      .Case([&](SimtWgmmaOp op) { return rewriteProduct(op); })
      .Case([&](SimtWgmmaWaitOp op) { return rewriteProductWait(op); })
      .Case([&](LLVM::AddrSpaceCastOp op) {
        // Address spaces go.
        op.replaceAllUsesWith(op.getArg());
        op.erase();
        return success();
      })
      .Default([](Operation *) { return Result(); });
}

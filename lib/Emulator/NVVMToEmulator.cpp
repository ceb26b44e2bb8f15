//===- NVVMToEmulator.cpp - convert-nvvm-to-emulator ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRewriter.h"

#include "fa/Emulator/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_CONVERTNVVMTOEMULATOR
#include "fa/Emulator/Passes.h.inc"
} // namespace fa

static constexpr llvm::StringLiteral kSites = "fa.sites";

enum AddressSpace : unsigned {
  Generic = 0,
  Global = 1,
  Shared = 3,
  Constant = 4
};

static unsigned addressSpaceOf(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult KernelRewriter::run() {
  if (failed(checkSignature()))
    return failure();
  changeSignature();
  SmallVector<Operation *> ops;
  kernel.getBody().walk([&](Operation *op) { ops.push_back(op); });
  watchRegisters();
  for (Operation *op : ops) {
    b.setLoc(op->getLoc());
    b.setInsertionPoint(op);
    if (failed(rewrite(op)))
      return failure();
  }
  dropDescriptors();
  dropAddressSpaces();
  return success();
}

/// Numbers are among the words: a parameter of their own would become a pointer
/// where it is used.
LogicalResult KernelRewriter::checkSignature() {
  if (kernel.isExternal())
    return kernel.emitOpError("the emulator has kernels with a body only");
  if (!kernel.getNumArguments())
    return kernel.emitOpError("the emulator expected a pointer to the words of "
                              "the arguments, found no parameter");
  for (auto [n, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (!isa<LLVM::LLVMPointerType>(type))
      return kernel.emitOpError("the emulator expected pointers as parameters, "
                                "to the words and to tensor maps, found ")
             << type << " as parameter " << n;
  return success();
}

/// Of the parameters the words stay; a tensor map is its number.
void KernelRewriter::changeSignature() {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  if (auto most = kernel->getAttrOfType<IntegerAttr>(
          NVVM::NVVMDialect::getMaxnregAttrName()))
    maxRegisters = most.getInt();
  for (StringRef name : {StringRef(NVVM::NVVMDialect::getKernelFuncAttrName()),
                         StringRef(NVVM::NVVMDialect::getReqntidAttrName()),
                         StringRef(NVVM::NVVMDialect::getMinctasmAttrName()),
                         StringRef(NVVM::NVVMDialect::getMaxnregAttrName()),
                         StringRef(NVVM::NVVMDialect::getClusterDimAttrName()),
                         ROCDL::ROCDLDialect::getKernelFuncAttrName(),
                         StringRef("rocdl.reqd_work_group_size"),
                         StringRef("rocdl.flat_work_group_size")})
    kernel->removeAttr(name);
  kernel.removeArgAttrsAttr();
  Block &entry = kernel.getBody().front();
  b.setInsertionPointToStart(&entry);
  while (entry.getNumArguments() > 1) {
    unsigned last = entry.getNumArguments() - 1;
    Value number = LLVM::ConstantOp::create(b, b.getI64Type(),
                                            b.getI64IntegerAttr(last - 1));
    entry.getArgument(last).replaceAllUsesWith(
        LLVM::IntToPtrOp::create(b, pointer, number));
    entry.eraseArgument(last);
  }
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer}));
  entry.addArgument(pointer, kernel.getLoc());
  thread = kernel.getArgument(1);
}

/// Whether `address` points into the words of the kernel's arguments.
bool KernelRewriter::isArgument(Value address) {
  while (auto step = address.getDefiningOp<LLVM::GEPOp>())
    address = step.getBase();
  return address == kernel.getArgument(0);
}

LogicalResult KernelRewriter::rewriteAccess(Operation *op, Value address,
                                            Value stored, uint64_t alignment) {
  unsigned space = addressSpaceOf(address);
  if ((space == Generic || space == Constant) && isArgument(address))
    return success();
  if (space != Generic && space != Global && space != Shared)
    return op->emitOpError("is in address space ")
           << space << ", the emulator has 0, 1 and 3";
  Type type = stored ? stored.getType() : op->getResult(0).getType();
  int64_t bytes = layout.getTypeSize(type).getFixedValue();
  SmallVector<Value> operands = {address};
  if (stored)
    operands.push_back(stored);
  StringRef name = space == Shared   ? "shared"
                   : space == Global ? "global"
                                     : "generic";
  std::string function =
      ("fa_emu_" + Twine(stored ? "store_" : "load_") + name).str();
  return call(op, function, operands,
              {bytes, alignment ? int64_t(alignment) : bytes});
}

LogicalResult KernelRewriter::rewriteAtomicAdd(LLVM::AtomicRMWOp op) {
  Type type = op.getVal().getType();
  bool isFloat = op.getBinOp() == LLVM::AtomicBinOp::fadd && type.isF32();
  bool isInteger = op.getBinOp() == LLVM::AtomicBinOp::add &&
                   (type.isInteger(32) || type.isInteger(64));
  if (isInteger && type.isInteger(32) && matchPattern(op.getVal(), m_One()) &&
      addressSpaceOf(op.getPtr()) == Global && !op.getRes().use_empty())
    return call(op, "fa_emu_take_number", op.getPtr());
  if ((!isFloat && !isInteger) || !op.getRes().use_empty() ||
      addressSpaceOf(op.getPtr()) != Global)
    return op.emitOpError("the emulator has sums of f32, i32 and i64 in global "
                          "memory, of which nobody reads the result, and i32 "
                          "that 1 is added to, only");
  insertCall(op, "fa_emu_atomic_add", {op.getPtr(), op.getVal()},
             {type.getIntOrFloatBitWidth() / 8, isFloat});
  op.erase();
  return success();
}

/// The products are of f32: the host widens, with its own instructions.
LogicalResult KernelRewriter::rewriteMma(NVVM::MmaOp op) {
  auto shape = op.getShape();
  if (op.getMultiplicandAPtxType() == NVVM::MMATypes::tf32 &&
      shape.getM() == 16 && shape.getN() == 8 && shape.getK() == 8)
    return call(op, "fa_emu_mma_tf32",
                llvm::to_vector(llvm::concat<Value>(
                    op.getOperandA(), op.getOperandB(), op.getOperandC())),
                {shape.getM(), shape.getN(), shape.getK()});
  bool isBf16 = op.getMultiplicandAPtxType() == NVVM::MMATypes::bf16;
  bool isF16 = op.getMultiplicandAPtxType() == NVVM::MMATypes::f16;
  auto fields = dyn_cast<LLVM::LLVMStructType>(op.getType());
  if (shape.getM() != 16 || shape.getN() != 8 || shape.getK() != 16 ||
      (!isBf16 && !isF16) || !fields || !fields.getBody().front().isF32())
    return op->emitOpError(
        "the emulator has m16n8k16 of f16 and bf16 and m16n8k8 "
        "of tf32, with f32 accumulators, only");
  Type element = isF16 ? Type(b.getF16Type()) : Type(b.getBF16Type());
  SmallVector<Value> operands;
  for (Value word : llvm::concat<Value>(op.getOperandA(), op.getOperandB())) {
    auto pair = VectorType::get({2}, element);
    if (word.getType() != pair)
      word = LLVM::BitcastOp::create(b, pair, word);
    operands.push_back(
        LLVM::FPExtOp::create(b, VectorType::get({2}, b.getF32Type()), word));
  }
  llvm::append_range(operands, op.getOperandC());
  return call(op, "fa_emu_mma", operands,
              {shape.getM(), shape.getN(), shape.getK()});
}

LogicalResult KernelRewriter::rewriteToTf32(NVVM::ConvertFloatToTF32Op op) {
  if (op.getRnd() != NVVM::FPRoundingMode::RNA || op.getRelu() ||
      op.getSat() != NVVM::SaturationMode::NONE)
    return op.emitOpError("the emulator rounds to tf32 by .rna alone");
  return callPure(op, "fa_emu_round_tf32");
}

LogicalResult KernelRewriter::rewriteBarrier(NVVM::BarrierOp op) {
  if (op.getBarrierId() && op.getNumberOfThreads() && !op->getNumResults())
    return call(op, "fa_emu_sync_named", op->getOperands());
  if (op->getNumOperands() || op->getNumResults())
    return op.emitOpError("the emulator has barrier 0 of all threads, and "
                          "numbered ones of a number of threads, without a "
                          "reduction");
  return call(op, "fa_emu_barrier", {});
}

LogicalResult KernelRewriter::rewriteAsm(LLVM::InlineAsmOp op) {
  if (op.getAsmString() == "mul.rn.f16x2 $0, $1, $2;") {
    Type pair = VectorType::get({2}, b.getF16Type());
    SmallVector<Value> factors;
    for (Value bits : op->getOperands())
      factors.push_back(LLVM::BitcastOp::create(b, pair, bits));
    Value product = LLVM::FMulOp::create(b, factors[0], factors[1]);
    op.getResult(0).replaceAllUsesWith(
        LLVM::BitcastOp::create(b, b.getI32Type(), product).getResult());
    op.erase();
    return success();
  }
  bool isMove =
      op.getAsmString() == "mov.b64 $0, $1;" || op.getAsmString().empty();
  if (!isMove || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return op.emitOpError("the emulator knows no assembly but mov.b64 and "
                          "mul.rn.f16x2, found '")
           << op.getAsmString() << "'";
  op.getResult(0).replaceAllUsesWith(op->getOperand(0));
  op.erase();
  return success();
}

LogicalResult KernelRewriter::rewriteIntrinsic(LLVM::CallIntrinsicOp op) {
  StringRef name = op.getIntrin();
  StringRef function =
      llvm::StringSwitch<StringRef>(name)
          .Case("llvm.nvvm.ff2f16x2.rn", "fa_emu_pack_f16x2")
          .Case("llvm.nvvm.ff2bf16x2.rn", "fa_emu_pack_bf16x2")
          .Case("llvm.nvvm.e4m3x2.to.f16x2.rn", "fa_emu_widen_e4m3x2")
          .Case("llvm.nvvm.lg2.approx.ftz.f", "fa_emu_log2")
          .Case("llvm.nvvm.ex2.approx.ftz.f", "fa_emu_exp2")
          .Default("");
  if (!function.empty())
    return callPure(op, function);
  if (name == "llvm.nvvm.barrier.cta.red.or.aligned.count")
    return call(op, "fa_emu_sync_named_or", op->getOperands());
  if (name.starts_with("llvm.nvvm"))
    return op.emitOpError("the emulator does not know '") << name << "'";
  return success();
}

/// The table of the operations that a GPU has and a CPU has not.
LogicalResult KernelRewriter::rewrite(Operation *op) {
  if (std::optional<LogicalResult> done = rewriteForPartitions(op))
    return *done;
  if (std::optional<LogicalResult> done = rewriteForWaves(op))
    return *done;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](NVVM::ThreadIdXOp op) {
        return call(op, "fa_emu_thread_id", {});
      })
      .Case(
          [&](NVVM::BlockIdXOp op) { return call(op, "fa_emu_block_id", {}); })
      .Case([&](NVVM::GridDimXOp op) {
        return call(op, "fa_emu_num_blocks", {});
      })
      .Case([&](NVVM::Barrier0Op op) { return call(op, "fa_emu_barrier", {}); })
      .Case([&](NVVM::BarrierOp op) { return rewriteBarrier(op); })
      .Case([&](NVVM::GriddepcontrolOp op) {
        return call(op,
                    op.getKind() == NVVM::GridDepActionKind::wait
                        ? "fa_emu_await_kernel"
                        : "fa_emu_begin_next",
                    {});
      })
      .Case([&](NVVM::SyncWarpOp op) {
        return call(op, "fa_emu_warp_barrier", op->getOperands());
      })
      .Case([&](NVVM::CpAsyncOp op) {
        return call(op, "fa_emu_async_copy", op->getOperands(),
                    {op.getSize(), bool(op.getCpSize())});
      })
      .Case([&](NVVM::CpAsyncCommitGroupOp op) {
        return call(op, "fa_emu_async_commit", {});
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp op) {
        return call(op, "fa_emu_async_wait", {}, {op.getN()});
      })
      .Case([&](NVVM::ShflOp op) {
        return call(op, "fa_emu_shuffle", op->getOperands(),
                    {int64_t(op.getKind())});
      })
      .Case([&](NVVM::VoteSyncOp op) {
        return call(op, "fa_emu_vote", op->getOperands(),
                    {int64_t(op.getKind())});
      })
      .Case([&](NVVM::LdMatrixOp op) {
        return call(op, "fa_emu_load_matrix", op->getOperands(),
                    {op.getNum(), op.getLayout() == NVVM::MMALayout::col});
      })
      .Case([&](NVVM::MmaOp op) { return rewriteMma(op); })
      .Case([&](NVVM::ConvertFloatToTF32Op op) { return rewriteToTf32(op); })
      .Case([&](LLVM::LoadOp op) {
        return rewriteAccess(op, op.getAddr(), {},
                             op.getAlignment().value_or(0));
      })
      .Case([&](LLVM::StoreOp op) {
        return rewriteAccess(op, op.getAddr(), op.getValue(),
                             op.getAlignment().value_or(0));
      })
      .Case([&](LLVM::AddressOfOp op) -> LogicalResult {
        if (addressSpaceOf(op) != Shared)
          return op->emitOpError(
              "the emulator does not know globals of a module");
        Value base = LLVM::ConstantOp::create(
            b, b.getI64Type(), b.getI64IntegerAttr(fa::kEmulatorSharedBase));
        op.replaceAllUsesWith(
            LLVM::IntToPtrOp::create(b, op.getType(), base).getResult());
        op.erase();
        return success();
      })
      .Case([&](LLVM::UMinOp op) {
        if (op->hasAttr(tgpu::TileGPUDialect::pageAttrName))
          insertCall(op, "fa_emu_check_page", op->getOperands());
        if (op->hasAttr(tgpu::TileGPUDialect::slotAttrName))
          insertCall(op, "fa_emu_check_slot", op->getOperands());
        return success();
      })
      .Case([&](LLVM::Exp2Op op) {
        return op.getType().isF32() ? callPure(op, "fa_emu_exp2") : success();
      })
      .Case([&](LLVM::InlineAsmOp op) { return rewriteAsm(op); })
      .Case([&](LLVM::CallIntrinsicOp op) { return rewriteIntrinsic(op); })
      .Case([&](LLVM::AtomicRMWOp op) { return rewriteAtomicAdd(op); })
      .Case([&](tgpu::SimtAssertOp op) {
        return callNamed(op, "\"" + op.getMessage().str() + "\"",
                         "fa_emu_assert", op.getCondition(), {op.getPromise()});
      })
      .Case<LLVM::AtomicCmpXchgOp, LLVM::MemcpyOp>([&](auto op) {
        return op.emitOpError("the emulator does not know this operation");
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<NVVM::NVVMDialect>(op->getDialect()))
          return op->emitOpError("the emulator does not know this operation");
        return success();
      });
}

/// Pointers to shared memory become numbers that no host pointer is; the casts
/// to and from i32 keep their meaning.
void KernelRewriter::dropAddressSpaces() {
  auto drop = [](Value value) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(value.getType());
    if (pointer && pointer.getAddressSpace())
      value.setType(LLVM::LLVMPointerType::get(pointer.getContext()));
  };
  kernel.getBody().walk([&](Block *block) {
    llvm::for_each(block->getArguments(), drop);
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), drop);
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

std::vector<EmulatorSite> fa::readEmulatorSites(ModuleOp module) {
  std::vector<EmulatorSite> sites;
  auto list = module->getAttrOfType<ArrayAttr>(kSites);
  if (!list)
    return sites;
  for (ArrayAttr entry : list.getAsRange<ArrayAttr>()) {
    EmulatorSite site;
    site.op = cast<StringAttr>(entry[0]).str();
    site.location = cast<StringAttr>(entry[1]).str();
    for (auto [n, number] :
         llvm::enumerate(cast<ArrayAttr>(entry[2]).getAsRange<IntegerAttr>()))
      site.attributes[n] = number.getInt();
    sites.push_back(std::move(site));
  }
  return sites;
}

namespace {

struct ConvertNVVMToEmulator final
    : fa::impl::ConvertNVVMToEmulatorBase<ConvertNVVMToEmulator> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Attribute> sites;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
          function->hasAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName()))
        if (failed(KernelRewriter(function, sites).run()))
          return signalPassFailure();
    for (auto global :
         llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>()))
      if (global.getAddrSpace() == Shared)
        global.erase();
    module->setAttr(kSites, ArrayAttr::get(&getContext(), sites));
  }
};

} // namespace

//===- NvidiaContext.cpp - the function, exchanges ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Schedule/KernelThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

NvidiaContext::NvidiaContext(tile::KernelOp kernel, bool convertsNarrow)
    : SimtContext(kernel), convertsNarrow(convertsNarrow) {
  sharedName = sharedSymbol;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

int64_t fa::clusterBlocks(NvidiaContext &ctx) {
  auto blocks =
      ctx.kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::clusterAttrName);
  return blocks ? blocks.getInt() : 1;
}

/// Of the `warps` warps that this one is one of among the block's, and leaves
/// the thread its number among theirs. The same for all threads of a warp, as
/// branches need it and ptxas is to know.
Value fa::takeWarpNumber(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value number = arith::ShRUIOp::create(b, ctx.thread,
                                        ctx.i32(llvm::Log2_64(32 * ctx.warps)));
  number = ctx.sameInAll(number);
  ctx.thread =
      arith::AndIOp::create(b, ctx.thread, ctx.i32(32 * ctx.warps - 1));
  return number;
}

/// One parameter, the words of the arguments by value, then the tensor maps.
void NvidiaContext::declareFunction() {
  MLIRContext *context = b.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto words = LLVM::LLVMArrayType::get(b.getI64Type(),
                                        countWords(kernel.getArgumentTypes()));
  size_t maps = collectTensorMaps(kernel).size();
  function = LLVM::LLVMFuncOp::create(
      b, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  SmallVector<Type>(1 + maps, pointer)));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  int32_t threads = countThreads(kernel);
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({threads}));
  if (clusterBlocks(*this) > 1)
    function->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        b.getDenseI32ArrayAttr({int32_t(clusterBlocks(*this)), 1, 1}));
  // A denormal costs exp2 twice its instructions.
  function.setDenormalFpMathF32("preserve-sign,preserve-sign");
  auto passByValue = [&](unsigned argument, Type type) {
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(type));
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(),
                        b.getUnitAttr());
  };
  passByValue(0, words);
  for (unsigned map = 1; map <= maps; ++map) {
    passByValue(map, LLVM::LLVMArrayType::get(b.getI64Type(), 16));
    function.setArgAttr(map, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(64));
  }
  function.addEntryBlock(b);
}

/// With warp specialization, blocks of a processor share its registers: ptxas
/// heeds the exchange of registers in a block only if the function says so.
void NvidiaContext::numberThreads() {
  int32_t threads = countThreads(kernel);
  thread = threadInBlock = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  if (threads == 32 * warps)
    return;
  if (programsOfBlock(kernel) > 1) {
    warpNumber = takeWarpNumber(*this);
    return;
  }
  if (kernel.getParts() > 1)
    return divideIntoParts(*this);
  SchedulePlan plan = planOf(kernel);
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(plan.residentBlocks()));
  function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                    b.getI32IntegerAttr(plan.registersAtStart()));
  warpgroup = takeWarpNumber(*this);
  kernel.walk([&](ConsumerIdOp id) {
    Value number = arith::SubIOp::create(b, warpgroup, i32(1));
    mapping.map(
        id.getResult(),
        arith::IndexCastOp::create(b, b.getIndexType(), number).getResult());
  });
}

Value NvidiaContext::blockNumber() {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// ex2.approx.ftz: 2 ulp, and what attention is made of.
Value NvidiaContext::exp2(Value x) { return LLVM::Exp2Op::create(b, x); }

Value NvidiaContext::log2(Value x) {
  return LLVM::CallIntrinsicOp::create(
             b, b.getF32Type(), b.getStringAttr("llvm.nvvm.lg2.approx.ftz.f"),
             x)
      .getResult(0);
}

/// From each lane its own: what ptxas would read again instead of keeping it is
/// the special register.
Value NvidiaContext::readThread() {
  Value number = shuffleXor(threadInBlock, 0);
  return warpgroup || part
             ? Value(arith::AndIOp::create(b, number, i32(32 * warps - 1)))
             : number;
}

Value NvidiaContext::shuffleWord(Value value, uint32_t mask) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, i32(mask),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

/// ptxas keeps what follows from it in uniform registers, and branches on it
/// without looking after lanes that go elsewhere.
Value NvidiaContext::sameInAll(Value word) {
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), word, i32(0), i32(31),
                              NVVM::ShflKind::idx, UnitAttr());
}

Value NvidiaContext::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

Value fa::hide(NvidiaContext &ctx, Value number) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool isWide = number.getType().isInteger(64);
  auto hidden = LLVM::InlineAsmOp::create(
      b, number.getType(), number, "", isWide ? "=l,0" : "=r,0",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return hidden.getRes();
}

Value NvidiaContext::opaque(Value address) {
  auto moved = LLVM::InlineAsmOp::create(
      b, address.getType(), address, "mov.b64 $0, $1;", "=l,l",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return moved.getRes();
}

void fa::addNvidiaLowerings(NvidiaContext &ctx) {
  addSimtLowerings(ctx);
  addChannelsLowerings(ctx);
  addCopyLowerings(ctx);
  addDeliverLowerings(ctx);
  addDotLowerings(ctx);
  addExchangeLowerings(ctx);
  addExpectedLowerings(ctx);
  addFetchLowerings(ctx);
  addPairsLowerings(ctx);
  addPartsLowerings(ctx);
  addProgramsLowerings(ctx);
  addRampLowerings(ctx);
  addWarpSpecializeLowerings(ctx);
  addSequenceLowerings(ctx);
  addWarpgroupDotLowerings(ctx);
  addWidenLowerings(ctx);
}

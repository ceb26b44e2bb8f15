//===- AmdContext.cpp - the function, exchanges ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToROCDL.h"
#include "fa/Machine/LaneMoves.h"
#include "fa/Schedule/KernelThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

AmdContext::AmdContext(tile::KernelOp kernel, const AmdInfo &info,
                       StringRef sharedName)
    : SimtContext(kernel), info(info) {
  this->sharedName = sharedName.str();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void AmdContext::declareFunction() {
  MLIRContext *context = b.getContext();
  // The argument segment is constant memory (LLVM, "User Guide for AMDGPU
  // Backend", "Address Spaces").
  Type pointer = LLVM::LLVMPointerType::get(context, /*addressSpace=*/4);
  auto words = LLVM::LLVMArrayType::get(b.getI64Type(),
                                        countWords(kernel.getArgumentTypes()));
  function = LLVM::LLVMFuncOp::create(
      b, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  function.setArgAttr(0, LLVM::LLVMDialect::getByRefAttrName(),
                      TypeAttr::get(words));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(8));
  int32_t threads = countThreads(kernel);
  ROCDL::ROCDLDialect *dialect =
      context->getLoadedDialect<ROCDL::ROCDLDialect>();
  dialect->getKernelAttrHelper().setAttr(function, b.getUnitAttr());
  dialect->getReqdWorkGroupSizeAttrHelper().setAttr(
      function, b.getDenseI32ArrayAttr({threads, 1, 1}));
  std::string range = std::to_string(threads) + "," + std::to_string(threads);
  dialect->getFlatWorkGroupSizeAttrHelper().setAttr(function,
                                                    b.getStringAttr(range));
  // A denormal costs exp2 a multiplication more.
  function.setDenormalFpMathF32("preserve-sign,preserve-sign");
  function.addEntryBlock(b);
}

void AmdContext::numberThreads() {
  thread = ROCDL::ThreadIdXOp::create(b, b.getI32Type());
}

/// Workgroups go to the dies in turn, and a die has an L2 cache of its own:
/// each die gets programs that follow each other, which share keys and values.
/// Of n programs, n % dies dies have one more than the others.
Value AmdContext::blockNumber() {
  Value block = ROCDL::BlockIdXOp::create(b, b.getI32Type());
  if (info.dies == 1)
    return block;
  Value programs = i32(1);
  for (Value extent : extents)
    programs = arith::MulIOp::create(b, programs, i32Of(extent));
  auto [onDie, die] = divide(block, i32(info.dies));
  auto [least, more] = divide(programs, i32(info.dies));
  Value first = arith::AddIOp::create(b, arith::MulIOp::create(b, die, least),
                                      arith::MinUIOp::create(b, die, more));
  return arith::AddIOp::create(b, first, onDie);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value AmdContext::exp2(Value x) {
  return ROCDL::ROCDLExp2::create(b, x.getType(), x);
}

/// v_log_f32 is to base 2.
Value AmdContext::log2(Value x) {
  return ROCDL::ROCDLLog::create(b, x.getType(), x);
}

/// Inside of a row of 16 lanes by moves of the vector unit, which LLVM puts
/// into the instruction that takes the word where it can; further by LDS
/// hardware, or by swaps of rows.
static Value exchange(AmdContext &ctx, Value word, uint32_t mask) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (mask < 16) {
    for (uint32_t control : movesAcross(mask))
      word = ROCDL::DPPUpdateOp::create(
          b, word.getType(), /*old=*/word, /*src=*/word, control,
          /*rowMask=*/0xf, /*bankMask=*/0xf, /*boundCtrl=*/true);
    return word;
  }
  Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(63));
  if (!ctx.info.hasPermlaneSwap || (mask != 16 && mask != 32)) {
    Value from = arith::XOrIOp::create(b, lane, ctx.i32(mask));
    return ROCDL::DsBpermuteOp::create(
        b, b.getI32Type(), arith::MulIOp::create(b, from, ctx.i32(4)), word);
  }
  // Odd rows of the first operand become even rows of the second and the other
  // way round (CDNA4 ISA, V_PERMLANE32_SWAP_B32): of two copies of a word the
  // first then has even rows everywhere, the second odd ones.
  Type pair = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {b.getI32Type(), b.getI32Type()});
  Value rows = mask == 32
                   ? Value(ROCDL::Permlane32SwapOp::create(b, pair, word, word,
                                                           false, false))
                   : Value(ROCDL::Permlane16SwapOp::create(b, pair, word, word,
                                                           false, false));
  Value isOdd = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne,
      arith::AndIOp::create(b, lane, ctx.i32(mask)), ctx.i32(0));
  return arith::SelectOp::create(b, isOdd,
                                 LLVM::ExtractValueOp::create(b, rows, 0),
                                 LLVM::ExtractValueOp::create(b, rows, 1));
}

Value AmdContext::shuffleWord(Value value, uint32_t mask) {
  Value word = arith::BitcastOp::create(b, b.getI32Type(), value);
  return arith::BitcastOp::create(b, value.getType(),
                                  exchange(*this, word, mask));
}

Value AmdContext::anyLane(Value condition) {
  Value lanes = ROCDL::BallotOp::create(b, b.getI64Type(), condition);
  Value none = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, lanes, none);
}

/// A side effect keeps what does not depend on a loop inside of it, too.
static Value hide(ImplicitLocOpBuilder &b, Value value, StringRef registers) {
  auto moved = LLVM::InlineAsmOp::create(
      b, value.getType(), value, "", registers,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return moved.getRes();
}

Value AmdContext::opaque(Value address) {
  bool isScalar = address.getType().isInteger(32);
  return hide(b, address, isScalar ? "=s,0" : "=v,0");
}

Value fa::opaqueInLanes(AmdContext &ctx, Value number) {
  ImplicitLocOpBuilder &b = ctx.b;
  return hide(b, number, "=v,0");
}

void fa::addAmdLowerings(AmdContext &ctx) {
  addSimtLowerings(ctx);
  addCopyLowerings(ctx);
  addDotLowerings(ctx);
  addMemoryLowerings(ctx);
}

//===- Tiles.cpp - what AMX can do ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;
using namespace fa;

/// Rows of a tile, bytes of a row and of a tile.
static constexpr unsigned kRows = 16, kRowBytes = 64, kTile = kRows * kRowBytes;
/// Two tiles by two of sums and their four operands fill the registers.
static constexpr unsigned kSums = 4;

LoopWork fa::buildTileProducts(Module &module) {
  LLVMContext &context = module.getContext();
  IRBuilder<> b(context);
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto *function = Function::Create(
      FunctionType::get(b.getVoidTy(), {pointer, pointer, i64}, false),
      GlobalValue::ExternalLinkage, "tile_bf16", module);
  auto *entry = BasicBlock::Create(context, "entry", function);
  auto *body = BasicBlock::Create(context, "body", function);
  auto *end = BasicBlock::Create(context, "end", function);
  Value *rows = b.getInt16(kRows), *bytes = b.getInt16(kRowBytes);
  Value *stride = b.getInt64(kRowBytes);
  auto at = [&](unsigned argument, unsigned n) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), function->getArg(argument),
                                n * kTile);
  };

  b.SetInsertPoint(entry);
  SmallVector<Value *> operands, zeros;
  for (unsigned n = 0; n < 4; ++n) {
    operands.push_back(b.CreateIntrinsic(Intrinsic::x86_tileloadd64_internal,
                                         {}, {rows, bytes, at(0, n), stride}));
    zeros.push_back(
        b.CreateIntrinsic(Intrinsic::x86_tilezero_internal, {}, {rows, bytes}));
  }
  b.CreateBr(body);

  b.SetInsertPoint(body);
  PHINode *trip = b.CreatePHI(i64, 2);
  SmallVector<PHINode *> sums;
  for (unsigned n = 0; n < kSums; ++n)
    sums.push_back(b.CreatePHI(Type::getX86_AMXTy(context), 2));
  SmallVector<Value *> next;
  for (unsigned n = 0; n < kSums; ++n)
    next.push_back(b.CreateIntrinsic(
        Intrinsic::x86_tdpbf16ps_internal, {},
        {rows, bytes, bytes, sums[n], operands[n / 2], operands[2 + n % 2]}));
  Value *nextTrip = b.CreateAdd(trip, b.getInt64(1));
  b.CreateCondBr(b.CreateICmpSLT(nextTrip, function->getArg(2)), body, end);
  trip->addIncoming(b.getInt64(0), entry);
  trip->addIncoming(nextTrip, body);
  for (unsigned n = 0; n < kSums; ++n) {
    sums[n]->addIncoming(zeros[n], entry);
    sums[n]->addIncoming(next[n], body);
  }

  b.SetInsertPoint(end);
  for (unsigned n = 0; n < kSums; ++n)
    b.CreateIntrinsic(Intrinsic::x86_tilestored64_internal, {},
                      {rows, bytes, at(1, n), stride, next[n]});
  b.CreateRetVoid();
  // 16 rows by 16 columns of 32 bits, 32 steps of bf16.
  return {"tile_bf16", "GFLOP/s", 2.0 * kRows * 16 * 32 * kSums};
}

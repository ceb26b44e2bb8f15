//===- Loops.cpp - loops that reach what a machine can do -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;
using namespace fa;

namespace {

/// The arguments of a loop under construction, and what changes in it.
struct LoopBody {
  IRBuilder<> &b;
  Value *data, *trip;
  ArrayRef<Value *> factors; ///< two, loaded before the loop
};

} // namespace

/// A function whose loop carries `count` vectors of type `carried`, begun at
/// zero and combined and stored at the end, so that none is dead.
static void
buildLoop(Module &module, StringRef name, VectorType *carried,
          VectorType *factor, unsigned count,
          function_ref<Value *(const LoopBody &, unsigned, Value *)> step) {
  LLVMContext &context = module.getContext();
  IRBuilder<> b(context);
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto *function = Function::Create(
      FunctionType::get(b.getVoidTy(), {pointer, pointer, i64}, false),
      GlobalValue::ExternalLinkage, name, module);
  auto *entry = BasicBlock::Create(context, "entry", function);
  auto *body = BasicBlock::Create(context, "body", function);
  auto *end = BasicBlock::Create(context, "end", function);
  Value *data = function->getArg(0);
  b.SetInsertPoint(entry);
  SmallVector<Value *> factors;
  for (unsigned n = 0; n < 2; ++n)
    factors.push_back(b.CreateAlignedLoad(
        factor, b.CreateConstGEP1_64(factor, data, n), Align(4)));
  b.CreateBr(body);

  b.SetInsertPoint(body);
  PHINode *trip = b.CreatePHI(i64, 2);
  SmallVector<PHINode *> sums;
  for (unsigned n = 0; n < count; ++n)
    sums.push_back(b.CreatePHI(carried, 2));
  SmallVector<Value *> next;
  for (unsigned n = 0; n < count; ++n)
    next.push_back(step({b, data, trip, factors}, n, sums[n]));
  Value *nextTrip = b.CreateAdd(trip, b.getInt64(1));
  b.CreateCondBr(b.CreateICmpSLT(nextTrip, function->getArg(2)), body, end);
  trip->addIncoming(b.getInt64(0), entry);
  trip->addIncoming(nextTrip, body);
  for (unsigned n = 0; n < count; ++n) {
    sums[n]->addIncoming(Constant::getNullValue(carried), entry);
    sums[n]->addIncoming(next[n], body);
  }

  b.SetInsertPoint(end);
  for (unsigned n = 0; n < count; ++n)
    b.CreateAlignedStore(next[n],
                         b.CreateConstGEP1_64(carried, function->getArg(1), n),
                         Align(4));
  b.CreateRetVoid();
}

/// Independent chains: a multiply-add takes four or five cycles on the machines
/// of today and two begin in each.
static unsigned numChains(const HostInfo &host) {
  return host.vectorRegisters >= 32 ? 16 : 12;
}

LoopWork fa::buildMultiplyAdds(Module &module, const HostInfo &host) {
  unsigned lanes = host.vectorBits / 32, chains = numChains(host);
  auto *type =
      FixedVectorType::get(Type::getFloatTy(module.getContext()), lanes);
  buildLoop(module, "fma_f32", type, type, chains,
            [](const LoopBody &loop, unsigned, Value *sum) -> Value * {
              return loop.b.CreateIntrinsic(
                  Intrinsic::fma, {sum->getType()},
                  {sum, loop.factors[0], loop.factors[1]});
            });
  return {"fma_f32", "GFLOP/s", 2.0 * lanes * chains};
}

LoopWork fa::buildPairDots(Module &module, const HostInfo &host) {
  unsigned lanes = host.vectorBits / 32, chains = numChains(host);
  LLVMContext &context = module.getContext();
  auto *sum = FixedVectorType::get(Type::getFloatTy(context), lanes);
  auto *pairs = FixedVectorType::get(Type::getBFloatTy(context), 2 * lanes);
  buildLoop(module, "dot_bf16", sum, pairs, chains,
            [](const LoopBody &loop, unsigned, Value *sum) -> Value * {
              return loop.b.CreateIntrinsic(
                  Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                  {sum, loop.factors[0], loop.factors[1]});
            });
  return {"dot_bf16", "GFLOP/s", 4.0 * lanes * chains};
}

LoopWork fa::buildReads(Module &module, const HostInfo &host) {
  constexpr unsigned streams = 8;
  unsigned lanes = host.vectorBits / 32;
  auto *type =
      FixedVectorType::get(Type::getInt32Ty(module.getContext()), lanes);
  buildLoop(module, "read", type, type, streams,
            [&](const LoopBody &loop, unsigned n, Value *sum) -> Value * {
              Value *at = loop.b.CreateAdd(
                  loop.b.CreateMul(loop.trip, loop.b.getInt64(streams)),
                  loop.b.getInt64(n));
              return loop.b.CreateXor(
                  sum,
                  loop.b.CreateAlignedLoad(
                      type, loop.b.CreateGEP(type, loop.data, at), Align(4)));
            });
  return {"read", "GB/s", 4.0 * lanes * streams};
}

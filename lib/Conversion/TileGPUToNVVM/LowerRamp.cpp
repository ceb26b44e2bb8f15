//===- LowerRamp.cpp - linear biases as a step of a dot -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// factor (column + j − row − i) = factor (column − row − i) · 1 + factor · j,
// a product of 16 deep in bf16. An f32 is the sum of three bf16, which take
// three columns of the left operand; the lines of the right one are 1 or j,
// which bf16 has up to 256. All its products are exact, so that a ramp is
// rounded as little as an f32 that is added.
//
// Three consumers with a mask have no registers for words of each tile. There
// the dot adds factor (−i) · 1 + factor · j, with the same words for all tiles
// of a program, and the softmax the rest, factor (column − row).
//
// Of the left operand (PTX ISA 9.7.15.5.1, "Register Fragments") thread t of
// the four that share a row has columns 2t, 2t + 1, 2t + 8 and 2t + 9. Thread 0
// has the parts that are multiplied with 1, thread 1 those that are with j, and
// what the others have is multiplied with 0. Both halves of the depth are
// multiplied with the same lines, which lie in shared memory once.
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Bits of bf16 in the upper half of those of f32.
static constexpr uint32_t kUpper = 0xffff0000;

/// Line j of the right operand, 16 bytes, is thread j's.
void fa::writeNumbers(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  tgpu::RampOp ramp;
  ctx.kernel.walk([&](tgpu::RampOp op) { ramp = op; });
  if (!ramp)
    return;
  BufferType buffer = ramp.getNumbers().getType();
  Value isLine =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, ctx.threadInBlock,
                            ctx.i32(buffer.getShape()[0]));
  scf::IfOp::create(b, isLine, [&](OpBuilder &, Location) {
    Value number = arith::BitcastOp::create(
        b, b.getI32Type(),
        arith::UIToFPOp::create(b, b.getF32Type(), ctx.threadInBlock));
    Value ones = ctx.i32(0x3f803f80), none = ctx.i32(0);
    Value both = arith::OrIOp::create(
        b, number, arith::ShRUIOp::create(b, number, ctx.i32(16)));
    Value line = arith::AddIOp::create(
        b, slotAddress(ctx, ramp.getNumbers(), Value()),
        arith::ShLIOp::create(b, ctx.threadInBlock, ctx.i32(4)));
    for (auto [n, word] :
         llvm::enumerate(SmallVector<Value>{ones, both, none, none}))
      LLVM::StoreOp::create(
          b, word,
          LLVM::IntToPtrOp::create(b, ctx.sharedPointer(),
                                   offsetBy(ctx, line, 4 * n)));
    NVVM::FenceProxyOp::create(
        b,
        NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    scf::YieldOp::create(b);
  });
}

Value fa::numbersDescriptor(NvidiaContext &ctx, tgpu::RampOp ramp) {
  ImplicitLocOpBuilder &b = ctx.b;
  // Lines of 16 bytes, not swizzled; eight of them are 128. The second half of
  // the depth is 0 bytes behind the first.
  constexpr uint64_t fixed = uint64_t(128 / 16) << 32;
  Value low = arith::ShRUIOp::create(
      b,
      arith::AndIOp::create(b, slotAddress(ctx, ramp.getNumbers(), Value()),
                            ctx.i32(0x3ffff)),
      ctx.i32(4));
  return arith::OrIOp::create(
      b, arith::ExtUIOp::create(b, b.getI64Type(), low),
      arith::ConstantOp::create(b, b.getI64IntegerAttr(int64_t(fixed))));
}

/// An f32 as the sum of three bf16: a word of the first two, one of the third.
static std::pair<Value, Value> split(ImplicitLocOpBuilder &b, Value value) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto constant = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(bits)));
  };
  SmallVector<Value> parts;
  for (int n = 0; n < 3; ++n) {
    Value bits = arith::BitcastOp::create(b, i32, value);
    bits = arith::AndIOp::create(b, bits, constant(kUpper));
    parts.push_back(bits);
    value =
        arith::SubFOp::create(b, value, arith::BitcastOp::create(b, f32, bits));
  }
  auto lower = [&](Value bits) -> Value {
    return arith::ShRUIOp::create(b, bits, constant(16));
  };
  return {arith::OrIOp::create(b, lower(parts[0]), parts[1]), lower(parts[2])};
}

/// The left operand of a factor and of a tile whose first element is as far
/// away; null: of one that is at 0.
static SmallVector<Value> wordsOf(NvidiaContext &ctx, Value factor,
                                  Value distance) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value own = distance ? ctx.thread : ctx.readThread();
  Value isFirst = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq, arith::AndIOp::create(b, own, ctx.i32(3)),
      ctx.i32(0));
  Value times = arith::SelectOp::create(b, isFirst, constant(1), constant(0));
  Value warp = arith::ShRUIOp::create(b, own, ctx.i32(5));
  Value quad = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, own, ctx.i32(2)), ctx.i32(7));
  Value row =
      arith::OrIOp::create(b, arith::ShLIOp::create(b, warp, ctx.i32(4)), quad);
  SmallVector<Value> words(4);
  for (int half : {0, 1}) {
    Value here = arith::OrIOp::create(b, row, ctx.i32(8 * half));
    Value before = arith::SIToFPOp::create(
        b, f32, arith::SubIOp::create(b, ctx.i32(0), here));
    Value steps = arith::SelectOp::create(b, isFirst, before, constant(1));
    if (distance)
      steps = LLVM::FMAOp::create(b, f32, distance, times, steps);
    std::tie(words[half], words[2 + half]) =
        split(b, arith::MulFOp::create(b, factor, steps));
  }
  return words;
}

/// Those of all tiles of a program, computed once, from a thread's number that
/// is none of those that are kept.
static ArrayRef<Value> programWords(NvidiaContext &ctx, Value factor) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> &words = ctx.rampWords[factor];
  if (words.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(factor);
    words = wordsOf(ctx, factor, Value());
  }
  return words;
}

SmallVector<Value> fa::leftOf(NvidiaContext &ctx, tgpu::RampOp ramp,
                              bool isSeldom) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value factor = ctx.mapped(ramp.getFactor());
  if (ctx.firstIsApart())
    return SmallVector<Value>(programWords(ctx, factor));
  Value first =
      arith::SubIOp::create(b, ctx.i32Of(ctx.mapped(ramp.getColumn())),
                            ctx.i32Of(ctx.mapped(ramp.getRow())));
  // Of a dot that is repeated, not kept since the first time.
  if (isSeldom)
    first = hide(ctx, first);
  return wordsOf(ctx, factor,
                 arith::SIToFPOp::create(b, b.getF32Type(), first));
}

//===----------------------------------------------------------------------===//
// Steps of a softmax
//===----------------------------------------------------------------------===//

/// What the dot of `scores` adds; null: no ramp.
static tgpu::RampOp rampOf(Value scores) {
  scores = belowMasks(scores);
  auto wait = scores ? scores.getDefiningOp<DotWaitOp>() : DotWaitOp();
  auto start =
      wait ? wait.getRunning().getDefiningOp<DotStartOp>() : DotStartOp();
  return start && start.getAcc() ? start.getAcc().getDefiningOp<tgpu::RampOp>()
                                 : tgpu::RampOp();
}

LogicalResult fa::checkRamp(DotWaitOp wait) {
  auto start = wait.getRunning().getDefiningOp<DotStartOp>();
  if (!start || !start.getAcc() ||
      !start.getAcc().getDefiningOp<tgpu::RampOp>())
    return success();
  Value scores = wait.getResult();
  for (Operation *user : scores.getUsers()) {
    while (isa<arith::SelectOp>(user) && user->hasOneUse())
      user = *user->user_begin();
    bool isStep = isa<tile::OnlineSoftmaxOp, ExpectedSoftmaxOp>(user);
    if (!isStep || !rampOf(user->getOperand(0)))
      return wait.emitOpError("expects steps of a softmax as the users of "
                              "scores with a ramp, found ")
             << user->getName();
  }
  return success();
}

bool NvidiaContext::hasRamp(Value scores) { return bool(rampOf(scores)); }

/// Three consumers have few registers. Not with ramps of two sides, whose
/// factors are those of a tile.
bool NvidiaContext::firstIsApart() {
  bool hasRamp = false, hasSides = false;
  kernel.walk([&](tgpu::RampOp ramp) {
    hasRamp = true;
    hasSides |= ramp.getFactor().getParentBlock() != &kernel.getBody().front();
  });
  return hasRamp && !hasSides && planOf(kernel).isShortOfRegisters();
}

Value NvidiaContext::firstOfRamp(Value scores) {
  tgpu::RampOp ramp = firstIsApart() ? rampOf(scores) : tgpu::RampOp();
  if (!ramp)
    return {};
  Value distance = arith::SubIOp::create(b, i32Of(mapped(ramp.getColumn())),
                                         i32Of(mapped(ramp.getRow())));
  return arith::MulFOp::create(
      b, mapped(ramp.getFactor()),
      arith::SIToFPOp::create(b, b.getF32Type(), distance));
}

void fa::addRampLowerings(NvidiaContext &ctx) {
  ctx.registry.skip<tgpu::RampOp>(); // its dot's
}

//===- LowerWiden.cpp - tiles of 8 bits, widened between partitions -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of both slots are lines of 128 bytes, of which eight are swizzled
// together: 16 bytes that are number n of row r lie at n XOR r. A line of the
// narrow slot becomes two neighbouring ones of the wide slot's, whose blocks of
// 64 columns lie behind each other.
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Bytes of a row of a slot, and of the eight rows of a swizzle, of which each
/// of the four warps takes other ones.
static constexpr int64_t kLineBytes = 128, kGroupBytes = 8 * kLineBytes;
static constexpr int64_t kStepRows = kWidenedRows;
static constexpr int64_t kStepBytes = kStepRows * kLineBytes;

/// Loads of 16 bytes that are under way at a time, four registers each.
static constexpr size_t kLoadsAtOnce = 3;

namespace {

/// 16 neighbouring elements: where they are read, and where their halves go.
struct Widened {
  Value from;
  std::array<Value, 2> to;
};

} // namespace

/// What this thread widens. Eight threads that read or write together have
/// eight rows, which is all banks: each lane keeps its row of a group and its
/// quarter of a block of 64 columns.
static SmallVector<Widened> shareOf(NvidiaContext &ctx, WidenOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto times = [&](Value x, int64_t factor) -> Value {
    return arith::MulIOp::create(b, x, ctx.i32(factor));
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  auto exclusive = [&](Value x, Value y) -> Value {
    return arith::XOrIOp::create(b, x, y);
  };
  Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(31));
  Value warp = arith::ShRUIOp::create(b, ctx.thread, ctx.i32(5));
  Value row = arith::AndIOp::create(b, lane, ctx.i32(7));
  Value quarter = arith::ShRUIOp::create(b, lane, ctx.i32(3));
  Value line = add(times(warp, kGroupBytes), times(row, kLineBytes));
  Value first =
      add(line, times(exclusive(quarter, row), 16)); // of a narrow line
  Value wide = add(line, times(exclusive(times(quarter, 2), row), 16));
  Value from = channelSlot(ctx, op.getFrom(), op.getFromStep());
  Value to = add(channelSlot(ctx, op.getTo(), op.getToStep()), wide);
  std::array<Value, 2> halves = {to, exclusive(to, ctx.i32(16))};
  std::array<Value, 2> blocks = {add(from, first),
                                 add(from, exclusive(first, ctx.i32(64)))};
  ArrayRef<int64_t> shape = op.getTo().getType().getBuffer().getShape();
  int64_t blockBytes = shape[0] * kLineBytes;
  SmallVector<Widened> all;
  for (int64_t block = 0; block < shape[1] / 64; ++block)
    for (int64_t step = 0; step < shape[0] / kStepRows; ++step) {
      int64_t rows = step * kStepBytes, behind = rows + block * blockBytes;
      all.push_back(
          {offsetBy(ctx, blocks[block % 2], rows + block / 2 * blockBytes),
           {offsetBy(ctx, halves[0], behind),
            offsetBy(ctx, halves[1], behind)}});
    }
  return all;
}

static void lowerWiden(NvidiaContext &ctx, WidenOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type format = op.getFrom().getType().getBuffer().getElementType(),
       element = op.getTo().getType().getBuffer().getElementType();
  auto quad = VectorType::get({4}, b.getI32Type());
  auto pointer = [&](Value address) -> Value {
    return LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), address);
  };
  SmallVector<Widened> share = shareOf(ctx, op);
  for (ArrayRef<Widened> rest(share); !rest.empty();) {
    ArrayRef<Widened> now = rest.take_front(kLoadsAtOnce);
    rest = rest.drop_front(now.size());
    SmallVector<Value> codes;
    for (const Widened &each : now)
      codes.push_back(
          LLVM::LoadOp::create(b, quad, pointer(each.from), /*alignment=*/16));
    for (auto [each, loaded] : llvm::zip(now, codes))
      for (int32_t half : {0, 1}) {
        Value words = LLVM::PoisonOp::create(b, quad);
        for (int32_t n : {0, 1}) {
          Value word =
              LLVM::ExtractElementOp::create(b, loaded, ctx.i32(2 * half + n));
          for (auto [place, wide] : llvm::enumerate(
                   widenWord(ctx, word, /*isAcross=*/false, format, element)))
            words = LLVM::InsertElementOp::create(
                b, words, wide, ctx.i32(2 * n + int32_t(place)));
        }
        LLVM::StoreOp::create(b, words, pointer(each.to[half]),
                              /*alignment=*/16);
      }
  }
  fenceStores(ctx);
  // One lane says for the warp that all have written.
  NVVM::SyncWarpOp::create(b, ctx.i32(-1));
  Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(31));
  SimtArriveOp::create(b, fullBarrier(ctx, op.getTo(), op.getToStep()), lane,
                       Value(), /*ranks=*/1);
}

void fa::addWidenLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerWiden);
}

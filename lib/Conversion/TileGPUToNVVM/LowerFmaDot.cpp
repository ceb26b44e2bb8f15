//===- LowerFmaDot.cpp - dots of f32 by multiply-adds ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IEEE f32 has no matrix instruction. Both operands stay in shared memory; a
// loop over blocks of the depth reads the rows and columns of a thread's
// accumulators from there.
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The depth that is unrolled.
static constexpr int64_t kBlock = 16;

namespace {

/// An operand in shared memory.
struct SharedOperand {
  TileLayout layout;
  unsigned depthDim;
  Value slot;
  SmallVector<uint32_t> threads;       ///< bytes of the bits of the thread
  SmallVector<uint32_t> offsets;       ///< bytes of the registers
  std::map<Coord, unsigned> registers; ///< by coordinates
  std::map<Coord, Value> known;        ///< what this block has read
};

} // namespace

static FailureOr<SharedOperand> openOperand(NvidiaContext &ctx, tile::DotOp dot,
                                            Value operand, unsigned depthDim) {
  auto read = operand.getDefiningOp<ReadOp>();
  if (!read || !isReadByDot(read))
    return dot.emitOpError("expects operands of f32 in shared memory");
  SharedOperand result;
  result.layout = layoutOf(operand);
  result.depthDim = depthDim;
  BufferType buffer = read.getBuffer().getType();
  const TileLayout shared = buffer.getLayout().getLayout();
  result.slot = slotAddress(ctx, read.getBuffer(), ctx.mapped(read.getSlot()));
  std::tie(result.threads, result.offsets) =
      byteOffsets(result.layout.base, shared.base, 4);
  for (auto [reg, offset] : llvm::enumerate(result.offsets))
    result.registers.try_emplace(
        result.layout.base.apply(Place::registers(reg, 0, 0)), reg);
  return result;
}

/// Element (row, column) of the operand in the block of the depth that begins
/// at `depth`; neighbours are read with it.
static Value readElement(NvidiaContext &ctx, SharedOperand &operand, Coord at,
                         Value depth) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (auto it = operand.known.find(at); it != operand.known.end())
    return it->second;
  const LinearLayout &base = operand.layout.base;
  int64_t width = base.size(1), copy = at[1] / width;
  Coord inCopy = {at[0], int32_t(at[1] % width)};
  unsigned reg = operand.registers.at(inCopy);
  uint32_t offset = operand.offsets[reg], reached = 0;
  for (uint32_t step : operand.threads)
    reached |= step;
  // Neighbours in memory that this thread holds, too, up to 16 bytes.
  SmallVector<unsigned, 4> together = {reg};
  while (together.size() < 4) {
    uint32_t step = 4 * together.size();
    if ((reached | offset) & step)
      break;
    SmallVector<unsigned, 4> more;
    for (unsigned known : together) {
      auto *it = llvm::find(operand.offsets, operand.offsets[known] ^ step);
      if (it != operand.offsets.end())
        more.push_back(it - operand.offsets.begin());
    }
    if (more.size() != together.size())
      break;
    together.append(more);
  }
  // The block's own offset: below 128 bytes it meets the swizzle.
  Coord block(2, 0);
  block[operand.depthDim] = kBlock;
  auto next = operand.registers.find(block);
  uint32_t step =
      next == operand.registers.end() ? 0 : operand.offsets[next->second];
  int64_t copyBytes = 4 * base.size(0) * width;
  Value slot = offsetBy(ctx, operand.slot, copy * copyBytes);
  Value start =
      arith::AddIOp::create(b, slot, ctx.threadLinear(operand.threads));
  Value far = arith::MulIOp::create(b, depth, ctx.i32(step / kBlock));
  Value low = arith::AndIOp::create(b, far, ctx.i32(127));
  start = arith::XOrIOp::create(b, start, low);
  start = arith::AddIOp::create(b, start, arith::SubIOp::create(b, far, low));
  start = arith::XOrIOp::create(b, start, ctx.i32(offset & 127));
  Value address = LLVM::IntToPtrOp::create(
      b, ctx.sharedPointer(), offsetBy(ctx, start, offset - (offset & 127)));
  Type f32 = b.getF32Type();
  if (together.size() == 1) {
    operand.known[at] = LLVM::LoadOp::create(b, f32, address);
    return operand.known[at];
  }
  Value vector = LLVM::LoadOp::create(
      b, VectorType::get({int64_t(together.size())}, f32), address,
      /*alignment=*/4 * together.size());
  for (auto [n, held] : llvm::enumerate(together)) {
    Coord where = base.apply(Place::registers(held, 0, 0));
    where[1] += copy * width;
    operand.known[where] =
        LLVM::ExtractElementOp::create(b, vector, ctx.i32(n));
  }
  return operand.known.at(at);
}

LogicalResult fa::lowerFmaDot(NvidiaContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  unsigned depthOfB = dot.getTransposeB() ? 1 : 0;
  auto left = openOperand(ctx, dot, dot.getA(), 1);
  auto right = openOperand(ctx, dot, dot.getB(), depthOfB);
  if (failed(left) || failed(right))
    return failure();
  TileLayout layout = layoutOf(dot.getResult());
  int64_t depth = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  SmallVector<Value> acc;
  if (dot.getAcc())
    acc = SmallVector<Value>(ctx.elementsOf(dot.getAcc()));
  else
    acc.assign(layout.numRegisters(),
               arith::ConstantOp::create(b, b.getF32FloatAttr(0)));
  // Blocks of a repeated layout lie in copies of it, one after the other.
  auto blocks = [&](const SharedOperand &operand) {
    return operand.layout.base.size(operand.depthDim);
  };
  int64_t looped = std::min(blocks(*left), blocks(*right));
  for (int64_t begin = 0; begin < depth; begin += looped) {
    auto loop = scf::ForOp::create(b, ctx.i32(0), ctx.i32(looped),
                                   ctx.i32(kBlock), acc);
    OpBuilder::InsertionGuard guard(b);
    Block *body = loop.getBody();
    if (!body->empty())
      body->back().erase();
    b.setInsertionPointToEnd(body);
    SmallVector<Value> sums(loop.getRegionIterArgs());
    left->known.clear();
    right->known.clear();
    for (int32_t k = begin; k < begin + kBlock; ++k)
      for (auto [reg, sum] : llvm::enumerate(sums)) {
        Coord at = coordOf(layout, reg);
        Coord inB = depthOfB ? Coord{at[1], k} : Coord{k, at[1]};
        Value x = readElement(ctx, *left, {at[0], k}, loop.getInductionVar());
        Value y = readElement(ctx, *right, inB, loop.getInductionVar());
        sum = LLVM::FMAOp::create(b, b.getF32Type(), x, y, sum);
      }
    scf::YieldOp::create(b, sums);
    acc = SmallVector<Value>(loop.getResults());
  }
  ctx.setElements(dot.getResult(), acc);
  return success();
}

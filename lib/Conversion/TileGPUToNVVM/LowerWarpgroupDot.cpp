//===- LowerWarpgroupDot.cpp - dots of warpgroups -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async (PTX ISA 9.7.15): one product after the other onto the same
// accumulators; results pass through the wait that makes them valid.
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

namespace {

/// A tile in a slot as an operand: blocks of 128 bytes in each row, swizzled,
/// one behind the other. The matrix descriptor counts in units of 16 bytes
/// (PTX ISA 9.7.15.5.1, "Shared Memory Matrix Layout").
struct SlotOperand {
  Value descriptor; ///< of the first step along the depth
  int64_t blockUnits;
  bool alongDepth; ///< rows have neighbours along the depth ("K-major")

  /// From the first step's descriptor to that of step `k`: a product's depth is
  /// 32 bytes of a row, or 16 rows.
  int64_t stepUnits(int64_t k) const {
    return alongDepth ? k / 4 * blockUnits + k % 4 * 2 : k * 16 * 128 / 16;
  }
};

} // namespace

static SlotOperand openSlot(ImplicitLocOpBuilder &b, BufferType buffer,
                            Value address, bool alongDepth) {
  int64_t blockBytes = buffer.getShape()[0] * 128;
  // Eight rows are 1024 bytes; blocks lie behind each other. 1 << 62 is the
  // swizzle of 128 bytes.
  int64_t leading = alongDepth ? 16 : blockBytes, stride = 1024;
  uint64_t fixed =
      (1ull << 62) | uint64_t(stride / 16) << 32 | uint64_t(leading / 16) << 16;
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(b, IntegerAttr::get(type, value));
  };
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value low = arith::AndIOp::create(b, address, constant(i32, 0x3ffff));
  low = arith::ShRUIOp::create(b, low, constant(i32, 4));
  Value wide = arith::ExtUIOp::create(b, i64, low);
  return {arith::OrIOp::create(b, wide, constant(i64, int64_t(fixed))),
          blockBytes / 16, alongDepth};
}

static Value descriptorOf(ImplicitLocOpBuilder &b, const SlotOperand &operand,
                          int64_t step) {
  int64_t units = operand.stepUnits(step);
  if (!units)
    return operand.descriptor;
  return arith::AddIOp::create(
      b, operand.descriptor,
      arith::ConstantOp::create(b, b.getI64IntegerAttr(units)));
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

/// ptxas computes the slots' descriptors of a dot that is repeated where they
/// are needed, instead of keeping them in uniform registers since the dot: of
/// such there are 63.
static void keepStepsHere(NvidiaContext &ctx, DotStartOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  for (Value step : {op.getAStep(), op.getBStep()})
    if (step)
      ctx.mapping.map(
          step, arith::IndexCastUIOp::create(
                    b, b.getIndexType(), hide(ctx, ctx.i32Of(ctx.mapped(step))))
                    .getResult());
}

/// The address of the first column that `op` reads of its right operand.
static Value firstColumn(NvidiaContext &ctx, DotStartOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value slot = channelSlot(ctx, op.getBChannel(), op.getBStep());
  if (!op.getBColumn())
    return slot;
  // Blocks of 128 bytes of each row lie behind each other.
  BufferType buffer = op.getBChannel().getType().getBuffer();
  int64_t bytes = buffer.getShape()[0] *
                  buffer.getElementType().getIntOrFloatBitWidth() / 8;
  return arith::AddIOp::create(
      b, slot,
      arith::MulIOp::create(
          b, ctx.i32Of(ctx.mapped(op.getBColumn())),
          arith::ConstantOp::create(b, b.getI32IntegerAttr(bytes))));
}

static void lowerDotStart(NvidiaContext &ctx, DotStartOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  IRMapping before = ctx.mapping;
  bool isSeldom = op->getParentOp()->hasAttr(TileGPUDialect::seldomAttrName);
  if (isSeldom)
    keepStepsHere(ctx, op);
  RankedTensorType tile = op.getType().getTile();
  BufferType right = op.getBChannel().getType().getBuffer();
  size_t count = layoutOf(tile).numRegisters();
  bool transposed = !op.getTransposeB();
  SlotOperand slot =
      openSlot(b, right, firstColumn(ctx, op), /*alongDepth=*/!transposed);
  std::optional<SlotOperand> leftSlot;
  SmallVector<Value> leftWords;
  auto exchange =
      op.getA() ? op.getA().getDefiningOp<ExchangeOp>() : ExchangeOp();
  if (exchange)
    leftSlot = openSlot(b, exchange.getBuffer().getType(),
                        exchangedRows(ctx, exchange), /*alongDepth=*/false);
  else if (op.getAChannel())
    leftSlot = openSlot(b, op.getAChannel().getType().getBuffer(),
                        channelSlot(ctx, op.getAChannel(), op.getAStep()),
                        /*alongDepth=*/true);
  else
    leftWords = SmallVector<Value>(ctx.packedOf(op.getA()));
  SmallVector<Value> accumulators, rampLeft;
  auto ramp =
      op.getAcc() ? op.getAcc().getDefiningOp<tgpu::RampOp>() : tgpu::RampOp();
  if (ramp)
    rampLeft = leftOf(ctx, ramp, isSeldom);
  else if (op.getAcc())
    accumulators = SmallVector<Value>(ctx.elementsOf(op.getAcc()));
  SmallVector<Type> types(count, b.getF32Type());
  Type element = right.getElementType();
  Type left = op.getAChannel()
                  ? op.getAChannel().getType().getBuffer().getElementType()
                  : element;
  TypeAttr other = left == element ? TypeAttr() : TypeAttr::get(element);
  int64_t depth = 256 / element.getIntOrFloatBitWidth();
  NVVM::WgmmaFenceAlignedOp::create(b);
  for (int64_t k = 0; k < op.readDepth() / depth; ++k) {
    SmallVector<Value> a;
    if (leftSlot)
      a.push_back(descriptorOf(b, *leftSlot, k));
    else
      a.append(leftWords.begin() + 4 * k, leftWords.begin() + 4 * k + 4);
    auto product = SimtWgmmaOp::create(
        b, types, left, a, descriptorOf(b, slot, k), accumulators,
        /*transpose_a=*/bool(exchange), transposed, other);
    accumulators = SmallVector<Value>(product.getResults());
  }
  // A large bias is added once, and last.
  if (ramp)
    accumulators = SmallVector<Value>(
        SimtWgmmaOp::create(b, types, b.getBF16Type(), rampLeft,
                            numbersDescriptor(ctx, ramp), accumulators,
                            /*transpose_a=*/false, /*transpose_b=*/false,
                            TypeAttr())
            .getResults());
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
  ctx.setElements(op.getResult(), accumulators);
  ctx.mapping = before;
}

static LogicalResult lowerDotWait(NvidiaContext &ctx, DotWaitOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> values(ctx.tiles[op.getRunning()].elements);
  SmallVector<size_t> counts = {values.size()};
  for (Value through : op.getThrough()) {
    ArrayRef<Value> elements = ctx.elementsOf(through);
    counts.push_back(elements.size());
    values.append(elements.begin(), elements.end());
  }
  auto wait = SimtWgmmaWaitOp::create(b, op.getPending(), values);
  SmallVector<Value> passed(wait.getPassed());
  ArrayRef<Value> rest(passed);
  for (auto [result, count] : llvm::zip(op->getResults(), counts)) {
    ctx.setElements(result, SmallVector<Value>(rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  return checkRamp(op);
}

void fa::addWarpgroupDotLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerDotStart);
  ctx.registry.add(ctx, lowerDotWait);
}

//===- LowerDot.cpp - dots by mfma ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dot is computed transposed (mfmaRows in NamedLayouts.h says why): the right
// operand is mfma's A, the left its B, and the accumulators of S rows and S
// columns of the result are D, S = 16 or 32.
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace {

/// Registers by where they are across from the depth: those of one row of the
/// left operand or one column of the right one, in the order of the depth.
struct DotOperand {
  std::map<int32_t, SmallVector<Value>> words; ///< pairs, or elements of f32
  std::map<int32_t, SmallVector<int32_t>> depths;
  SmallVector<int32_t, 2> laneDepths; ///< what bits of the lane add to those
};

} // namespace

static DotOperand openOperand(AmdContext &ctx, Value operand,
                              unsigned depthDim) {
  TileLayout layout = layoutOf(operand);
  bool isF32 = getElementTypeOrSelf(operand).isF32();
  SmallVector<Value> values(isF32 ? ctx.elementsOf(operand)
                                  : ctx.packedOf(operand));
  DotOperand result;
  int64_t step = isF32 ? 1 : 2;
  for (auto [n, value] : llvm::enumerate(values)) {
    Coord at = coordOf(layout, step * n);
    result.words[at[1 - depthDim]].push_back(value);
    result.depths[at[1 - depthDim]].push_back(at[depthDim]);
  }
  for (unsigned bit = 0; bit < layout.base.bits(Axis::Lane); ++bit)
    if (int32_t depth = layout.base.basis(Axis::Lane, bit)[depthDim])
      result.laneDepths.push_back(depth);
  return result;
}

/// The elements of step `step` of the depth at (or across from) `across`, as
/// mfma takes them.
static Value fragment(AmdContext &ctx, const DotOperand &operand,
                      int32_t across, int64_t step, int64_t count,
                      Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  ArrayRef<Value> all = operand.words.at(across);
  if (element.isF32())
    return all[step];
  ArrayRef<Value> words = all.slice(step * count / 2, count / 2);
  Value vector =
      LLVM::PoisonOp::create(b, VectorType::get({count / 2}, b.getI32Type()));
  for (auto [n, word] : llvm::enumerate(words))
    vector = LLVM::InsertElementOp::create(b, vector, word, ctx.i32(n));
  // The bf16 forms that gfx90a brought take their operands as integers.
  Type type = element.isBF16() && count == 4 ? b.getI16Type() : element;
  return LLVM::BitcastOp::create(b, VectorType::get({count}, type), vector);
}

static Value multiply(AmdContext &ctx, Value a, Value right, Value c,
                      int64_t side, int64_t count, Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value zero = ctx.i32(0);
  SmallVector<Value> operands = {a, right, c, zero, zero, zero};
  Type type = c.getType();
  bool isWide = side == 32, isDeep = count == 8;
  auto create = [&](auto wide, auto narrow) -> Value {
    using Wide = typename decltype(wide)::type;
    using Narrow = typename decltype(narrow)::type;
    return isWide ? Value(Wide::create(b, type, operands))
                  : Value(Narrow::create(b, type, operands));
  };
  using std::type_identity;
  if (element.isF32())
    return create(type_identity<ROCDL::mfma_f32_32x32x2f32>(),
                  type_identity<ROCDL::mfma_f32_16x16x4f32>());
  if (element.isF16())
    return isDeep ? create(type_identity<ROCDL::mfma_f32_32x32x16_f16>(),
                           type_identity<ROCDL::mfma_f32_16x16x32_f16>())
                  : create(type_identity<ROCDL::mfma_f32_32x32x8f16>(),
                           type_identity<ROCDL::mfma_f32_16x16x16f16>());
  return isDeep ? create(type_identity<ROCDL::mfma_f32_32x32x16_bf16>(),
                         type_identity<ROCDL::mfma_f32_16x16x32_bf16>())
                : create(type_identity<ROCDL::mfma_f32_32x32x8bf16_1k>(),
                         type_identity<ROCDL::mfma_f32_16x16x16bf16_1k>());
}

static LogicalResult lowerDot(AmdContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(dot.getResult());
  Type element = getElementTypeOrSelf(dot.getA().getType());
  DotOperand left = openOperand(ctx, dot.getA(), 1),
             right = openOperand(ctx, dot.getB(), dot.getTransposeB() ? 1 : 0);
  if (left.laneDepths != right.laneDepths ||
      left.depths.begin()->second != right.depths.begin()->second)
    return dot.emitOpError("expects operands whose lanes agree on the depth");
  // The lanes that share a row have 4 columns each of every `side`.
  int64_t side = 64 >> left.laneDepths.size(), length = side * side / 64;
  int64_t words = left.words.begin()->second.size();
  // Elements that a lane gives to one instruction.
  int64_t count = element.isF32() ? 1 : 4;
  if (count == 4 && 2 * words % ctx.info.elementsOfLane == 0)
    count = ctx.info.elementsOfLane;
  int64_t steps = element.isF32() ? words : 2 * words / count;
  SmallVector<Value> acc;
  if (dot.getAcc())
    acc = SmallVector<Value>(ctx.elementsOf(dot.getAcc()));
  else
    acc.assign(layout.numRegisters(),
               arith::ConstantOp::create(b, b.getF32FloatAttr(0)));
  Type block = VectorType::get({length}, b.getF32Type());
  for (int64_t first = 0; first < layout.numRegisters(); first += length) {
    Coord at = coordOf(layout, first);
    Value sums = LLVM::PoisonOp::create(b, block);
    for (int64_t n = 0; n < length; ++n)
      sums = LLVM::InsertElementOp::create(b, sums, acc[first + n], ctx.i32(n));
    for (int64_t step = 0; step < steps; ++step)
      sums = multiply(ctx, fragment(ctx, right, at[1], step, count, element),
                      fragment(ctx, left, at[0], step, count, element), sums,
                      side, count, element);
    for (int64_t n = 0; n < length; ++n)
      acc[first + n] = LLVM::ExtractElementOp::create(b, sums, ctx.i32(n));
  }
  ctx.setElements(dot.getResult(), acc);
  // What follows the scores needs all of them.
  if (!dot.getAcc())
    spreadReads(ctx, dot.getB(), layout.numRegisters() / length * steps);
  return success();
}

void fa::addDotLowerings(AmdContext &ctx) { ctx.registry.add(ctx, lowerDot); }

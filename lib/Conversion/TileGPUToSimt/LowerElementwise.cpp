//===- LowerElementwise.cpp - operations element by element ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;

LogicalResult fa::lowerConstant(SimtContext &ctx, Operation *op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto splat =
      dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (!splat)
    return op->emitOpError("expects one value for all elements on a GPU");
  Value scalar = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value tile = op->getResult(0);
  ctx.setElements(tile,
                  SmallVector<Value>(layoutOf(tile).numRegisters(), scalar));
  return success();
}

/// `op` on one element each.
static Value cloneOnElements(SimtContext &ctx, Operation *op,
                             ValueRange operands) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isa<math::ExpOp>(op) && operands[0].getType().isF32()) {
    constexpr float log2e = 1.44269504f;
    Value factor = arith::ConstantOp::create(b, b.getF32FloatAttr(log2e));
    return ctx.exp2(arith::MulFOp::create(b, operands[0], factor));
  }
  if (isa<math::Exp2Op>(op) && operands[0].getType().isF32())
    return ctx.exp2(operands[0]);
  OperationState state(op->getLoc(), op->getName(), operands,
                       {getElementTypeOrSelf(op->getResult(0))},
                       op->getAttrs());
  Operation *element = b.create(state);
  // What is said of a tile, as `tgpu.rescale`, is not of its elements.
  element->setDiscardableAttrs(b.getDictionaryAttr({}));
  // A product and a sum are one instruction, with one rounding less.
  if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op)) {
    auto math = cast<arith::ArithFastMathInterface>(element);
    element->setAttr(
        math.getFastMathAttrName(),
        arith::FastMathFlagsAttr::get(b.getContext(),
                                      math.getFastMathFlagsAttr().getValue() |
                                          arith::FastMathFlags::contract));
  }
  return element->getResult(0);
}

LogicalResult fa::lowerElementwise(SimtContext &ctx, Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitOpError("expects one result on tiles");
  if (ctx.registry.lowerByForm(op))
    return success();
  SmallVector<Value> elements;
  int64_t count = layoutOf(op->getResult(0)).numRegisters();
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isTile(operand)
                           ? SmallVector<Value>(ctx.elementsOf(operand))
                           : SmallVector<Value>(count, ctx.mapped(operand)));
  for (int64_t n = 0; n < count; ++n) {
    SmallVector<Value> at;
    for (ArrayRef<Value> operand : operands)
      at.push_back(operand[n]);
    elements.push_back(cloneOnElements(ctx, op, at));
  }
  ctx.setElements(op->getResult(0), elements);
  return success();
}

/// The numbers of columns or rows below limits: c + t < x, with c of the
/// register and t of the thread, is c < x - t, where c is part of the
/// instruction.
static bool lowerColumnLimit(SimtContext &ctx, arith::CmpIOp compare) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto iota = compare.getLhs().getDefiningOp<tile::IotaOp>();
  if (!iota || !iota.getType().getElementType().isInteger(32))
    return false;
  TileLayout layout = layoutOf(iota.getResult());
  unsigned dim = iota.getDim();
  Value thread = ctx.i32Of(ctx.threadCoord(layout, dim));
  SmallVector<Value> limits(ctx.elementsOf(compare.getRhs())), elements;
  for (auto [reg, limit] : llvm::enumerate(limits)) {
    int32_t own = coordOf(layout, reg)[dim];
    if (own & threadBits(layout, dim))
      return false;
    elements.push_back(
        arith::CmpIOp::create(b, compare.getPredicate(), ctx.i32(own),
                              arith::SubIOp::create(b, limit, thread)));
  }
  ctx.setElements(compare.getResult(), elements);
  return true;
}

/// Some bits of the numbers of columns or rows: those of the register are
/// constants, and those of the thread are the same for all. Registers whose
/// bits are the same so have the same value, which LLVM does not always find
/// in sums of 64 bits that are narrowed and masked.
static bool lowerNumberBits(SimtContext &ctx, arith::AndIOp both) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto iota = both.getLhs().getDefiningOp<tile::IotaOp>();
  APInt mask;
  if (!iota || !iota.getType().getElementType().isInteger(32) ||
      !matchPattern(both.getRhs(), m_ConstantInt(&mask)))
    return false;
  TileLayout layout = layoutOf(iota.getResult());
  unsigned dim = iota.getDim();
  auto bits = static_cast<int32_t>(mask.getSExtValue());
  int32_t ofThread = threadBits(layout, dim);
  Value thread;
  if (ofThread & bits)
    thread = ctx.i32Of(ctx.threadCoord(layout, dim));
  if (thread && (ofThread & ~bits))
    thread = arith::AndIOp::create(b, thread, ctx.i32(bits));
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    int32_t own = coordOf(layout, reg)[dim];
    if (own & ofThread)
      return false;
    Value number = ctx.i32(own & bits);
    elements.push_back(thread ? Value(arith::AddIOp::create(b, number, thread))
                              : number);
  }
  ctx.setElements(both.getResult(), elements);
  return true;
}

/// The elements of `product` are those of its left operand, but where
/// `condition`, an i1 that is the same for all threads of a warp, holds: there
/// `change` makes each of its number and the old one.
static void changeWhere(SimtContext &ctx, Value condition,
                        arith::MulFOp product,
                        llvm::function_ref<Value(size_t, Value)> change) {
  SmallVector<Value> old(ctx.elementsOf(product.getLhs()));
  auto branch = scf::IfOp::create(
      ctx.b, condition,
      [&](OpBuilder &, Location) {
        SmallVector<Value> changed;
        for (auto [n, value] : llvm::enumerate(old))
          changed.push_back(change(n, value));
        scf::YieldOp::create(ctx.b, changed);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(ctx.b, old); });
  ctx.setElements(product.getResult(), SmallVector<Value>(branch.getResults()));
}

/// Most tiles of keys leave every maximum of a warp's rows as it was: all
/// factors are 1, and the accumulator stays as it is.
static bool lowerRescale(SimtContext &ctx, arith::MulFOp scale) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!scale->hasAttr(TileGPUDialect::rescaleAttrName))
    return false;
  auto broadcast = scale.getRhs().getDefiningOp<tile::BroadcastOp>();
  auto expand = broadcast
                    ? broadcast.getInput().getDefiningOp<tile::ExpandDimsOp>()
                    : tile::ExpandDimsOp();
  if (!expand)
    return false;
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1)), changed;
  for (Value factor : SmallVector<Value>(ctx.elementsOf(expand.getInput()))) {
    Value differs =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor, one);
    changed =
        changed ? Value(arith::OrIOp::create(b, changed, differs)) : differs;
  }
  SmallVector<Value> factors(ctx.elementsOf(scale.getRhs()));
  changeWhere(ctx, ctx.anyLane(changed), scale, [&](size_t n, Value value) {
    return arith::MulFOp::create(b, value, factors[n]).getResult();
  });
  return true;
}

/// A sign that is the same for all, and hardly ever -1.
static bool lowerSign(SimtContext &ctx, arith::MulFOp product) {
  Value sign = signOf(product);
  if (!sign)
    return false;
  ImplicitLocOpBuilder &b = ctx.b;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value isNegative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                           ctx.mapped(sign), zero);
  changeWhere(ctx, isNegative, product, [&](size_t, Value value) {
    return arith::NegFOp::create(b, value).getResult();
  });
  return true;
}

void fa::addElementwiseLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, lowerColumnLimit);
  ctx.registry.addForm(ctx, lowerNumberBits);
  ctx.registry.addForm(ctx, lowerRescale);
  ctx.registry.addForm(ctx, lowerSign);
}

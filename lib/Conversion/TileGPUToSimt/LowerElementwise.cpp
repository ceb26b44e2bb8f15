//===- LowerElementwise.cpp - operations element by element ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;

LogicalResult SimtLowering::lowerConstant(Operation *op) {
  auto splat =
      dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (!splat)
    return op->emitOpError("expects one value for all elements on a GPU");
  Value scalar = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value tile = op->getResult(0);
  setElements(tile, SmallVector<Value>(layoutOf(tile).numRegisters(), scalar));
  return success();
}

/// `op` on one element each.
Value SimtLowering::cloneOnElements(Operation *op, ValueRange operands) {
  if (isa<math::ExpOp>(op) && operands[0].getType().isF32()) {
    constexpr float log2e = 1.44269504f;
    Value factor = arith::ConstantOp::create(b, b.getF32FloatAttr(log2e));
    return exp2(arith::MulFOp::create(b, operands[0], factor));
  }
  if (isa<math::Exp2Op>(op) && operands[0].getType().isF32())
    return exp2(operands[0]);
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

LogicalResult SimtLowering::lowerElementwise(Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitOpError("expects one result on tiles");
  if (isPartOfCapped(op))
    return success();
  if (convertPairs(op) || lowerWidening(op) || lowerRescale(op) ||
      lowerColumnLimit(op) || lowerColumnBits(op) || lowerBitSelect(op) ||
      lowerPosition(op) || lowerNumberBits(op) || lowerTanh(op))
    return success();
  SmallVector<Value> elements;
  int64_t count = layoutOf(op->getResult(0)).numRegisters();
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isTile(operand)
                           ? SmallVector<Value>(elementsOf(operand))
                           : SmallVector<Value>(count, mapped(operand)));
  for (int64_t n = 0; n < count; ++n) {
    SmallVector<Value> at;
    for (ArrayRef<Value> operand : operands)
      at.push_back(operand[n]);
    elements.push_back(cloneOnElements(op, at));
  }
  setElements(op->getResult(0), elements);
  return success();
}

/// The numbers of columns or rows below limits: c + t < x, with c of the
/// register and t of the thread, is c < x - t, where c is part of the
/// instruction.
bool SimtLowering::lowerColumnLimit(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  auto iota =
      compare ? compare.getLhs().getDefiningOp<tile::IotaOp>() : tile::IotaOp();
  if (!iota || !iota.getType().getElementType().isInteger(32))
    return false;
  TileLayout layout = layoutOf(iota.getResult());
  unsigned dim = iota.getDim();
  Value thread = i32Of(threadCoord(layout, dim));
  SmallVector<Value> limits(elementsOf(compare.getRhs())), elements;
  for (auto [reg, limit] : llvm::enumerate(limits)) {
    int32_t own = coordOf(layout, reg)[dim];
    if (own & threadBits(layout, dim))
      return false;
    elements.push_back(
        arith::CmpIOp::create(b, compare.getPredicate(), i32(own),
                              arith::SubIOp::create(b, limit, thread)));
  }
  setElements(compare.getResult(), elements);
  return true;
}

/// Some bits of the numbers of columns or rows: those of the register are
/// constants, and those of the thread are the same for all. Registers whose
/// bits are the same so have the same value, which LLVM does not always find
/// in sums of 64 bits that are narrowed and masked.
bool SimtLowering::lowerNumberBits(Operation *op) {
  auto both = dyn_cast<arith::AndIOp>(op);
  auto iota =
      both ? both.getLhs().getDefiningOp<tile::IotaOp>() : tile::IotaOp();
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
    thread = i32Of(threadCoord(layout, dim));
  if (thread && (ofThread & ~bits))
    thread = arith::AndIOp::create(b, thread, i32(bits));
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    int32_t own = coordOf(layout, reg)[dim];
    if (own & ofThread)
      return false;
    Value number = i32(own & bits);
    elements.push_back(thread ? Value(arith::AddIOp::create(b, number, thread))
                              : number);
  }
  setElements(both.getResult(), elements);
  return true;
}

/// Most tiles of keys leave every maximum of a warp's rows as it was: all
/// factors are 1, and the accumulator stays as it is.
bool SimtLowering::lowerRescale(Operation *op) {
  auto scale = dyn_cast<arith::MulFOp>(op);
  if (!scale || !op->hasAttr(TileGPUDialect::rescaleAttrName))
    return false;
  auto broadcast = scale.getRhs().getDefiningOp<tile::BroadcastOp>();
  auto expand = broadcast
                    ? broadcast.getInput().getDefiningOp<tile::ExpandDimsOp>()
                    : tile::ExpandDimsOp();
  if (!expand)
    return false;
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1)), changed;
  for (Value factor : SmallVector<Value>(elementsOf(expand.getInput()))) {
    Value differs =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor, one);
    changed =
        changed ? Value(arith::OrIOp::create(b, changed, differs)) : differs;
  }
  Value any = anyLane(changed);
  SmallVector<Value> old(elementsOf(scale.getLhs())),
      factors(elementsOf(scale.getRhs()));
  auto branch = scf::IfOp::create(
      b, any,
      [&](OpBuilder &, Location) {
        SmallVector<Value> scaled;
        for (auto [value, factor] : llvm::zip(old, factors))
          scaled.push_back(arith::MulFOp::create(b, value, factor));
        scf::YieldOp::create(b, scaled);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, old); });
  setElements(scale.getResult(), SmallVector<Value>(branch.getResults()));
  return true;
}

void SimtLowering::lowerIota(tile::IotaOp op) {
  TileLayout layout = layoutOf(op.getResult());
  Type element = op.getType().getElementType();
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Value at = coordinate(layout, reg, op.getDim());
    elements.push_back(isa<IndexType>(element)
                           ? at
                           : Value(arith::IndexCastOp::create(b, element, at)));
  }
  setElements(op.getResult(), elements);
}

LogicalResult SimtLowering::lowerBroadcast(tile::BroadcastOp op) {
  TileLayout layout = layoutOf(op.getResult());
  if (!isTile(op.getInput())) {
    setElements(op.getResult(), SmallVector<Value>(layout.numRegisters(),
                                                   mapped(op.getInput())));
    return success();
  }
  TileLayout source = layoutOf(op.getInput());
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    dims.push_back(source.size(dim) == 1 ? -1 : int64_t(dim));
  if (!inSameThreads(source, layout, dims))
    return op.emitOpError("expects its rows and columns in the threads that "
                          "have the result's");
  std::map<Coord, unsigned> table = registerTable(source);
  SmallVector<Value> from(elementsOf(op.getInput())), elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Coord at = coordOf(layout, reg);
    for (unsigned dim = 0; dim < layout.rank(); ++dim)
      if (source.size(dim) == 1)
        at[dim] = 0;
    auto it = table.find(at);
    if (it == table.end())
      return op.emitOpError("expects its rows and columns in the threads that "
                            "have the result's");
    elements.push_back(from[it->second]);
  }
  setElements(op.getResult(), elements);
  return success();
}

LogicalResult SimtLowering::lowerConvert(ConvertOp op) {
  TileLayout from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  auto plan = planConversion(from.base, to.base);
  if (!plan || plan->kind > ConversionPlan::Registers ||
      from.repeat != to.repeat)
    return op.emitOpError("expects a conversion inside each thread");
  if (plan->kind == ConversionPlan::Identity) {
    tiles[op.getResult()] = tiles[op.getInput()];
    return success();
  }
  SmallVector<Value> source(elementsOf(op.getInput())), elements;
  int64_t base = to.base.count(Axis::Register);
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    Place place = plan->sourceOf(Place::registers(reg % base, 0, 0));
    elements.push_back(source[reg / base * base + place[Axis::Register]]);
  }
  setElements(op.getResult(), elements);
  return success();
}

//===- LowerSoftmax.cpp - reductions and online softmax -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtSoftmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static constexpr float kLn2 = 0.693147181f;

/// The values of the lanes that differ in the bits `lanes`, combined.
static Value combineLanes(SimtContext &ctx, Value value, uint32_t lanes,
                          Combine combine) {
  for (uint32_t bit = 1; bit && bit <= lanes; bit *= 2)
    if (lanes & bit)
      value = combine(value, ctx.shuffleXor(value, bit));
  return value;
}

FailureOr<SmallVector<Value>>
fa::reduceAlong(SimtContext &ctx, Operation *op, ArrayRef<Value> elements,
                const TileLayout &layout, unsigned dim,
                const TileLayout &result, Combine combine, bool overLanes) {
  auto plan = planReduction(layout.base, dim);
  if (!plan || plan->warps)
    return op->emitOpError("expects a reduction inside each warp on a GPU");
  SmallVector<int64_t> dims;
  for (unsigned from = 0; from < layout.rank(); ++from)
    if (from != dim)
      dims.push_back(from);
  if (!inSameThreads(layout, result, dims))
    return op->emitOpError("expects its result in the threads that have its "
                           "rows");
  // Four chains of each, so that none waits for its last step.
  constexpr size_t chains = 4;
  std::map<Coord, SmallVector<Value>> parts;
  for (auto [reg, element] : llvm::enumerate(elements)) {
    Coord at = coordOf(layout, reg);
    at.erase(at.begin() + dim);
    parts[at].push_back(element);
  }
  std::map<Coord, Value> sums;
  for (auto &[at, part] : parts) {
    for (size_t n = chains; n < part.size(); ++n)
      part[n % chains] = combine(part[n % chains], part[n]);
    for (size_t n = std::min(chains, part.size()); n > 1; n -= n / 2)
      for (size_t m = 0; m < n / 2; ++m)
        part[m] = combine(part[m], part[n - 1 - m]);
    sums[at] = part[0];
  }
  for (auto &[at, sum] : sums)
    if (overLanes)
      sum = combineLanes(ctx, sum, plan->lanes, combine);
  SmallVector<Value> reduced;
  for (int64_t reg = 0; reg < result.numRegisters(); ++reg) {
    auto it = sums.find(coordOf(result, reg));
    if (it == sums.end())
      return op->emitOpError("expects its result where its rows are");
    reduced.push_back(it->second);
  }
  return reduced;
}

static LogicalResult lowerReduce(SimtContext &ctx, tile::ReduceOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return op.emitOpError("has a lowering for a GPU on floats and integers of "
                          "32 and 64 bits, found ")
           << op.getInput().getType();
  auto combine = [&](Value x, Value y) {
    return tile::combine(ctx.b, op.getKind(), x, y);
  };
  auto reduced = reduceAlong(
      ctx, op, SmallVector<Value>(ctx.elementsOf(op.getInput())),
      layoutOf(op.getInput()), op.getDim(), layoutOf(op.getResult()), combine);
  if (failed(reduced))
    return failure();
  ctx.setElements(op.getResult(), *reduced);
  return success();
}

/// Whether a row may begin with a single key, far below what follows: masked
/// scores with a ramp come first where that is largest.
static bool beginsWithFew(SimtContext &ctx, tile::OnlineSoftmaxOp op) {
  return belowMasks(op.getScores()) != op.getScores() &&
         ctx.hasRamp(op.getScores());
}

Exponent fa::exponentOf(SimtContext &ctx, Value c, bool limited) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  // p of f16 must stay below 2^16.
  bool hasHalves = false, hasFew = false;
  ctx.kernel.walk([&](arith::TruncFOp op) {
    hasHalves |= getElementTypeOrSelf(op.getType()).isF16();
  });
  ctx.kernel.walk(
      [&](tile::OnlineSoftmaxOp op) { hasFew |= beginsWithFew(ctx, op); });
  Exponent exponent;
  exponent.c = c;
  // P of f16 would lose digits at 2^-7; it, in turn, multiplies a V of f16,
  // which 2^7 does not make too large for f32.
  exponent.startsAbove = hasHalves ? 0.0f : hasFew ? 20.0f : 7.0f;
  float mostProduct = hasHalves ? 0x1p28f : 0x1p30f;
  exponent.mostProduct = mostProduct * (1 - 0x1p-20f);
  if (!limited)
    return exponent;
  // There are no registers for what expected steps do without: it is computed
  // where maxima are.
  Type f32 = b.getF32Type();
  Value own = ctx.firstIsApart() ? ctx.shuffleXor(c, 0) : c;
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), own);
  exponent.power = arith::BitcastOp::create(
      b, f32, arith::AndIOp::create(b, bits, ctx.i32(0x7f800000)));
  // Finite, since holdMax adds a part of it.
  exponent.limit = LLVM::MinNumOp::create(
      b, f32, arith::DivFOp::create(b, constant(mostProduct), own),
      constant(0x1p126f));
  Value divisor = LLVM::MaxNumOp::create(b, f32, exponent.power, constant(1));
  exponent.lowest = arith::DivFOp::create(
      b, constant(std::numeric_limits<float>::lowest()), divisor);
  return exponent;
}

ExponentRow fa::rowExponent(SimtContext &ctx, const Exponent &exponent,
                            Value oldMax, Value max, Value shift) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type f32 = b.getF32Type();
  auto bounded = [&](Value m) -> Value {
    return LLVM::MaxNumOp::create(b, f32, m, exponent.lowest);
  };
  auto isHuge = [&](Value m) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGE,
                                 LLVM::FAbsOp::create(b, f32, m),
                                 exponent.limit);
  };
  Value m = bounded(max), ofScores = m, huge = isHuge(m);
  if (shift) {
    ofScores = bounded(arith::SubFOp::create(b, m, shift));
    huge = arith::OrIOp::create(b, huge, isHuge(ofScores));
  }
  Value factor = arith::SelectOp::create(b, huge, exponent.power, exponent.c);
  auto offsetOf = [&](Value m) -> Value {
    return arith::NegFOp::create(b, arith::MulFOp::create(b, m, factor));
  };
  Value offset = offsetOf(m);
  // The old maximum in the same rounding as when it was the new one.
  Value before = arith::MulFOp::create(b, oldMax, factor);
  return {factor, shift ? offsetOf(ofScores) : offset,
          ctx.exp2(arith::AddFOp::create(b, before, offset))};
}

/// The maximum that a row goes on with: `raised`, or still `old`; one that is
/// new is at least `least`, unless that is null.
///
/// `old` where p would not be too large with it: at most 1, or 2^7. Where the
/// rounding of m c adds 2^8, the largest f16 is above that; 2^7 times a sum of
/// products with a V that is no f16 may be more than f32 holds. Not where a
/// difference is NaN: the first maximum replaces −inf.
/// With `least`, a new maximum is above the row's by a power of two of p, which
/// rounding p leaves as it is.
static Value holdMax(SimtContext &ctx, const Exponent &exponent, Value old,
                     Value raised, Value least) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value rise = arith::MulFOp::create(b, arith::SubFOp::create(b, raised, old),
                                     exponent.c);
  Value isSmall =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, rise,
                            constant(exponent.startsAbove > 0 ? 0.0f : 7.0f));
  Type f32 = b.getF32Type();
  Value renewed = raised;
  if (least) {
    Value gap = arith::MulFOp::create(
        b, arith::SubFOp::create(b, least, raised), exponent.c);
    Value powers = LLVM::FCeilOp::create(
        b, f32, LLVM::MaxNumOp::create(b, f32, gap, constant(7)));
    Value above = LLVM::FMAOp::create(
        b, f32, exponent.limit,
        arith::MulFOp::create(b, powers, constant(0x1p-30f)), raised);
    // A row of which nothing was seen yet has none.
    Value isSeen = arith::CmpFOp::create(
        b, arith::CmpFPredicate::UGT, raised,
        constant(-std::numeric_limits<float>::infinity()));
    renewed = arith::SelectOp::create(b, isSeen, above, raised);
  } else if (exponent.startsAbove > 0) { // by as much / c
    renewed =
        LLVM::FMAOp::create(b, f32, exponent.limit,
                            constant(exponent.startsAbove * 0x1p-30f), raised);
  }
  return arith::SelectOp::create(b, isSmall, old, renewed);
}

FailureOr<SoftmaxStep> fa::softmaxStep(SimtContext &ctx,
                                       tile::OnlineSoftmaxOp op,
                                       SmallVector<Value> scores) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  Type f32 = b.getF32Type();
  // Of a NaN and a number the number: the NaN reaches the sum through its p.
  auto greater = [&](Value x, Value y) -> Value {
    return LLVM::MaxNumOp::create(b, f32, x, y);
  };
  Value c = arith::ConstantOp::create(b, b.getF32FloatAttr(kLog2e));
  Value shift = ctx.firstOfRamp(op.getScores());
  if (op.getScale()) {
    Value scale = ctx.mapped(op.getScale());
    if (op->hasAttr(TileGPUDialect::rawMaximaAttrName)) {
      c = arith::MulFOp::create(b, scale, c);
    } else {
      for (Value &score : scores)
        score = arith::MulFOp::create(b, score, scale);
      shift = shift ? arith::MulFOp::create(b, shift, scale) : shift;
    }
  }
  auto tileMax = reduceAlong(ctx, op, scores, layout, 1, rows, greater);
  if (failed(tileMax))
    return failure();
  Value least;
  if (auto share =
          op->getAttrOfType<FloatAttr>(TileGPUDialect::cappedScoresAttrName))
    least = arith::ConstantOp::create(b, share);
  SoftmaxStep step;
  Exponent exponent = exponentOf(ctx, c);
  SmallVector<ExponentRow> exponents;
  for (auto [old, found] : llvm::zip(ctx.elementsOf(op.getMax()), *tileMax)) {
    Value raised =
        greater(old, shift ? arith::AddFOp::create(b, found, shift) : found);
    step.max.push_back(op->hasAttr(TileGPUDialect::heldMaximaAttrName)
                           ? holdMax(ctx, exponent, old, raised, least)
                           : raised);
    exponents.push_back(
        rowExponent(ctx, exponent, old, step.max.back(), shift));
    step.alpha.push_back(exponents.back().alpha);
  }
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  for (auto [reg, score] : llvm::enumerate(scores)) {
    ExponentRow &row = exponents[rowTable.at(Coord{coordOf(layout, reg)[0]})];
    step.p.push_back(
        ctx.exp2(LLVM::FMAOp::create(b, f32, score, row.factor, row.offset)));
  }
  return step;
}

ScoreMasks fa::masksOf(SimtContext &ctx, Value scores) {
  ScoreMasks masks;
  while (auto masked = scores.getDefiningOp<arith::SelectOp>()) {
    masks.emplace_back(ctx.elementsOf(masked.getCondition()));
    scores = masked.getTrueValue();
  }
  return masks;
}

Value fa::masked(SimtContext &ctx, Value value, const ScoreMasks &masks,
                 size_t reg) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value none = arith::ConstantOp::create(
      b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  for (ArrayRef<Value> mask : masks)
    value = arith::SelectOp::create(b, mask[reg], value, none);
  return value;
}

static LogicalResult lowerOnlineSoftmax(SimtContext &ctx,
                                        tile::OnlineSoftmaxOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  FailureOr<SoftmaxStep> step =
      hasShortForm(ctx, op)
          ? cappedStep(ctx, op)
          : softmaxStep(ctx, op,
                        SmallVector<Value>(ctx.elementsOf(op.getScores())));
  if (failed(step))
    return failure();
  SmallVector<Value> sum, oldSum(ctx.elementsOf(op.getSum()));
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  bool threadSums = op->hasAttr(TileGPUDialect::threadSumsAttrName);
  auto tileSum =
      reduceAlong(ctx, op, step->p, layout, 1, rows, plus, !threadSums);
  if (failed(tileSum))
    return failure();
  for (auto [row, added] : llvm::enumerate(*tileSum))
    sum.push_back(LLVM::FMAOp::create(b, b.getF32Type(), oldSum[row],
                                      step->alpha[row], added));
  ctx.setElements(op.getP(), step->p);
  ctx.setElements(op.getAlpha(), step->alpha);
  ctx.setElements(op.getMaxOut(), step->max);
  ctx.setElements(op.getSumOut(), sum);
  return success();
}

LogicalResult fa::addThreadSums(SimtContext &ctx, Operation *op,
                                const TileLayout &acc, const TileLayout &rows,
                                MutableArrayRef<Value> sum) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!op->hasAttr(TileGPUDialect::threadSumsAttrName))
    return success();
  auto plan = planReduction(acc.base, 1);
  if (!plan || plan->warps || !inSameThreads(acc, rows, {0}) ||
      plan->lanes != copyBits(rows.base, Axis::Lane))
    return op->emitOpError("expects rows inside each warp on a GPU");
  for (Value &total : sum)
    total = combineLanes(ctx, total, plan->lanes, [&](Value x, Value y) {
      return Value(arith::AddFOp::create(b, x, y));
    });
  return success();
}

static LogicalResult lowerOnlineFinalize(SimtContext &ctx,
                                         tile::OnlineFinalizeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getAcc()), rows = layoutOf(op.getMax());
  SmallVector<Value> acc(ctx.elementsOf(op.getAcc())),
      max(ctx.elementsOf(op.getMax())), sum(ctx.elementsOf(op.getSum()));
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  if (failed(addThreadSums(ctx, op, layout, rows, sum)))
    return failure();
  Value zero = constant(0);
  std::map<Coord, std::pair<Value, Value>> rowValues; // empty, 1 / sum
  SmallVector<Value> lse;
  for (auto [row, total] : llvm::enumerate(sum)) {
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, zero);
    rowValues[coordOf(rows, row)] = {
        empty, arith::DivFOp::create(b, constant(1), total)};
    lse.push_back(LLVM::FMAOp::create(b, b.getF32Type(), ctx.log2(total),
                                      constant(kLn2),
                                      op.getMaxOut() ? zero : max[row]));
  }
  SmallVector<Value> output;
  for (auto [reg, value] : llvm::enumerate(acc)) {
    auto [empty, inverse] = rowValues.at(Coord{coordOf(layout, reg)[0]});
    // Not a product with 0: the accumulator of an empty row may hold a NaN from
    // a masked V.
    Value scaled = arith::MulFOp::create(b, value, inverse);
    output.push_back(arith::SelectOp::create(b, empty, zero, scaled));
  }
  ctx.setElements(op.getOutput(), output);
  ctx.setElements(op.getLse(), lse);
  if (op.getMaxOut())
    ctx.setElements(op.getMaxOut(), max);
  return success();
}

void fa::addSoftmaxLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerReduce);
  ctx.registry.add(ctx, lowerOnlineSoftmax);
  ctx.registry.add(ctx, lowerOnlineFinalize);
}

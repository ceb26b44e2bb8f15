//===- LowerSoftmax.cpp - reductions and online softmax -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;

/// ex2.approx.ftz: 2 ulp, and what attention is made of.
Value SimtLowering::exp2(Value x) { return LLVM::Exp2Op::create(b, x); }

Value SimtLowering::shuffleXor(Value value, uint32_t mask) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, i32(mask),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

Value SimtLowering::combineLanes(Value value, uint32_t lanes, Combine combine) {
  for (uint32_t bit = 1; bit < 32; bit *= 2)
    if (lanes & bit)
      value = combine(value, shuffleXor(value, bit));
  return value;
}

FailureOr<SmallVector<Value>> SimtLowering::reduceAlong(
    Operation *op, ArrayRef<Value> elements, const TileLayout &layout,
    unsigned dim, const TileLayout &result, Combine combine, bool overLanes) {
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
      sum = combineLanes(sum, plan->lanes, combine);
  SmallVector<Value> reduced;
  for (int64_t reg = 0; reg < result.numRegisters(); ++reg) {
    auto it = sums.find(coordOf(result, reg));
    if (it == sums.end())
      return op->emitOpError("expects its result where its rows are");
    reduced.push_back(it->second);
  }
  return reduced;
}

LogicalResult SimtLowering::lowerReduce(tile::ReduceOp op) {
  if (!isa<FloatType>(getElementTypeOrSelf(op.getType())))
    return op.emitOpError("has a lowering for a GPU on floats, found ")
           << op.getInput().getType();
  auto combine = [&](Value x, Value y) -> Value {
    switch (op.getKind()) {
    case tile::ReduceKind::Add:
      return arith::AddFOp::create(b, x, y);
    case tile::ReduceKind::Max:
      return arith::MaximumFOp::create(b, x, y);
    case tile::ReduceKind::Min:
      return arith::MinimumFOp::create(b, x, y);
    }
    llvm_unreachable("every kind is handled");
  };
  auto reduced = reduceAlong(op, SmallVector<Value>(elementsOf(op.getInput())),
                             layoutOf(op.getInput()), op.getDim(),
                             layoutOf(op.getResult()), combine);
  if (failed(reduced))
    return failure();
  setElements(op.getResult(), *reduced);
  return success();
}

/// What one online softmax works on.
struct SimtLowering::SoftmaxTile {
  SmallVector<Value> scores, oldMax;
  SmallVector<Value> max, finiteMax; ///< with this tile; 0 where it is −inf
  SmallVector<unsigned> rowOf;       ///< of each score, its row's register
  Value scale;                       ///< of the scores, or null
  Value exponent; ///< log2 e times what is still to be scaled by
  bool rawMaxima;
};

/// exp2 of scaled differences: of the old maxima, then of the scores. The
/// largest score's is 0, however large it is.
SmallVector<Value> SimtLowering::exponentials(const SoftmaxTile &tile) {
  SmallVector<Value> results;
  auto add = [&](Value x, Value y) {
    Value less = arith::SubFOp::create(b, x, y);
    results.push_back(exp2(arith::MulFOp::create(b, less, tile.exponent)));
  };
  for (auto [old, now] : llvm::zip(tile.oldMax, tile.finiteMax))
    add(old, now);
  for (auto [score, row] : llvm::zip(tile.scores, tile.rowOf))
    add(tile.scale && !tile.rawMaxima
            ? Value(arith::MulFOp::create(b, score, tile.scale))
            : score,
        tile.finiteMax[row]);
  return results;
}

/// The same as exp2(s scale log2 e − m log2 e), one multiply-add each. The
/// rounding of m log2 e is a factor that all of a row's p share.
SmallVector<Value> SimtLowering::fusedExponentials(const SoftmaxTile &tile,
                                                   ArrayRef<Value> scaledMax) {
  SmallVector<Value> results, negated;
  Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(kLog2e)),
        factor = log2e;
  if (tile.scale)
    factor = arith::MulFOp::create(b, tile.scale, log2e);
  for (auto [old, now] : llvm::zip(tile.oldMax, scaledMax)) {
    // The old maximum in the same rounding as when it was the new one.
    Value before = arith::MulFOp::create(b, old, log2e);
    results.push_back(exp2(arith::SubFOp::create(b, before, now)));
    negated.push_back(arith::NegFOp::create(b, now));
  }
  for (auto [score, row] : llvm::zip(tile.scores, tile.rowOf))
    results.push_back(exp2(
        LLVM::FMAOp::create(b, b.getF32Type(), score, factor, negated[row])));
  return results;
}

/// Multiply-adds, but where the rounding of m log2 e could leave exp2's range
/// (sentinels of −1e30) a warp takes the differences first. `finish` appends to
/// the results of either road.
SmallVector<Value> SimtLowering::chooseExponentials(
    const SoftmaxTile &tile,
    function_ref<void(SmallVectorImpl<Value> &)> finish) {
  Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(kLog2e));
  Value limit = arith::ConstantOp::create(b, b.getF32FloatAttr(1 << 20));
  SmallVector<Value> scaledMax;
  Value isHuge;
  for (Value max : tile.finiteMax) {
    scaledMax.push_back(arith::MulFOp::create(b, max, log2e));
    Value size = LLVM::FAbsOp::create(b, b.getF32Type(), scaledMax.back());
    Value huge =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size, limit);
    isHuge = isHuge ? Value(arith::OrIOp::create(b, isHuge, huge)) : huge;
  }
  Value any = NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(-1), isHuge,
                                       NVVM::VoteSyncKind::any);
  auto road = [&](bool fused) {
    return [&, fused](OpBuilder &, Location) {
      SmallVector<Value> results =
          fused ? fusedExponentials(tile, scaledMax) : exponentials(tile);
      finish(results);
      scf::YieldOp::create(b, results);
    };
  };
  return SmallVector<Value>(
      scf::IfOp::create(b, any, road(false), road(true)).getResults());
}

LogicalResult SimtLowering::lowerOnlineSoftmax(tile::OnlineSoftmaxOp op) {
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  SoftmaxTile tile;
  tile.scores = SmallVector<Value>(elementsOf(op.getScores()));
  tile.oldMax = SmallVector<Value>(elementsOf(op.getMax()));
  tile.scale = op.getScale() ? mapped(op.getScale()) : Value();
  tile.rawMaxima = op->hasAttr(TileGPUDialect::rawMaximaAttrName);
  SmallVector<Value> oldSum(elementsOf(op.getSum()));
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  // Of a NaN and a number the number: the NaN reaches the sum through its p.
  auto greater = [&](Value x, Value y) -> Value {
    return LLVM::MaxNumOp::create(b, b.getF32Type(), x, y);
  };
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto tileMax = reduceAlong(op, tile.scores, layout, 1, rows, greater);
  if (failed(tileMax))
    return failure();
  tile.exponent = constant(kLog2e);
  if (tile.scale && tile.rawMaxima)
    tile.exponent = arith::MulFOp::create(b, tile.scale, tile.exponent);
  Value none = constant(-std::numeric_limits<float>::infinity()),
        zero = constant(0);
  for (auto [old, found] : llvm::zip(tile.oldMax, *tileMax)) {
    // The scale is above 0: the largest product is that of the largest score.
    Value scaled = tile.scale && !tile.rawMaxima
                       ? Value(arith::MulFOp::create(b, found, tile.scale))
                       : found;
    tile.max.push_back(greater(old, scaled));
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                        tile.max.back(), none);
    tile.finiteMax.push_back(
        arith::SelectOp::create(b, empty, zero, tile.max.back()));
  }
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  for (size_t reg = 0; reg < tile.scores.size(); ++reg)
    tile.rowOf.push_back(rowTable.at(Coord{coordOf(layout, reg)[0]}));

  // The factors of the rows, p, and what it adds to the sums.
  size_t count = tile.max.size();
  bool threadSums = op->hasAttr(TileGPUDialect::threadSumsAttrName);
  LogicalResult summed = success();
  auto addSums = [&](SmallVectorImpl<Value> &results) {
    auto sums = reduceAlong(op, ArrayRef(results).drop_front(count), layout, 1,
                            rows, plus, !threadSums);
    summed = sums;
    if (succeeded(sums))
      results.append(*sums);
  };
  SmallVector<Value> results;
  if (tile.rawMaxima) {
    results = exponentials(tile);
    addSums(results);
  } else {
    results = chooseExponentials(tile, addSums);
  }
  if (failed(summed))
    return failure();
  ArrayRef<Value> alpha = ArrayRef(results).take_front(count);
  SmallVector<Value> sum;
  for (auto [row, added] : llvm::enumerate(ArrayRef(results).take_back(count)))
    sum.push_back(
        LLVM::FMAOp::create(b, b.getF32Type(), oldSum[row], alpha[row], added));
  setElements(
      op.getP(),
      SmallVector<Value>(ArrayRef(results).drop_front(count).drop_back(count)));
  setElements(op.getAlpha(), SmallVector<Value>(alpha));
  setElements(op.getMaxOut(), tile.max);
  setElements(op.getSumOut(), sum);
  return success();
}

LogicalResult SimtLowering::lowerOnlineFinalize(tile::OnlineFinalizeOp op) {
  TileLayout layout = layoutOf(op.getAcc()), rows = layoutOf(op.getMax());
  SmallVector<Value> acc(elementsOf(op.getAcc())), max(elementsOf(op.getMax())),
      sum(elementsOf(op.getSum()));
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  if (op->hasAttr(TileGPUDialect::threadSumsAttrName)) {
    auto plan = planReduction(layout.base, 1);
    if (!plan || plan->warps || !inSameThreads(layout, rows, {0}) ||
        plan->lanes != copyBits(rows.base, Axis::Lane))
      return op.emitOpError("expects rows inside each warp on a GPU");
    for (Value &total : sum)
      total = combineLanes(total, plan->lanes, [&](Value x, Value y) {
        return Value(arith::AddFOp::create(b, x, y));
      });
  }
  Value zero = constant(0);
  std::map<Coord, std::pair<Value, Value>> rowValues; // empty, 1 / sum
  SmallVector<Value> lse;
  for (auto [row, total] : llvm::enumerate(sum)) {
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, zero);
    rowValues[coordOf(rows, row)] = {
        empty, arith::DivFOp::create(b, constant(1), total)};
    Value log2 = LLVM::CallIntrinsicOp::create(
                     b, b.getF32Type(),
                     b.getStringAttr("llvm.nvvm.lg2.approx.ftz.f"), total)
                     .getResult(0);
    lse.push_back(
        LLVM::FMAOp::create(b, b.getF32Type(), log2, constant(kLn2), max[row]));
  }
  SmallVector<Value> output;
  for (auto [reg, value] : llvm::enumerate(acc)) {
    auto [empty, inverse] = rowValues.at(Coord{coordOf(layout, reg)[0]});
    // Not a product with 0: the accumulator of an empty row may hold a NaN from
    // a masked V.
    Value scaled = arith::MulFOp::create(b, value, inverse);
    output.push_back(arith::SelectOp::create(b, empty, zero, scaled));
  }
  setElements(op.getOutput(), output);
  setElements(op.getLse(), lse);
  return success();
}

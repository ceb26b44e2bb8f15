//===- EvaluateBackward.cpp - tile.attention_backward by its definition ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of the output and the log-sum-exp that are given, unfused. Nothing
// of it comes from the reference of a SPEC's gradients (ReferenceBackward.cpp).
//
//===----------------------------------------------------------------------===//

#include "Dot.h"
#include "Evaluator.h"
#include "Lines.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sum in f32 where that is the declared precision.
static double plus(double sum, double term, Precision precision) {
  return precision == Precision::Float64 ? sum + term
                                         : double(float(sum) + float(term));
}

/// delta = Σ dout · o − dlse of each row.
static llvm::Expected<Tensor> deltaOf(const Tensor &dout, const Tensor &output,
                                      const Tensor *dlse, Precision precision) {
  if (dout.sizes != output.sizes)
    return llvm::createStringError("expected a gradient of sizes " +
                                   formatSizes(output.sizes) + ", found " +
                                   formatSizes(dout.sizes));
  Tensor delta(ArrayRef(output.sizes).drop_back(), /*isFloat=*/true);
  int64_t dim = output.sizes.back();
  for (auto [row, sum] : llvm::enumerate(delta.floats)) {
    for (int64_t d = 0; d < dim; ++d) {
      int64_t at = row * dim + d;
      sum = plus(sum, dout.floats[at] * output.floats[at], precision);
    }
    if (dlse)
      sum = plus(sum, -dlse->floats[row], precision);
  }
  return delta;
}

/// P before dropout, and what is seen.
static void setWeights(const Tensor &scores, const Tensor &lse,
                       Precision precision, BackwardRows &rows) {
  int64_t keys = scores.sizes[3];
  rows.p = Tensor(scores.sizes, /*isFloat=*/true);
  rows.isSeen.assign(scores.count(), false);
  for (auto [at, s] : llvm::enumerate(scores.floats)) {
    double ofRow = lse.floats[at / keys];
    if (ofRow == -kInfinity || s == -kInfinity)
      continue;
    rows.isSeen[at] = true;
    double x = plus(s, -ofRow, precision);
    rows.p.floats[at] = plus(std::exp(x), 0, precision);
    if (ofRow == kInfinity)
      rows.p.floats[at] = std::numeric_limits<double>::quiet_NaN();
  }
}

llvm::Expected<BackwardRows>
Evaluator::backwardRows(tile::AttentionBackwardOp op) {
  Type type = op.getScale().getType();
  BackwardRows rows;
  auto products = scaledProducts(op.getQ(), op.getK(), op.getScale(), {},
                                 /*scaleKeys=*/1, op.getPrecision());
  if (!products)
    return products.takeError();
  rows.products = std::move(*products);
  Sizes sizes = rows.products.sizes;
  auto scores = modifyAndMask(rows.products, op.getScore(), op.getMask(),
                              op.getCaptures());
  if (!scores)
    return scores.takeError();
  if (get(op.getLse()).sizes != Sizes(ArrayRef(sizes).drop_back()))
    return llvm::createStringError("expected a log-sum-exp of sizes " +
                                   formatSizes(ArrayRef(sizes).drop_back()) +
                                   ", found " +
                                   formatSizes(get(op.getLse()).sizes));
  setWeights(*scores, get(op.getLse()), precision, rows);

  auto delta = deltaOf(get(op.getDout()), get(op.getOutput()),
                       op.getDlse() ? &get(op.getDlse()) : nullptr, precision);
  if (!delta)
    return delta.takeError();
  rows.delta = std::move(*delta);
  auto dp = dot(get(op.getDout()), get(op.getV()), /*transposed=*/true, nullptr,
                precision, op.getPrecision());
  if (!dp)
    return dp.takeError();
  rows.ds = rounded(std::move(*dp), type);
  if (op.getRng()) {
    double probability = op.getProbabilityAttr().getValueAsDouble();
    rows.ds = rounded(
        dropout(std::move(rows.ds), get(op.getRng()), probability), type);
  }
  for (auto [at, ds] : llvm::enumerate(rows.ds.floats))
    ds = rows.isSeen[at]
             ? rows.p.floats[at] *
                   plus(ds, -rows.delta.floats[at / sizes[3]], precision)
             : 0;
  rows.ds = rounded(std::move(rows.ds), type);
  if (op.getRng())
    rows.p = rounded(dropout(std::move(rows.p), get(op.getRng()),
                             op.getProbabilityAttr().getValueAsDouble()),
                     type);
  rows.dx = rows.ds;
  if (!op.getDerivative().empty()) {
    auto slopes = evaluateRegion(op.getDerivative(), op.getCaptures(), sizes,
                                 &rows.products);
    if (!slopes)
      return slopes.takeError();
    for (auto [at, dx] : llvm::enumerate(rows.dx.floats))
      if (rows.isSeen[at])
        dx *= slopes->floats[at];
    rows.dx = rounded(std::move(rows.dx), type);
  }
  return rows;
}

/// `tensor`, [b, hq, ..], summed over the query heads of each of `heads`.
static Tensor sumGroups(const Tensor &tensor, int64_t heads,
                        Precision precision) {
  Sizes sizes = tensor.sizes;
  int64_t group = sizes[1] / heads, rest = sizes[2] * sizes[3];
  sizes[1] = heads;
  Tensor result(sizes, /*isFloat=*/true);
  for (auto [at, x] : llvm::enumerate(tensor.floats)) {
    double &sum = result.floats[at / (group * rest) * rest + at % rest];
    sum = plus(sum, x, precision);
  }
  return result;
}

llvm::Expected<Tensor> Evaluator::captureGradient(tile::AttentionBackwardOp op,
                                                  size_t number,
                                                  const BackwardRows &rows) {
  int64_t captured = op.getWrt()[number];
  auto effects = evaluateRegion(op.getEffects()[number], op.getCaptures(),
                                rows.ds.sizes, &rows.products);
  if (!effects)
    return effects;
  const Tensor &capture = get(op.getCaptures()[captured]);
  Tensor result(capture.sizes, /*isFloat=*/true);
  // The place of the element that each score reads.
  std::vector<int64_t> places(rows.isSeen.size());
  if (isa<TensorType>(op.getCaptures()[captured].getType())) {
    Region &score = op.getScore();
    auto read =
        cast<tensor::ExtractOp>(*score.getArgument(5 + captured).user_begin());
    for (auto [size, index] :
         llvm::zip_equal(capture.sizes, read.getIndices())) {
      auto indices = evaluateRegion(score, op.getCaptures(), rows.ds.sizes,
                                    &rows.products, index);
      if (!indices)
        return indices;
      for (auto [place, along] : llvm::zip_equal(places, indices->ints))
        place = place * size + along;
    }
  }
  for (auto [at, ds] : llvm::enumerate(rows.ds.floats))
    if (rows.isSeen[at]) {
      double &sum = result.floats[places[at]];
      sum = plus(sum, ds * effects->floats[at], precision);
    }
  return result;
}

llvm::Error Evaluator::setGradients(tile::AttentionBackwardOp op,
                                    const BackwardRows &rows) {
  auto set = [&](Value result, Tensor gradient) {
    values[result] = rounded(std::move(gradient), result.getType());
  };
  auto operand = [&](const Tensor &scores) {
    return op.getWideP() ? scores : rounded(scores, op.getQ().getType());
  };
  // `scores`, transposed if they are to be summed over queries, times `rows`.
  auto product = [&](const Tensor &scores, bool ofKeys, Value rows) {
    return dot(ofKeys ? transpose(scores, {0, 1, 3, 2}) : scores, get(rows),
               /*transposed=*/false, nullptr, precision, op.getPrecision());
  };
  double scale = get(op.getScale()).floats[0];
  auto scaled = [&](Tensor gradient) {
    for (double &x : gradient.floats)
      x *= scale;
    return gradient;
  };
  int64_t kvHeads = get(op.getK()).sizes[1];
  if (op.getDq()) {
    auto dq = product(operand(rows.dx), /*ofKeys=*/false, op.getK());
    if (!dq)
      return dq.takeError();
    set(op.getDq(), scaled(std::move(*dq)));
  }
  if (op.getDk()) {
    auto dk = product(operand(rows.dx), /*ofKeys=*/true, op.getQ());
    if (!dk)
      return dk.takeError();
    set(op.getDk(), scaled(sumGroups(*dk, kvHeads, precision)));
  }
  if (op.getDv()) {
    auto dv = product(operand(rows.p), /*ofKeys=*/true, op.getDout());
    if (!dv)
      return dv.takeError();
    set(op.getDv(), sumGroups(*dv, kvHeads, precision));
  }
  if (op.getDsink()) {
    const Tensor &sinks = get(op.getSink()), &lse = get(op.getLse());
    Tensor dsink(sinks.sizes, /*isFloat=*/true);
    int64_t queries = lse.sizes[2];
    for (auto [row, delta] : llvm::enumerate(rows.delta.floats)) {
      int64_t head = row / queries % lse.sizes[1];
      double p =
          std::exp(plus(sinks.floats[head], -lse.floats[row], precision));
      dsink.floats[head] = plus(dsink.floats[head], -p * delta, precision);
    }
    set(op.getDsink(), std::move(dsink));
  }
  for (auto [number, result] : llvm::enumerate(op.getDcaptures())) {
    auto gradient = captureGradient(op, number, rows);
    if (!gradient)
      return gradient.takeError();
    set(result, std::move(*gradient));
  }
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateBackward(tile::AttentionBackwardOp op) {
  auto rows = backwardRows(op);
  if (!rows)
    return located(op, rows.takeError());
  if (llvm::Error error = setGradients(op, *rows))
    return located(op, std::move(error));
  return llvm::Error::success();
}

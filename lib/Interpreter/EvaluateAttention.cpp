//===- EvaluateAttention.cpp - tile.attention by its definition -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dot.h"
#include "Evaluator.h"
#include "Lines.h"
#include "LoopNest.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

llvm::Expected<Tensor> Evaluator::evaluateRegion(Region &region,
                                                 OperandRange captures,
                                                 ArrayRef<int64_t> sizes,
                                                 const Tensor *scores,
                                                 Value value) {
  Block &block = region.front();
  Value yielded = value ? value : block.getTerminator()->getOperand(0);
  Sizes strides = contiguousStrides(sizes);
  LoopNest nest{Sizes(sizes), {}, {{{Value(), nullptr, strides}, yielded}}};
  unsigned next = 0;
  if (scores)
    nest.inputs.push_back({block.getArgument(next++), scores, strides});
  for (int64_t dim = 0; dim < 4; ++dim)
    nest.inputs.push_back(indexAlong(block.getArgument(next++), 4, dim));
  llvm::erase_if(nest.inputs,
                 [](ElementAccess &in) { return in.value.use_empty(); });
  for (Value capture : captures) {
    Tensor copy = get(capture);
    values[block.getArgument(next++)] = std::move(copy);
  }
  Tensor result(sizes, isFloat(yielded.getType()));
  if (llvm::is_contained(sizes, 0))
    return result;
  if (llvm::Error error = evaluateUniform(block))
    return error;
  Body body(values, precision);
  if (llvm::Error error = body.add(block))
    return error;
  if (llvm::Error error = runLoops(nest, body, result))
    return error;
  return result;
}

/// Multiplies `tensor`, [b, h, ..], with the number of `scales`, [b, hkv], for
/// each batch and KV head of it or, of [b, hkv, n], for each `scaleKeys` of its
/// last dimension, the keys: 0 where there are none.
static llvm::Error scaleHeads(Tensor &tensor, const Tensor &scales,
                              int64_t scaleKeys) {
  int64_t heads = tensor.sizes[1], ofScales = scales.sizes[1];
  if (scales.sizes[0] != tensor.sizes[0] || ofScales == 0 || heads % ofScales)
    return llvm::createStringError(
        "expected scales of " + llvm::Twine(tensor.sizes[0]) +
        " batches and of heads that divide " + llvm::Twine(heads) + ", found " +
        llvm::Twine(scales.sizes[0]) + " and " + llvm::Twine(ofScales));
  int64_t keys = tensor.sizes[3], rest = tensor.sizes[2] * keys;
  bool isOfKeys = scales.sizes.size() == 3;
  int64_t each = isOfKeys ? scales.sizes[2] : 1;
  for (auto [n, x] : llvm::enumerate(tensor.floats)) {
    int64_t head = n / rest % heads, batch = n / rest / heads,
            at = isOfKeys ? n % keys / scaleKeys : 0;
    int64_t row = batch * ofScales + head / (heads / ofScales);
    x *= at < each ? scales.floats[row * each + at] : 0;
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor> Evaluator::scaledProducts(Value q, Value k, Value scale,
                                                 ValueRange keyScales,
                                                 int64_t scaleKeys,
                                                 tile::DotPrecision factors) {
  Type type = scale.getType();
  auto product =
      dot(get(q), get(k), /*transposed=*/true, nullptr, precision, factors);
  if (!product)
    return product;
  Tensor scores = rounded(std::move(*product), type);
  double factor = get(scale).floats[0];
  for (double &s : scores.floats)
    s *= factor;
  for (Value scales : keyScales)
    if (llvm::Error error = scaleHeads(scores, get(scales), scaleKeys))
      return error;
  return rounded(std::move(scores), type);
}

llvm::Expected<Tensor> Evaluator::modifyAndMask(Tensor scores, Region &score,
                                                Region &mask,
                                                OperandRange captures) {
  Sizes sizes = scores.sizes;
  if (!score.empty()) {
    auto modified = evaluateRegion(score, captures, sizes, &scores);
    if (!modified)
      return modified;
    scores = std::move(*modified);
  }
  if (mask.empty())
    return scores;
  auto isSeen = evaluateRegion(mask, captures, sizes, nullptr);
  if (!isSeen)
    return isSeen;
  for (auto [s, seen] : llvm::zip(scores.floats, isSeen->ints))
    if (!seen)
      s = -std::numeric_limits<double>::infinity();
  return scores;
}

/// The results from the scores.
llvm::Error Evaluator::attend(tile::AttentionOp op, const Tensor &scores) {
  Type type = op.getScale().getType();
  std::optional<Tensor> sinks;
  if (op.getSink()) {
    const Tensor &sink = get(op.getSink()); // [hq]
    if (sink.sizes[0] != scores.sizes[1])
      return llvm::createStringError(
          "expected sinks of " + llvm::Twine(scores.sizes[1]) +
          " heads, found " + llvm::Twine(sink.sizes[0]));
    sinks = strided(sink, ArrayRef(scores.sizes).drop_back(), {0, 1, 0});
  }
  const Tensor *rows = sinks ? &*sinks : nullptr;
  auto p = softmax(scores, 3, rows, precision);
  if (!p)
    return p.takeError();
  *p = rounded(std::move(*p), type);
  if (op.getRng())
    *p = rounded(dropout(std::move(*p), get(op.getRng()),
                         op.getProbabilityAttr().getValueAsDouble()),
                 type);
  if (!op.getWideP())
    *p = rounded(std::move(*p), tile::isStorageFloat(op.getV().getType())
                                    ? op.getQ().getType()
                                    : op.getV().getType());
  int64_t scaleKeys = op.getScaleKeys().value_or(1);
  bool areOfKeys =
      op.getValueScales() && get(op.getValueScales()).sizes.size() == 3;
  if (areOfKeys)
    if (llvm::Error error = scaleHeads(*p, get(op.getValueScales()), scaleKeys))
      return error;
  auto output = dot(*p, get(op.getV()), /*transposed=*/false, nullptr,
                    precision, op.getPrecision());
  if (!output)
    return output.takeError();
  if (op.getValueScales() && !areOfKeys)
    if (llvm::Error error =
            scaleHeads(*output, get(op.getValueScales()), scaleKeys))
      return error;
  values[op.getOutput()] =
      rounded(std::move(*output), op.getOutput().getType());
  if (!op.getLse())
    return llvm::Error::success();
  auto lse = logSumExp(scores, rows, precision);
  if (!lse)
    return lse.takeError();
  values[op.getLse()] = rounded(std::move(*lse), op.getLse().getType());
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateAttention(tile::AttentionOp op) {
  auto products =
      scaledProducts(op.getQ(), op.getK(), op.getScale(), op.getKeyScales(),
                     op.getScaleKeys().value_or(1), op.getPrecision());
  if (!products)
    return located(op, products.takeError());
  auto scores = modifyAndMask(std::move(*products), op.getScore(), op.getMask(),
                              op.getCaptures());
  if (!scores)
    return scores.takeError();
  if (llvm::Error error = attend(op, *scores))
    return located(op, std::move(error));
  return llvm::Error::success();
}

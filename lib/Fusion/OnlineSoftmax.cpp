//===- OnlineSoftmax.cpp - tile-online-softmax ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_TILEONLINESOFTMAX
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

using namespace fa::tile;

/// A tensor of `type` that is `value` everywhere; `sizesOf` gives the size of a
/// dynamic dimension.
static Value splat(ImplicitLocOpBuilder &b, RankedTensorType type, double value,
                   llvm::function_ref<Value(int64_t)> sizesOf) {
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(sizesOf(d));
  Value scalar = arith::ConstantOp::create(
      b, b.getF32FloatAttr(static_cast<float>(value)));
  return BroadcastOp::create(b, type, scalar, sizes);
}

/// `sink`, [hq], as [1, hq, 1].
static Value alongHeads(ImplicitLocOpBuilder &b, Value sink) {
  int64_t heads = cast<RankedTensorType>(sink.getType()).getDimSize(0);
  auto type = [&](ArrayRef<int64_t> sizes) {
    return RankedTensorType::get(sizes, b.getF32Type());
  };
  sink = ExpandDimsOp::create(b, type({heads, 1}), sink, 1);
  return ExpandDimsOp::create(b, type({1, heads, 1}), sink, 0);
}

static void makeOnline(AttentionOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto q = cast<RankedTensorType>(op.getQ().getType());
  auto output = cast<RankedTensorType>(op.getOutput().getType());
  SmallVector<int64_t> sizes(q.getShape().drop_back());
  auto rows = RankedTensorType::get(sizes, b.getF32Type());
  sizes.push_back(output.getDimSize(3));
  auto accType = RankedTensorType::get(sizes, b.getF32Type());

  // The accumulator is as large as q, but for the last dimension, which is v's.
  auto sizeOf = [&](int64_t d) -> Value {
    return tensor::DimOp::create(b, d == 3 ? op.getV() : op.getQ(), d);
  };
  Value acc = splat(b, accType, 0.0, sizeOf);
  Value max = splat(b, rows, -std::numeric_limits<double>::infinity(), sizeOf);
  Value sum = splat(b, rows, 0.0, sizeOf);
  // A sink is a score that the state begins with.
  if (op.getSink()) {
    SmallVector<Value> dynamic;
    for (int64_t d = 0; d < 3; ++d)
      if (rows.isDynamicDim(d))
        dynamic.push_back(sizeOf(d));
    max = BroadcastOp::create(b, rows, alongHeads(b, op.getSink()), dynamic);
    sum = splat(b, rows, 1.0, sizeOf);
  }
  auto online = OnlineAttentionOp::create(
      b, TypeRange{accType, rows, rows}, op.getQ(), op.getK(), op.getV(),
      op.getScale(), op.getKeyScales(), op.getValueScales(), acc, max, sum,
      op.getRng(), op.getCaptures(), op.getProbabilityAttr(), op.getWideP(),
      op.getPrecision(), op.getScaleKeysAttr());
  if (Attribute lists = op->getAttr(TileDialect::blockListsAttrName))
    online->setAttr(TileDialect::blockListsAttrName, lists);
  online.getScore().takeBody(op.getScore());
  online.getMask().takeBody(op.getMask());
  auto final =
      OnlineFinalizeOp::create(b, TypeRange{accType, rows}, online.getAccOut(),
                               online.getMaxOut(), online.getSumOut());
  Value result = final.getOutput();
  if (output.getElementType() != b.getF32Type())
    result = arith::TruncFOp::create(b, output, result);
  op.getOutput().replaceAllUsesWith(result);
  if (op.getLse())
    op.getLse().replaceAllUsesWith(final.getLse());
  op.erase();
}

namespace {

struct TileOnlineSoftmax final
    : fa::impl::TileOnlineSoftmaxBase<TileOnlineSoftmax> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      makeOnline(op);
  }
};

} // namespace

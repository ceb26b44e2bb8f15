//===- KeepRawMaxima.cpp - tgpu-keep-raw-maxima ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateChain.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUKEEPRAWMAXIMA
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// The operand becomes `Op` of itself and the scale.
template <typename Op> static void rescale(OpOperand &operand, Value scale) {
  OpBuilder b(operand.getOwner());
  Value value = operand.get();
  Location loc = value.getLoc();
  Value spread =
      BroadcastOp::create(b, loc, value.getType(), scale, ValueRange{});
  operand.set(Op::create(b, loc, value, spread));
}

/// The one scale of all softmaxes of a chain; null if they have none. Nothing
/// if they differ.
static std::optional<Value> commonScale(ArrayRef<OnlineSoftmaxOp> softmaxes) {
  std::optional<Value> scale;
  for (OnlineSoftmaxOp op : softmaxes) {
    if (scale && *scale != op.getScale())
      return std::nullopt;
    scale = op.getScale();
  }
  return scale;
}

namespace {

struct TgpuKeepRawMaxima final
    : fa::impl::TgpuKeepRawMaximaBase<TgpuKeepRawMaxima> {
  void runOnOperation() override {
    forEachStateEnd(getOperation(), [](Operation *end) {
      StateChain maxima(end, StateChain::Maxima);
      std::optional<Value> scale = commonScale(maxima.softmaxes());
      if (!maxima.isClosed() || !scale)
        return;
      for (OnlineSoftmaxOp op : maxima.softmaxes())
        op->setAttr(TileGPUDialect::rawMaximaAttrName,
                    UnitAttr::get(end->getContext()));
      if (!*scale)
        return;
      for (OpOperand *start : maxima.starts())
        rescale<arith::DivFOp>(*start, *scale);
      rescale<arith::MulFOp>(maxima.last(), *scale);
    });
  }
};

} // namespace

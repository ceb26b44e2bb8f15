//===- DeferSums.cpp - tgpu-defer-sums ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateChain.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUDEFERSUMS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Each of the threads that hold a row begins with its share of the sum. A
/// power of two: exact.
static void share(OpOperand &start) {
  OpBuilder b(start.getOwner());
  Value value = start.get();
  auto type = cast<RankedTensorType>(value.getType());
  uint32_t lanes = copyBits(layoutOf(value).base, Axis::Lane);
  float part = 1.0f / float(1u << llvm::popcount(lanes));
  Value factor = arith::ConstantOp::create(
      b, value.getLoc(),
      DenseElementsAttr::get(type, b.getF32FloatAttr(part).getValue()));
  start.set(arith::MulFOp::create(b, value.getLoc(), value, factor));
}

static bool hasLayout(OpOperand *start) {
  return isa_and_present<LayoutAttr>(
      cast<RankedTensorType>(start->get().getType()).getEncoding());
}

namespace {

struct TgpuDeferSums final : fa::impl::TgpuDeferSumsBase<TgpuDeferSums> {
  void runOnOperation() override {
    forEachStateEnd(getOperation(), [&](Operation *end) {
      StateChain sums(end, StateChain::Sums);
      // What is loaded or merged is whole.
      if (!sums.isClosed() || sums.softmaxes().empty())
        return;
      if (!llvm::all_of(sums.starts(), hasLayout)) {
        end->emitOpError("expected sums at stage S4, found some without a "
                         "layout");
        return signalPassFailure();
      }
      auto present = UnitAttr::get(end->getContext());
      end->setAttr(TileGPUDialect::threadSumsAttrName, present);
      for (OnlineSoftmaxOp op : sums.softmaxes())
        op->setAttr(TileGPUDialect::threadSumsAttrName, present);
      for (OpOperand *start : sums.starts())
        share(*start);
    });
  }
};

} // namespace

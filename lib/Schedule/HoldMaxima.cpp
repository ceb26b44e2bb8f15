//===- HoldMaxima.cpp - tgpu-hold-maxima ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateChain.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUHOLDMAXIMA
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Marks the products of tiles with the factors of their rows, `alpha`.
static void markRescales(Value alpha) {
  auto rescale = UnitAttr::get(alpha.getContext());
  for (Operation *user : alpha.getUsers()) {
    auto expand = dyn_cast<ExpandDimsOp>(user);
    if (!expand)
      continue;
    for (Operation *spread : expand->getUsers())
      if (isa<BroadcastOp>(spread))
        for (Operation *product : spread->getUsers())
          if (isa<arith::MulFOp>(product))
            product->setAttr(TileGPUDialect::rescaleAttrName, rescale);
  }
}

namespace {

struct TgpuHoldMaxima final : fa::impl::TgpuHoldMaximaBase<TgpuHoldMaxima> {
  void runOnOperation() override {
    forEachStateEnd(getOperation(), [](Operation *end) {
      StateChain maxima(end, StateChain::Maxima);
      if (!maxima.isClosed())
        return;
      for (OnlineSoftmaxOp op : maxima.softmaxes()) {
        op->setAttr(TileGPUDialect::heldMaximaAttrName,
                    UnitAttr::get(op.getContext()));
        markRescales(op.getAlpha());
      }
    });
  }
};

} // namespace

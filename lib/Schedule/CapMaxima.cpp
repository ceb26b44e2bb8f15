//===- CapMaxima.cpp - tgpu-cap-maxima ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateChain.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUCAPMAXIMA
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Scores in base 2 are at most so far below the least maximum: p of bf16, and
/// its products with V, stay normal numbers.
static constexpr float kDeepest = 100;

/// The cap of scores that are `cap * tanh(...)`, or masked; nothing if they are
/// not.
static std::optional<float> capOf(OnlineSoftmaxOp op) {
  APFloat cap(0.0f);
  if (!op.getScale() || !matchPattern(op.getScale(), m_ConstantFloat(&cap)))
    return std::nullopt;
  Value scores = belowMasks(op.getScores());
  if (!scores || !scores.getDefiningOp<math::TanhOp>() || !scores.hasOneUse())
    return std::nullopt;
  return cap.convertToFloat();
}

/// p of f16 needs a maximum that is near; p of f32 is more exact with one.
static bool hasWideP(OnlineSoftmaxOp op) {
  return llvm::all_of(op.getP().getUsers(), [](Operation *user) {
    return isa<arith::TruncFOp>(user) &&
           getElementTypeOrSelf(user->getResult(0)).isBF16();
  });
}

namespace {

struct TgpuCapMaxima final : fa::impl::TgpuCapMaximaBase<TgpuCapMaxima> {
  using TgpuCapMaximaBase::TgpuCapMaximaBase;

  /// The cap of all softmaxes of a chain whose maxima may be as high as
  /// `share`.
  std::optional<float> commonCap(const StateChain &maxima) const {
    std::optional<float> common;
    for (OnlineSoftmaxOp op : maxima.softmaxes()) {
      std::optional<float> cap = capOf(op);
      if (!cap || (common && *common != *cap) || !hasWideP(op) ||
          !op->hasAttr(TileGPUDialect::heldMaximaAttrName))
        return std::nullopt;
      common = cap;
    }
    bool isFlat = common && (1 + share) * *common * 1.44269504 <= kDeepest;
    return isFlat && maxima.isClosed() ? common : std::nullopt;
  }

  void runOnOperation() override {
    forEachStateEnd(getOperation(), [&](Operation *end) {
      StateChain maxima(end, StateChain::Maxima);
      if (!commonCap(maxima))
        return;
      for (OnlineSoftmaxOp op : maxima.softmaxes())
        op->setAttr(TileGPUDialect::cappedScoresAttrName,
                    Builder(op).getF32FloatAttr(static_cast<float>(share)));
    });
  }
};

} // namespace

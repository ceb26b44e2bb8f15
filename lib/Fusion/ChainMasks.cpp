//===- ChainMasks.cpp - which scores are masked ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainParts.h"
#include "Uniform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Whether a select of `value` takes an element out: −inf, or a number that is
/// meant so.
static bool isMaskValue(Value value, bool takeSentinels, bool &sentinel) {
  std::optional<APFloat> number = getNumber(value);
  if (!number || !number->isNegative())
    return false;
  if (number->isInfinity()) {
    sentinel = false;
    return true;
  }
  bool narrow = &number->getSemantics() == &APFloat::IEEEhalf();
  bool low = narrow ? number->isLargest() : number->convertToDouble() <= -1e30;
  sentinel = true;
  return low && takeSentinels;
}

/// An addend of 0 where a condition holds and a mask value elsewhere: the
/// select, behind views that are applied to `condition` as well.
static Value getAddedMask(Value value, bool takeSentinels, bool &negated,
                          bool &sentinel) {
  Operation *op = value.getDefiningOp();
  if (isView(op)) {
    Value inner =
        getAddedMask(op->getOperand(0), takeSentinels, negated, sentinel);
    return inner ? cloneView(op, inner) : Value();
  }
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return getAddedMask(op->getOperand(0), takeSentinels, negated, sentinel);
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  if (!select || !isa<TensorType>(select.getCondition().getType()))
    return {};
  auto isZero = [](Value x) {
    std::optional<APFloat> number = getNumber(x);
    return number && number->isZero();
  };
  negated = isZero(select.getFalseValue());
  if (!negated && !isZero(select.getTrueValue()))
    return {};
  Value other = negated ? select.getTrueValue() : select.getFalseValue();
  return isMaskValue(other, takeSentinels, sentinel) ? select.getCondition()
                                                     : Value();
}

void fa::peelMasks(AttentionChain &chain, bool takeSentinels) {
  while (true) {
    bool sentinel = false, negated = false;
    if (auto select = chain.modified.getDefiningOp<arith::SelectOp>()) {
      if (!isa<TensorType>(select.getCondition().getType()))
        return;
      negated = !isMaskValue(select.getFalseValue(), takeSentinels, sentinel);
      if (negated &&
          !isMaskValue(select.getTrueValue(), takeSentinels, sentinel))
        return;
      chain.masks.push_back({select.getCondition(), negated, sentinel});
      chain.modified = negated ? select.getFalseValue() : select.getTrueValue();
      continue;
    }
    auto add = chain.modified.getDefiningOp<arith::AddFOp>();
    if (!add)
      return;
    bool found = false;
    for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()),
                        std::pair(add.getRhs(), add.getLhs())})
      if (Value condition = getAddedMask(y, takeSentinels, negated, sentinel)) {
        chain.masks.push_back({condition, negated, sentinel});
        chain.modified = x;
        found = true;
        break;
      }
    if (!found)
      return;
  }
}

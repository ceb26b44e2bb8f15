//===- MaskAnalysis.cpp - which keys a mask can let pass ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

AffineForm AffineForm::plus(const AffineForm &other, int64_t factor) const {
  AffineForm sum = *this;
  sum.query += factor * other.query;
  sum.key += factor * other.key;
  sum.constant += factor * other.constant;
  for (auto [value, coefficient] : other.terms)
    sum.terms.push_back({value, factor * coefficient});
  return sum;
}

namespace {

/// Positions of a mask region's arguments.
enum MaskArgument { Batch, Head, Query, Key };

class Analyzer {
public:
  Analyzer(Block &block, ArrayRef<Value> varying) : block(block) {
    this->varying.append(varying.begin(), varying.end());
    this->varying.push_back(block.getArgument(Query));
    this->varying.push_back(block.getArgument(Key));
  }

  /// Adds the conditions that must hold for `condition` to be true.
  void addConjunction(Value condition, MaskBounds &result) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      addConjunction(both.getLhs(), result);
      addConjunction(both.getRhs(), result);
      return;
    }
    if (matchPattern(condition, m_One()))
      return;
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    std::optional<KeyBound> bound;
    if (compare)
      bound = getBound(compare);
    if (bound)
      result.bounds.push_back(*bound);
    else
      result.complete = false;
  }

private:
  bool dependsOn(Value value) {
    if (llvm::is_contained(varying, value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && llvm::any_of(op->getOperands(),
                              [&](Value v) { return dependsOn(v); });
  }

  std::optional<AffineForm> getForm(Value value) {
    AffineForm form;
    if (value == block.getArgument(Query)) {
      form.query = 1;
      return form;
    }
    if (value == block.getArgument(Key)) {
      form.key = 1;
      return form;
    }
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant))) {
      form.constant = constant.getSExtValue();
      return form;
    }
    if (!dependsOn(value)) {
      form.terms.push_back({value, 1});
      return form;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    return llvm::TypeSwitch<Operation *, std::optional<AffineForm>>(op)
        .Case([&](arith::AddIOp add) {
          return combine(add.getLhs(), add.getRhs(), 1);
        })
        .Case([&](arith::SubIOp sub) {
          return combine(sub.getLhs(), sub.getRhs(), -1);
        })
        .Case([&](arith::MulIOp mul) { return getProduct(mul); })
        .Case([&](arith::IndexCastOp cast) { return getForm(cast.getIn()); })
        .Default([](Operation *) { return std::nullopt; });
  }

  std::optional<AffineForm> combine(Value lhs, Value rhs, int64_t factor) {
    auto x = getForm(lhs), y = getForm(rhs);
    if (!x || !y)
      return std::nullopt;
    return x->plus(*y, factor);
  }

  std::optional<AffineForm> getProduct(arith::MulIOp mul) {
    for (auto [x, y] : {std::pair(mul.getLhs(), mul.getRhs()),
                        std::pair(mul.getRhs(), mul.getLhs())})
      if (APInt factor; matchPattern(y, m_ConstantInt(&factor)))
        if (auto form = getForm(x))
          return AffineForm().plus(*form, factor.getSExtValue());
    return std::nullopt;
  }

  /// Brings `lhs predicate rhs` to form <= 0 and solves it for j.
  std::optional<KeyBound> getBound(arith::CmpIOp compare) {
    auto difference = combine(compare.getLhs(), compare.getRhs(), -1);
    if (!difference)
      return std::nullopt;
    AffineForm form = *difference;
    using arith::CmpIPredicate;
    switch (compare.getPredicate()) {
    case CmpIPredicate::sle:
      break;
    case CmpIPredicate::slt:
      form.constant += 1;
      break;
    case CmpIPredicate::sge:
      form = AffineForm().plus(form, -1);
      break;
    case CmpIPredicate::sgt:
      form = AffineForm().plus(form, -1);
      form.constant += 1;
      break;
    default: // equality bounds nothing useful; unsigned wraps at 0
      return std::nullopt;
    }
    if (form.key != 1 && form.key != -1)
      return std::nullopt;
    bool upper = form.key == 1;
    form.key = 0;
    return KeyBound{upper, upper ? AffineForm().plus(form, -1) : form};
  }

  Block &block;
  SmallVector<Value> varying;
};

} // namespace

MaskBounds fa::analyzeMask(Region &mask, ArrayRef<Value> varying) {
  MaskBounds result;
  if (mask.empty())
    return result;
  Block &block = mask.front();
  Analyzer(block, varying)
      .addConjunction(block.getTerminator()->getOperand(0), result);
  return result;
}

//===----------------------------------------------------------------------===//
// Intervals of a block of rows
//===----------------------------------------------------------------------===//

/// The bound's form at one row.
static Value buildForm(ImplicitLocOpBuilder &b, const AffineForm &form,
                       Value row,
                       llvm::function_ref<Value(Value)> materialize) {
  Value sum = arith::ConstantIndexOp::create(b, form.constant);
  auto add = [&](Value value, int64_t coefficient) {
    if (!isa<IndexType>(value.getType()))
      value = arith::IndexCastOp::create(b, b.getIndexType(), value);
    if (coefficient != 1)
      value = arith::MulIOp::create(
          b, value, arith::ConstantIndexOp::create(b, coefficient));
    sum = arith::AddIOp::create(b, sum, value);
  };
  if (form.query)
    add(row, form.query);
  for (auto [value, coefficient] : form.terms)
    add(materialize(value), coefficient);
  return sum;
}

KeyIntervals
fa::buildKeyIntervals(ImplicitLocOpBuilder &b, const MaskBounds &bounds,
                      Value firstRow, Value lastRow, Value length,
                      llvm::function_ref<Value(Value)> materialize) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  KeyIntervals keys{zero, length, zero, length};
  for (const KeyBound &bound : bounds.bounds) {
    Value first = buildForm(b, bound.form, firstRow, materialize);
    Value last = bound.form.query
                     ? buildForm(b, bound.form, lastRow, materialize)
                     : first;
    Value low = arith::MinSIOp::create(b, first, last);
    Value high = arith::MaxSIOp::create(b, first, last);
    if (bound.upper) {
      low = arith::AddIOp::create(b, low, one);
      high = arith::AddIOp::create(b, high, one);
      keys.end = arith::MinSIOp::create(b, keys.end, high);
      keys.fullEnd = arith::MinSIOp::create(b, keys.fullEnd, low);
    } else {
      keys.begin = arith::MaxSIOp::create(b, keys.begin, low);
      keys.fullBegin = arith::MaxSIOp::create(b, keys.fullBegin, high);
    }
  }
  if (!bounds.complete)
    keys.fullEnd = keys.fullBegin;
  return keys;
}

//===- MaskAnalysis.cpp - which keys a mask can let pass ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"
#include "ElementReads.h"
#include "FindSource.h"
#include "KeyIntervals.h"

#include "Tile/ColumnLimit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using arith::CmpIPredicate;

namespace {

/// What a region's coordinates are of.
enum Coordinate { Batch, Head, Query, Key };

class Analyzer {
public:
  explicit Analyzer(ArrayRef<Value> varying) : varying(varying) {}

  /// The intervals of `condition`, or of its negation. None: it never holds.
  KeyIntervals analyze(Value condition, bool negated) {
    auto known = intervals[negated].find(condition);
    if (known != intervals[negated].end())
      return known->second;
    KeyIntervals found = analyzeNew(condition, negated);
    intervals[negated][condition] = found;
    return found;
  }

  std::optional<AffineForm> getForm(Value value) {
    auto known = forms.find(value);
    if (known != forms.end())
      return known->second;
    std::optional<AffineForm> found = getNewForm(value);
    forms[value] = found;
    return found;
  }

private:
  KeyIntervals analyzeNew(Value condition, bool negated) {
    Operation *op = condition.getDefiningOp();
    if (matchPattern(condition, negated ? m_Zero() : m_One()))
      return {KeyInterval()};
    if (matchPattern(condition, negated ? m_One() : m_Zero()))
      return {};
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
      return combine(analyze(both.getLhs(), negated),
                     analyze(both.getRhs(), negated), !negated);
    if (auto either = dyn_cast_or_null<arith::OrIOp>(op)) {
      if (Value whole = negated ? Value() : holdsForAll(either))
        return unknown(whole);
      return combine(analyze(either.getLhs(), negated),
                     analyze(either.getRhs(), negated), negated);
    }
    if (auto exclusive = dyn_cast_or_null<arith::XOrIOp>(op);
        exclusive && matchPattern(exclusive.getRhs(), m_One()))
      return analyze(exclusive.getLhs(), !negated);
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
      auto predicate = compare.getPredicate();
      return analyzeCompare(negated ? arith::invertPredicate(predicate)
                                    : predicate,
                            compare.getLhs(), compare.getRhs());
    }
    return unknown();
  }

  static KeyIntervals unknown(Value completeIf = {}) {
    KeyInterval interval;
    interval.complete = false;
    interval.completeIf = completeIf;
    return {interval};
  }

  /// The side of a disjunction that is one value for all rows and keys, beside
  /// one that bounds nothing. Null if there is none.
  Value holdsForAll(arith::OrIOp either) {
    for (auto [one, other] : {std::pair(either.getLhs(), either.getRhs()),
                              std::pair(either.getRhs(), either.getLhs())})
      if (!dependsOn(one, Query) && !dependsOn(one, Key) &&
          !dependsOn(one, varying) && canBeReadEarly(one) &&
          llvm::all_of(analyze(other, /*negated=*/false),
                       [](const KeyInterval &interval) {
                         return interval.bounds.empty() && !interval.complete &&
                                !interval.completeIf;
                       }))
        return one;
    return {};
  }

  static bool dependsOn(Value value, ArrayRef<Value> on) {
    auto isThere = [&](Value v) { return llvm::is_contained(on, v); };
    return findSource(value, isThere) != Value();
  }

  static bool dependsOn(Value value, Coordinate on) {
    auto isThere = [&](Value v) { return getCoordinate(v) == on; };
    return findSource(value, isThere) != Value();
  }

  /// Bounds are computed once before the loops, by plain loads.
  static bool canBeReadEarly(Value value) {
    return !findSource(value, [](Value v) {
      auto extract = v.getDefiningOp<tensor::ExtractOp>();
      return extract && !readsOffsetsInBounds(extract);
    });
  }

  std::optional<AffineForm> getNewForm(Value value) {
    AffineForm form;
    if (getCoordinate(value) == Query) {
      form.query = 1;
      return form;
    }
    if (getCoordinate(value) == Key) {
      form.key = 1;
      return form;
    }
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant))) {
      AffineForm one;
      one.constant = 1;
      return form.plus(one, constant.getSExtValue());
    }
    if (dependsOn(value, varying) || !canBeReadEarly(value))
      return std::nullopt;
    bool perRow = dependsOn(value, Query), perKey = dependsOn(value, Key);
    if (!perRow && !perKey) {
      form.terms.push_back({value, 1});
      return form;
    }
    auto affine = getAffine(value);
    if (affine || perKey)
      return affine;
    form.rowTerms.push_back({value, 1});
    return form;
  }

  /// The form of a sum or product; nothing if `value` is neither.
  std::optional<AffineForm> getAffine(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    return llvm::TypeSwitch<Operation *, std::optional<AffineForm>>(op)
        .Case([&](arith::AddIOp add) {
          return getSum(add.getLhs(), add.getRhs(), 1);
        })
        .Case([&](arith::SubIOp sub) {
          return getSum(sub.getLhs(), sub.getRhs(), -1);
        })
        .Case([&](arith::MulIOp mul) { return getProduct(mul); })
        .Case([&](arith::IndexCastOp cast) { return getForm(cast.getIn()); })
        .Default([](Operation *) { return std::nullopt; });
  }

  std::optional<AffineForm> getSum(Value lhs, Value rhs, int64_t factor) {
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

  KeyIntervals analyzeCompare(CmpIPredicate predicate, Value lhs, Value rhs) {
    if (auto difference = getSum(lhs, rhs, -1))
      return isOfKey(*difference) ? solve(predicate, *difference, 1)
                                  : unknown();
    if (auto found = analyzeExtreme(predicate, lhs, rhs))
      return *found;
    if (auto found = analyzeQuotient(predicate, lhs, rhs))
      return *found;
    predicate = tile::exchanged(predicate);
    if (auto found = analyzeExtreme(predicate, rhs, lhs))
      return *found;
    return analyzeQuotient(predicate, rhs, lhs).value_or(unknown());
  }

  static bool isOfKey(const AffineForm &form) {
    return form.key == 1 || form.key == -1;
  }

  /// A bound of the larger or smaller of two values: |x| is max(x, -x).
  std::optional<KeyIntervals> analyzeExtreme(CmpIPredicate predicate,
                                             Value extreme, Value other) {
    bool isMost = extreme.getDefiningOp<arith::MaxSIOp>() != nullptr;
    if (!isMost && !extreme.getDefiningOp<arith::MinSIOp>())
      return std::nullopt;
    bool isBelow =
        predicate == CmpIPredicate::sle || predicate == CmpIPredicate::slt;
    bool isAbove =
        predicate == CmpIPredicate::sge || predicate == CmpIPredicate::sgt;
    if (!isBelow && !isAbove)
      return std::nullopt;
    Operation *op = extreme.getDefiningOp();
    return combine(analyzeCompare(predicate, op->getOperand(0), other),
                   analyzeCompare(predicate, op->getOperand(1), other),
                   /*conjunction=*/isMost == isBelow);
  }

  /// A bound of floor(x / c), which is that of x, c times as large.
  std::optional<KeyIntervals> analyzeQuotient(CmpIPredicate predicate,
                                              Value quotient, Value other) {
    Operation *op = quotient.getDefiningOp();
    if (!isa_and_nonnull<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(
            op))
      return std::nullopt;
    APInt divisor;
    auto x = getForm(op->getOperand(0)), y = getForm(other);
    if (!x || !y || !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
        !divisor.isStrictlyPositive() ||
        !(isa<arith::FloorDivSIOp>(op) || isNatural(*x)))
      return std::nullopt;
    int64_t scale = divisor.getSExtValue();
    auto multiple = AffineForm().plus(*y, scale);
    auto difference = multiple ? x->plus(*multiple, -1) : std::nullopt;
    if (!difference || y->key != 0 || !isOfKey(*difference))
      return std::nullopt;
    return solve(predicate, *difference, scale);
  }

  /// Whether other divisions round it down, too.
  static bool isNatural(const AffineForm &form) {
    return form.query >= 0 && form.key >= 0 && form.constant >= 0 &&
           form.terms.empty() && form.rowTerms.empty();
  }

  /// Where floor(difference / scale) is so beside 0, solved for j.
  static KeyIntervals solve(CmpIPredicate predicate,
                            const AffineForm &difference, int64_t scale) {
    // In range, as the difference is.
    AffineForm opposite = *AffineForm().plus(difference, -1);
    KeyBound atMost = atMostZero(difference, opposite, 1 - scale),
             below = atMostZero(difference, opposite, 1),
             atLeast = atMostZero(opposite, difference, 0),
             above = atMostZero(opposite, difference, scale);
    switch (predicate) {
    case CmpIPredicate::sle:
      return {within({atMost})};
    case CmpIPredicate::slt:
      return {within({below})};
    case CmpIPredicate::sge:
      return {within({atLeast})};
    case CmpIPredicate::sgt:
      return {within({above})};
    case CmpIPredicate::eq:
      return {within({atMost, atLeast})};
    case CmpIPredicate::ne:
      return {within({below}), within({above})};
    default: // unsigned comparisons wrap at 0
      return unknown();
    }
  }

  /// form + margin <= 0, solved for j; `opposite` is -form.
  static KeyBound atMostZero(const AffineForm &form, const AffineForm &opposite,
                             int64_t margin) {
    bool upper = form.key == 1;
    AffineForm limit = upper ? opposite : form;
    limit.key = 0;
    limit.constant += upper ? -margin : margin;
    return {upper, {limit}};
  }

  ArrayRef<Value> varying;
  /// What was found: a value may be read more than once.
  llvm::DenseMap<Value, KeyIntervals> intervals[2]; ///< [negated]
  llvm::DenseMap<Value, std::optional<AffineForm>> forms;
};

} // namespace

MaskRule fa::analyzeMask(Region &mask, ArrayRef<Value> varying) {
  MaskRule rule;
  if (!mask.empty()) {
    Block &block = mask.front();
    rule.intervals = Analyzer(varying).analyze(
        block.getTerminator()->getOperand(0), /*negated=*/false);
    if (rule.intervals.empty()) { // nothing is seen
      KeyInterval none;
      AffineForm before;
      before.constant = -1;
      none.bounds.push_back({/*upper=*/true, {before}});
      rule.intervals.push_back(none);
    }
  } else {
    rule.intervals.emplace_back();
  }
  return rule;
}

std::optional<AffineForm> fa::analyzeForm(Value value) {
  return Analyzer({}).getForm(value);
}

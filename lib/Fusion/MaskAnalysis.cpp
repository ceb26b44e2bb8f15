//===- MaskAnalysis.cpp - which keys a mask can let pass ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"
#include "ElementReads.h"
#include "FindSource.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;

/// sum += factor * x. False where that is not below 2^62 in size: what a row
/// and a bound add is then below 2^63.
static bool addTo(int64_t &sum, int64_t x, int64_t factor) {
  constexpr int64_t limit = int64_t(1) << 62;
  int64_t product;
  return !llvm::MulOverflow(x, factor, product) &&
         !llvm::AddOverflow(sum, product, sum) && sum < limit && sum > -limit;
}

/// terms += factor * other; a value has one term.
static bool addTo(SmallVectorImpl<AffineForm::Term> &terms,
                  ArrayRef<AffineForm::Term> other, int64_t factor) {
  return llvm::all_of(other, [&](const AffineForm::Term &term) {
    auto *known = llvm::find_if(terms, [&](const AffineForm::Term &each) {
      return each.first == term.first;
    });
    if (known == terms.end()) {
      terms.push_back({term.first, 0});
      known = &terms.back();
    }
    return addTo(known->second, term.second, factor);
  });
}

std::optional<AffineForm> AffineForm::plus(const AffineForm &other,
                                           int64_t factor) const {
  AffineForm sum = *this;
  if (addTo(sum.query, other.query, factor) &&
      addTo(sum.key, other.key, factor) &&
      addTo(sum.constant, other.constant, factor) &&
      addTo(sum.terms, other.terms, factor) &&
      addTo(sum.rowTerms, other.rowTerms, factor))
    return sum;
  return std::nullopt;
}

bool KeyInterval::hasLowerBound() const {
  return llvm::any_of(bounds, [](const KeyBound &b) { return !b.upper; });
}

std::optional<int64_t> KeyInterval::width() const {
  std::optional<int64_t> least;
  for (const KeyBound &above : bounds)
    for (const KeyBound &below : bounds) {
      if (!above.upper || below.upper || above.forms.size() > 1 ||
          below.forms.size() > 1)
        continue;
      auto width = above.forms.front().plus(below.forms.front(), -1);
      auto isGone = [](const AffineForm::Term &term) { return !term.second; };
      if (width && width->query == 0 && llvm::all_of(width->terms, isGone) &&
          llvm::all_of(width->rowTerms, isGone))
        least =
            std::min(least.value_or(width->constant + 1), width->constant + 1);
    }
  return least;
}

SmallVector<KeyBound> MaskRule::lengths() const {
  SmallVector<KeyBound> result;
  for (const KeyBound &bound : intervals.front().bounds)
    if (bound.upper && bound.forms.size() == 1 && bound.isUniform() &&
        llvm::all_of(intervals, [&](const KeyInterval &interval) {
          return llvm::is_contained(interval.bounds, bound);
        }))
      result.push_back(bound);
  return result;
}

bool MaskRule::hasLowerBound() const {
  return llvm::any_of(intervals, [](const KeyInterval &interval) {
    return interval.hasLowerBound();
  });
}

bool MaskRule::growsWithQuery() const {
  return llvm::any_of(intervals, [](const KeyInterval &interval) {
    return llvm::any_of(interval.bounds, [](const KeyBound &bound) {
      return bound.upper &&
             llvm::any_of(bound.forms, [](const AffineForm &form) {
               return form.query > 0;
             });
    });
  });
}

bool MaskRule::readsRows() const {
  return llvm::any_of(intervals, [](const KeyInterval &interval) {
    return llvm::any_of(interval.bounds, [](const KeyBound &bound) {
      return llvm::any_of(bound.forms, [](const AffineForm &form) {
        return !form.rowTerms.empty();
      });
    });
  });
}

namespace {

/// What a region's coordinates are of.
enum Coordinate { Batch, Head, Query, Key };

using Intervals = SmallVector<KeyInterval, 2>;

class Analyzer {
public:
  explicit Analyzer(ArrayRef<Value> varying) : varying(varying) {}

  /// The intervals of `condition`, or of its negation. None: it never holds.
  Intervals analyze(Value condition, bool negated) {
    auto known = intervals[negated].find(condition);
    if (known != intervals[negated].end())
      return known->second;
    Intervals found = analyzeNew(condition, negated);
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
  Intervals analyzeNew(Value condition, bool negated) {
    Operation *op = condition.getDefiningOp();
    if (matchPattern(condition, negated ? m_Zero() : m_One()))
      return {KeyInterval()};
    if (matchPattern(condition, negated ? m_One() : m_Zero()))
      return {};
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
      return combine(both.getLhs(), both.getRhs(), negated, !negated);
    if (auto either = dyn_cast_or_null<arith::OrIOp>(op))
      return combine(either.getLhs(), either.getRhs(), negated, negated);
    if (auto exclusive = dyn_cast_or_null<arith::XOrIOp>(op);
        exclusive && matchPattern(exclusive.getRhs(), m_One()))
      return analyze(exclusive.getLhs(), !negated);
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
      return analyzeCompare(compare, negated);
    return unknown();
  }

  static KeyInterval where(ArrayRef<KeyBound> bounds) {
    KeyInterval interval;
    interval.bounds.assign(bounds.begin(), bounds.end());
    return interval;
  }

  static Intervals unknown() {
    KeyInterval interval;
    interval.complete = false;
    return {interval};
  }

  /// The conjunction or the disjunction of two conditions.
  Intervals combine(Value lhs, Value rhs, bool negated, bool conjunction) {
    Intervals x = analyze(lhs, negated), y = analyze(rhs, negated);
    if (!conjunction) {
      for (const KeyInterval &more : y)
        unite(x, more);
      return limited(std::move(x));
    }
    Intervals result;
    for (const KeyInterval &left : x)
      for (const KeyInterval &right : y) {
        KeyInterval both = left;
        for (const KeyBound &bound : right.bounds)
          if (!llvm::is_contained(both.bounds, bound))
            both.bounds.push_back(bound);
        both.complete &= right.complete;
        unite(result, both);
      }
    return limited(std::move(result));
  }

  /// The bound that holds where one of two does, if it is one.
  static std::optional<KeyBound> either(const KeyBound &x, const KeyBound &y) {
    if (x.upper != y.upper)
      return std::nullopt;
    KeyBound both = x;
    for (const AffineForm &form : y.forms)
      if (!llvm::is_contained(both.forms, form))
        both.forms.push_back(form);
    return both;
  }

  /// What holds where one of two intervals does, if that is one: they differ in
  /// one bound at most, or one has bounds beyond those of the other.
  static std::optional<KeyInterval> either(const KeyInterval &x,
                                           const KeyInterval &y) {
    if (!x.complete || !y.complete)
      return std::nullopt;
    KeyInterval common;
    SmallVector<KeyBound> ofX, ofY;
    for (const KeyBound &bound : x.bounds)
      if (llvm::is_contained(y.bounds, bound))
        common.bounds.push_back(bound);
      else
        ofX.push_back(bound);
    for (const KeyBound &bound : y.bounds)
      if (!llvm::is_contained(x.bounds, bound))
        ofY.push_back(bound);
    if (ofX.empty() || ofY.empty())
      return common;
    if (ofX.size() > 1 || ofY.size() > 1)
      return std::nullopt;
    std::optional<KeyBound> both = either(ofX.front(), ofY.front());
    if (!both)
      return std::nullopt;
    common.bounds.push_back(*both);
    return common;
  }

  /// Adds an interval to a disjunction, as one with another if that can be.
  static void unite(Intervals &intervals, const KeyInterval &more) {
    for (KeyInterval &interval : intervals)
      if (std::optional<KeyInterval> both = either(interval, more)) {
        intervals.erase(&interval);
        return unite(intervals, *both);
      }
    intervals.push_back(more);
  }

  /// Too many intervals become one, with the bounds that all of them have.
  static Intervals limited(Intervals intervals) {
    if (intervals.size() <= MaskRule::maxIntervals)
      return intervals;
    KeyInterval common;
    common.complete = false;
    for (const KeyBound &bound : intervals.front().bounds)
      if (llvm::all_of(intervals, [&](const KeyInterval &interval) {
            return llvm::is_contained(interval.bounds, bound);
          }))
        common.bounds.push_back(bound);
    return {common};
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
      return extract && !readsInBounds(extract);
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

  Intervals analyzeCompare(arith::CmpIOp compare, bool negated) {
    auto difference = getSum(compare.getLhs(), compare.getRhs(), -1);
    if (!difference || (difference->key != 1 && difference->key != -1))
      return unknown();
    // In range, as the difference is.
    AffineForm opposite = *AffineForm().plus(*difference, -1);
    using arith::CmpIPredicate;
    CmpIPredicate predicate = compare.getPredicate();
    if (negated)
      predicate = arith::invertPredicate(predicate);
    switch (predicate) {
    case CmpIPredicate::sle:
      return {where({atMostZero(*difference, opposite, 0)})};
    case CmpIPredicate::slt:
      return {where({atMostZero(*difference, opposite, 1)})};
    case CmpIPredicate::sge:
      return {where({atMostZero(opposite, *difference, 0)})};
    case CmpIPredicate::sgt:
      return {where({atMostZero(opposite, *difference, 1)})};
    case CmpIPredicate::eq:
      return {where({atMostZero(*difference, opposite, 0),
                     atMostZero(opposite, *difference, 0)})};
    case CmpIPredicate::ne:
      return {where({atMostZero(*difference, opposite, 1)}),
              where({atMostZero(opposite, *difference, 1)})};
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
  llvm::DenseMap<Value, Intervals> intervals[2]; ///< [negated]
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

//===- MaskAnalysis.cpp - which keys a mask can let pass ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"
#include "ElementReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  for (auto [value, coefficient] : other.rowTerms)
    sum.rowTerms.push_back({value, factor * coefficient});
  return sum;
}

bool KeyInterval::hasLowerBound() const {
  return llvm::any_of(bounds, [](const KeyBound &b) { return !b.upper; });
}

SmallVector<KeyBound> MaskRule::lengths() const {
  SmallVector<KeyBound> result;
  for (const KeyBound &bound : intervals.front().bounds)
    if (bound.upper && bound.form.isUniform() &&
        llvm::all_of(intervals, [&](const KeyInterval &interval) {
          return llvm::is_contained(interval.bounds, bound);
        }))
      result.push_back(bound);
  return result;
}

bool MaskRule::growsWithQuery() const {
  return llvm::any_of(intervals, [](const KeyInterval &interval) {
    return llvm::any_of(interval.bounds, [](const KeyBound &bound) {
      return bound.upper && bound.form.query > 0;
    });
  });
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {

/// Positions of a mask region's arguments.
enum MaskArgument { Batch, Head, Query, Key };

using Intervals = SmallVector<KeyInterval, 2>;

class Analyzer {
public:
  Analyzer(Block &block, ArrayRef<Value> varying)
      : block(block), varying(varying) {}

  /// The intervals of `condition`, or of its negation. None: it never holds.
  Intervals analyze(Value condition, bool negated) {
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

private:
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
      x.append(y);
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
        result.push_back(both);
      }
    return limited(std::move(result));
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

  bool dependsOn(Value value, ArrayRef<Value> on) {
    if (llvm::is_contained(on, value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && llvm::any_of(op->getOperands(),
                              [&](Value v) { return dependsOn(v, on); });
  }

  /// Bounds are computed once before the loops, by plain loads.
  bool canBeReadEarly(Value value) {
    Operation *op = value.getDefiningOp();
    auto extract = dyn_cast_if_present<tensor::ExtractOp>(op);
    if (extract && !readsInBounds(extract))
      return false;
    return !op || llvm::all_of(op->getOperands(),
                               [&](Value v) { return canBeReadEarly(v); });
  }

  std::optional<AffineForm> getForm(Value value) {
    Value query = block.getArgument(Query), key = block.getArgument(Key);
    AffineForm form;
    if (value == query) {
      form.query = 1;
      return form;
    }
    if (value == key) {
      form.key = 1;
      return form;
    }
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant))) {
      form.constant = constant.getSExtValue();
      return form;
    }
    if (dependsOn(value, varying) || !canBeReadEarly(value))
      return std::nullopt;
    bool perRow = dependsOn(value, query), perKey = dependsOn(value, key);
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
    using arith::CmpIPredicate;
    CmpIPredicate predicate = compare.getPredicate();
    if (negated)
      predicate = arith::invertPredicate(predicate);
    switch (predicate) {
    case CmpIPredicate::sle:
      return {where({atMostZero(*difference, 0)})};
    case CmpIPredicate::slt:
      return {where({atMostZero(*difference, 1)})};
    case CmpIPredicate::sge:
      return {where({atLeastZero(*difference, 0)})};
    case CmpIPredicate::sgt:
      return {where({atLeastZero(*difference, 1)})};
    case CmpIPredicate::eq:
      return {where({atMostZero(*difference, 0), atLeastZero(*difference, 0)})};
    case CmpIPredicate::ne:
      return {where({atMostZero(*difference, 1)}),
              where({atLeastZero(*difference, 1)})};
    default: // unsigned comparisons wrap at 0
      return unknown();
    }
  }

  /// form + margin <= 0, solved for j.
  static KeyBound atMostZero(AffineForm form, int64_t margin) {
    form.constant += margin;
    bool upper = form.key == 1;
    form.key = 0;
    return {upper, upper ? AffineForm().plus(form, -1) : form};
  }
  static KeyBound atLeastZero(const AffineForm &form, int64_t margin) {
    return atMostZero(AffineForm().plus(form, -1), margin);
  }

  Block &block;
  ArrayRef<Value> varying;
};

} // namespace

MaskRule fa::analyzeMask(Region &mask, ArrayRef<Value> varying) {
  MaskRule rule;
  if (!mask.empty()) {
    Block &block = mask.front();
    rule.intervals =
        Analyzer(block, varying)
            .analyze(block.getTerminator()->getOperand(0), /*negated=*/false);
    if (rule.intervals.empty()) { // nothing is seen
      KeyInterval none;
      none.bounds.push_back({/*upper=*/true, {}});
      none.bounds.front().form.constant = -1;
      rule.intervals.push_back(none);
    }
  } else {
    rule.intervals.emplace_back();
  }
  return rule;
}

//===----------------------------------------------------------------------===//
// Ranges of a block of rows
//===----------------------------------------------------------------------===//

namespace {

class RangeBuilder {
public:
  using Materialize = llvm::function_ref<Value(Value, Value)>;

  RangeBuilder(ImplicitLocOpBuilder &b, Value firstRow, Value lastRow,
               Value length, Materialize materialize)
      : b(b), firstRow(firstRow), lastRow(lastRow), length(length),
        materialize(materialize) {}

  KeyRange build(const KeyInterval &interval) {
    KeyRange keys{index(0), length, index(0), length};
    for (const KeyBound &bound : interval.bounds) {
      auto [low, high] = extremes(bound.form);
      if (bound.upper) {
        low = arith::AddIOp::create(b, low, index(1));
        high = arith::AddIOp::create(b, high, index(1));
        keys.end = arith::MinSIOp::create(b, keys.end, high);
        keys.fullEnd = arith::MinSIOp::create(b, keys.fullEnd, low);
      } else {
        keys.begin = arith::MaxSIOp::create(b, keys.begin, low);
        keys.fullBegin = arith::MaxSIOp::create(b, keys.fullBegin, high);
      }
    }
    if (!interval.complete)
      keys.fullEnd = keys.fullBegin;
    return keys;
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// The form's value at `row`.
  Value evaluate(const AffineForm &form, Value row) {
    Value sum = index(form.constant);
    auto add = [&](Value value, int64_t coefficient) {
      if (!isa<IndexType>(value.getType()))
        value = arith::IndexCastOp::create(b, b.getIndexType(), value);
      if (coefficient != 1)
        value = arith::MulIOp::create(b, value, index(coefficient));
      sum = arith::AddIOp::create(b, sum, value);
    };
    if (form.query)
      add(row, form.query);
    for (auto [value, coefficient] : form.terms)
      add(materialize(value, Value()), coefficient);
    for (auto [value, coefficient] : form.rowTerms)
      add(materialize(value, row), coefficient);
    return sum;
  }

  /// The smallest and the largest value over the rows.
  std::pair<Value, Value> extremes(const AffineForm &form) {
    Value first = evaluate(form, firstRow);
    if (form.isUniform())
      return {first, first};
    if (!form.rowTerms.empty())
      return loopOverRows(form, first);
    Value last = evaluate(form, lastRow);
    return {arith::MinSIOp::create(b, first, last),
            arith::MaxSIOp::create(b, first, last)};
  }

  std::pair<Value, Value> loopOverRows(const AffineForm &form, Value first) {
    // What is the same for all rows is computed before the loop.
    for (auto [value, coefficient] : form.terms)
      materialize(value, Value());
    Value second = arith::AddIOp::create(b, firstRow, index(1));
    Value end = arith::AddIOp::create(b, lastRow, index(1));
    auto loop =
        scf::ForOp::create(b, second, end, index(1), ValueRange{first, first});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value here = evaluate(form, loop.getInductionVar());
    auto args = loop.getRegionIterArgs();
    scf::YieldOp::create(
        b, ValueRange{arith::MinSIOp::create(b, args[0], here).getResult(),
                      arith::MaxSIOp::create(b, args[1], here).getResult()});
    return {loop.getResult(0), loop.getResult(1)};
  }

  ImplicitLocOpBuilder &b;
  Value firstRow, lastRow, length;
  Materialize materialize;
};

} // namespace

/// Exchanges two ranges unless the first begins first.
static void order(ImplicitLocOpBuilder &b, KeyRange &x, KeyRange &y) {
  Value ordered =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, x.begin, y.begin);
  for (Value KeyRange::*member : {&KeyRange::begin, &KeyRange::end,
                                  &KeyRange::fullBegin, &KeyRange::fullEnd}) {
    Value one = x.*member, other = y.*member;
    x.*member = arith::SelectOp::create(b, ordered, one, other);
    y.*member = arith::SelectOp::create(b, ordered, other, one);
  }
}

SmallVector<KeyRange>
fa::buildKeyRanges(ImplicitLocOpBuilder &b, const MaskRule &rule,
                   Value firstRow, Value lastRow, Value length,
                   llvm::function_ref<Value(Value, Value)> materialize) {
  RangeBuilder builder(b, firstRow, lastRow, length, materialize);
  SmallVector<KeyRange> ranges;
  for (const KeyInterval &interval : rule.intervals)
    ranges.push_back(builder.build(interval));
  for (size_t last = ranges.size(); last > 1; --last)
    for (size_t n = 1; n < last; ++n)
      order(b, ranges[n - 1], ranges[n]);
  return ranges;
}

//===- KeyRanges.cpp - the keys that a block of rows can see --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"

#include "RowOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

namespace {

class RangeBuilder {
public:
  using Materialize = llvm::function_ref<Value(Value, Value)>;

  RangeBuilder(ImplicitLocOpBuilder &b, Value firstRow, Value lastRow,
               Value length, Materialize materialize)
      : b(b), firstRow(firstRow), lastRow(lastRow), length(length),
        materialize(materialize) {}

  /// What is computed for each row, of all bounds in one loop.
  void loopOverRows(const MaskRule &rule) {
    for (const KeyInterval &interval : rule.intervals)
      for (const KeyBound &bound : interval.bounds)
        for (const AffineForm &form : bound.forms)
          addPart(form);
    if (parts.empty())
      return;
    SmallVector<Value> first;
    for (const RowPart &part : parts)
      first.append(2, evaluate(part, firstRow));
    Value second = arith::AddIOp::create(b, firstRow, index(1));
    Value end = arith::AddIOp::create(b, lastRow, index(1));
    auto loop = scf::ForOp::create(b, second, end, index(1), first);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto args = loop.getRegionIterArgs();
      SmallVector<Value> next;
      for (auto [n, part] : llvm::enumerate(parts)) {
        Value here = evaluate(part, loop.getInductionVar());
        next.push_back(arith::MinSIOp::create(b, args[2 * n], here));
        next.push_back(arith::MaxSIOp::create(b, args[2 * n + 1], here));
      }
      scf::YieldOp::create(b, next);
    }
    for (auto [n, part] : llvm::enumerate(parts)) {
      part.least = widened(part, loop.getResult(2 * n));
      part.most = widened(part, loop.getResult(2 * n + 1));
      if (part.narrow && part.form.rowTerms.front().second < 0)
        std::swap(part.least, part.most);
    }
  }

  KeyRange build(const KeyInterval &interval) {
    KeyRange keys{index(0), length, index(0), length};
    for (const KeyBound &bound : interval.bounds) {
      auto [low, high] = extremes(bound);
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
    if (interval.complete)
      return keys;
    Value none = keys.fullBegin; // which may be behind the last key
    if (interval.hasLowerBound())
      none = arith::MinSIOp::create(b, none, keys.fullEnd);
    keys.fullEnd = interval.completeIf
                       ? Value(arith::SelectOp::create(
                             b, materialize(interval.completeIf, Value()),
                             keys.fullEnd, none))
                       : none;
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

  /// The smallest and the largest value over the rows; of several forms not
  /// quite, but inside of what all rows see and outside of what one does.
  std::pair<Value, Value> extremes(const KeyBound &bound) {
    auto [low, high] = extremes(bound.forms.front());
    for (const AffineForm &form : llvm::drop_begin(bound.forms)) {
      auto [lowMore, highMore] = extremes(form);
      auto wider = [&](Value x, Value y) -> Value {
        return bound.upper ? arith::MaxSIOp::create(b, x, y).getResult()
                           : arith::MinSIOp::create(b, x, y).getResult();
      };
      low = wider(low, lowMore);
      high = wider(high, highMore);
    }
    return {low, high};
  }

  /// The smallest and the largest value over the rows.
  std::pair<Value, Value> extremes(const AffineForm &form) {
    if (hasEndsAtEnds(form)) {
      Value first = evaluate(form, firstRow);
      if (form.isUniform())
        return {first, first};
      Value last = evaluate(form, lastRow);
      return {arith::MinSIOp::create(b, first, last),
              arith::MaxSIOp::create(b, first, last)};
    }
    const RowPart &part = *llvm::find_if(
        parts, [&](const RowPart &each) { return each.form == partOf(form); });
    AffineForm rest = form;
    rest.query = 0;
    rest.rowTerms.clear();
    Value same = evaluate(rest, Value());
    return {arith::AddIOp::create(b, same, part.least),
            arith::AddIOp::create(b, same, part.most)};
  }

  /// What of a form differs from row to row; `narrow`: the number of 32 bits
  /// that it is a multiple of, or null.
  struct RowPart {
    AffineForm form;
    Value narrow, least, most;
  };

  static AffineForm partOf(const AffineForm &form) {
    AffineForm part;
    part.query = form.query;
    part.rowTerms = form.rowTerms;
    return part;
  }

  /// Whether the first and the last row have the smallest and the largest
  /// value, in either order.
  bool hasEndsAtEnds(const AffineForm &form) {
    bool grows = form.query >= 0, falls = form.query <= 0;
    for (auto [value, coefficient] : form.rowTerms) {
      bool isOrdered = order.grows(value);
      grows &= isOrdered && coefficient >= 0;
      falls &= isOrdered && coefficient <= 0;
    }
    return grows || falls;
  }

  void addPart(const AffineForm &form) {
    if (hasEndsAtEnds(form))
      return;
    // What is the same for all rows is computed before the loop.
    for (auto [value, coefficient] : form.terms)
      materialize(value, Value());
    RowPart part = {partOf(form), {}, {}, {}};
    if (llvm::any_of(
            parts, [&](const RowPart &each) { return each.form == part.form; }))
      return;
    if (form.query == 0 && form.rowTerms.size() == 1) {
      Value value = form.rowTerms.front().first;
      if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
        value = cast.getIn();
      if (value.getType().isInteger(32))
        part.narrow = value;
    }
    parts.push_back(part);
  }

  Value evaluate(const RowPart &part, Value row) {
    return part.narrow ? materialize(part.narrow, row)
                       : evaluate(part.form, row);
  }

  Value widened(const RowPart &part, Value value) {
    if (!part.narrow)
      return value;
    value = arith::IndexCastOp::create(b, b.getIndexType(), value);
    int64_t coefficient = part.form.rowTerms.front().second;
    return coefficient == 1
               ? value
               : arith::MulIOp::create(b, value, index(coefficient))
                     .getResult();
  }

  RowOrder order;
  SmallVector<RowPart> parts;
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
  builder.loopOverRows(rule);
  SmallVector<KeyRange> ranges;
  for (const KeyInterval &interval : rule.intervals)
    ranges.push_back(builder.build(interval));
  for (size_t last = ranges.size(); last > 1; --last)
    for (size_t n = 1; n < last; ++n)
      order(b, ranges[n - 1], ranges[n]);
  return ranges;
}

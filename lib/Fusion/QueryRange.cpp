//===- QueryRange.cpp - the queries that see a tile of keys ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/QueryRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;

bool fa::isTurned(const AffineForm &form) {
  return form.rowTerms.empty() && (form.query == 0 || form.query == 1);
}

bool fa::hasQueryIntervals(const MaskRule &rule) {
  return rule.isIntervals() &&
         llvm::all_of(rule.intervals, [](const KeyInterval &interval) {
           return llvm::all_of(interval.bounds, [](const KeyBound &bound) {
             return llvm::all_of(bound.forms, isTurned);
           });
         });
}

MaskRule fa::analyzeMaskOfKeys(Region &mask) {
  return mask.empty() ? analyzeMask(mask)
                      : analyzeMask(mask, mask.getArgument(1));
}

namespace {

class QueryRangeBuilder {
public:
  using Materialize = llvm::function_ref<Value(Value)>;

  QueryRangeBuilder(ImplicitLocOpBuilder &b, Value firstKey, Value lastKey,
                    Value numQueries, Materialize materialize)
      : b(b), firstKey(firstKey), lastKey(lastKey), numQueries(numQueries),
        materialize(materialize) {}

  /// A key is seen where one of the intervals has it.
  QueryRange build(ArrayRef<KeyInterval> intervals) {
    QueryRange all = build(intervals.front());
    for (const KeyInterval &interval : intervals.drop_front()) {
      QueryRange more = build(interval);
      all.begin = min(all.begin, more.begin);
      all.end = max(all.end, more.end);
      all.hasLowerEdge &= more.hasLowerEdge;
      all.hasUpperEdge &= more.hasUpperEdge;
      all.hasFull = false;
    }
    return all;
  }

private:
  /// All bounds of an interval hold.
  QueryRange build(const KeyInterval &interval) {
    QueryRange range{index(0), numQueries, index(0), numQueries};
    range.hasFull = interval.complete;
    for (const KeyBound &bound : interval.bounds) {
      if (!llvm::all_of(bound.forms, isTurned)) {
        range.hasFull = false;
        continue;
      }
      if (bound.upper) {
        range.begin = max(range.begin, extreme(bound, firstKey));
        range.fullBegin = max(range.fullBegin, extreme(bound, lastKey));
        range.hasLowerEdge = true;
      } else {
        range.end = min(range.end, extreme(bound, lastKey));
        range.fullEnd = min(range.fullEnd, extreme(bound, firstKey));
        range.hasUpperEdge = true;
      }
    }
    return range;
  }

  /// Upper: the first query that sees `key`, by one of the forms. Lower: the
  /// first behind those that do.
  Value extreme(const KeyBound &bound, Value key) {
    Value found;
    for (const AffineForm &form : bound.forms) {
      Value at = bound.upper ? firstSeeing(form, key) : endSeeing(form, key);
      if (!found)
        found = at;
      else
        found = bound.upper ? min(found, at) : max(found, at);
    }
    return found;
  }

  /// key <= query + rest from query `key` - rest on; key <= rest for all or
  /// none.
  Value firstSeeing(const AffineForm &form, Value key) {
    Value rest = evaluate(form);
    if (form.query)
      return arith::SubIOp::create(b, key, rest);
    return choose(arith::CmpIPredicate::sle, key, rest, index(0), numQueries);
  }

  /// key >= query + rest up to query `key` - rest.
  Value endSeeing(const AffineForm &form, Value key) {
    Value rest = evaluate(form);
    if (form.query)
      return arith::AddIOp::create(b, arith::SubIOp::create(b, key, rest),
                                   index(1));
    return choose(arith::CmpIPredicate::sge, key, rest, numQueries, index(0));
  }

  /// What is the same for all queries.
  Value evaluate(const AffineForm &form) {
    Value sum = index(form.constant);
    for (auto [value, coefficient] : form.terms) {
      Value term = materialize(value);
      if (!isa<IndexType>(term.getType()))
        term = arith::IndexCastOp::create(b, b.getIndexType(), term);
      term = arith::MulIOp::create(b, term, index(coefficient));
      sum = arith::AddIOp::create(b, sum, term);
    }
    return sum;
  }

  Value choose(arith::CmpIPredicate predicate, Value lhs, Value rhs, Value yes,
               Value no) {
    Value holds = arith::CmpIOp::create(b, predicate, lhs, rhs);
    return arith::SelectOp::create(b, holds, yes, no);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }

  ImplicitLocOpBuilder &b;
  Value firstKey, lastKey, numQueries;
  Materialize materialize;
};

} // namespace

QueryRange fa::buildQueryRange(ImplicitLocOpBuilder &b, const MaskRule &rule,
                               Value firstKey, Value lastKey, Value numQueries,
                               llvm::function_ref<Value(Value)> materialize) {
  return QueryRangeBuilder(b, firstKey, lastKey, numQueries, materialize)
      .build(rule.intervals);
}

//===- KeyIntervals.cpp - intervals of keys put together ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyIntervals.h"

using namespace mlir;
using namespace fa;

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
static void unite(KeyIntervals &intervals, const KeyInterval &more) {
  for (KeyInterval &interval : intervals)
    if (std::optional<KeyInterval> both = either(interval, more)) {
      intervals.erase(&interval);
      return unite(intervals, *both);
    }
  intervals.push_back(more);
}

/// Too many intervals become one, with the bounds that all of them have.
static KeyIntervals limited(KeyIntervals intervals) {
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

KeyInterval fa::within(ArrayRef<KeyBound> bounds) {
  KeyInterval interval;
  interval.bounds.assign(bounds.begin(), bounds.end());
  return interval;
}

KeyIntervals fa::combine(KeyIntervals x, const KeyIntervals &y,
                         bool conjunction) {
  if (!conjunction) {
    for (const KeyInterval &more : y)
      unite(x, more);
    return limited(std::move(x));
  }
  KeyIntervals result;
  for (const KeyInterval &left : x)
    for (const KeyInterval &right : y) {
      KeyInterval both = left;
      for (const KeyBound &bound : right.bounds)
        if (!llvm::is_contained(both.bounds, bound))
          both.bounds.push_back(bound);
      both.complete = left.complete && right.complete;
      // Where one is complete without a condition, the other's holds alone.
      both.completeIf = left.complete                         ? right.completeIf
                        : right.complete                      ? left.completeIf
                        : left.completeIf == right.completeIf ? left.completeIf
                                                              : Value();
      unite(result, both);
    }
  return limited(std::move(result));
}

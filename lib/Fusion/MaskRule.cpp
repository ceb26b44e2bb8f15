//===- MaskRule.cpp - intervals of keys and what is known of them ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"

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

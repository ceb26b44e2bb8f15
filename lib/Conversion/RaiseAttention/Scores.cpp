//===- Scores.cpp - what a score is made of -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"

#include "TileReader.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

namespace {

/// Where products of Q and K occur in a sum.
class Occurrences {
public:
  Occurrences(const ExponentialSums &sums, Scores &scores)
      : sums(sums), scores(scores) {}

  bool visit(const Sum &sum) {
    return llvm::all_of(
        sum, [&](const auto &term) { return visit(term.first, term.second); });
  }

  std::string why;
  std::vector<const Product *> found;

private:
  bool visit(const Product &product, double c) {
    if (product.exponent)
      return refuse(product);
    for (auto [number, power] : product.factors) {
      const Factor &f = sums.factor(number);
      if (f.kind == Factor::Function) {
        if (!visit(sums.sum(f.argument)))
          return false;
      } else if (f.kind == Factor::Total) {
        if (power != 1 || !visitDot(number, product, c))
          return refuse(product);
      } else if (f.kind != Factor::Tile) {
        return refuse(product);
      }
    }
    return true;
  }

  bool visitDot(unsigned number, const Product &product, double c) {
    const Product &both = sums.factor(number).product;
    if (both.factors.size() != 2 || both.exponent)
      return false;
    const Factor *q = nullptr, *k = nullptr;
    for (auto [factor, power] : both.factors) {
      const Factor &f = sums.factor(factor);
      if (power != 1 || f.kind != Factor::Tile || f.axes.empty() ||
          f.axes.size() > 2)
        return false;
      (llvm::is_contained(f.axes, kSummed) ? k : q) = &f;
    }
    // Of one row Q has columns alone.
    if (!q || !k || k->axes.size() != 2 || llvm::is_contained(k->axes, kRow) ||
        (q->axes.size() == 2 && !llvm::is_contained(q->axes, kRow)))
      return false;
    if (found.empty()) {
      scores.q = q;
      scores.k = k;
      scores.dot = number;
      scores.factor = c;
      for (auto power : product.factors) {
        const Factor &f = sums.factor(power.first);
        if (f.kind == Factor::Tile && f.axes.empty())
          scores.scalars.push_back(power);
      }
    }
    found.push_back(&product);
    return number == scores.dot &&
           llvm::all_of(scores.scalars, [&](auto power) {
             return llvm::is_contained(product.factors, power);
           });
  }

  bool refuse(const Product &product) {
    if (why.empty())
      why = "a term of its scores is not made of one product of rows of Q and "
            "K, of masks and of numbers: " +
            sums.print({{product, 1.0}});
    return false;
  }

  const ExponentialSums &sums;
  Scores &scores;
};

} // namespace

bool fa::raise::readScores(const ExponentialSums &sums, const Sum &score,
                           Scores &scores, std::string &why) {
  Sum rest;
  for (const auto &[product, c] : score) {
    bool isMask = !product.exponent && product.factors.size() == 1 && c == 1 &&
                  product.factors[0].second == 1 &&
                  sums.factor(product.factors[0].first).kind == Factor::Mask;
    if (isMask)
      scores.masks.push_back(&sums.factor(product.factors[0].first));
    else
      rest[product] = c;
  }
  Occurrences occurrences(sums, scores);
  bool good = occurrences.visit(rest);
  why = occurrences.why;
  if (good && occurrences.found.empty()) {
    why = "its scores are no products of rows of Q and K: " + sums.print(score);
    return false;
  }
  // x alone, or more.
  bool isAlone =
      rest.size() == 1 && occurrences.found.size() == 1 &&
      occurrences.found[0] == &rest.begin()->first &&
      rest.begin()->first.factors.size() == scores.scalars.size() + 1;
  if (good && !isAlone)
    scores.change = rest;
  return good;
}

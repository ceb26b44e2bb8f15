//===- ExponentialSums.cpp - sums of products of exponentials -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExponentialSums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

/// `c` to 40 bits: what was multiplied in another order is the same.
static double roundCoefficient(double c) {
  if (!std::isfinite(c) || c == 0)
    return c;
  int exponent;
  double mantissa = std::frexp(c, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 40)), exponent - 40);
}

unsigned ExponentialSums::number(const Sum &sum) {
  Sum rounded;
  for (const auto &[product, c] : sum)
    rounded[product] = roundCoefficient(c);
  auto [at, isNew] = sumNumbers.try_emplace(std::move(rounded), sums.size());
  if (isNew)
    sums.push_back(sum);
  return at->second;
}

unsigned ExponentialSums::intern(Factor factor) {
  auto [at, isNew] = factorNumbers.try_emplace(factor, factors.size());
  if (isNew)
    factors.push_back(std::move(factor));
  return at->second;
}

int64_t ExponentialSums::numberOf(Value value) {
  auto [at, isNew] =
      valueNumbers.try_emplace(value.getAsOpaquePointer(), values.size());
  if (isNew)
    values.push_back(value);
  return at->second;
}

Sum ExponentialSums::of(Factor factor) {
  return {{Product{{{intern(std::move(factor)), 1}}, 0}, 1.0}};
}

Sum ExponentialSums::constant(double value) {
  return value == 0 ? Sum() : Sum{{Product(), value}};
}

Sum ExponentialSums::tile(Value value, ArrayRef<int> axes) {
  Factor factor;
  factor.kind = Factor::Tile;
  factor.tile = numberOf(value);
  factor.axes = axes;
  return of(std::move(factor));
}

Sum ExponentialSums::mask(Value condition, ArrayRef<int> axes, bool negated) {
  Factor factor;
  factor.kind = Factor::Mask;
  factor.tile = numberOf(condition);
  factor.axes = axes;
  factor.negated = negated;
  return of(std::move(factor));
}

Sum ExponentialSums::function(StringRef name, const Sum &argument) {
  Factor factor;
  factor.kind = Factor::Function;
  factor.name = name.str();
  factor.argument = number(argument);
  return of(std::move(factor));
}

Sum ExponentialSums::add(const Sum &x, const Sum &y, double factor) {
  Sum result = x;
  for (const auto &[product, c] : y) {
    double &sum = result[product];
    double added = sum + factor * c;
    // What cancels but for rounding is 0.
    bool cancels = std::fabs(added) <= 1e-11 * std::fabs(sum);
    sum = added;
    if (cancels)
      result.erase(product);
  }
  // −inf twice is −inf.
  for (auto &[product, c] : result)
    if (!product.exponent && product.factors.size() == 1 &&
        product.factors[0].second == 1 && c > 0 &&
        factors[product.factors[0].first].kind == Factor::Mask)
      c = 1;
  return result;
}

Sum ExponentialSums::scale(const Sum &x, double factor) {
  return add({}, x, factor);
}

Sum ExponentialSums::multiply(const Sum &x, const Sum &y) {
  Sum result;
  for (const auto &[p, c] : x)
    for (const auto &[q, d] : y) {
      std::map<unsigned, int> powers(p.factors.begin(), p.factors.end());
      for (auto [factor, power] : q.factors)
        powers[factor] += power;
      Product product;
      for (auto [factor, power] : powers)
        if (power)
          product.factors.push_back({factor, power});
      product.exponent = number(add(sum(p.exponent), sum(q.exponent)));
      result = add(result, {{std::move(product), c * d}});
    }
  return result;
}

std::optional<Sum> ExponentialSums::invert(const Sum &x) {
  if (x.size() != 1)
    return std::nullopt;
  // What is 0 where a mask does not pass has no inverse there.
  bool isMasked = false;
  walk(sum(x.begin()->first.exponent),
       [&](const Factor &f) { isMasked |= f.kind == Factor::Mask; });
  if (isMasked)
    return std::nullopt;
  Product product = x.begin()->first;
  double c = x.begin()->second;
  for (auto &[factor, power] : product.factors)
    power = -power;
  product.exponent = number(scale(sum(product.exponent), -1));
  return Sum{{product, 1 / c}};
}

Sum ExponentialSums::exponential(const Sum &x) {
  Sum result = constant(1), rest;
  for (const auto &[product, c] : x) {
    std::optional<Sum> power;
    if (product.factors.empty() && !product.exponent) {
      if (c == -INFINITY)
        return {};
      power = constant(std::exp(c));
    } else if (!product.exponent && product.factors.size() == 1 &&
               product.factors[0].second == 1) {
      const Factor &f = factors[product.factors[0].first];
      if (f.kind == Factor::Logarithm && std::fabs(c - 1) < 1e-7)
        power = sum(f.argument);
      else if (f.kind == Factor::Logarithm && std::fabs(c + 1) < 1e-7)
        power = invert(sum(f.argument));
    }
    if (power)
      result = multiply(result, *power);
    else
      rest[product] = c;
  }
  Product only;
  only.exponent = number(rest);
  return multiply(result, {{only, 1.0}});
}

Sum ExponentialSums::logarithm(const Sum &x) {
  Factor factor;
  factor.kind = Factor::Logarithm;
  factor.argument = number(x);
  return of(std::move(factor));
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

bool ExponentialSums::dependsOn(const Factor &f, int axis) const {
  switch (f.kind) {
  case Factor::Tile:
  case Factor::Mask:
    return llvm::is_contained(f.axes, axis);
  case Factor::Total:
    return f.axes.back() != axis && dependsOn(f.product, axis);
  case Factor::Logarithm:
  case Factor::Function:
    return dependsOn(sum(f.argument), axis);
  }
  return true;
}

bool ExponentialSums::dependsOn(const Product &product, int axis) const {
  return llvm::any_of(product.factors,
                      [&](auto power) {
                        return dependsOn(factors[power.first], axis);
                      }) ||
         (product.exponent && dependsOn(sum(product.exponent), axis));
}

bool ExponentialSums::dependsOn(const Sum &sum, int axis) const {
  return llvm::any_of(
      sum, [&](const auto &term) { return dependsOn(term.first, axis); });
}

Sum ExponentialSums::total(const Sum &x, int axis, int64_t size) {
  Sum result;
  for (const auto &[product, c] : x) {
    Product inner, outer;
    for (auto power : product.factors)
      (dependsOn(factors[power.first], axis) ? inner : outer)
          .factors.push_back(power);
    Sum moving, fixed;
    for (const auto &[term, d] : sum(product.exponent))
      (dependsOn(term, axis) ? moving : fixed)[term] = d;
    inner.exponent = number(moving);
    outer.exponent = number(fixed);
    Sum front = {{outer, c}};
    if (inner == Product()) {
      result = add(result, front, static_cast<double>(size));
      continue;
    }
    Factor factor;
    factor.kind = Factor::Total;
    factor.axes = {axis};
    factor.product = inner;
    result = add(result, multiply(front, of(std::move(factor))));
  }
  return result;
}

std::optional<unsigned> ExponentialSums::single(const Sum &sum) const {
  if (sum.size() != 1 || sum.begin()->first.exponent ||
      sum.begin()->first.factors.size() != 1 ||
      sum.begin()->first.factors[0].second != 1 ||
      std::fabs(sum.begin()->second - 1) > 1e-9)
    return std::nullopt;
  return sum.begin()->first.factors[0].first;
}

void ExponentialSums::walk(
    const Product &product,
    llvm::function_ref<void(const Factor &)> visit) const {
  for (auto [number, power] : product.factors) {
    const Factor &f = factors[number];
    visit(f);
    if (f.kind == Factor::Total)
      walk(f.product, visit);
    if (f.kind == Factor::Logarithm || f.kind == Factor::Function)
      walk(sum(f.argument), visit);
  }
  if (product.exponent)
    walk(sum(product.exponent), visit);
}

void ExponentialSums::walk(
    const Sum &sum, llvm::function_ref<void(const Factor &)> visit) const {
  for (const auto &[product, c] : sum)
    walk(product, visit);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return (isa<RankedTensorType>(value.getType()) ? "carried " : "argument ") +
           std::to_string(argument.getArgNumber());
  return value.getDefiningOp()->getName().getStringRef().str();
}

std::string ExponentialSums::print(const Product &product) const {
  std::string text;
  auto append = [&](const std::string &part) {
    text += (text.empty() ? "" : " * ") + part;
  };
  for (auto [number, power] : product.factors) {
    const Factor &f = factors[number];
    std::string part;
    switch (f.kind) {
    case Factor::Tile:
      part = nameOf(values[f.tile]);
      break;
    case Factor::Total:
      part = "sum(" + print(f.product) + ")";
      break;
    case Factor::Logarithm:
      part = "log(" + print(sum(f.argument)) + ")";
      break;
    case Factor::Function:
      part = f.name + "(" + print(sum(f.argument)) + ")";
      break;
    case Factor::Mask:
      part = "mask";
      break;
    }
    append(power == 1 ? part : part + "^" + std::to_string(power));
  }
  if (product.exponent)
    append("exp(" + print(sum(product.exponent)) + ")");
  return text;
}

std::string ExponentialSums::print(const Sum &sum) const {
  std::string text;
  for (const auto &[product, c] : sum) {
    text += text.empty() ? "" : " + ";
    std::string part = print(product);
    if (part.empty() || c != 1) {
      llvm::raw_string_ostream out(text);
      out << llvm::format("%.6g", c) << (part.empty() ? "" : " * ");
    }
    text += part;
  }
  return text.empty() ? "0" : text;
}

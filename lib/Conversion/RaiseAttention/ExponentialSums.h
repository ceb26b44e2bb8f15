//===- ExponentialSums.h - sums of products of exponentials -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A normal form for what loops of online softmax compute. An element of a tile
// is a sum of products
//
//     c · x^k · y^l · .. · exp(e)
//
// of a constant, powers of factors and one exponential, whose exponent is such
// a sum again. Products add exponents; a sum over an axis is a factor of what
// depends on the axis, and what does not is in front of it; exponentials and
// logarithms cancel. Equal sums are then the same map, so that equality of two
// formulas is comparison.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_EXPONENTIALSUMS_H
#define FA_LIB_CONVERSION_RAISEATTENTION_EXPONENTIALSUMS_H

#include "mlir/IR/Value.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa::raise {

/// Factors with their powers, not 0, in order of their numbers, and the number
/// of the exponent (0: no exponential).
struct Product {
  std::vector<std::pair<unsigned, int>> factors;
  unsigned exponent = 0;
  auto operator<=>(const Product &) const = default;
};

/// Products with their coefficients. None is 0; they are finite but for a
/// constant of −inf.
using Sum = std::map<Product, double>;

/// What a factor is.
struct Factor {
  enum Kind {
    Tile,      ///< an element of a tile, or a scalar: whatever it is
    Total,     ///< the sum of `product` over the last of `axes`
    Logarithm, ///< the natural logarithm of sum `argument`
    Function,  ///< the function `name` of it
    /// 0 where a condition holds (or, `negated`, does not), else −inf
    Mask
  };
  Kind kind = Tile;
  int64_t tile = -1; ///< its number in `values`
  std::vector<int> axes;
  Product product;
  unsigned argument = 0;
  std::string name;
  bool negated = false;
  auto operator<=>(const Factor &) const = default;
};

/// The sums of one kernel. Those that are exponents or arguments have numbers;
/// equal sums, but for the rounding of coefficients, have one number.
class ExponentialSums {
public:
  ExponentialSums() { number({}); }

  static Sum constant(double value);
  /// Element `axes` of `value`; an axis of -1 has one element.
  Sum tile(mlir::Value value, llvm::ArrayRef<int> axes);
  Sum mask(mlir::Value condition, llvm::ArrayRef<int> axes, bool negated);
  Sum function(llvm::StringRef name, const Sum &argument);

  Sum add(const Sum &x, const Sum &y, double factor = 1);
  Sum scale(const Sum &x, double factor);
  Sum multiply(const Sum &x, const Sum &y);
  /// 1 / x; nothing if x is no single product.
  std::optional<Sum> invert(const Sum &x);
  Sum exponential(const Sum &x);
  Sum logarithm(const Sum &x);
  /// The sum of x over `size` elements of `axis`.
  Sum total(const Sum &x, int axis, int64_t size);

  bool areEqual(const Sum &x, const Sum &y) { return number(x) == number(y); }
  unsigned number(const Sum &sum);
  const Sum &sum(unsigned number) const { return sums[number]; }
  const Factor &factor(unsigned number) const { return factors[number]; }
  mlir::Value valueOf(const Factor &factor) const {
    return values[factor.tile];
  }

  /// The number of factor `f`, which is one of this.
  unsigned numberOf(const Factor &f) const { return factorNumbers.at(f); }
  /// The factor that `sum` is, if it is one, with the coefficient 1.
  std::optional<unsigned> single(const Sum &sum) const;
  bool dependsOn(const Sum &sum, int axis) const;
  bool dependsOn(const Product &product, int axis) const;
  /// Calls `visit` for all factors in `sum`, those of exponents and of totals
  /// too.
  void walk(const Sum &sum,
            llvm::function_ref<void(const Factor &)> visit) const;
  void walk(const Product &product,
            llvm::function_ref<void(const Factor &)> visit) const;
  /// A formula that a person reads.
  std::string print(const Sum &sum) const;

private:
  unsigned intern(Factor factor);
  int64_t numberOf(mlir::Value value);
  Sum of(Factor factor);
  bool dependsOn(const Factor &factor, int axis) const;
  std::string print(const Product &product) const;

  // Deques: references stay while more come.
  std::deque<Factor> factors;
  std::map<Factor, unsigned> factorNumbers;
  std::deque<Sum> sums;
  std::map<Sum, unsigned> sumNumbers;
  std::vector<mlir::Value> values;
  std::map<void *, int64_t> valueNumbers;
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_EXPONENTIALSUMS_H

//===- LaunchNumbers.h - sums of products of a launch's numbers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses, bounds and masks of a kernel as polynomials: two that are equal as
// integers are equal here, however they were computed. Their variables are what
// a launch gives (scalars, the grid), where a program is (its coordinates, the
// counters of its loops), where an element is in its tile, and integers that
// lie in memory; quotients, remainders, minima and maxima of such are
// variables, too. Integers of 32 bits are taken not to overflow.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_LAUNCHNUMBERS_H
#define FA_LIB_CONVERSION_RAISEATTENTION_LAUNCHNUMBERS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace fa::raise {

/// Axes of numbers beside those of tiles: which query, which key, and of a key
/// that lies in a page which page of its sequence, and where in it.
enum NumberAxis : int {
  kQueryNumber = 100,
  kKeyNumber = 101,
  kPageNumber = 102,
  kSlotNumber = 103
};

/// Sizes that follow from memory: of keys or the pages that they lie in, and
/// how many pages a table names for each batch.
enum OpenSize : int { kOpenKeys = 0, kOpenTable = 1 };

/// The variables of a product, by number, in order.
using Monomial = std::vector<unsigned>;

/// A polynomial with integer coefficients; none is 0.
class Number {
public:
  Number() = default;
  Number(int64_t constant) { addTerm({}, constant); }

  const std::map<Monomial, int64_t> &terms() const { return parts; }
  void addTerm(const Monomial &monomial, int64_t coefficient);
  /// The number, if there are no variables.
  std::optional<int64_t> constant() const;
  bool isZero() const { return parts.empty(); }
  /// The variable that this is, if it is one.
  std::optional<unsigned> variable() const;
  bool contains(unsigned variable) const;
  /// The polynomial that `variable` is multiplied with; nothing if it occurs in
  /// a power.
  std::optional<Number> coefficientOf(unsigned variable) const;
  /// This with `value` in the place of `variable`.
  Number replace(unsigned variable, const Number &value) const;
  /// All coefficients divided by `divisor`, if they are multiples of it.
  std::optional<Number> divideBy(int64_t divisor) const;

  Number operator+(const Number &other) const;
  Number operator-(const Number &other) const;
  Number operator*(const Number &other) const;
  auto operator<=>(const Number &) const = default;

private:
  std::map<Monomial, int64_t> parts;
};

/// What a variable is.
struct Variable {
  enum Kind {
    Program,   ///< a program's coordinate along dimension `number`
    Grid,      ///< how many programs there are along it
    Scalar,    ///< argument `number` of the kernel
    Counter,   ///< that of loop `number`, which begins at operands[0]
    Place,     ///< where the element is along the axis `number`
    Quotient,  ///< operands[0] ÷ operands[1], rounded to 0
    Remainder, ///< and what is left of it
    Least,     ///< the smaller one of two operands
    Greatest,  ///< the greater one
    /// Element operands[0] of argument `number`, where the other operands are
    /// at least 0.
    Element,
    Open,   ///< size `number` of those that are as large as memory is
    Unknown ///< value `number`, at the places `operands`
  };
  Kind kind;
  int64_t number = 0;
  std::vector<Number> operands;
  auto operator<=>(const Variable &) const = default;
};

/// The variables of one kernel.
class LaunchNumbers {
public:
  using Value = mlir::Value;

  const Variable &variable(unsigned number) const { return variables[number]; }
  unsigned intern(Variable variable);
  static Number variableAsNumber(unsigned number) {
    Number result;
    result.addTerm({number}, 1);
    return result;
  }
  Number place(int64_t axis) { return of({Variable::Place, axis, {}}); }
  Number counter(mlir::scf::ForOp loop);
  /// x ÷ y, rounded to 0.
  Number quotient(const Number &x, const Number &y) {
    return divide(x, y, Variable::Quotient);
  }

  /// The scalar `value`, or element (axes[0], axes[1], ..) of the tile. An axis
  /// of -1 has one element.
  Number read(Value value, mlir::ArrayRef<int> axes = {});

  /// Whether `number` is at least 0 in every program of every launch.
  bool isNeverNegative(const Number &number) const;

  /// Makes variables of remainders in `number` that are written as what a
  /// quotient leaves: whole - y · (whole ÷ y).
  void findRemainders(const Number &number, unsigned whole);
  /// `number` with the variable `whole` written as y · (whole ÷ y) + whole mod
  /// y, where it has been divided by y.
  Number split(const Number &number, unsigned whole);
  unsigned size() const { return variables.size(); }

  /// `number` with `replacement` of each variable in its place, also within
  /// what variables are made of; nothing keeps the variable.
  Number
  rewrite(const Number &number,
          llvm::function_ref<std::optional<Number>(unsigned)> replacement);
  /// Whether one of the variables that `number` is made of `isWanted`.
  bool mentions(const Number &number,
                llvm::function_ref<bool(unsigned)> isWanted) const;
  /// Size `number` (OpenSize) of those that follow from how much memory a
  /// launch gives.
  Number open(int64_t number) { return of({Variable::Open, number, {}}); }

  /// What a launch computes: symbol n is the kernel's argument n, those from
  /// `numArguments` on the grid's sizes, dimension n the open size n. Null if
  /// `number` depends on the program or on what lies in memory.
  mlir::AffineExpr toAffine(const Number &number, unsigned numArguments,
                            mlir::MLIRContext *context) const;

  /// `number` as a formula: "64 · program(0) + argument 5".
  std::string print(const Number &number) const;

private:
  Number of(Variable variable);
  Number readOp(mlir::Operation *op, Value value, mlir::ArrayRef<int> axes);
  Number readCarried(mlir::BlockArgument argument, mlir::scf::ForOp loop);
  Number readElement(mlir::Operation *op, Value value,
                     mlir::ArrayRef<int> axes);
  Number readSelected(mlir::Operation *op, mlir::ArrayRef<int> axes);
  /// Elements of a tile at other places are other numbers.
  Number unknown(Value value, mlir::ArrayRef<int> axes = {}) {
    return of({Variable::Unknown,
               identify(value.getAsOpaquePointer()),
               {axes.begin(), axes.end()}});
  }
  /// Loops and values have the numbers in which they were met.
  int64_t identify(void *what) {
    return identities.try_emplace(what, identities.size()).first->second;
  }
  Number divide(const Number &x, const Number &y, Variable::Kind kind);
  Number choose(const Number &x, const Number &y, Variable::Kind kind);

  std::deque<Variable> variables; // references stay
  std::map<Variable, unsigned> numbers;
  std::map<std::pair<void *, std::vector<int>>, Number> known;
  llvm::DenseMap<Value, Number> carried;
  llvm::DenseMap<void *, int64_t> identities;
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_LAUNCHNUMBERS_H

//===- RegionBuilder.h - regions of a raised attention ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_REGIONBUILDER_H
#define FA_LIB_CONVERSION_RAISEATTENTION_REGIONBUILDER_H

#include "Places.h"

#include "fa/Conversion/RaiseAttention.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <memory>

namespace fa::raise {

/// Numbers as expressions of what a launch of a kernel knows.
class LaunchExpressions {
public:
  /// `refusal` says which number was the first that has none.
  LaunchExpressions(const LaunchNumbers &numbers, tile::KernelOp kernel,
                    Refusal &refusal)
      : numbers(numbers), kernel(kernel), refusal(refusal) {}

  /// Null if it depends on something else; then the function is not built.
  mlir::AffineExpr get(const Number &number);
  bool haveFailed() const { return failed; }

private:
  const LaunchNumbers &numbers;
  tile::KernelOp kernel;
  Refusal &refusal;
  bool failed = false;
};

/// Builds what changes scores, and their mask, as regions of tile.attention.
class RegionBuilder {
public:
  using Value = mlir::Value;

  /// What regions read from outside: the same in both, arguments of the
  /// function.
  struct Capture {
    std::string key;
    mlir::Type type;
    RaisedArgument argument;
  };

  RegionBuilder(const PlacedAttention &placed, LaunchNumbers &numbers,
                ExponentialSums &sums, LaunchExpressions &expressions,
                mlir::ImplicitLocOpBuilder &b)
      : placed(placed), numbers(numbers), sums(sums), expressions(expressions),
        b(b) {}

  void buildScore();
  void buildMask();
  /// Gives each of the regions an argument for each of the first `number`
  /// captures, where there is one for all before the last of these.
  void addArguments(unsigned number);

  /// How `place` is captured.
  static std::string keyOf(const ElementPlace &place,
                           const LaunchNumbers &numbers);
  RaisedArgument describe(const ElementPlace &place);

  std::unique_ptr<mlir::Block> score, mask; ///< null: none
  std::vector<Capture> captures;

private:
  /// Begins a region with `leading` arguments of its own.
  void openRegion(mlir::ArrayRef<mlir::Type> leading);
  /// The argument of the open region that is what `key` names: a new argument
  /// of the function where it is not yet one.
  Value capture(const std::string &key, mlir::Type type,
                RaisedArgument argument);
  Value captureNumber(const Number &number);
  Value captureElement(const ElementPlace &place);
  Value buildVariable(unsigned variable);
  Value buildNumber(const Number &number);
  Value buildCondition(const Condition &condition);
  Value buildSum(const Sum &sum);
  Value buildFactor(unsigned number);

  const PlacedAttention &placed;
  LaunchNumbers &numbers;
  ExponentialSums &sums;
  LaunchExpressions &expressions;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Block *region = nullptr; ///< that is open
  unsigned numLeading = 0;
  std::map<unsigned, Value> places; ///< b, h, i, j by variable
  Value coordinates[4], product;
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_REGIONBUILDER_H

//===- TileReader.h - tiles of a kernel as sums of exponentials -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_TILEREADER_H
#define FA_LIB_CONVERSION_RAISEATTENTION_TILEREADER_H

#include "ExponentialSums.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace fa::raise {

/// The axes of an element: a row of queries, a column of the output, and those
/// that are summed over, from kSummed on; one within another has the next
/// number.
enum Axis : int { kOne = -1, kRow = 0, kColumn = 1, kSummed = 2 };

/// A finite number that stands for −inf: at most this.
inline constexpr double kFiniteMask = -1e4;

/// Reads values of a kernel as sums. Loads, maxima, what loops carry and what
/// has no formula are factors.
class TileReader {
public:
  using Value = mlir::Value;

  /// ofStored: values are read as far as they are stored, so that a choice
  /// between one and a constant, by a condition of integers, is that one.
  explicit TileReader(ExponentialSums &sums, bool ofStored = false)
      : sums(sums), ofStored(ofStored) {}

  /// Element `axes` of `value`, with `depth` sums around it.
  Sum read(Value value, llvm::ArrayRef<int> axes, int depth = 0);

  /// Values that are read as factors, whatever their formulas are: divisors
  /// that are sums have no inverse but this.
  void setFactors(llvm::DenseSet<Value> values) {
    whole = std::move(values);
    known.clear();
  }

  /// Of `value` what is repeated along other dimensions.
  static Value strip(Value value);

  /// A guard that was taken for what it guards: `value` where it is `number`
  /// is replaced by something else.
  struct Guard {
    mlir::Operation *select;
    Value value;
    double number;
  };
  const std::vector<Guard> &guards() const { return foundGuards; }
  /// A choice that was taken for what it gives where element `axes` of
  /// `condition` holds or, `negated`, does not: nothing else may be stored.
  struct Choice {
    mlir::Operation *select;
    Value condition;
    llvm::SmallVector<int> axes;
    bool negated;
  };
  const std::vector<Choice> &choices() const { return foundChoices; }
  /// Scalars that are taken to be above 0, because −inf is multiplied by them.
  const llvm::SetVector<Value> &positives() const { return foundPositives; }
  /// A mask that is a finite number, if there is one.
  std::optional<double> finiteMask() const { return foundFinite; }
  /// Whether one was multiplied by what may make it no mask.
  bool hasScaledFiniteMask() const { return foundScaledFinite; }

private:
  Sum readOp(mlir::Operation *op, Value value, llvm::ArrayRef<int> axes,
             int depth);
  Sum readSelect(mlir::Operation *op, llvm::ArrayRef<int> axes, int depth);
  std::optional<Sum> readChoice(mlir::Operation *op, llvm::ArrayRef<int> axes,
                                int depth);
  std::optional<Sum> readGuard(mlir::Operation *op, llvm::ArrayRef<int> axes,
                               int depth);
  Sum readDot(mlir::Operation *op, llvm::ArrayRef<int> axes, int depth);
  Sum multiply(const Sum &x, const Sum &y);
  std::optional<Sum> readTanh(const Sum &x, const Sum &y);

  ExponentialSums &sums;
  bool ofStored;
  llvm::DenseSet<Value> whole;
  std::map<std::pair<void *, std::vector<int>>, Sum> known;
  std::vector<Guard> foundGuards;
  std::vector<Choice> foundChoices;
  llvm::SetVector<Value> foundPositives;
  std::optional<double> foundFinite;
  std::set<unsigned> finiteMasks; ///< factors
  bool foundScaledFinite = false;
};

/// The number that all elements of `value` are, or that the scalar is.
std::optional<double> findConstant(mlir::Value value);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_TILEREADER_H

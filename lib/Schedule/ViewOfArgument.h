//===- ViewOfArgument.h - what a view has of an argument --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_VIEWOFARGUMENT_H
#define FA_LIB_SCHEDULE_VIEWOFARGUMENT_H

#include "Tile/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <string>

namespace fa {

/// A place along a dimension of an argument: a sum of indices, each times a
/// number. Without any it is 0.
class BoxIndex {
public:
  BoxIndex() = default;
  explicit BoxIndex(mlir::OpFoldResult index) { add(index); }

  void add(mlir::OpFoldResult index, int64_t factor = 1);
  bool isZero() const { return terms.empty(); }
  /// Whether it is known to be a multiple of `number`.
  bool isMultipleOf(int64_t number) const;
  /// Whether `holds` is true of each of the indices.
  bool all(llvm::function_ref<bool(mlir::OpFoldResult)> holds) const;
  /// The sum, computed where `b` is; `build` gives an index there.
  mlir::Value
  build(mlir::ImplicitLocOpBuilder &b,
        llvm::function_ref<mlir::Value(mlir::OpFoldResult)> build) const;

private:
  struct Term {
    mlir::OpFoldResult index;
    int64_t factor;
  };
  llvm::SmallVector<Term, 1> terms;
};

/// A view of a kernel's argument, through any subviews, dimensions that are
/// taken apart, and permutations.
struct ViewOfArgument {
  /// A dimension of the view.
  struct Dim {
    int64_t dim;             ///< which of the argument's it goes along
    int64_t step;            ///< elements of that from one of its own on
    mlir::OpFoldResult size; ///< null: the argument's
    bool isWhole;            ///< it has all of the argument's dimension
  };

  mlir::BlockArgument argument;
  /// Where it begins, one for each dimension of the argument.
  llvm::SmallVector<BoxIndex> start;
  llvm::SmallVector<Dim> dims;
};

/// Null if `view` is none; then `reason` says what is in the way.
std::optional<ViewOfArgument> findViewOfArgument(mlir::Value view,
                                                 std::string &reason);

/// Whether `op` reads an argument that nothing writes while the kernel runs.
bool readsInput(mlir::Operation *op);

/// Whether `size` is that of dimension `dim` of the argument.
bool isSizeOf(mlir::OpFoldResult size, mlir::BlockArgument argument,
              int64_t dim);

/// Whether `index` is known to be a multiple of `factor`.
bool isMultipleOf(mlir::Value index, int64_t factor);

/// What `index` is at most, if that is known.
std::optional<int64_t> largestOf(mlir::Value index);

} // namespace fa

#endif // FA_LIB_SCHEDULE_VIEWOFARGUMENT_H

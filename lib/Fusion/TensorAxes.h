//===- TensorAxes.h - what the dimensions of tensors are made of -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reshapes join dimensions and take them apart. An axis is what all of them
// leave whole: each dimension of each tensor of a computation is a product of
// axes, the slowest first. So a tensor is never asked to lie without gaps:
// memory can be seen with more dimensions than it has, whatever its strides.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_TENSORAXES_H
#define FA_LIB_FUSION_TENSORAXES_H

#include "UnfusedKernel.h"

namespace fa {

using AxisId = unsigned;
/// The axes of a dimension, the slowest first. Empty: the dimension has size 1.
using AxisList = llvm::SmallVector<AxisId, 2>;

/// What is known of the size of a dimension.
struct AxisSize {
  int64_t number = mlir::ShapedType::kDynamic;
  /// The argument's dimension that it is the size of, where that is known.
  std::optional<ArgumentSize> name = std::nullopt;

  bool isDynamic() const { return mlir::ShapedType::isDynamic(number); }
};

class AxisTable {
public:
  /// The axes of a new dimension of `size`: one, or none of size 1.
  AxisList add(AxisSize size);

  /// What `axes` are made of as of now.
  AxisList resolve(llvm::ArrayRef<AxisId> axes) const;
  /// The size of an axis that is not split.
  int64_t sizeOf(AxisId axis) const { return axes[axis].size.number; }

  /// The axes of each of the dimensions whose product is a dimension of `list`.
  /// Axes are split for that. Nothing if it cannot be told.
  std::optional<llvm::SmallVector<AxisList>>
  divide(llvm::ArrayRef<AxisId> list, llvm::ArrayRef<AxisSize> dims);

  /// Makes `list` the same as `known`, by splitting axes of either and by
  /// giving new ones the place of others. False if they are not the same: then
  /// the table is of no use any more.
  bool unite(llvm::ArrayRef<AxisId> list, llvm::ArrayRef<AxisId> known);
  /// What there is now keeps its place.
  void settle();

  /// Splits an axis so that the faster part has `inner` elements; false if it
  /// has no such part.
  bool split(AxisId axis, int64_t inner);

private:
  struct Entry {
    AxisSize size;
    llvm::SmallVector<AxisId, 2> parts; ///< one: the same as that
    bool isNew = true;
  };

  llvm::SmallVector<Entry> axes;
};

} // namespace fa

#endif // FA_LIB_FUSION_TENSORAXES_H

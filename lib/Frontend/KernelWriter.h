//===- KernelWriter.h - kernels that are written at S3 ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is no attention is not found in a program on whole tensors but written
// as a tile.kernel.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FRONTEND_KERNELWRITER_H
#define FA_LIB_FRONTEND_KERNELWRITER_H

#include "fa/Numerics/ElementType.h"

#include "Tile/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// The element type of floats and integers.
mlir::Type elementTypeOf(mlir::Builder &b, ElementType type);

/// As many columns as a tile for `columns` has: a power of two, so that what is
/// beyond is outside of its view, and of large ones a part.
int64_t tileColumns(int64_t columns);

/// Writes one kernel: arguments first, then `create`, then its body at `b`.
class KernelWriter {
public:
  using Value = mlir::Value;

  /// `aligned`: rows, which are arguments that say so, have neighbours in their
  /// last dimension and begin at multiples of 16 bytes.
  KernelWriter(mlir::ImplicitLocOpBuilder &b, bool aligned)
      : b(b), aligned(aligned) {}

  /// Adds an argument and returns its number.
  unsigned add(mlir::Type element, mlir::ArrayRef<int64_t> sizes,
               tile::Access access, bool isRows);
  /// Two sizes are the same.
  void addEqual(unsigned argument, unsigned dim, unsigned other,
                unsigned otherDim);
  /// A size as a part of an extent of the grid.
  mlir::AffineExpr size(unsigned argument, unsigned dim);

  /// Creates the kernel and leaves the builder at the start of its body.
  tile::KernelOp create(mlir::StringRef name, mlir::StringRef entry,
                        mlir::ArrayRef<mlir::AffineExpr> extents);

  Value argument(unsigned number) { return kernel.getArgument(number); }
  Value index(int64_t value);
  Value dim(unsigned argument, unsigned dim);
  mlir::RankedTensorType tile(mlir::ArrayRef<int64_t> sizes,
                              mlir::Type element) {
    return mlir::RankedTensorType::get(sizes, element);
  }
  /// A part of `memref`: dimensions whose size is the number 1 go, but for the
  /// last one, the columns. `step` is from column to column.
  Value part(Value memref, mlir::ArrayRef<mlir::OpFoldResult> offsets,
             mlir::ArrayRef<mlir::OpFoldResult> sizes, int64_t step = 1);
  /// The same of what has no columns.
  Value vectorPart(Value memref, mlir::ArrayRef<mlir::OpFoldResult> offsets,
                   mlir::ArrayRef<mlir::OpFoldResult> sizes);
  /// The tile at `at` of `view`, of 16-bit floats as f32.
  Value load(Value view, mlir::ArrayRef<int64_t> sizes, mlir::ValueRange at);
  /// Stores `value`, rounded to what `view` has.
  void store(Value value, Value view, mlir::ValueRange at);
  Value constant(mlir::RankedTensorType type, float value);
  /// Ends the body.
  void finish() { tile::ReturnOp::create(b); }

private:
  Value reducedPart(Value memref, mlir::ArrayRef<int64_t> kept,
                    mlir::ArrayRef<mlir::OpFoldResult> offsets,
                    mlir::ArrayRef<mlir::OpFoldResult> sizes, int64_t step);

  mlir::ImplicitLocOpBuilder &b;
  bool aligned;
  mlir::SmallVector<mlir::Type> types;
  mlir::SmallVector<mlir::Attribute> attributes, rules;
  mlir::SmallVector<int64_t> names; ///< argument and dimension of each symbol
  tile::KernelOp kernel;
};

} // namespace fa

#endif // FA_LIB_FRONTEND_KERNELWRITER_H

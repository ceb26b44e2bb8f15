//===- ArgumentView.h - tensors that are views of an argument ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is of rank 4; what a program's arguments are is the program's
// business. Between an argument and the attention's operand there may be
// transposes, reshapes and slices, and between the attention's output and the
// function's result transposes and reshapes. None of them moves data: in a
// kernel they are views of the argument's memory. Packed sequences become a
// batch last of all, or first of all become packed: where each begins is read
// when a program knows which is its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ARGUMENTVIEW_H
#define FA_LIB_FUSION_ARGUMENTVIEW_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// One dimension of a view.
struct ViewDim {
  /// The argument's dimensions whose product this is, the slowest first; empty:
  /// the size is static.
  llvm::SmallVector<int64_t, 2> parts;
  int64_t divisor = 1;     ///< the product is divided by this
  int64_t staticSize = -1; ///< -1: known at launch only
  int64_t unitDim = -1;    ///< the argument's dimension with the same stride

  bool isUnit() const { return staticSize == 1; }
};

/// Whether it is known before a launch that `slice` lies in its source: along
/// each dimension it is a constant part of a constant size, or the whole.
bool isKnownSlice(mlir::tensor::ExtractSliceOp slice);

/// Groups of one dimension each, but dimension `at`, a new one of size 1, with
/// a neighbour: how a tensor of `rank` dimensions, 2 at least, is reshaped to
/// one without it.
llvm::SmallVector<mlir::ReassociationIndices> groupsWithUnit(int64_t rank,
                                                             int64_t at);

/// Two dimensions of the argument that become one: the stride of `outer` must
/// be the size of `inner` times its stride.
struct CollapsedDims {
  int64_t outer, inner;
};

/// How a tensor of rank 4 or less lies in an argument's memory.
class ArgumentView {
public:
  /// Follows `value` back to the argument that it is a view of. Fails, without
  /// a message, if it is none, or packed where that is not `takesPacked`.
  static mlir::FailureOr<ArgumentView> ofOperand(mlir::Value value,
                                                 bool takesPacked = false);

  /// Follows `value`, which has one use, forward to the function's result.
  /// Elementwise operations on the way, whose other operands are the same for
  /// all elements, are added to `epilogue` in order.
  static mlir::FailureOr<ArgumentView>
  ofResult(mlir::Value value,
           llvm::SmallVectorImpl<mlir::Operation *> &epilogue);

  /// Of an operand: the argument's number. Of a result: the result's number.
  unsigned number = 0;
  llvm::SmallVector<ViewDim, 4> dims;
  bool isPart = false; ///< a slice is on the way
  llvm::SmallVector<CollapsedDims> collapsed;
  /// Of packed sequences: the number of the argument that has their offsets.
  /// Dimension 0 is their number, of no part, and `build` gives the packed rows
  /// without it.
  std::optional<unsigned> offsets;
  /// Sizes that a dimension of the argument must be a multiple of.
  llvm::SmallVector<std::pair<int64_t, int64_t>> divisible;

  /// The size of dimension `d`, in terms of symbol(argument dimension).
  mlir::AffineExpr
  size(unsigned d, mlir::MLIRContext *context,
       llvm::function_ref<mlir::AffineExpr(int64_t)> symbol) const;

  /// Whether the size of dimension `d` is that of one dimension of an argument,
  /// or one less than the number of offsets.
  bool hasOwnSize(unsigned d) const {
    return (offsets && d == 0) ||
           (dims[d].parts.size() == 1 && dims[d].divisor == 1);
  }

  /// The view of `memref`, the argument's memory.
  mlir::Value build(mlir::ImplicitLocOpBuilder &b, mlir::Value memref) const;

private:
  struct Step {
    enum Kind { Transpose, Expand, Collapse, Slice } kind;
    /// Of a transpose; of a slice the dimensions that are kept.
    llvm::SmallVector<int64_t> permutation;
    llvm::SmallVector<mlir::ReassociationIndices> groups;
    /// Of an expansion's result; of a slice all sizes, dynamic where it is as
    /// large as its source.
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<int64_t> offsets = {}; ///< of a slice
  };

  void start(mlir::RankedTensorType type);
  void unpack(unsigned offsetsNumber);
  mlir::LogicalResult apply(Step step);
  void transpose(llvm::ArrayRef<int64_t> permutation);
  mlir::LogicalResult expand(const Step &step);
  mlir::LogicalResult collapse(const Step &step);
  void slice(const Step &step);
  static mlir::FailureOr<Step> stepOf(mlir::Operation *op, bool inverse);
  static mlir::Value buildExpand(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value memref, const Step &step);
  static mlir::Value buildSlice(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value memref, const Step &step);

  llvm::SmallVector<Step> steps;
};

} // namespace fa

#endif // FA_LIB_FUSION_ARGUMENTVIEW_H

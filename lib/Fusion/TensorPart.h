//===- TensorPart.h - what is one kernel on tensors -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside attentions a function has products with weights, biases, norms, gates.
// A part of it is a kernel of tiles if it is elementwise but for at most one
// operation that sums over an axis: a dot of two tensors that it is given, or a
// reduction of what is computed element by element. Reshapes, transposes and
// what is broadcast are views. Each value is known by the axes that its
// elements are at.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_TENSORPART_H
#define FA_LIB_FUSION_TENSORPART_H

#include "ArgumentView.h"
#include "TensorAxes.h"

#include "Tile/Tile.h"
#include "fa/Plan/ForwardRules.h"

namespace fa {

/// A value of a part at the axes of its dimensions.
struct TensorNode {
  mlir::Value value;
  llvm::SmallVector<AxisList> dims;
  /// Those of its operands that are tensors, in order.
  llvm::SmallVector<unsigned> operands = {};
  /// Of what is read from memory: where it lies.
  std::optional<ArgumentView> memory = std::nullopt;
};

struct TensorPart {
  mlir::func::FuncOp function;
  AxisTable axes;
  std::vector<TensorNode> nodes;
  /// Of each result the node that has its elements, and its dimensions.
  struct Result {
    unsigned node;
    llvm::SmallVector<AxisList> dims;
  };
  llvm::SmallVector<Result> results;
  std::optional<unsigned> sum; ///< the dot or the reduction
  /// What its rows, its columns and what it sums over are made of; of an
  /// elementwise part `rows` has all axes of the results. A reduction has no
  /// columns.
  AxisList rows, columns, inner;
  AxisList others; ///< axes of the results that are neither
};

/// Whether `op` can be computed element by element in a kernel of tiles, on
/// every target.
bool isTileElementwise(mlir::Operation *op);

/// Reads `function`, at S2 and without attention, as one kernel on tensors.
/// Fails, with a `reason` in words, if it is none.
mlir::FailureOr<TensorPart> matchTensorPart(mlir::func::FuncOp function,
                                            std::string &reason);

/// Builds kernel `name` from `part` before its function. With `promises`, rows
/// of its arguments are neighbours in memory and, where their sizes say so,
/// begin at multiples of 16 bytes.
tile::KernelOp buildTensorKernel(const TensorPart &part, mlir::StringRef name,
                                 bool promises, const ForwardRules &rules);

} // namespace fa

#endif // FA_LIB_FUSION_TENSORPART_H

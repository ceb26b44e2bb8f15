//===- ElementRegion.h - tensor code as code of one element -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ELEMENTREGION_H
#define FA_LIB_FUSION_ELEMENTREGION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace fa {

/// The tensors and scalars that the regions of one attention read from outside,
/// in the order in which they become block arguments of both regions.
struct RegionCaptures {
  llvm::SetVector<mlir::Value> values;
  llvm::SmallVector<mlir::Block *> blocks;

  /// The block argument of `block` that stands for `value`.
  mlir::Value get(mlir::Value value, mlir::Block *block);
};

/// Translates whole-tensor code into the scalar code of one element.
class ElementBuilder {
public:
  /// Elements are built at the end of `block`. `scores` at the identity
  /// `coordinates` is `score`; either may be null (a mask reads no scores).
  ElementBuilder(mlir::Location loc, mlir::Block *block,
                 RegionCaptures &captures, mlir::Value scores,
                 mlir::Value score, llvm::ArrayRef<mlir::Value> coordinates);

  /// The element of `tensor` at `at`, or null: then `blocker` is the operation
  /// that is not elementwise.
  mlir::Value build(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at);

  mlir::Operation *blocker = nullptr;
  mlir::ImplicitLocOpBuilder b;

private:
  mlir::Value buildOp(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value createOrFold(const mlir::OperationState &state);
  mlir::Value buildSequence(mlir::Attribute numbers,
                            llvm::ArrayRef<mlir::Value> at);
  mlir::Value constantIndex(int64_t value);
  bool readsScores(mlir::Value value);

  mlir::Block *block;
  RegionCaptures &captures;
  mlir::Value scores, score;
  llvm::SmallVector<mlir::Value> coordinates;
  llvm::DenseMap<int64_t, mlir::Value> indices;
  /// The element of a tensor at some coordinates.
  struct Element {
    llvm::SmallVector<mlir::Value> at;
    mlir::Value value;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Element, 1>> known;
};

} // namespace fa

#endif // FA_LIB_FUSION_ELEMENTREGION_H

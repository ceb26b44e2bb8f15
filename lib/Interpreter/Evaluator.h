//===- Evaluator.h - one function, op by op ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_EVALUATOR_H
#define FA_LIB_INTERPRETER_EVALUATOR_H

#include "Body.h"
#include "Shapes.h"

#include "Tile/Tile.h"
#include "fa/Interpreter/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa::interp {

/// What gradients of an attention are made of: delta [b, hq, sq], the others
/// [b, hq, sq, sk], 0 where a key is masked but for the scaled products.
struct BackwardRows {
  Tensor products, p, ds, dx, delta;
  std::vector<bool> isSeen; ///< of each score
};

/// Evaluates one call of a function.
class Evaluator {
public:
  explicit Evaluator(Precision precision) : precision(precision) {}

  /// What `function` returns for `arguments`, which fit, as f64 tensors.
  llvm::Expected<std::vector<HostTensor>>
  run(mlir::func::FuncOp function, llvm::ArrayRef<InterpreterValue> arguments);

private:
  const Tensor &get(mlir::Value value) { return values.find(value)->second; }
  int64_t getIndex(mlir::Value value) { return get(value).ints[0]; }

  void import(mlir::BlockArgument argument, const InterpreterValue &value);
  void releaseOperands(mlir::Operation *op);

  /// Evaluates one operation; errors have its location.
  llvm::Error evaluate(mlir::Operation *op);
  llvm::Expected<Tensor> compute(mlir::Operation *op);
  llvm::Expected<Tensor> computeElementwise(mlir::Operation *op);
  llvm::Expected<Tensor> extract(mlir::tensor::ExtractOp op);
  llvm::Expected<Tensor> collapse(mlir::tensor::CollapseShapeOp op);
  llvm::Expected<Tensor> slice(mlir::tensor::ExtractSliceOp op);
  llvm::Expected<Tensor> dim(mlir::tensor::DimOp op);
  llvm::Expected<Tensor> paged(tile::PagedOp op);

  /// A linalg operation, by its loops; errors have a location.
  llvm::Error evaluateLoops(mlir::linalg::LinalgOp op);
  llvm::Expected<Sizes> findLoops(mlir::linalg::LinalgOp op);
  /// Evaluates what is the same at every iteration of `body`, once.
  llvm::Error evaluateUniform(mlir::Block &body);

  /// tile.attention and tile.attention_backward, as their definitions say.
  llvm::Error evaluateAttention(tile::AttentionOp op);
  llvm::Error attend(tile::AttentionOp op, const Tensor &scores);
  llvm::Error evaluateBackward(tile::AttentionBackwardOp op);
  llvm::Error setGradients(tile::AttentionBackwardOp op,
                           const BackwardRows &rows);
  llvm::Expected<BackwardRows> backwardRows(tile::AttentionBackwardOp op);
  llvm::Expected<Tensor> captureGradient(tile::AttentionBackwardOp op,
                                         size_t number,
                                         const BackwardRows &rows);
  /// The products of queries and keys times the scales; `keyScales` may be
  /// none, those of three dimensions are for `scaleKeys` keys each.
  llvm::Expected<Tensor> scaledProducts(mlir::Value q, mlir::Value k,
                                        mlir::Value scale,
                                        mlir::ValueRange keyScales,
                                        int64_t scaleKeys,
                                        tile::DotPrecision factors);
  /// The scores of scaled products: −inf where a key is masked.
  llvm::Expected<Tensor> modifyAndMask(Tensor scores, mlir::Region &score,
                                       mlir::Region &mask,
                                       mlir::OperandRange captures);
  /// What a region of an attention gives for all elements of its scores, or
  /// `value`, one that it computes.
  llvm::Expected<Tensor> evaluateRegion(mlir::Region &region,
                                        mlir::OperandRange captures,
                                        llvm::ArrayRef<int64_t> sizes,
                                        const Tensor *scores,
                                        mlir::Value value = {});

  /// The sizes of `type`, of which `given` are the dynamic ones.
  Sizes sizesOf(mlir::RankedTensorType type, mlir::OperandRange given);
  /// `tensor`, rounded to the elements of `type`.
  Tensor rounded(Tensor tensor, mlir::Type type);

  Precision precision;
  ValueMap values;
};

/// An error unless `arguments` are as many as those of `function`, and of their
/// types.
llvm::Error checkArguments(mlir::func::FuncOp function,
                           llvm::ArrayRef<InterpreterValue> arguments);

/// Whether a value of `sizes` is one of `type`.
bool hasType(llvm::ArrayRef<int64_t> sizes, mlir::Type type);

/// `error` at the location of `op`.
llvm::Error located(mlir::Operation *op, llvm::Error error);

/// What is said of an operation that the reference does not know.
llvm::Error notEvaluated(mlir::Operation *op);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_EVALUATOR_H

//===- Derivatives.h - derivatives of elementwise operations ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_DERIVATIVES_H
#define FA_LIB_FUSION_DERIVATIVES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace fa {

/// `value` everywhere in a scalar or tensor of the type of `like`.
mlir::Value constantLike(mlir::ImplicitLocOpBuilder &b, mlir::Value like,
                         double value);

/// `adjoint` times the derivative of the result of `op`, an elementwise
/// operation on scalars or tensors, with respect to its operand `number`, in
/// the operand's type. Null: the derivative is 0. Fails, without a message,
/// where it is not known. At kinks the derivatives are PyTorch's
/// (docs/numerics.md).
mlir::FailureOr<mlir::Value> pullBack(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Operation *op, unsigned number,
                                      mlir::Value adjoint);

/// Whether `op` makes something else of bits: what depends on its result has no
/// derivative, even if that goes by integers. (A comparison or a conversion to
/// integers has the derivative 0.)
bool hidesDerivative(mlir::Operation *op);

/// Fills `derivative` with a region that gives the derivative of what `score`,
/// which is not empty, gives with respect to `of`, its first argument or a
/// result of an operation in it. An operation without a known derivative is an
/// error at its location.
mlir::LogicalResult differentiateScore(mlir::Region &score, mlir::Value of,
                                       mlir::Region &derivative);

} // namespace fa

#endif // FA_LIB_FUSION_DERIVATIVES_H

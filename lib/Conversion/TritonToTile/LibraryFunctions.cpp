//===- LibraryFunctions.cpp - functions of device libraries ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

llvm::StringRef fa::findLibraryFunction(llvm::StringRef symbol) {
  bool isF32 =
      symbol.consume_front("__nv_")
          ? symbol.consume_back("f")
          : symbol.consume_front("__ocml_") && symbol.consume_back("_f32");
  if (!isF32)
    return {};
  symbol.consume_front("fast_");
  return llvm::StringSwitch<llvm::StringRef>(symbol)
      .Case("fabs", math::AbsFOp::getOperationName())
      .Case("ceil", math::CeilOp::getOperationName())
      .Case("cos", math::CosOp::getOperationName())
      .Case("erf", math::ErfOp::getOperationName())
      .Case("exp", math::ExpOp::getOperationName())
      .Case("exp2", math::Exp2Op::getOperationName())
      .Case("fdivide", arith::DivFOp::getOperationName())
      .Case("floor", math::FloorOp::getOperationName())
      .Case("fma", math::FmaOp::getOperationName())
      .Case("fmax", arith::MaxNumFOp::getOperationName())
      .Case("fmin", arith::MinNumFOp::getOperationName())
      .Case("log", math::LogOp::getOperationName())
      .Case("log2", math::Log2Op::getOperationName())
      .Case("rsqrt", math::RsqrtOp::getOperationName())
      .Case("sin", math::SinOp::getOperationName())
      .Case("sqrt", math::SqrtOp::getOperationName())
      .Case("tanh", math::TanhOp::getOperationName())
      .Default({});
}

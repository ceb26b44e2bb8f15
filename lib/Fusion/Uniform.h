//===- Uniform.h - values that are the same everywhere ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_UNIFORM_H
#define FA_LIB_FUSION_UNIFORM_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"

#include <optional>

namespace fa {

/// The scalar that is everywhere in `value`, or null. That of a constant is
/// made behind it.
mlir::Value getUniform(mlir::Value value);

/// The number that is everywhere in `value`, in another shape or wider, if it
/// is known.
std::optional<llvm::APFloat> getNumber(mlir::Value value);

/// The same as a double.
std::optional<double> getDouble(mlir::Value value);

} // namespace fa

#endif // FA_LIB_FUSION_UNIFORM_H

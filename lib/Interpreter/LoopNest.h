//===- LoopNest.h - a body and the loops around it --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops along which the result moves are evaluated side by side. The others are
// steps, taken one after the other in the order of a nest of loops, the last
// loop innermost: it is in this order that each element of the result is summed
// up.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_LOOPNEST_H
#define FA_LIB_INTERPRETER_LOOPNEST_H

#include "Body.h"

namespace fa::interp {

/// A value of the body, and where the iterations find it.
struct ElementAccess {
  mlir::Value value;
  const Tensor *tensor; ///< null: the value is the offset itself
  Sizes strides;        ///< of each loop, in elements
  int64_t offset = 0;   ///< at the first iteration
};

/// The index along loop `dim` of `numLoops`.
ElementAccess indexAlong(mlir::Value value, size_t numLoops, size_t dim);

/// One result, and what the body makes of it.
struct LoopResult {
  ElementAccess access; ///< its value, null if not used, is the result so far
  mlir::Value yielded;
};

struct LoopNest {
  Sizes sizes;                             ///< of the loops, at least 1
  llvm::SmallVector<ElementAccess> inputs; ///< those that the body uses
  /// All move along the same loops, and none becomes what another one was.
  llvm::SmallVector<LoopResult, 1> results;
};

/// Makes of `results`, which have the elements before the first iteration, what
/// they are after the last one.
llvm::Error runLoops(const LoopNest &nest, Body &body,
                     llvm::MutableArrayRef<Tensor> results);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_LOOPNEST_H

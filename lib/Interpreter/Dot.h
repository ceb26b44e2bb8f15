//===- Dot.h - products of matrices -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_DOT_H
#define FA_LIB_INTERPRETER_DOT_H

#include "Value.h"

#include "Tile/Tile.h"
#include "fa/Interpreter/Interpreter.h"

namespace fa::interp {

/// a · b + acc as tile.dot defines it: a [.., m, k], b [.., k, n] or, if
/// `transposed`, [.., n, k]; batches of b divide those of a. Sums are double,
/// for the declared precision f32, where factors are rounded as `factors` says.
/// Sizes that do not fit are errors.
llvm::Expected<Tensor> dot(const Tensor &a, const Tensor &b, bool transposed,
                           const Tensor *acc, Precision precision,
                           tile::DotPrecision factors);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_DOT_H

//===- Lines.h - along one dimension ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_LINES_H
#define FA_LIB_INTERPRETER_LINES_H

#include "Value.h"

#include "Tile/Tile.h"
#include "fa/Interpreter/Interpreter.h"

namespace fa::interp {

/// The softmax along `dim`; 0 in a line of −inf. `sinks`, where there are any,
/// has one more score for each line, of the sizes of `scores` without `dim`.
llvm::Expected<Tensor> softmax(const Tensor &scores, int64_t dim,
                               const Tensor *sinks, Precision precision);

/// The logarithm of the sum of exponentials along the last dimension, sinks
/// included; −inf of a line of −inf.
llvm::Expected<Tensor> logSumExp(const Tensor &scores, const Tensor *sinks,
                                 Precision precision);

/// `dim` reduced by `kind`.
Tensor reduce(const Tensor &input, int64_t dim, tile::ReduceKind kind);

/// `input`, of batches, heads, queries and keys, times the factors of dropout
/// by `rng`, a seed and an offset.
Tensor dropout(Tensor input, const Tensor &rng, double probability);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_LINES_H

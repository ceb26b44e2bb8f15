//===- Packing.h - sequences packed into one tensor -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_PACKING_H
#define FA_LIB_INTERPRETER_PACKING_H

#include "Value.h"

#include "llvm/Support/Error.h"

namespace fa::interp {

/// `rows`, [h, s, ..], as [b, h, s, ..]: sequence b has rows offsets[b] to
/// offsets[b + 1] - 1, 0 behind. Offsets that descend or leave the rows are an
/// error.
llvm::Expected<Tensor> ragged(const Tensor &rows, const Tensor &offsets);

/// The inverse: `input`, [b, h, s, ..], as [h, s, ..], 0 in rows that belong to
/// no sequence.
llvm::Expected<Tensor> pack(const Tensor &input, const Tensor &offsets);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_PACKING_H

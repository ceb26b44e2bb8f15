//===- ElementType.h - elements in memory -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_ELEMENTTYPE_H
#define FA_NUMERICS_ELEMENTTYPE_H

#include "fa/Launch/ElementType.h"

namespace fa {

/// The element at `p` as a double (integers exactly up to 2^53).
double loadElement(const void *p, ElementType type);

/// Stores `value` at `p`, rounded to nearest, ties to even; integers truncate.
void storeElement(void *p, ElementType type, double value);

/// `value` as the nearest value of `type`.
double roundTo(ElementType type, double value);

/// `value` with 10 bits behind the point, those of tf32: to nearest, ties away
/// from zero (PTX ISA, "cvt", .rna.tf32). A NaN stays one; what is too large
/// becomes infinite.
float roundToTf32(float value);

} // namespace fa

#endif // FA_NUMERICS_ELEMENTTYPE_H

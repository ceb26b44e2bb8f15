//===- ElementType.h - the element types of buffers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_ELEMENTTYPE_H
#define FA_NUMERICS_ELEMENTTYPE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace fa {

enum class ElementType { F32, F16, BF16, F64, I32, I64, I1, F8E4M3, F8E5M2 };

/// Bytes of one element in memory.
int64_t byteSize(ElementType type);

/// "f32", "f16", "bf16", "f64", "i32", "i64", "i1", "f8e4m3", "f8e5m2".
llvm::StringRef name(ElementType type);
std::optional<ElementType> parseElementType(llvm::StringRef name);

/// The element at `p` as a double (integers exactly up to 2^53).
double loadElement(const void *p, ElementType type);

/// Stores `value` at `p`, rounded to nearest, ties to even; integers truncate.
void storeElement(void *p, ElementType type, double value);

/// `value` as the nearest value of `type`.
double roundTo(ElementType type, double value);

} // namespace fa

#endif // FA_NUMERICS_ELEMENTTYPE_H

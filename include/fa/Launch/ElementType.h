//===- ElementType.h - the element types of buffers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_ELEMENTTYPE_H
#define FA_LAUNCH_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fa {

enum class ElementType { F32, F16, BF16, F64, I32, I64, I1, F8E4M3, F8E5M2 };

/// Bytes of one element in memory.
int64_t byteSize(ElementType type);

/// "f32", "f16", "bf16", "f64", "i32", "i64", "i1", "f8e4m3", "f8e5m2".
std::string_view name(ElementType type);
std::optional<ElementType> parseElementType(std::string_view name);

/// Whether floats of this type are only stored so, in 8 bits: f16 and bf16,
/// which compute with them, have all of their numbers.
constexpr bool isStorageFloat(ElementType type) {
  return type == ElementType::F8E4M3 || type == ElementType::F8E5M2;
}

} // namespace fa

#endif // FA_LAUNCH_ELEMENTTYPE_H

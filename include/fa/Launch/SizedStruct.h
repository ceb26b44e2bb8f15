//===- SizedStruct.h - structs of the C interfaces, by size -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A struct of the C interface begins with its size, by which a caller that was
// built with an older or a newer header is known. Members are only ever added,
// at the end, and 0 means that nothing is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_SIZEDSTRUCT_H
#define FA_LAUNCH_SIZEDSTRUCT_H

#include "fa/Launch/Text.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace fa {

/// `given` with what an older caller does not know left 0. A size below
/// `firstSize`, that of the struct's first version, is a failure, and so is a
/// newer caller's member that is not 0: it asks for what is not known here.
template <typename T>
Result<T> readSized(std::string_view name, const T &given, size_t firstSize) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result{};
  if (given.size < firstSize || given.size % alignof(T) != 0)
    return makeFailure(name, ": expected size ", sizeof(T), ", found ",
                       given.size);
  auto *bytes = reinterpret_cast<const char *>(&given);
  for (size_t n = sizeof(T); n < given.size; ++n)
    if (bytes[n])
      return makeFailure(name, ": expected size ", sizeof(T), ", found ",
                         given.size,
                         " with members in use that this version of the "
                         "library does not know");
  std::memcpy(&result, bytes, std::min<size_t>(given.size, sizeof result));
  result.size = sizeof result;
  return result;
}

/// Writes `value` to `*to`, whose size the caller has set: as much as an older
/// caller knows, and 0 for what only a newer one does.
template <typename T>
Failure writeSized(std::string_view name, T value, T *to, size_t firstSize) {
  static_assert(std::is_trivially_copyable_v<T>);
  size_t size = to->size;
  if (size < firstSize || size % alignof(T) != 0)
    return makeFailure(name, ": expected size ", sizeof(T), ", found ", size);
  value.size = size;
  auto *bytes = reinterpret_cast<char *>(to);
  std::memcpy(bytes, &value, std::min(size, sizeof value));
  if (size > sizeof value)
    std::memset(bytes + sizeof value, 0, size - sizeof value);
  return {};
}

} // namespace fa

#endif // FA_LAUNCH_SIZEDSTRUCT_H

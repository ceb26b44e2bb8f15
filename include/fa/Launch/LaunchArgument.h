//===- LaunchArgument.h - what a launch is given ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_LAUNCHARGUMENT_H
#define FA_LAUNCH_LAUNCHARGUMENT_H

#include "fa/Launch/KernelInfo.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace fa {

/// The sizes or strides of a tensor, at most kMaxRank of them, in place.
class Extents {
public:
  void assign(std::span<const int64_t> from) {
    assert(from.size() <= kMaxRank && "the caller checks the rank");
    count = from.size();
    std::copy(from.begin(), from.end(), values.begin());
  }
  size_t size() const { return count; }
  const int64_t *data() const { return values.data(); }
  const int64_t *begin() const { return data(); }
  const int64_t *end() const { return data() + count; }
  int64_t operator[](size_t d) const { return values[d]; }

private:
  std::array<int64_t, kMaxRank> values = {};
  size_t count = 0;
};

/// One argument of a launch.
struct LaunchArgument {
  bool isTensor = false;
  ElementType type = ElementType::F32;
  void *data = nullptr;   ///< of element 0
  Extents sizes, strides; ///< strides in elements
  uint64_t bits = 0;      ///< of a scalar

  /// `sizes` and `strides`: at most kMaxRank of each.
  static LaunchArgument tensor(void *data, ElementType type,
                               std::span<const int64_t> sizes,
                               std::span<const int64_t> strides);
  static LaunchArgument f32(float value);
  static LaunchArgument index(int64_t value);
};

/// Writes the row-major strides of `sizes`; the largest number where they
/// overflow.
void fillContiguousStrides(std::span<const int64_t> sizes,
                           std::span<int64_t> strides);

} // namespace fa

#endif // FA_LAUNCH_LAUNCHARGUMENT_H

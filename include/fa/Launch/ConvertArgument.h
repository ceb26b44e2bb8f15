//===- ConvertArgument.h - arguments of the C interfaces --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CONVERTARGUMENT_H
#define FA_LAUNCH_CONVERTARGUMENT_H

#include "fa/Launch/LaunchArgument.h"
#include "fa/fa.h"

namespace fa {

/// Nothing if `type` is none of the enum.
std::optional<ElementType> elementTypeOf(faType type);

/// Argument `number` of a launch: its type and rank are checked, and where it
/// has no strides it is row-major.
Result<LaunchArgument> convertArgument(size_t number, const faArgument &from);

/// All arguments of a launch, in place.
class ConvertedArguments {
public:
  /// A failure if there are too many, or one cannot be converted.
  Failure convert(const faArgument *arguments, size_t count);
  std::span<const LaunchArgument> get() const { return {storage, count}; }

private:
  LaunchArgument storage[kMaxArguments];
  size_t count = 0;
};

} // namespace fa

#endif // FA_LAUNCH_CONVERTARGUMENT_H

//===- TargetName.cpp - how a place to run is spelt -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/TargetName.h"

#include <charconv>

using namespace fa;

Result<TargetName> fa::parseTargetName(std::string_view text) {
  if (text == "cpu")
    return TargetName();
  constexpr std::string_view prefix = "cuda:";
  if (text == "cuda")
    return TargetName{true, 0};
  if (text.starts_with(prefix)) {
    int card = 0;
    const char *end = text.data() + text.size();
    auto [stop, error] =
        std::from_chars(text.data() + prefix.size(), end, card);
    if (error == std::errc() && stop == end)
      return TargetName{true, card};
  }
  return makeFailure("'", text,
                     "' is not a target of this build, expected cpu, cuda or "
                     "cuda:N");
}

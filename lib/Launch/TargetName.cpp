//===- TargetName.cpp - how a place to run is spelt -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/TargetName.h"

#include <charconv>

using namespace fa;

/// The number in ":7"; card 0 is meant where there is none.
static std::optional<int> parseCard(std::string_view text) {
  if (text.empty())
    return 0;
  int card = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + 1, end, card);
  if (text[0] != ':' || error != std::errc() || stop != end)
    return std::nullopt;
  return card;
}

Result<TargetName> fa::parseTargetName(std::string_view text) {
  if (text == "cpu")
    return TargetName();
  for (DriverKind kind : {DriverKind::Cuda, DriverKind::Hip}) {
    std::string_view target = infoOf(kind).target;
    if (!text.starts_with(target))
      continue;
    if (auto card = parseCard(text.substr(target.size())))
      return TargetName{kind, *card};
  }
  return makeFailure("'", text,
                     "' is not a target of this build, expected cpu, cuda, "
                     "cuda:N, hip or hip:N");
}

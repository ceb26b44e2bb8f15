//===- Text.cpp - texts without LLVM --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Text.h"

using namespace fa;

std::string fa::formatSizes(std::span<const int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

void TextPart::appendTo(std::string &text) const {
  if (auto *characters = std::get_if<std::string_view>(&value))
    text += *characters;
  else if (auto *number = std::get_if<int64_t>(&value))
    text += std::to_string(*number);
  else if (auto *amount = std::get_if<uint64_t>(&value))
    text += std::to_string(*amount);
  else
    text += formatSizes(*std::get_if<std::span<const int64_t>>(&value));
}

std::string fa::joinText(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart &part : parts)
    part.appendTo(text);
  return text;
}

//===- SpecReader.cpp - the words of a SPEC -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa;

SpecReader::SpecReader(StringRef kind, StringRef spec) : kind(kind) {
  SmallVector<StringRef> all;
  spec.split(all, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : all) {
    auto [key, value] = word.split('=');
    // A flag has no value, which is not an empty one.
    bool isNew =
        words.try_emplace(key, word.contains('=') ? value : StringRef()).second;
    if (!isNew)
      fail("key '" + key + "' is given twice");
  }
}

void SpecReader::fail(const Twine &message) {
  if (problem.empty())
    problem = (kind + " " + message).str();
}

std::optional<StringRef> SpecReader::take(StringRef key) {
  known += (known.empty() ? "" : " ") + key.str();
  auto word = words.find(key);
  if (word == words.end())
    return std::nullopt;
  StringRef value = word->second;
  words.erase(word);
  return value;
}

bool SpecReader::readSize(StringRef key, int64_t &result) {
  std::optional<StringRef> value = take(key);
  if (value && value->getAsInteger(10, result))
    fail("key '" + key + "': expected an integer of 64 bits, found '" + *value +
         "'");
  return value.has_value();
}

void SpecReader::readFlag(StringRef key, bool &result) {
  std::optional<StringRef> value = take(key);
  if (value && value->data())
    fail("key '" + key + "': expected no value, found '" + *value + "'");
  result |= value.has_value();
}

void SpecReader::choose(StringRef key, ArrayRef<StringRef> choices,
                        int64_t &number) {
  std::optional<StringRef> value = take(key);
  if (!value)
    return;
  const auto *found = find(choices, *value);
  if (found == choices.end())
    fail("key '" + key + "': expected one of " + join(choices, ", ") +
         ", found '" + *value + "'");
  else
    number = found - choices.begin();
}

void SpecReader::readType(StringRef key, ElementType &result) {
  std::optional<StringRef> value = take(key);
  if (!value)
    return;
  std::optional<ElementType> type = parseElementType(*value);
  if (type != ElementType::F32 && type != ElementType::F16 &&
      type != ElementType::BF16)
    fail("key '" + key + "': expected f32, f16 or bf16, found '" + *value +
         "'");
  else
    result = *type;
}

Error SpecReader::finish() {
  if (!words.empty())
    fail("key '" + words.begin()->first() +
         "' is unknown, expected one of: " + known);
  return problem.empty() ? Error::success() : createStringError(problem);
}

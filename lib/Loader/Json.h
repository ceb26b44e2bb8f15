//===- Json.h - reads JSON that is not trusted ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a bundle's metadata needs of RFC 8259, without LLVM: whatever is wrong
// with a text is a failure that says where.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LOADER_JSON_H
#define FA_LIB_LOADER_JSON_H

#include "fa/Launch/Text.h"

#include <vector>

namespace fa {

struct JsonValue {
  enum Kind { Null, Bool, Integer, Real, String, Array, Object };
  Kind kind = Null;
  bool boolean = false;
  int64_t integer = 0; ///< numbers without fraction and exponent, of 64 bits
  std::string string;
  std::vector<JsonValue> items; ///< of arrays, and the values of objects
  std::vector<std::string> keys;
};

/// Parses a whole text. Arrays and objects nest at most 32 deep. The value of a
/// number that is no integer is not kept.
Result<JsonValue> parseJson(std::string_view text);

/// Walks a value and takes what is expected of it. The first thing that is not
/// as expected is the failure, with its path; after that everything is 0 or
/// empty, so that a reader checks once, at its end.
class JsonCursor {
public:
  JsonCursor(const JsonValue &value, Failure &failure)
      : value(&value), failure(failure) {}

  JsonCursor operator[](const char *key) const;
  JsonCursor operator[](size_t index) const;
  /// The number of elements of an array.
  size_t size() const;
  bool isNull() const { return value->kind == JsonValue::Null; }
  bool isInteger() const { return value->kind == JsonValue::Integer; }
  /// Whether it is an object with this member.
  bool has(std::string_view key) const;
  bool isArray() const { return value->kind == JsonValue::Array; }

  int64_t integer(int64_t least = INT64_MIN) const;
  bool boolean() const;
  const std::string &string() const;

  /// Fails with "PATH: " and the parts, unless there is a failure already.
  template <typename... Parts> void fail(const Parts &...parts) const {
    if (!failure)
      failure = makeFailure(path, ": ", parts...);
  }

private:
  JsonCursor(const JsonValue &value, Failure &failure, std::string path)
      : value(&value), failure(failure), path(std::move(path)) {}
  bool expect(JsonValue::Kind kind) const;

  const JsonValue *value;
  Failure &failure;
  std::string path = "bundle.json";
};

} // namespace fa

#endif // FA_LIB_LOADER_JSON_H

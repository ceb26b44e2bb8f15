//===- Text.h - texts and failures without LLVM -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lib/Launch is linked into programs that carry no LLVM, so it has its own
// counterparts of Twine, Error and Expected. They behave alike: a Failure that
// converts to true is one, a Result that converts to true holds a value.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_TEXT_H
#define FA_LAUNCH_TEXT_H

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fa {

/// "2x4x100x64".
std::string formatSizes(std::span<const int64_t> sizes);

/// A part of a text: characters, a number, or sizes as `formatSizes` writes
/// them.
class TextPart {
public:
  TextPart(std::string_view text) : value(text) {}
  TextPart(std::signed_integral auto number) : value(int64_t(number)) {}
  TextPart(std::unsigned_integral auto number) : value(uint64_t(number)) {}
  TextPart(std::span<const int64_t> sizes) : value(sizes) {}

  void appendTo(std::string &text) const;

private:
  std::variant<std::string_view, int64_t, uint64_t, std::span<const int64_t>>
      value;
};

/// The parts one after the other.
std::string joinText(std::initializer_list<TextPart> parts);

/// The same of whatever is a part. Only the list is made where it is called:
/// the loader has many messages and is to stay small.
template <typename... Parts> std::string makeText(const Parts &...parts) {
  return joinText({TextPart(parts)...});
}

/// What went wrong, or nothing. Success allocates nothing.
class [[nodiscard]] Failure {
public:
  Failure() = default;
  explicit Failure(std::string text)
      : text(std::make_unique<std::string>(std::move(text))) {}

  /// Whether there is a failure, as in `if (Failure failure = f()) ...`.
  explicit operator bool() const { return text != nullptr; }
  const std::string &message() const { return *text; }

private:
  std::unique_ptr<std::string> text;
};

/// The failure that the parts say.
template <typename... Parts> Failure makeFailure(const Parts &...parts) {
  return Failure(makeText(parts...));
}

/// A value, or the failure to get it.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Failure failure) : failure(std::move(failure)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  Failure takeFailure() { return std::move(failure); }

private:
  std::optional<T> value;
  Failure failure;
};

} // namespace fa

#endif // FA_LAUNCH_TEXT_H

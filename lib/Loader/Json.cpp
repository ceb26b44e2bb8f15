//===- Json.cpp - reads JSON that is not trusted --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>
#include <charconv>

using namespace fa;

/// Whether all of `digits` is a number; from_chars and its further arguments
/// say what is one.
template <typename T, typename... Base>
static bool readNumber(std::string_view digits, T &number, Base... base) {
  const char *first = digits.begin(), *last = digits.end();
  auto [stop, error] = std::from_chars(first, last, number, base...);
  return error == std::errc() && stop == last;
}

namespace {

/// A recursive descent through one text. A parse function gives false where it
/// set `problem`.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Result<JsonValue> parse() {
    JsonValue value;
    if (parseValue(value, 0)) {
      skipSpace();
      if (at == text.size())
        return value;
      fail("the end of the text");
    }
    return makeFailure("expected ", problem, " at byte ", at, " of ",
                       text.size());
  }

private:
  static constexpr int maxDepth = 32;
  static constexpr std::string_view kSpace = " \t\r\n";

  bool fail(std::string_view expected) {
    problem = expected;
    return false;
  }

  void skipSpace() {
    while (at < text.size() && kSpace.find(text[at]) != kSpace.npos)
      ++at;
  }

  bool accept(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  bool acceptWord(std::string_view word) {
    if (!text.substr(at).starts_with(word))
      return false;
    at += word.size();
    return true;
  }

  bool parseValue(JsonValue &value, int depth);
  bool parseNumber(JsonValue &value);
  bool parseString(std::string &result);
  bool parseEscape(std::string &result);
  bool parseElements(JsonValue &value, char close, int depth);

  std::string_view text;
  size_t at = 0;
  std::string problem;
};

} // namespace

bool Parser::parseValue(JsonValue &value, int depth) {
  if (depth > maxDepth)
    return fail("arrays and objects nested at most 32 deep");
  skipSpace();
  if (accept('{')) {
    value.kind = JsonValue::Object;
    return parseElements(value, '}', depth);
  }
  if (accept('[')) {
    value.kind = JsonValue::Array;
    return parseElements(value, ']', depth);
  }
  if (accept('"')) {
    value.kind = JsonValue::String;
    return parseString(value.string);
  }
  if (acceptWord("null"))
    return true;
  value.kind = JsonValue::Bool;
  value.boolean = acceptWord("true");
  return value.boolean || acceptWord("false") || parseNumber(value);
}

bool Parser::parseElements(JsonValue &value, char close, int depth) {
  if (accept(close))
    return true;
  do {
    if (close == '}') {
      if (!accept('"'))
        return fail("a key in quotes");
      if (!parseString(value.keys.emplace_back()))
        return false;
      if (!accept(':'))
        return fail("':'");
    }
    if (!parseValue(value.items.emplace_back(), depth + 1))
      return false;
  } while (accept(','));
  return accept(close) || fail(close == '}' ? "',' or '}'" : "',' or ']'");
}

bool Parser::parseNumber(JsonValue &value) {
  size_t end = text.find_first_not_of("+-.eE0123456789", at);
  std::string_view digits = text.substr(at, end - at);
  bool isInteger = digits.find_first_of(".eE") == std::string_view::npos;
  double real;
  bool isRead =
      isInteger ? readNumber(digits, value.integer) : readNumber(digits, real);
  if (!isRead)
    return fail("a value");
  value.kind = isInteger ? JsonValue::Integer : JsonValue::Real;
  at += digits.size();
  return true;
}

bool Parser::parseString(std::string &result) {
  while (at < text.size() && text[at] != '"') {
    if (static_cast<unsigned char>(text[at]) < ' ')
      return fail("no control character in a text");
    if (text[at] != '\\')
      result += text[at++];
    else if (!parseEscape(result))
      return false;
  }
  return accept('"') || fail("'\"'");
}

bool Parser::parseEscape(std::string &result) {
  constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
  char c = ++at < text.size() ? text[at] : '\0';
  if (size_t which = from.find(c); which != std::string_view::npos) {
    result += to[which];
    ++at;
    return true;
  }
  // Names in a bundle are ASCII; so are the escapes that are understood.
  std::string_view digits =
      c == 'u' ? text.substr(at + 1, 4) : std::string_view();
  unsigned code = 0;
  if (digits.size() != 4 || !readNumber(digits, code, 16) || code > 0x7f)
    return fail("an escape sequence of an ASCII character");
  result += static_cast<char>(code);
  at += 5;
  return true;
}

Result<JsonValue> fa::parseJson(std::string_view text) {
  return Parser(text).parse();
}

//===----------------------------------------------------------------------===//
// JsonCursor
//===----------------------------------------------------------------------===//

/// What a cursor stands on that found nothing.
static const JsonValue &nothing() {
  static const JsonValue value;
  return value;
}

static std::string_view nameOf(JsonValue::Kind kind) {
  constexpr std::string_view names[] = {
      "null",   "a boolean", "an integer", "a number with a fraction",
      "a text", "an array",  "an object"};
  return names[kind];
}

bool JsonCursor::expect(JsonValue::Kind kind) const {
  if (value->kind == kind)
    return true;
  fail("expected ", nameOf(kind), ", found ", nameOf(value->kind));
  return false;
}

JsonCursor JsonCursor::operator[](const char *key) const {
  std::string inner = path + "." + key;
  if (expect(JsonValue::Object)) {
    for (size_t n = 0; n < value->keys.size(); ++n)
      if (value->keys[n] == key)
        return JsonCursor(value->items[n], failure, std::move(inner));
    fail("expected the member '", key, "', found none");
  }
  return JsonCursor(nothing(), failure, std::move(inner));
}

JsonCursor JsonCursor::operator[](size_t index) const {
  std::string inner = makeText(path, "[", index, "]");
  if (value->kind == JsonValue::Array && index < value->items.size())
    return JsonCursor(value->items[index], failure, std::move(inner));
  fail("expected an element ", index, ", found ", size());
  return JsonCursor(nothing(), failure, std::move(inner));
}

bool JsonCursor::has(std::string_view key) const {
  return std::find(value->keys.begin(), value->keys.end(), key) !=
         value->keys.end();
}

size_t JsonCursor::size() const {
  return expect(JsonValue::Array) ? value->items.size() : 0;
}

int64_t JsonCursor::integer(int64_t least) const {
  if (!expect(JsonValue::Integer))
    return 0;
  if (value->integer < least)
    fail("expected at least ", least, ", found ", value->integer);
  return value->integer;
}

bool JsonCursor::boolean() const {
  return expect(JsonValue::Bool) && value->boolean;
}

const std::string &JsonCursor::string() const {
  return expect(JsonValue::String) ? value->string : nothing().string;
}

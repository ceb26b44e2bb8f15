//===- Case.cpp - one problem of the matrix, as a line --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"

#include "llvm/Support/MemoryBuffer.h"

#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::matrix;

// The first {a|b|c} of `line`, and the rest of it recursively.
void matrix::expand(StringRef line, std::vector<std::string> &lines) {
  size_t open = line.find('{'), close = line.find('}', open);
  if (open == StringRef::npos || close == StringRef::npos) {
    lines.push_back(line.str());
    return;
  }
  SmallVector<StringRef> choices;
  line.slice(open + 1, close).split(choices, '|');
  for (StringRef choice : choices)
    expand((line.take_front(open) + choice + line.drop_front(close + 1)).str(),
           lines);
}

Error matrix::readLines(StringRef file, std::vector<std::string> &lines) {
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer)
    return createStringError("expected a file of problems, '" + file +
                             "': " + buffer.getError().message());
  SmallVector<StringRef> rawLines;
  (*buffer)->getBuffer().split(rawLines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : rawLines)
    if (!line.trim().empty() && !line.trim().starts_with("#"))
      expand(line.trim(), lines);
  return Error::success();
}

Expected<Case> matrix::parseCase(StringRef line) {
  Case result;
  result.line = line.str();
  std::string spec;
  SmallVector<StringRef> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    double number = 0;
    if (key == "gaps")
      result.gaps = true;
    else if (key == "shifted")
      result.shifted = true;
    else if (key == "poison")
      result.poison = true;
    else if (key == "far")
      result.far = true;
    else if (key == "repeat" && !value.getAsInteger(10, result.repeat))
      continue;
    else if (key == "splits" && !value.getAsInteger(10, result.splits))
      continue;
    else if (key == "logits" && !value.getAsDouble(number))
      result.logits = number;
    else if (key == "apart" && !value.getAsDouble(number))
      result.apart = number;
    else if (key == "values" && !value.getAsDouble(number))
      result.values = number;
    else if (key == "fill" && value == "-inf")
      result.fill = -std::numeric_limits<double>::infinity();
    else if (key == "fill" && !value.getAsDouble(number))
      result.fill = number;
    else
      spec += (word + " ").str();
  }
  auto parsed = parseAttentionSpec(spec);
  if (!parsed)
    return parsed.takeError();
  result.problem = parsed->problem;
  return result;
}

AttentionProblem matrix::withoutSizes(AttentionProblem p) {
  p.batch = p.numHeads = p.numKvHeads = p.seqQ = p.seqKv = 1;
  p.rowsQ = p.rowsKv = -1;
  p.scale = 1;
  p.layoutBshd = p.pagesNhd = false;
  p.page = p.page ? 1 : 0;
  return p;
}

std::string matrix::programName(const Case &c) {
  return withoutSizes(c.problem).str() + " splits=" + std::to_string(c.splits);
}

std::string matrix::randomLine(std::mt19937 &random) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto oneOf = [&](std::initializer_list<const char *> words) {
    return std::string(words.begin()[draw(0, words.size() - 1)]);
  };
  auto chance = [&](int64_t in, const std::string &word) {
    return draw(1, in) == 1 ? " " + word : std::string();
  };
  int64_t hkv = draw(1, 3), group = draw(1, 4);
  int64_t dim =
      oneOf({"8", "16", "40", "59", "64", "96"}) == "64" ? 64 : draw(1, 80);
  std::string line =
      "b=" + std::to_string(draw(1, 3)) + " hq=" + std::to_string(hkv * group) +
      " hkv=" + std::to_string(hkv) +
      " sq=" + std::to_string(draw(0, 2) ? draw(1, 300) : 1) +
      " sk=" + std::to_string(draw(0, 400)) + " d=" + std::to_string(dim) +
      " dv=" + std::to_string(draw(0, 2) ? dim : draw(1, 80)) +
      " type=" + oneOf({"f32", "f16", "bf16"}) + " lse";
  line += chance(3, "causal=" + oneOf({"top-left", "bottom-right"}));
  line += chance(4, "window=" + std::to_string(draw(-1, 100)) + "," +
                        std::to_string(draw(-1, 100)));
  line += chance(5, "prefix=" + std::to_string(draw(0, 200)));
  std::string packed = chance(4, "ragged" + oneOf({"", "=q", "=k"}));
  if (packed.empty())
    line += chance(5, "documents") + chance(4, "lengths");
  line += packed + chance(5, "alibi");
  line += chance(5, "softcap=" + oneOf({"15", "50"})) + chance(6, "sink");
  const char *q = packed.empty() ? "q" : "1", *k = packed.empty() ? "k" : "1";
  line += chance(4, "bias=" + oneOf({"b", "1"}) + oneOf({"h", "1"}) +
                        oneOf({q, "1"}) + oneOf({k, "1"}));
  line += chance(5, "layout=bshd") + chance(3, "gaps") + chance(3, "shifted");
  line += chance(2, "poison");
  line += chance(4, "backward" + oneOf({"", "=q", "=k,v", "=q,v"}) +
                        chance(2, "dlse"));
  StringRef text = line;
  if (!text.contains("backward") && !text.contains("type=f32"))
    line += chance(
        4, "kv=" + oneOf({"f8e4m3", "f8e5m2"}) +
               (draw(0, 2)
                    ? chance(2, "scale-keys=" + oneOf({"1", "16", "64", "100"}))
                    : " kv-scales=none"));
  constexpr StringLiteral type = " type=";
  if (StringRef(line).contains(" kv=") && draw(0, 1)) // of queries, too
    line.replace(line.find(type), type.size(), " type=f8e4m3 out=");
  return line;
}

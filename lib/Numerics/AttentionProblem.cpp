//===- AttentionProblem.cpp - one attention as numbers --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace fa;

double AttentionProblem::effectiveScale() const {
  return scale ? *scale : 1.0 / std::sqrt(static_cast<double>(headDim));
}

SmallVector<int64_t, 4> AttentionProblem::biasSizes() const {
  int64_t sizes[] = {batch, numHeads, seqQ, seqKv};
  SmallVector<int64_t, 4> result;
  for (auto [d, letter] : enumerate(bias))
    result.push_back(letter == '1' ? 1 : sizes[d]);
  return result;
}

double AttentionProblem::flops() const {
  double full = 2.0 * batch * numHeads * seqQ * seqKv * (headDim + headDimV);
  return causal == CausalKind::None ? full : full / 2;
}

double AttentionProblem::kvBytes() const {
  return 1.0 * batch * numKvHeads * seqKv * (headDim + headDimV) *
         byteSize(type);
}

Error AttentionProblem::verify() const {
  struct {
    StringRef key;
    int64_t value, least;
  } sizes[] = {{"b", batch, 0},    {"hq", numHeads, 1}, {"hkv", numKvHeads, 1},
               {"sq", seqQ, 0},    {"sk", seqKv, 0},    {"d", headDim, 1},
               {"dv", headDimV, 1}};
  for (auto [key, value, least] : sizes)
    if (value < least)
      return createStringError("expected " + key + " of at least " +
                               Twine(least) + ", found " + Twine(value));
  // Code is of the length of a row: here it takes seconds to compile, and four
  // times as long for each doubling.
  constexpr int64_t longest = 1 << 14;
  for (auto [key, value] : {std::pair("d", headDim), {"dv", headDimV}})
    if (value > longest)
      return createStringError("expected " + Twine(key) + " of at most " +
                               Twine(longest) + ", found " + Twine(value));
  if (numHeads % numKvHeads)
    return createStringError("expected hq to be a multiple of hkv, found hq=" +
                             Twine(numHeads) + " hkv=" + Twine(numKvHeads));
  for (int64_t seq : {seqQ, seqKv}) {
    int64_t bytes = byteSize(type);
    for (int64_t size : {batch, numHeads, seq, std::max(headDim, headDimV)})
      if (MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
        return createStringError("the sizes of " + str() + " overflow 64 bits");
  }
  if (tf32 && type != ElementType::F32)
    return createStringError("expected type=f32 for precision=tf32, found "
                             "type=" +
                             name(type));
  if (!std::isfinite(softcap) || softcap < 0)
    return createStringError("expected a positive, finite softcap, found " +
                             std::to_string(softcap));
  if (!std::isfinite(effectiveScale()))
    return createStringError("expected a finite scale");
  // Bounds are added to positions.
  constexpr int64_t limit = int64_t(1) << 62;
  for (int64_t bound : {windowLeft, windowRight})
    if (bound < -1 || bound > limit)
      return createStringError("expected window bounds from -1 to " +
                               Twine(limit) + ", found " + Twine(windowLeft) +
                               "," + Twine(windowRight));
  if (prefix && (*prefix < 0 || *prefix > limit))
    return createStringError("expected a prefix from 0 to " + Twine(limit) +
                             " keys, found " + Twine(*prefix));
  if (!bias.empty()) {
    bool fits = bias.size() == 4;
    for (size_t d = 0; fits && d < 4; ++d)
      fits = bias[d] == '1' || bias[d] == "bhqk"[d];
    if (!fits)
      return createStringError("expected a bias pattern of b, h, q, k in this "
                               "order, each the letter or 1, found '" +
                               bias + "'");
  }
  return Error::success();
}

std::string AttentionProblem::str() const {
  std::string text;
  raw_string_ostream out(text);
  out << "b=" << batch << " hq=" << numHeads << " hkv=" << numKvHeads
      << " sq=" << seqQ << " sk=" << seqKv << " d=" << headDim
      << " dv=" << headDimV << " type=" << name(type);
  if (tf32)
    out << " precision=tf32";
  if (causal != CausalKind::None)
    out << " causal="
        << (causal == CausalKind::TopLeft ? "top-left" : "bottom-right");
  if (hasWindow())
    out << " window=" << windowLeft << "," << windowRight;
  if (prefix)
    out << " prefix=" << *prefix;
  if (documents)
    out << " documents";
  if (lengths)
    out << " lengths";
  if (softcap != 0)
    out << " softcap=" << format("%.17g", softcap);
  if (alibi)
    out << " alibi";
  if (scale)
    out << " scale=" << format("%.17g", *scale);
  if (!bias.empty())
    out << " bias=" << bias;
  if (sink)
    out << " sink";
  if (layoutBshd)
    out << " layout=bshd";
  if (lse)
    out << " lse";
  return text;
}

void AttentionSpec::applyDefaults() {
  if (!given.contains("hkv"))
    problem.numKvHeads = problem.numHeads;
  if (!given.contains("sk"))
    problem.seqKv = problem.seqQ;
  if (!given.contains("dv"))
    problem.headDimV = problem.headDim;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kKnownKeys =
    "b hq hkv sq sk d dv type precision causal window prefix documents lengths "
    "softcap alibi scale bias sink layout lse";

static Error badValue(StringRef key, StringRef value, StringRef expected) {
  return createStringError("attention key '" + key + "': expected " + expected +
                           ", found '" + value + "'");
}

static Error parseInteger(StringRef key, StringRef value, int64_t &result) {
  if (value.getAsInteger(10, result))
    return badValue(key, value, "an integer of 64 bits");
  return Error::success();
}

static Error parseNumber(StringRef key, StringRef value, double &result) {
  if (value.getAsDouble(result) || !std::isfinite(result))
    return badValue(key, value, "a finite number");
  return Error::success();
}

static Error parseSize(StringRef key, StringRef value, AttentionProblem &p,
                       bool &known) {
  std::pair<StringLiteral, int64_t *> sizes[] = {
      {"b", &p.batch},    {"hq", &p.numHeads}, {"hkv", &p.numKvHeads},
      {"sq", &p.seqQ},    {"sk", &p.seqKv},    {"d", &p.headDim},
      {"dv", &p.headDimV}};
  for (auto [name, size] : sizes)
    if (key == name) {
      known = true;
      return parseInteger(key, value, *size);
    }
  return Error::success();
}

static Error parseFlag(StringRef key, StringRef value, bool hasValue,
                       AttentionProblem &p, bool &known) {
  std::pair<StringLiteral, bool *> flags[] = {{"documents", &p.documents},
                                              {"lengths", &p.lengths},
                                              {"alibi", &p.alibi},
                                              {"sink", &p.sink},
                                              {"lse", &p.lse}};
  for (auto [name, flag] : flags)
    if (key == name) {
      known = true;
      if (hasValue)
        return badValue(key, value, "no value");
      *flag = true;
    }
  return Error::success();
}

static Error parseWindow(StringRef value, AttentionProblem &p) {
  auto [left, right] = value.split(',');
  if (left.getAsInteger(10, p.windowLeft) ||
      right.getAsInteger(10, p.windowRight))
    return badValue("window", value, "two integers L,R (-1: no bound)");
  return Error::success();
}

static Error parseChoice(StringRef key, StringRef value, bool hasValue,
                         AttentionProblem &p) {
  if (key == "type") {
    auto type = parseElementType(value);
    if (!type || *type == ElementType::F64 || *type == ElementType::I32 ||
        *type == ElementType::I64 || *type == ElementType::I1)
      return badValue(key, value, "f32, f16, bf16, f8e4m3 or f8e5m2");
    p.type = *type;
  } else if (key == "precision") {
    if (value != "ieee" && value != "tf32")
      return badValue(key, value, "ieee or tf32");
    p.tf32 = value == "tf32";
  } else if (key == "causal") {
    if (hasValue && value != "bottom-right" && value != "top-left")
      return badValue(key, value, "bottom-right or top-left");
    p.causal =
        value == "top-left" ? CausalKind::TopLeft : CausalKind::BottomRight;
  } else if (key == "layout") {
    if (value != "bhsd" && value != "bshd")
      return badValue(key, value, "bhsd or bshd");
    p.layoutBshd = value == "bshd";
  } else if (key == "bias") {
    p.bias = value.str();
  } else if (key == "window") {
    return parseWindow(value, p);
  } else if (key == "prefix") {
    p.prefix = 0;
    return parseInteger(key, value, *p.prefix);
  } else if (key == "softcap") {
    return parseNumber(key, value, p.softcap);
  } else if (key == "scale") {
    p.scale = 0;
    return parseNumber(key, value, *p.scale);
  } else {
    return createStringError("unknown attention key '" + key +
                             "', expected one of: " + kKnownKeys);
  }
  return Error::success();
}

Expected<AttentionSpec> fa::parseAttentionSpec(StringRef spec) {
  AttentionSpec result;
  SmallVector<StringRef> words;
  spec.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    bool hasValue = word.contains('='), known = false;
    if (!result.given.insert(key).second)
      return createStringError("attention key '" + key + "' is given twice");
    if (Error error = parseSize(key, value, result.problem, known))
      return error;
    if (Error error = parseFlag(key, value, hasValue, result.problem, known))
      return error;
    if (known)
      continue;
    if (Error error = parseChoice(key, value, hasValue, result.problem))
      return error;
  }
  result.applyDefaults();
  return result;
}

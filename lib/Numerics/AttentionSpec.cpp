//===- AttentionSpec.cpp - a problem as text ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>

using namespace llvm;
using namespace fa;

void AttentionSpec::applyDefaults() {
  if (!given.contains("hkv"))
    problem.numKvHeads = problem.numHeads;
  if (!given.contains("sk"))
    problem.seqKv = problem.seqQ;
  if (!given.contains("dv"))
    problem.headDimV = problem.headDim;
}

static constexpr StringLiteral kKnownKeys =
    "b hq hkv sq sk d dv type precision causal window prefix documents lengths "
    "softcap alibi scale bias sink layout lse backward dlse ragged tq tk "
    "page pages dropout kv kv-scales scale-keys out q-scale split-keys "
    "values-in-keys "
    "draft";

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
  std::pair<StringLiteral, int64_t *> sizes[] = {{"b", &p.batch},
                                                 {"hq", &p.numHeads},
                                                 {"hkv", &p.numKvHeads},
                                                 {"sq", &p.seqQ},
                                                 {"sk", &p.seqKv},
                                                 {"d", &p.headDim},
                                                 {"dv", &p.headDimV},
                                                 {"tq", &p.rowsQ},
                                                 {"tk", &p.rowsKv},
                                                 {"page", &p.page},
                                                 {"split-keys", &p.splitKeys},
                                                 {"scale-keys", &p.scaleKeys}};
  for (auto [name, size] : sizes)
    if (key == name) {
      known = true;
      return parseInteger(key, value, *size);
    }
  return Error::success();
}

static Error parseFlag(StringRef key, StringRef value, bool hasValue,
                       AttentionProblem &p, bool &dlse, bool &known) {
  std::pair<StringLiteral, bool *> flags[] = {
      {"documents", &p.documents}, {"lengths", &p.lengths}, {"alibi", &p.alibi},
      {"sink", &p.sink},           {"lse", &p.lse},         {"dlse", &dlse},
      {"draft", &p.draft}};
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

/// `value` is "q,bias": the inputs whose gradients are wanted.
static Error parseGradients(StringRef value, bool hasValue,
                            AttentionProblem &p) {
  GradientRequest &request = p.backward.emplace();
  if (!hasValue) {
    request.q = request.k = request.v = true;
    return Error::success();
  }
  std::pair<StringLiteral, bool *> inputs[] = {
      {"q", &request.q},           {"k", &request.k},
      {"v", &request.v},           {"bias", &request.bias},
      {"slopes", &request.slopes}, {"sink", &request.sink},
      {"scale", &request.scale}};
  SmallVector<StringRef> names;
  value.split(names, ',');
  for (StringRef name : names) {
    auto *input =
        llvm::find_if(inputs, [&](auto &known) { return known.first == name; });
    if (input == std::end(inputs) || *input->second)
      return badValue("backward", value,
                      "some of q,k,v,bias,slopes,sink,scale with commas "
                      "between, each once");
    *input->second = true;
  }
  return Error::success();
}

static Error parseChoice(StringRef key, StringRef value, bool hasValue,
                         AttentionProblem &p) {
  if (key == "type") {
    auto type = parseElementType(value);
    if (!type || *type == ElementType::F64 || *type == ElementType::I32 ||
        *type == ElementType::I64 || *type == ElementType::I1)
      return badValue(key, value, "f32, f16, bf16, f8e4m3 or f8e5m2");
    if (isStorageFloat(*type))
      p.qType = type; // what is computed with has one of its own: `out`
    else
      p.type = *type;
  } else if (key == "out") {
    auto type = parseElementType(value);
    if (type != ElementType::F16 && type != ElementType::BF16)
      return badValue(key, value, "f16 or bf16");
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
  } else if (key == "pages") {
    if (value != "hnd" && value != "nhd")
      return badValue(key, value, "hnd or nhd");
    p.pagesNhd = value == "nhd";
  } else if (key == "kv") {
    p.kvType = parseElementType(value);
    if (!p.kvType || !isStorageFloat(*p.kvType))
      return badValue(key, value, "f8e4m3 or f8e5m2");
  } else if (key == "kv-scales" || key == "q-scale") {
    if (value != "none")
      return badValue(key, value, "none");
  } else if (key == "values-in-keys") {
    p.valuesInKeys = true;
    return parseInteger(key, value, p.headDimV);
  } else if (key == "bias") {
    p.bias = value.str();
  } else if (key == "ragged") {
    if (hasValue && value != "q" && value != "k")
      return badValue(key, value, "no value, q or k");
    p.hasOffsets = value != "k";
    p.hasKeyOffsets = value != "q";
  } else if (key == "backward") {
    return parseGradients(value, hasValue, p);
  } else if (key == "window") {
    return parseWindow(value, p);
  } else if (key == "prefix") {
    p.prefix = 0;
    return parseInteger(key, value, *p.prefix);
  } else if (key == "softcap") {
    return parseNumber(key, value, p.softcap);
  } else if (key == "dropout") {
    return parseNumber(key, value, p.dropout);
  } else if (key == "scale") {
    p.scale = 0;
    return parseNumber(key, value, *p.scale);
  } else {
    return createStringError("unknown attention key '" + key +
                             "', expected one of: " + kKnownKeys);
  }
  return Error::success();
}

/// Types of 8 bits and their scales, of which there are all that are not said
/// to be missing.
static Error setNarrowTypes(AttentionSpec &spec) {
  AttentionProblem &p = spec.problem;
  if (p.qType) {
    p.kvType = p.kvType.value_or(*p.qType);
    p.type = spec.given.contains("out") ? p.type : ElementType::BF16;
  }
  auto needs = [&](StringRef key, bool isThere, StringRef other) -> Error {
    if (isThere || !spec.given.contains(key))
      return Error::success();
    return createStringError("attention key '" + key + "': expected '" + other +
                             "' with it, found none");
  };
  if (Error error = needs("out", p.qType.has_value(), "type=f8e4m3"))
    return error;
  if (Error error = needs("q-scale", p.qType.has_value(), "type=f8e4m3"))
    return error;
  if (Error error = needs("kv-scales", p.kvType.has_value(), "kv"))
    return error;
  if (Error error = needs("scale-keys", p.kvType.has_value(), "kv"))
    return error;
  p.hasScales = p.kvType && !spec.given.contains("kv-scales");
  p.hasQueryScales = p.qType && !spec.given.contains("q-scale");
  return Error::success();
}

Expected<AttentionSpec> fa::parseAttentionSpec(StringRef spec) {
  AttentionSpec result;
  SmallVector<StringRef> words;
  spec.split(words, ' ', -1, /*KeepEmpty=*/false);
  bool dlse = false;
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    bool hasValue = word.contains('='), known = false;
    if (!result.given.insert(key).second)
      return createStringError("attention key '" + key + "' is given twice");
    if (Error error = parseSize(key, value, result.problem, known))
      return error;
    if (Error error =
            parseFlag(key, value, hasValue, result.problem, dlse, known))
      return error;
    if (known)
      continue;
    if (Error error = parseChoice(key, value, hasValue, result.problem))
      return error;
  }
  AttentionProblem &p = result.problem;
  if (dlse && !p.backward)
    return createStringError("attention key 'dlse': expected 'backward' with "
                             "it, whose input it is, found none");
  if (p.backward) {
    p.backward->dlse = dlse;
    p.lse = false; // an input, and no result
  }
  p.lengths |= p.page > 0; // pages say nothing of where keys end
  if (Error error = setNarrowTypes(result))
    return error;
  if (result.given.contains("split-keys") && p.splitKeys < 1)
    return badValue("split-keys", Twine(p.splitKeys).str(), "1 key or more");
  if (result.given.contains("scale-keys") && p.scaleKeys < 1)
    return badValue("scale-keys", Twine(p.scaleKeys).str(), "1 key or more");
  if (p.valuesInKeys && !result.given.insert("dv").second)
    return createStringError("attention key 'dv': expected 'values-in-keys' "
                             "alone, which says it, found both");
  result.applyDefaults();
  return result;
}

//===- AttentionProblem.cpp - one attention as numbers --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

#include "fa/Numerics/Dropout.h"
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

static SmallVector<int64_t, 4> rowSizes(bool isPacked, int64_t rows,
                                        int64_t batch, int64_t heads,
                                        int64_t longest, int64_t dim) {
  if (isPacked)
    return {heads, rows < 0 ? batch * longest : rows, dim};
  return {batch, heads, longest, dim};
}

SmallVector<int64_t, 4> AttentionProblem::scaleSizes() const {
  SmallVector<int64_t, 4> sizes = {batch, numKvHeads};
  if (scaleKeys)
    sizes.push_back(std::max<int64_t>(1, llvm::divideCeil(seqKv, scaleKeys)));
  return sizes;
}

SmallVector<int64_t, 4> AttentionProblem::querySizes(int64_t dim) const {
  return rowSizes(hasOffsets, rowsQ, batch, numHeads, seqQ, dim);
}

SmallVector<int64_t, 4> AttentionProblem::keySizes(int64_t dim) const {
  if (page)
    return {numPages(), numKvHeads, page, dim};
  return rowSizes(hasKeyOffsets, rowsKv, batch, numKvHeads, seqKv, dim);
}

SmallVector<int64_t, 4> AttentionProblem::lseSizes() const {
  SmallVector<int64_t, 4> sizes = querySizes(1);
  sizes.pop_back();
  return sizes;
}

SmallVector<int64_t, 4> AttentionProblem::draftSizes() const {
  SmallVector<int64_t, 4> sizes = querySizes(1);
  sizes.back() = std::max<int64_t>(divideCeil(seqQ, 32), 1);
  sizes.erase(hasOffsets ? sizes.begin() : sizes.begin() + 1); // heads
  return sizes;
}

double AttentionProblem::flops() const {
  int64_t perPair = headDim + headDimV; // of S and O
  if (backward) {
    auto [q, k, v, bias, slopes, sink, scale, dlse] = *backward;
    perPair = headDim + (q || k || bias || slopes || scale ? headDimV : 0) +
              (q ? headDim : 0) + (k ? headDim : 0) + (v ? headDimV : 0);
  }
  double full = 2.0 * batch * numHeads * seqQ * seqKv * perPair;
  return causal == CausalKind::None ? full : full / 2;
}

SmallVector<WantedGradient, 3> AttentionProblem::gradients() const {
  SmallVector<WantedGradient, 3> wanted;
  if (!backward)
    return wanted;
  auto addRows = [&](bool isWanted, StringLiteral name, int64_t argument,
                     ArrayRef<int64_t> sizes) {
    if (isWanted)
      wanted.push_back({name, argument, type, SmallVector<int64_t, 4>(sizes),
                        /*isRows=*/true});
  };
  // Keys with gradients lie in no pages.
  auto ofKeys = [&](int64_t dim) {
    return rowSizes(hasKeyOffsets, rowsKv, batch, numKvHeads, seqKv, dim);
  };
  addRows(backward->q, "dq", 0, querySizes(headDim));
  addRows(backward->k, "dk", 1, ofKeys(headDim));
  addRows(backward->v, "dv", 2, ofKeys(headDimV));
  int64_t ofSlopes = 3 + !bias.empty();
  int64_t ofSink = ofSlopes + alibi + lengths + 2 * documents;
  if (backward->bias)
    wanted.push_back({"dbias", 3, type, biasSizes(), /*isRows=*/false});
  if (backward->slopes)
    wanted.push_back(
        {"dslopes", ofSlopes, ElementType::F32, {numHeads}, /*isRows=*/false});
  if (backward->sink)
    wanted.push_back(
        {"dsink", ofSink, ElementType::F32, {numHeads}, /*isRows=*/false});
  // That of the scale is of what lies in no pages.
  int64_t ofScale = ofSink + sink + (dropout != 0) + hasOffsets + hasKeyOffsets;
  if (backward->scale)
    wanted.push_back(
        {"dscale", ofScale, ElementType::F32, {1}, /*isRows=*/false});
  return wanted;
}

double AttentionProblem::kvBytes() const {
  return 1.0 * batch * numKvHeads * seqKv *
         (headDim + (valuesInKeys ? 0 : headDimV)) * byteSize(keyType());
}

Error AttentionProblem::verifyPacked() const {
  if (!hasOffsets && !hasKeyOffsets)
    return Error::success();
  if (batch < 1)
    return createStringError("expected b of at least 1 for packed sequences, "
                             "found " +
                             Twine(batch));
  if (rowsQ < -1 || rowsKv < -1)
    return createStringError("expected tq and tk of at least 0, found " +
                             Twine(std::min(rowsQ, rowsKv)));
  std::pair<bool, StringLiteral> unsupported[] = {
      {backward && backward->bias, "the gradient of a bias"},
      {documents, "documents, which lie along padded queries"},
      {page && hasKeyOffsets, "pages of keys whose offsets are given"},
      {lengths && hasKeyOffsets, "lengths, which the offsets of keys give"},
      {hasOffsets && StringRef(bias).contains('q'), "a bias along queries"},
      {hasKeyOffsets && StringRef(bias).contains('k'), "a bias along keys"}};
  for (auto [present, what] : unsupported)
    if (present)
      return createStringError("expected packed sequences without " + what);
  return Error::success();
}

/// Checks what goes with pages.
static Error verifyPages(const AttentionProblem &p) {
  if (p.page < 0)
    return createStringError("expected pages of at least 1 row, found page=" +
                             Twine(p.page));
  if (p.pagesNhd && !p.page)
    return createStringError("expected 'page' with pages=nhd, found none");
  if (!p.page)
    return Error::success();
  if (!p.lengths)
    return createStringError("expected 'lengths' with page=" + Twine(p.page) +
                             ", which say where keys end, found none");
  if (p.backward)
    return createStringError(
        "expected no 'backward' with page=" + Twine(p.page) +
        ": gradients of pages are not computed");
  if (p.bias.size() == 4 && p.bias[3] == 'k')
    return createStringError("expected a bias of 1 along the keys with page=" +
                             Twine(p.page) + ", found '" + p.bias + "'");
  return Error::success();
}

Error AttentionProblem::verifyNarrow() const {
  if (hasQueryScales && !qType)
    return createStringError("expected scales of queries with queries of 8 "
                             "bits, found them with queries of " +
                             name(type));
  if (qType && !isStorageFloat(*qType))
    return createStringError("expected queries of f8e4m3 or f8e5m2 where they "
                             "have a type of their own, found " +
                             name(*qType));
  if (qType && !kvType)
    return createStringError("expected keys and values of 8 bits beside "
                             "queries of " +
                             name(*qType) + ", found " + name(type));
  if (scaleKeys < 0)
    return createStringError("expected scales of 1 key or more, found "
                             "scale-keys=" +
                             Twine(scaleKeys));
  if (scaleKeys && !hasScales)
    return createStringError("expected scales of keys and values with "
                             "scale-keys=" +
                             Twine(scaleKeys) + ", found none");
  if (!kvType && !hasScales)
    return Error::success();
  if (!kvType)
    return createStringError("expected scales of keys and values with "
                             "kv=f8e4m3 or kv=f8e5m2, found them with kv=" +
                             name(type));
  if (!isStorageFloat(*kvType))
    return createStringError("expected keys and values of f8e4m3 or f8e5m2 "
                             "where they have a type of their own, found " +
                             name(*kvType));
  StringRef wanted = qType ? "an output of f16 or bf16 with queries of "
                           : "type=f16 or type=bf16 with kv=";
  if (type != ElementType::F16 && type != ElementType::BF16)
    return createStringError("expected " + wanted +
                             name(qType.value_or(*kvType)) + ", found " +
                             (qType ? "" : "type=") + name(type));
  if (backward)
    return createStringError("expected no 'backward' with kv=" + name(*kvType) +
                             ": gradients of keys and values of 8 bits are "
                             "not computed");
  return Error::success();
}

Error AttentionProblem::verifyServing() const {
  if (splitKeys < 0)
    return createStringError("expected splits of at least 1 key, found "
                             "split-keys=" +
                             Twine(splitKeys));
  if (valuesInKeys && headDimV > headDim)
    return createStringError(
        "expected values of at most the " + Twine(headDim) +
        " columns of the keys that they are, found values-in-keys=" +
        Twine(headDimV));
  if (draft && prefix)
    return createStringError("expected a draft without a prefix, whose keys "
                             "all queries see, found prefix=" +
                             Twine(*prefix));
  for (auto [present, what] :
       {std::pair(splitKeys > 0,
                  "split-keys: splits of gradients do not depend "
                  "on the batch"),
        {valuesInKeys,
         "values-in-keys: gradients of keys that are values, too, "
         "are not computed"},
        {draft, "draft: gradients of drafts are not computed"}})
    if (present && backward)
      return createStringError(Twine("expected no 'backward' with ") + what);
  return Error::success();
}

Error AttentionProblem::verify() const {
  if (!bias.empty()) {
    bool fits = bias.size() == 4;
    for (size_t d = 0; fits && d < 4; ++d)
      fits = bias[d] == '1' || bias[d] == "bhqk"[d];
    if (!fits)
      return createStringError("expected a bias pattern of b, h, q, k in this "
                               "order, each the letter or 1, found '" +
                               bias + "'");
  }
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
  // Where 0 is what is asked for, there is none.
  bool canDrop = dropout > 0 && dropout < 1;
  int64_t dropped = canDrop ? DropoutRule::threshold(dropout) : 0;
  if (dropout != 0 && (dropped < 1 || dropped > 65535))
    return createStringError(
        "expected a probability of dropout from 1 to 65535 "
        "of 65536, rounded, found " +
        std::to_string(dropout));
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
  if (backward && gradients().empty())
    return createStringError("expected a gradient that is wanted, found none");
  if (backward)
    for (auto [isWanted, has, what] :
         {std::tuple(backward->bias, !bias.empty(), "bias"),
          std::tuple(backward->slopes, alibi, "slopes"),
          std::tuple(backward->sink, sink, "sink")})
      if (isWanted && !has)
        return createStringError(
            Twine("the gradient of ") + what +
            " is wanted, but the problem has no " +
            (StringRef(what) == "slopes" ? "alibi" : what));
  if (Error error = verifyPacked())
    return error;
  if (Error error = verifyPages(*this))
    return error;
  if (Error error = verifyNarrow())
    return error;
  return verifyServing();
}

std::string AttentionProblem::str() const {
  std::string text;
  raw_string_ostream out(text);
  out << "b=" << batch << " hq=" << numHeads << " hkv=" << numKvHeads
      << " sq=" << seqQ << " sk=" << seqKv << " d=" << headDim
      << (valuesInKeys ? " values-in-keys=" : " dv=") << headDimV
      << " type=" << name(queryType());
  if (qType)
    out << " out=" << name(type);
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
  if (dropout != 0)
    out << " dropout=" << format("%.17g", dropout);
  if (layoutBshd)
    out << " layout=bshd";
  if (lse)
    out << " lse";
  if (hasOffsets)
    out << " ragged" << (hasKeyOffsets ? "" : "=q");
  else if (hasKeyOffsets)
    out << " ragged=k";
  if (rowsQ >= 0)
    out << " tq=" << rowsQ;
  if (rowsKv >= 0)
    out << " tk=" << rowsKv;
  if (backward) {
    std::string names;
    for (const WantedGradient &gradient : gradients())
      names += (names.empty() ? "" : ",") + gradient.name.drop_front().str();
    out << " backward";
    if (names != "q,k,v")
      out << "=" << names;
    if (backward->dlse)
      out << " dlse";
  }
  if (page)
    out << " page=" << page;
  if (pagesNhd)
    out << " pages=nhd";
  if (kvType && kvType != qType)
    out << " kv=" << name(*kvType);
  if (kvType && !hasScales)
    out << " kv-scales=none";
  if (scaleKeys)
    out << " scale-keys=" << scaleKeys;
  if (qType && !hasQueryScales)
    out << " q-scale=none";
  if (draft)
    out << " draft";
  if (splitKeys)
    out << " split-keys=" << splitKeys;
  return text;
}

//===- AttentionProblemTest.cpp -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

#include "gtest/gtest.h"

using namespace fa;

static std::string errorOf(llvm::StringRef spec) {
  auto parsed = parseAttentionSpec(spec);
  if (!parsed)
    return toString(parsed.takeError());
  return toString(parsed->problem.verify());
}

TEST(AttentionProblem, Defaults) {
  auto spec = parseAttentionSpec("");
  ASSERT_TRUE(static_cast<bool>(spec));
  const AttentionProblem &p = spec->problem;
  EXPECT_EQ(p.str(), "b=1 hq=8 hkv=8 sq=1024 sk=1024 d=64 dv=64 type=f16");
  EXPECT_EQ(p.effectiveScale(), 0.125);
}

TEST(AttentionProblem, SizesFollow) {
  auto spec = parseAttentionSpec("hq=6 sq=10 d=32");
  ASSERT_TRUE(static_cast<bool>(spec));
  EXPECT_EQ(spec->problem.numKvHeads, 6);
  EXPECT_EQ(spec->problem.seqKv, 10);
  EXPECT_EQ(spec->problem.headDimV, 32);
}

/// What a problem prints gives the same problem again.
TEST(AttentionProblem, RoundTrip) {
  for (llvm::StringRef text :
       {"b=2 hq=4 hkv=2 sq=7 sk=9 d=16 dv=24 type=bf16 causal=top-left "
        "window=3,-1 softcap=15 alibi scale=0.3 bias=1hqk layout=bshd lse",
        "b=1 hq=1 hkv=1 sq=1 sk=1 d=1 dv=1 type=f32 precision=tf32 prefix=3 "
        "documents lengths sink",
        "b=2 sq=3 sk=9 page=4",
        "b=2 sq=3 sk=9 page=16 pages=nhd causal",
        "sq=3 backward",
        "sq=3 causal backward dlse",
        "sq=3 backward=v,q",
        "sq=3 backward=k dlse lse",
        "b=3 sq=5 ragged tq=17 tk=0",
        "ragged=q layout=bshd",
        "ragged=k",
        "ragged tq=7 backward dlse",
        "ragged=k sink backward=k",
        "ragged alibi sink backward=slopes,sink,scale",
        "sq=3 dropout=0.17 sink backward",
        "sq=3 kv=f8e4m3",
        "sq=3 type=bf16 page=4 kv=f8e4m3 kv-scales=none",
        "sq=3 type=f8e4m3",
        "sq=3 type=f8e4m3 out=f16 kv-scales=none ragged",
        "sq=3 type=f8e4m3 page=4 q-scale=none",
        "sq=3 kv=f8e5m2",
        "sq=3 type=f8e4m3 kv=f8e5m2",
        "sq=3 type=f8e5m2 out=f16",
        "sq=3 d=576 values-in-keys=512 page=64 split-keys=1000",
        "sq=40 ragged draft"}) {
    auto spec = parseAttentionSpec(text);
    ASSERT_TRUE(static_cast<bool>(spec));
    auto again = parseAttentionSpec(spec->problem.str());
    ASSERT_TRUE(static_cast<bool>(again));
    EXPECT_EQ(spec->problem.str(), again->problem.str());
    EXPECT_EQ(spec->problem.effectiveScale(), again->problem.effectiveScale());
  }
}

TEST(AttentionProblem, SizesOfPackedRows) {
  auto parse = [](llvm::StringRef text) {
    return llvm::cantFail(parseAttentionSpec(text)).problem;
  };
  using Sizes = llvm::SmallVector<int64_t, 4>;
  AttentionProblem p = parse("b=2 hq=4 hkv=1 sq=3 sk=5 d=8 dv=6 ragged tk=7");
  EXPECT_EQ(p.querySizes(p.headDim), Sizes({4, 6, 8}));
  EXPECT_EQ(p.keySizes(p.headDimV), Sizes({1, 7, 6}));
  EXPECT_EQ(p.lseSizes(), Sizes({4, 6}));
  p = parse("b=2 hq=4 hkv=1 sq=3 sk=5 d=8 dv=6 ragged=q");
  EXPECT_EQ(p.lseSizes(), Sizes({4, 6}));
  EXPECT_EQ(p.keySizes(p.headDimV), Sizes({2, 1, 5, 6}));
}

TEST(AttentionProblem, Gradients) {
  auto parse = [](llvm::StringRef text) {
    return llvm::cantFail(parseAttentionSpec(text)).problem;
  };
  EXPECT_FALSE(parse("lse").backward);
  AttentionProblem all = parse("lse backward");
  EXPECT_TRUE(all.backward->q && all.backward->k && all.backward->v);
  EXPECT_FALSE(all.backward->dlse);
  EXPECT_FALSE(all.lse); // an input
  AttentionProblem some = parse("dlse backward=v,q");
  EXPECT_TRUE(some.backward->q && some.backward->v && some.backward->dlse);
  EXPECT_FALSE(some.backward->k);
  EXPECT_TRUE(llvm::StringRef(some.str()).ends_with(" backward=q,v dlse"));
  some.backward = GradientRequest{};
  EXPECT_EQ(toString(some.verify()),
            "expected a gradient that is wanted, found none");
}

TEST(AttentionProblem, GradientsOfWhatScoresRead) {
  AttentionProblem p =
      llvm::cantFail(
          parseAttentionSpec("b=2 hq=4 sq=8 bias=1hq1 alibi lengths documents "
                             "sink type=bf16 backward=sink,bias,slopes,k"))
          .problem;
  llvm::cantFail(p.verify());
  EXPECT_TRUE(
      llvm::StringRef(p.str()).ends_with(" backward=k,bias,slopes,sink"));
  // q, k, v, bias, slopes, lengths, two of documents, sink.
  std::tuple<llvm::StringRef, int64_t, ElementType, size_t> expected[] = {
      {"dk", 1, ElementType::BF16, 4},
      {"dbias", 3, ElementType::BF16, 4},
      {"dslopes", 4, ElementType::F32, 1},
      {"dsink", 8, ElementType::F32, 1}};
  auto found = p.gradients();
  ASSERT_EQ(found.size(), std::size(expected));
  for (auto [gradient, wanted] : llvm::zip(found, expected)) {
    EXPECT_EQ(std::tuple(llvm::StringRef(gradient.name), gradient.argument,
                         gradient.type, gradient.sizes.size()),
              wanted);
    EXPECT_EQ(gradient.isRows, gradient.name == "dk");
  }
}

TEST(AttentionProblem, Errors) {
  std::pair<llvm::StringRef, llvm::StringRef> cases[] = {
      {"heads=3", "unknown attention key 'heads'"},
      {"sq=many", "'sq': expected an integer of 64 bits, found 'many'"},
      {"sq=99999999999999999999", "expected an integer of 64 bits"},
      {"lse=1", "'lse': expected no value, found '1'"},
      {"type=i32", "'type': expected f32, f16, bf16, f8e4m3 or f8e5m2"},
      {"softcap=nan", "'softcap': expected a finite number"},
      {"window=3", "'window': expected two integers L,R"},
      {"window=9223372036854775807,-1",
       "expected window bounds from -1 to 4611686018427387904, found "
       "9223372036854775807,-1"},
      {"prefix=-1", "expected a prefix from 0 to 4611686018427387904 keys, "
                    "found -1"},
      {"sq=-1", "expected sq of at least 0, found -1"},
      {"hq=5 hkv=2", "expected hq to be a multiple of hkv"},
      {"hkv=0", "expected hkv of at least 1, found 0"},
      {"d=16385", "expected d of at most 16384, found 16385"},
      {"d=8 dv=1000000", "expected dv of at most 16384, found 1000000"},
      {"type=bf16 precision=tf32",
       "expected type=f32 for precision=tf32, found type=bf16"},
      {"backward=q,bias",
       "the gradient of bias is wanted, but the problem has no bias"},
      {"bias=bhqkb backward=bias",
       "expected a bias pattern of b, h, q, k in this order"},
      {"backward=slopes",
       "the gradient of slopes is wanted, but the problem has no alibi"},
      {"backward=q,dv",
       "'backward': expected some of q,k,v,bias,slopes,sink,scale with "
       "commas between, each once, found 'q,dv'"},
      {"backward=k,k", "each once, found 'k,k'"},
      {"backward=", "expected some of q,k,v,bias,slopes,sink,scale with"},
      {"dlse", "'dlse': expected 'backward' with it, whose input it is, found "
               "none"},
      {"backward dlse=1", "'dlse': expected no value, found '1'"},
      {"page=-1", "expected pages of at least 1 row, found page=-1"},
      {"pages=nhd", "expected 'page' with pages=nhd, found none"},
      {"page=4 pages=dnh", "'pages': expected hnd or nhd, found 'dnh'"},
      {"page=4 backward", "expected no 'backward' with page=4"},
      {"page=4 bias=bhqk",
       "expected a bias of 1 along the keys with page=4, found 'bhqk'"},
      {"kv=f16", "'kv': expected f8e4m3 or f8e5m2, found 'f16'"},
      {"kv=fp8", "'kv': expected f8e4m3 or f8e5m2, found 'fp8'"},
      {"kv=f8e5m2 type=f32",
       "expected type=f16 or type=bf16 with kv=f8e5m2, found type=f32"},
      {"kv=f8e4m3 type=f32",
       "expected type=f16 or type=bf16 with kv=f8e4m3, found type=f32"},
      {"split-keys=0", "'split-keys': expected 1 key or more, found '0'"},
      {"split-keys=64 backward", "expected no 'backward' with split-keys"},
      {"d=64 values-in-keys=65", "expected values of at most the 64 columns"},
      {"values-in-keys=32 dv=32", "'dv': expected 'values-in-keys' alone"},
      {"values-in-keys=32 backward", "'backward' with values-in-keys"},
      {"draft prefix=3", "expected a draft without a prefix"},
      {"draft=1", "'draft': expected no value, found '1'"},
      {"draft backward", "expected no 'backward' with draft"},
      {"kv=f8e4m3 backward", "expected no 'backward' with kv=f8e4m3"},
      {"kv-scales=none", "'kv-scales': expected 'kv' with it"},
      {"type=f8e4m3 out=f32", "'out': expected f16 or bf16, found 'f32'"},
      {"type=f16 out=f16", "'out': expected 'type=f8e4m3' with it, found none"},
      {"kv=f8e4m3 q-scale=none", "'q-scale': expected 'type=f8e4m3' with it"},
      {"type=f8e4m3 q-scale=1", "'q-scale': expected none, found '1'"},
      {"type=f8e4m3 backward", "expected no 'backward' with kv=f8e4m3"},
      {"kv=f8e4m3 kv-scales=b", "'kv-scales': expected none, found 'b'"},
      {"bias=kqhb", "expected a bias pattern"},
      {"ragged=v", "'ragged': expected no value, q or k, found 'v'"},
      {"ragged b=0", "expected b of at least 1 for packed sequences, found 0"},
      {"ragged tk=-2", "expected tq and tk of at least 0, found -2"},
      {"ragged bias=1h11 backward=q,bias",
       "expected packed sequences without the gradient of a bias"},
      {"ragged documents", "expected packed sequences without documents"},
      {"ragged lengths", "without lengths, which the offsets of keys give"},
      {"ragged=q bias=11q1", "without a bias along queries"},
      {"ragged=k bias=111k", "without a bias along keys"},
      {"b=9223372036854775807 sq=9223372036854775807", "overflow 64 bits"},
  };
  for (auto [spec, message] : cases) {
    std::string found = errorOf(spec);
    EXPECT_NE(found.find(message.str()), std::string::npos)
        << spec.str() << ": " << found;
  }
}

TEST(AttentionProblem, Flops) {
  auto spec = parseAttentionSpec("b=2 hq=4 sq=8 sk=16 d=32 dv=64");
  ASSERT_TRUE(static_cast<bool>(spec));
  EXPECT_EQ(spec->problem.flops(), 2.0 * 2 * 4 * 8 * 16 * (32 + 64));
}

TEST(AttentionProblem, FlopsOfGradients) {
  double pairs = 2.0 * 2 * 4 * 8 * 16;
  std::pair<llvm::StringRef, double> cases[] = {
      {"backward", 3 * 32 + 2 * 64},     // S, dP, dQ, dK, dV
      {"backward=q", 2 * 32 + 64},       // S, dP, dQ
      {"backward=k dlse", 2 * 32 + 64},  // S, dP, dK
      {"backward=v", 32 + 64},           // S, dV
      {"backward=q,v", 2 * 32 + 2 * 64}, // S, dP, dQ, dV
      {"causal backward", 1.5 * 32 + 64}};
  for (auto [spec, perPair] : cases) {
    auto parsed =
        parseAttentionSpec(("b=2 hq=4 sq=8 sk=16 d=32 dv=64 " + spec).str());
    ASSERT_TRUE(static_cast<bool>(parsed));
    EXPECT_EQ(parsed->problem.flops(), pairs * perPair) << spec.str();
  }
  AttentionProblem p;
  double forward = p.flops();
  p.backward = GradientRequest{true, true, true};
  EXPECT_EQ(p.flops(), 2.5 * forward);
}

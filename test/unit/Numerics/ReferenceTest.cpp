//===- ReferenceTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Reference.h"
#include "fa/Numerics/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fa;

static AttentionProblem makeProblem(llvm::StringRef spec) {
  return llvm::cantFail(parseAttentionSpec(spec)).problem;
}

static std::string goldenFile(llvm::StringRef name, llvm::StringRef what) {
  return (llvm::Twine(FA_GOLDEN_DIR "/") + name + "." + what + ".npy").str();
}

static std::optional<HostTensor> readIfThere(llvm::StringRef name,
                                             llvm::StringRef what) {
  std::string path = goldenFile(name, what);
  if (!llvm::sys::fs::exists(path))
    return std::nullopt;
  return llvm::cantFail(readNpy(path));
}

/// The largest difference; infinity if special values differ.
static double difference(const HostTensor &x, const HostTensor &y) {
  EXPECT_EQ(x.sizes(), y.sizes());
  double worst = 0;
  for (auto [a, b] : llvm::zip(x.toDoubles(), y.toDoubles())) {
    if (a == b)
      continue;
    double d = std::fabs(a - b);
    worst = std::max(
        worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

/// The reference agrees with a program in another language, written apart.
TEST(Reference, Golden) {
  auto buffer = llvm::MemoryBuffer::getFile(FA_GOLDEN_DIR "/cases.txt");
  ASSERT_TRUE(static_cast<bool>(buffer));
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  ASSERT_GE(lines.size(), 17u);
  for (llvm::StringRef line : lines) {
    auto [name, spec] = line.split(' ');
    SCOPED_TRACE(line.str());
    AttentionProblem problem = makeProblem(spec);
    AttentionInputs in;
    in.q = *readIfThere(name, "q");
    in.k = *readIfThere(name, "k");
    in.v = *readIfThere(name, "v");
    in.bias = readIfThere(name, "bias");
    in.lengths = readIfThere(name, "lengths");
    in.documents = readIfThere(name, "documents");
    in.sink = readIfThere(name, "sink");
    in.rng = readIfThere(name, "rng");
    AttentionResult result = llvm::cantFail(referenceF64(problem, in));
    EXPECT_LT(difference(result.out, *readIfThere(name, "out")), 1e-13);
    EXPECT_LT(difference(result.lse, *readIfThere(name, "lse")), 1e-13);
    AttentionResult rounded = llvm::cantFail(unfused(problem, in));
    EXPECT_LT(difference(rounded.out, result.out), 1e-5);
  }
}

/// The twin: the reference of another problem is not the golden one.
TEST(Reference, GoldenTwin) {
  AttentionInputs in;
  in.q = *readIfThere("causal", "q");
  in.k = *readIfThere("causal", "k");
  in.v = *readIfThere("causal", "v");
  AttentionResult result = llvm::cantFail(
      referenceF64(makeProblem("hq=2 sq=5 sk=9 d=8 type=f32"), in));
  EXPECT_GT(difference(result.out, *readIfThere("causal", "out")), 1e-3);
}

TEST(Reference, EmptyRows) {
  AttentionProblem problem = makeProblem("hq=1 sq=4 sk=0 d=8 type=f32");
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 1));
  AttentionResult result = llvm::cantFail(referenceF64(problem, in));
  for (double x : result.out.toDoubles())
    EXPECT_EQ(x, 0);
  for (double x : result.lse.toDoubles())
    EXPECT_EQ(x, -std::numeric_limits<double>::infinity());
}

TEST(Reference, NaNReachesItsRowOnly) {
  AttentionProblem problem = makeProblem("hq=1 sq=3 sk=5 d=8 type=f32");
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 1));
  in.q.set({0, 0, 1, 2}, std::nan(""));
  AttentionResult result = llvm::cantFail(referenceF64(problem, in));
  for (int64_t row = 0; row < 3; ++row)
    EXPECT_EQ(std::isnan(result.out.at({0, 0, row, 0})), row == 1);
}

/// Rows `first` to `end` - 1 of packed `rows`, [heads, rows, ..], as a batch of
/// one.
static HostTensor sequenceOf(const HostTensor &rows, int64_t first,
                             int64_t end) {
  llvm::SmallVector<int64_t, 4> sizes(rows.sizes()), strides(rows.strides());
  sizes[1] = end - first;
  sizes.insert(sizes.begin(), 1);
  strides.insert(strides.begin(), 1);
  return rows.view(sizes, strides, first * rows.strides()[1]);
}

/// A packed sequence is a problem of its own.
TEST(Reference, PackedSequences) {
  for (llvm::StringRef features :
       {"", " causal", " window=2,1 sink", " alibi softcap=2", " prefix=1",
        " layout=bshd causal=top-left"}) {
    SCOPED_TRACE(features.str());
    AttentionProblem packed = makeProblem(
        ("b=4 hq=4 hkv=2 sq=7 sk=9 d=8 dv=6 type=f32 ragged" + features).str());
    AttentionInputs in = llvm::cantFail(makeRandomInputs(packed, 3));
    AttentionResult all = llvm::cantFail(referenceF64(packed, in));
    std::vector<double> queries = in.offsets->toDoubles(),
                        keys = in.keyOffsets->toDoubles();
    int64_t longest = 0, longestKeys = 0;
    for (int64_t b = 0; b < 4; ++b) {
      AttentionProblem one = packed;
      one.hasOffsets = one.hasKeyOffsets = false;
      one.batch = 1;
      one.seqQ = queries[b + 1] - queries[b];
      one.seqKv = keys[b + 1] - keys[b];
      longest = std::max(longest, one.seqQ);
      longestKeys = std::max(longestKeys, one.seqKv);
      AttentionInputs own = in;
      own.q = sequenceOf(in.q, queries[b], queries[b + 1]);
      own.k = sequenceOf(in.k, keys[b], keys[b + 1]);
      own.v = sequenceOf(in.v, keys[b], keys[b + 1]);
      AttentionResult found = llvm::cantFail(referenceF64(one, own));
      EXPECT_EQ(difference(found.out,
                           sequenceOf(all.out, queries[b], queries[b + 1])),
                0);
      EXPECT_EQ(difference(found.lse,
                           sequenceOf(all.lse, queries[b], queries[b + 1])),
                0);
    }
    EXPECT_EQ(longest, 7);
    EXPECT_EQ(longestKeys, 9);
    for (int64_t row = 0; row < all.lse.sizes()[1]; ++row)
      EXPECT_EQ(std::isnan(all.lse.at({1, row})),
                row < queries.front() || row >= queries.back());
  }
}

TEST(Random, IsTheSameEverywhere) {
  auto tensor = llvm::cantFail(HostTensor::create(ElementType::F64, {100000}));
  fillNormal(tensor, 7);
  double sum = 0, squares = 0;
  for (double x : tensor.toDoubles()) {
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
  auto again = llvm::cantFail(HostTensor::create(ElementType::F64, {100000}));
  fillNormal(again, 7);
  EXPECT_EQ(difference(tensor, again), 0);
  fillNormal(again, 8);
  EXPECT_GT(difference(tensor, again), 1);
}

//===- AttentionArgumentsTest.cpp -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/AttentionArguments.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

static HostTensor makeOut(ElementType type, ArrayRef<int64_t> sizes,
                          bool bshd) {
  SmallVector<int64_t, 4> inMemory(sizes);
  if (bshd)
    std::swap(inMemory[1], inMemory[2]);
  HostTensor tensor = cantFail(HostTensor::create(type, inMemory));
  return bshd ? tensor.permuted({0, 2, 1, 3}) : tensor;
}

/// What is said of a launch without memory is what a launch is given.
static void expectSame(StringRef text) {
  SCOPED_TRACE(text.str());
  AttentionSpec spec = cantFail(parseAttentionSpec(text));
  spec.applyDefaults();
  const AttentionProblem &p = spec.problem;
  AttentionInputs inputs = cantFail(makeRandomInputs(p, 1));
  HostTensor out =
      makeOut(p.type, {p.batch, p.numHeads, p.seqQ, p.headDimV}, p.layoutBshd);
  HostTensor lse =
      makeOut(ElementType::F32, {p.batch, p.numHeads, p.seqQ}, false);
  Cotangents cotangents = cantFail(makeRandomCotangents(p, 1));
  std::vector<HostTensor> gradients;
  for (const WantedGradient &wanted : p.gradients())
    gradients.push_back(
        makeOut(wanted.type, wanted.sizes, wanted.isRows && p.layoutBshd));
  auto given =
      p.backward
          ? cantFail(makeBackwardArguments(p, inputs, {{out, lse}, cotangents},
                                           gradients))
          : cantFail(makeArguments(p, inputs, out, p.lse ? &lse : nullptr));
  auto said = describeArguments(p);
  ASSERT_EQ(said.size(), given.size());
  for (size_t n = 0; n < said.size(); ++n) {
    SCOPED_TRACE(n);
    EXPECT_EQ(said[n].isTensor, given[n].isTensor);
    EXPECT_EQ(said[n].type, given[n].type);
    EXPECT_EQ(said[n].data, nullptr);
    EXPECT_EQ(said[n].bits, given[n].bits);
    ASSERT_EQ(said[n].sizes.size(), given[n].sizes.size());
    for (size_t d = 0; d < said[n].sizes.size(); ++d) {
      EXPECT_EQ(said[n].sizes[d], given[n].sizes[d]);
      EXPECT_EQ(said[n].strides[d], given[n].strides[d]);
    }
  }
}

TEST(AttentionArguments, SaidOfALaunchIsWhatIsGiven) {
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 layout=bshd lse scale=3");
  expectSame(
      "b=2 hq=4 sq=5 sk=7 d=16 type=bf16 bias=bh1k alibi sink dropout=0.2");
  expectSame("b=2 hq=4 sq=5 sk=7 d=16 lengths documents bias=1hqk lse");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 layout=bshd backward");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 page=4 sink lse");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 page=4 pages=nhd");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 page=4 kv=f8e4m3 lse");
  expectSame("b=2 hq=4 sq=5 sk=7 d=16 layout=bshd kv=f8e4m3 kv-scales=none");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 page=4 type=f8e4m3 draft lse");
  expectSame("b=2 hq=4 sq=5 sk=7 d=16 layout=bshd type=f8e4m3 kv-scales=none");
  expectSame("b=2 hq=4 hkv=2 sq=5 sk=7 d=16 dv=8 sink backward=v,q dlse");
  expectSame("b=2 hq=4 sq=5 sk=7 d=16 alibi sink bias=1hq1 layout=bshd "
             "backward=k,bias,slopes,sink");
}

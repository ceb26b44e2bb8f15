//===- OpsTest.cpp - what shuffles, votes and copies give -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunText.h"

#include <gtest/gtest.h>

#include <bit>

using namespace fa::test;

namespace {

/// What each lane has of `body`'s %v.
std::vector<uint32_t> lanes(const std::string &body) {
  RunResult result =
      runText(body + "\nllvm.store %v, %outOwn : i32, !llvm.ptr<1>");
  EXPECT_EQ(result.faults, "");
  result.out.resize(32);
  return result.out;
}

std::vector<uint32_t> shuffled(const char *kind, int by, int clamp) {
  return lanes("%by = llvm.mlir.constant(" + std::to_string(by) +
               " : i32) : i32\n%clamp = llvm.mlir.constant(" +
               std::to_string(clamp) + " : i32) : i32\n%v = nvvm.shfl.sync " +
               kind + " %all, %tid, %by, %clamp : i32 -> i32");
}

TEST(Ops, Shuffles) {
  auto butterfly = shuffled("bfly", 5, 31), up = shuffled("up", 3, 0),
       down = shuffled("down", 3, 31), index = shuffled("idx", 7, 31),
       // Segments of 8: the mask's bits are those of the segment's number.
      segment = shuffled("idx", 2, 0x181f);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(butterfly[lane], lane ^ 5);
    EXPECT_EQ(up[lane], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(down[lane], lane > 28 ? lane : lane + 3);
    EXPECT_EQ(index[lane], 7u);
    EXPECT_EQ(segment[lane], lane / 8 * 8 + 2);
  }
}

TEST(Ops, Votes) {
  const char *below = "%p = llvm.icmp \"ult\" %tid, %c16 : i32\n";
  auto vote = [&](const std::string &kind) {
    return lanes(below + ("%i = nvvm.vote.sync " + kind + " %all, %p -> i1\n") +
                 "%v = llvm.zext %i : i1 to i32")[31];
  };
  EXPECT_EQ(vote("any"), 1u);
  EXPECT_EQ(vote("all"), 0u);
  EXPECT_EQ(vote("uni"), 0u);
  EXPECT_EQ(lanes(below + std::string("%v = nvvm.vote.sync ballot %all, %p -> "
                                      "i32"))[31],
            0xffffu);
}

TEST(Ops, PartialCopiesEndInZeros) {
  std::string body =
      "%four = llvm.mlir.constant(4 : i32) : i32\n"
      "%z = llvm.icmp \"eq\" %tid, %c0 : i32\n"
      "llvm.cond_br %z, ^copy, ^end\n^copy:\n"
      "%from = llvm.getelementptr %in[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, "
      "f32\n"
      "nvvm.cp.async.shared.global %shared, %from, 8, cache = ca, %four : "
      "!llvm.ptr<3>, !llvm.ptr<1>, i32\n"
      "llvm.br ^end\n^end:\n"
      "nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 0\n"
      "nvvm.barrier0\n"
      "%low = llvm.and %tid, %c1 : i32\n"
      "%p = llvm.getelementptr %shared[%low] : (!llvm.ptr<3>, i32) -> "
      "!llvm.ptr<3>, i32\n"
      "%v = llvm.load %p : !llvm.ptr<3> -> i32";
  auto values = lanes(body);
  EXPECT_EQ(std::bit_cast<float>(values[0]), 2.0f);
  EXPECT_EQ(values[1], 0u);
}

TEST(Ops, Exp2FlushesDenormals) {
  auto exp2 = [](const char *x) {
    return std::bit_cast<float>(
        lanes("%x = llvm.mlir.constant(" + std::string(x) +
              " : f32) : f32\n%y = llvm.intr.exp2(%x) : (f32) -> f32\n"
              "%v = llvm.bitcast %y : f32 to i32")[0]);
  };
  EXPECT_EQ(exp2("3.0"), 8.0f);
  EXPECT_EQ(exp2("-127.5"), 0.0f);
  EXPECT_EQ(exp2("0xFF800000"), 0.0f);
}

} // namespace

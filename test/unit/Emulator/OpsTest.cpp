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

/// The head of each wave's 256 bytes of 16-bit numbers: number n at byte 2 n.
const std::string kNumbers =
    "%two = llvm.mlir.constant(2 : i32) : i32\n"
    "%n0 = llvm.mul %tid, %two : i32\n%n1 = llvm.add %n0, %c1 : i32\n"
    "%high = llvm.shl %n1, %c16 : i32\n%pair = llvm.or %n0, %high : i32\n"
    "llvm.store %pair, %own : i32, !llvm.ptr<3>\n"
    "llvm.fence syncscope(\"workgroup\") release\nrocdl.s.barrier\n"
    "llvm.fence syncscope(\"workgroup\") acquire\n"
    "%half = llvm.and %tid, %lanes : i32\n"
    "%p = llvm.getelementptr %shared[%half] : (!llvm.ptr<3>, i32) -> "
    "!llvm.ptr<3>, i64\n";

TEST(Ops, TurnedReadsAreThoseOfTheLaneTable) {
  RunSizes sizes{.threads = 64};
  RunResult result = runText(
      "%lanes = llvm.mlir.constant(31 : i32) : i32\n" + kNumbers +
          "%t = rocdl.ds.read.tr16.b64 %p : !llvm.ptr<3> -> vector<4xi16>\n"
          "%w = llvm.bitcast %t : vector<4xi16> to vector<2xi32>\n"
          "%v = llvm.extractelement %w[%c1 : i32] : vector<2xi32>\n"
          "llvm.store %v, %outOwn : i32, !llvm.ptr<1>",
      sizes);
  ASSERT_EQ(result.faults, "");
  for (uint32_t lane = 0; lane < 64; ++lane)
    for (uint32_t n : {2, 3}) {
      // Lane s of the first half names numbers 4 s to 4 s + 3.
      uint32_t from = lane % 32 / 16 * 16 + lane % 16 / 4 + 4 * n;
      EXPECT_EQ(result.out[lane] >> 16 * (n - 2) & 0xffff, 4 * from + lane % 4);
    }
}

std::string directLoad(const char *wait) {
  return std::string(
             "%zero = llvm.mlir.constant(0 : i16) : i16\n"
             "%flags = llvm.mlir.constant(159744 : i32) : i32\n"
             "%records = llvm.mlir.constant(248 : i64) : i64\n"
             "%rows = rocdl.make.buffer.rsrc %in, %zero, %records, %flags : "
             "!llvm.ptr<1> to !llvm.ptr<8>\n"
             "%fifteen = llvm.mlir.constant(15 : i32) : i32\n"
             "%line = llvm.and %tid, %fifteen : i32\n"
             // Lane l brings line 15 - l % 16.
             "%back = llvm.xor %line, %fifteen : i32\n"
             "%from = llvm.mul %back, %c16 : i32\n"
             "rocdl.raw.ptr.buffer.load.lds %rows, %shared, %c16, %from, %c0, "
             "%c0, %c0\n") +
         wait +
         "llvm.fence syncscope(\"workgroup\") release\nrocdl.s.barrier\n"
         "llvm.fence syncscope(\"workgroup\") acquire\n"
         "%v = llvm.load %own : !llvm.ptr<3> -> f32\n"
         "llvm.store %v, %outOwn : f32, !llvm.ptr<1>";
}

TEST(Ops, DirectLoadsWriteLanesInOrder) {
  for (uint64_t seed : {0, 1}) {
    RunSizes sizes{.threads = 64, .sharedBytes = 1024, .seed = seed};
    RunResult result = runText(directLoad("rocdl.s.waitcnt 3952\n"), sizes);
    ASSERT_EQ(result.faults, "");
    for (uint32_t word = 0; word < 64; ++word) {
      uint32_t number = (15 - word / 4) * 4 + word % 4;
      // Behind num_records is 0.
      EXPECT_EQ(std::bit_cast<float>(result.out[word]),
                number < 62 ? float(number) : 0.0f);
    }
  }
}

/// The twin: nothing has arrived before a wait.
TEST(Ops, DirectLoadsAreWaitedFor) {
  RunSizes sizes{.threads = 64, .sharedBytes = 1024};
  for (const char *wait : {"", "rocdl.s.waitcnt 3953\n"}) {
    RunResult result = runText(directLoad(wait), sizes);
    EXPECT_NE(result.faults.find("no s_waitcnt vmcnt has waited for it"),
              std::string::npos)
        << result.faults;
  }
}

} // namespace

//===- ProductsTest.cpp - products of a warpgroup and their rules ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectFaults.h"

#include <bit>

using namespace fa::test;

namespace {

constexpr RunSizes warpgroup = {.threads = 128, .sharedBytes = 9216};

/// What a program can leave out.
struct Parts {
  std::string proxyFence =
      "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n";
  std::string barrier = "nvvm.barrier0\n";
  std::string fence = "nvvm.wgmma.fence.aligned\n";
  std::string commit = "nvvm.wgmma.commit.group.sync.aligned\n";
  std::string between = "";
  std::string stored = "%w#0";
  /// What shared memory is filled with, and what it is multiplied as.
  std::string word = "1006648320", type = "f16";
};

/// Shared memory is 64 rows of 64 ones of f16, and 8 rows: all products of
/// depth 16 are 16. Each thread stores its first accumulator.
std::string ones(const Parts &parts) {
  return "%ones = llvm.mlir.constant(" + parts.word +
         " : i32) : i32\n"
         "%step = llvm.mlir.constant(128 : i32) : i32\n"
         "%end = llvm.mlir.constant(2304 : i32) : i32\n"
         "llvm.br ^fill(%tid : i32)\n^fill(%n: i32):\n"
         "%at = llvm.getelementptr %shared[%n] : (!llvm.ptr<3>, i32) -> "
         "!llvm.ptr<3>, i32\nllvm.store %ones, %at : i32, !llvm.ptr<3>\n"
         "%next = llvm.add %n, %step : i32\n"
         "%more = llvm.icmp \"ult\" %next, %end : i32\n"
         "llvm.cond_br %more, ^fill(%next : i32), ^after\n^after:\n" +
         parts.proxyFence + parts.barrier +
         // A swizzle of 128 bytes, eight rows in 1024.
         "%fixed = llvm.mlir.constant(4611686293305360384 : i64) : i64\n"
         "%c4 = llvm.mlir.constant(4 : i32) : i32\n"
         "%low = llvm.lshr %base, %c4 : i32\n"
         "%wide = llvm.zext %low : i32 to i64\n"
         "%a = llvm.or %wide, %fixed : i64\n"
         "%rows = llvm.mlir.constant(512 : i64) : i64\n"
         "%b = llvm.add %a, %rows : i64\n" +
         parts.fence + "%d:4 = tgpu.simt.wgmma " + parts.type +
         " a(%a) b(%b) : (i64, i64) -> (f32, f32, "
         "f32, f32)\n" +
         parts.commit + parts.between +
         "%w:4 = tgpu.simt.wgmma_wait 0 through %d#0, %d#1, %d#2, %d#3 : (f32, "
         "f32, f32, f32) -> (f32, f32, f32, f32)\nllvm.store " +
         parts.stored + ", %outOwn : f32, !llvm.ptr<1>\n";
}

/// The byte 0x38 is 1 in e4m3 and 0.5 in e5m2; a step has 32 of them.
TEST(Products, MultiplyEightBits) {
  Parts parts;
  parts.word = "943208504";
  for (auto [type, sum] :
       {std::pair("f8E4M3FN", 32.0f), std::pair("f8E5M2", 8.0f),
        std::pair("f8E4M3FN by f8E5M2", 16.0f)}) {
    parts.type = type;
    RunResult result = runText(ones(parts), warpgroup);
    EXPECT_EQ(result.faults, "");
    EXPECT_EQ(std::bit_cast<float>(result.out[0]), sum);
  }
}

TEST(Products, Sum) {
  RunResult result = runText(ones({}), warpgroup);
  EXPECT_EQ(result.faults, "");
  for (uint32_t bits : result.out)
    EXPECT_EQ(std::bit_cast<float>(bits), 16.0f);
  EXPECT_EQ(result.counters.products[1], 1);
}

TEST(Products, ReadWhatAFenceMadeVisible) {
  expectFault(ones({.proxyFence = ""}), "missing fence",
              "written in the generic proxy", warpgroup);
  // Behind a barrier, one thread's fence serves the others.
  expectNone(ones({.proxyFence = "",
                   .barrier = "nvvm.barrier0\nnvvm.fence.proxy {kind = "
                              "#nvvm.proxy_kind<async>}\n"}),
             warpgroup);
}

TEST(Products, ReadWhatABarrierOrders) {
  expectAmong(ones({.barrier = ""}), "race", "no barrier lies between",
              warpgroup);
}

TEST(Products, NeedAFenceForTheirRegisters) {
  expectFault(ones({.fence = ""}), "missing fence",
              "no wgmma.fence lies between", warpgroup);
}

TEST(Products, AreCommitted) {
  expectAmong(ones({.commit = ""}), "missing wait", "or not committed",
              warpgroup);
}

TEST(Products, AreWaitedFor) {
  expectAmong(ones({.stored = "%d#0"}), "missing wait",
              "has not passed through a wgmma.wait_group", warpgroup);
}

TEST(Products, ReadTheirOperandsWhenTheyEnd) {
  expectAmong(ones({.between = "llvm.store %ones, %own : i32, !llvm.ptr<3>\n"}),
              "race", "tgpu.simt.wgmma in thread 0", warpgroup);
}

TEST(Products, AddToTheNewestAccumulators) {
  const char *second =
      "%e:4 = tgpu.simt.wgmma f16 a(%a) b(%b) acc(%d#0, %d#1, %d#2, %d#3) : "
      "(i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)\n"
      "nvvm.wgmma.commit.group.sync.aligned\n";
  // What the first gave is overwritten in its registers.
  expectAmong(ones({.between = second}), "missing wait",
              "an accumulator to which a later product adds", warpgroup);
  std::string body = ones({.between = second});
  body.replace(body.find("through %d#0, %d#1, %d#2, %d#3"), 30,
               "through %e#0, %e#1, %e#2, %e#3");
  RunResult result = runText(body, warpgroup);
  EXPECT_EQ(result.faults, "");
  EXPECT_EQ(std::bit_cast<float>(result.out[127]), 32.0f);
}

TEST(Products, OfAllLanes) {
  std::string body = ones({});
  size_t at = body.find("%d:4");
  body.insert(at, "%odd = llvm.trunc %tid : i32 to i1\n"
                  "llvm.cond_br %odd, ^leave, ^stay\n^leave:\nllvm.return\n"
                  "^stay:\n");
  expectAmong(body, "divergent warp", "expected all lanes", warpgroup);
}

TEST(Products, OfAllWarpsOfAWarpgroup) {
  std::string body = ones({});
  size_t at = body.find("%d:4");
  body.insert(at, "%high = llvm.icmp \"ult\" %tid, %c32 : i32\n"
                  "llvm.cond_br %high, ^leave, ^stay\n^leave:\nllvm.return\n"
                  "^stay:\n");
  expectAmong(body, "divergent warp", "of its warpgroup began 0 products",
              warpgroup);
}

} // namespace

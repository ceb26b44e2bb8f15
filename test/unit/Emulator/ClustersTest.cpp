//===- ClustersTest.cpp - blocks that reach each other's memory -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectFaults.h"

#include <bit>

using namespace fa::test;

namespace {

constexpr RunSizes twoBlocks = {.sharedBytes = 520, .blocks = 2, .cluster = 2};

constexpr const char *fence = "nvvm.fence.mbarrier.init";
constexpr const char *sync = "nvvm.cluster.arrive\nnvvm.cluster.wait\n";
constexpr const char *arriveAtBoth =
    "tgpu.simt.arrive %bar, %tid ranks 2 : !llvm.ptr<3>\n";
constexpr const char *waitFirst =
    "tgpu.simt.wait_phase %bar, %c0 : !llvm.ptr<3>\n";

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(Clusters, BlocksHaveMemoryOfTheirOwn) {
  RunResult result = runText("llvm.store %bid, %own : i32, !llvm.ptr<3>\n" +
                                 std::string(sync) +
                                 "%v = llvm.load %own : !llvm.ptr<3> -> i32\n"
                                 "%at = llvm.mul %bid, %c32 : i32\n"
                                 "%to = llvm.getelementptr %outOwn[%at] : "
                                 "(!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                                 "llvm.store %v, %to : i32, !llvm.ptr<1>\n",
                             twoBlocks);
  EXPECT_EQ(result.faults, "");
  for (uint32_t n = 0; n < 64; ++n)
    EXPECT_EQ(result.out[n], n / 32);
}

/// Threads 0 and 1 of each block arrive at the barriers of both.
TEST(Clusters, ThreadsArriveInOtherBlocks) {
  std::string both = barrier(2, fence) + sync + arriveAtBoth;
  expectNone(both + waitFirst, twoBlocks);
  expectNone(both + sync, twoBlocks);
  // Somebody may arrive at a barrier that is no longer there, or not yet.
  expectFault(both, "missing wait",
              "block 0, whose shared memory it reaches, may have ended: no "
              "barrier.cluster lies between",
              twoBlocks);
  expectAmong(barrier(2, fence) + arriveAtBoth + waitFirst, "race",
              "the mbarrier at byte 512 of shared memory of block", twoBlocks);
  expectFault(barrier(3, fence) + sync + arriveAtBoth + waitFirst, "deadlock",
              "threads of the cluster 0-63 wait at tgpu.simt.wait_phase",
              twoBlocks);
}

TEST(Clusters, BarriersAreArrivedAtAndWaitedFor) {
  expectAmong("nvvm.cluster.arrive\nnvvm.cluster.arrive", "illegal mbarrier",
              "the thread has arrived and not waited since", twoBlocks);
  expectAmong("nvvm.cluster.wait", "illegal mbarrier",
              "the thread has not arrived", twoBlocks);
  expectFault("%low = llvm.icmp \"eq\" %bid, %c0 : i32\n"
              "llvm.cond_br %low, ^both, ^one\n^one:\n"
              "tgpu.simt.wait_phase %shared, %c0 : !llvm.ptr<3>\n"
              "llvm.br ^both\n^both:\n" +
                  std::string(sync),
              "illegal mbarrier", "there is no mbarrier at byte 0", twoBlocks);
  // Those that have exited are not waited for.
  expectNone("%low = llvm.icmp \"eq\" %bid, %c0 : i32\n"
             "llvm.cond_br %low, ^one, ^end\n^one:\n" +
                 std::string(sync) + "llvm.br ^end\n^end:\n",
             twoBlocks);
}

TEST(Clusters, HaveLimits) {
  RunSizes sizes = twoBlocks;
  sizes.threads = 544;
  EXPECT_EQ(runText("", sizes).faults,
            "the emulator has clusters of up to 1024 threads, @kernel has 2 "
            "blocks of 544");
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Each block copies a row, of those that `ranks` says into the memory of both;
/// its threads read both rows.
std::string rows(int ranks) {
  return barrier(1, fence) + sync + "%ranks = llvm.mlir.constant(" +
         std::to_string(ranks) +
         " : i16) : i16\n%bytes = llvm.mlir.constant(256 : i32) : i32\n"
         "%c2 = llvm.add %c1, %c1 : i32\n"
         "%offset = llvm.mul %bid, %c32 : i32\n"
         "%mine = llvm.getelementptr %shared[%offset] : (!llvm.ptr<3>, i32) -> "
         "!llvm.ptr<3>, i32\n"
         "%to = llvm.addrspacecast %mine : !llvm.ptr<3> to !llvm.ptr<7>\n"
         "llvm.cond_br %first, ^copy, ^read\n^copy:\n"
         "nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32\n"
         "nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, "
         "box[%c0, %bid] multicast_mask = %ranks : !llvm.ptr<7>, !llvm.ptr\n"
         "llvm.br ^read\n^read:\n" +
         waitFirst +
         "%v = llvm.load %own : !llvm.ptr<3> -> i32\n"
         "%up = llvm.getelementptr %own[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
         "i32\n%w = llvm.load %up : !llvm.ptr<3> -> i32\n"
         "%at = llvm.mul %offset, %c2 : i32\n"
         "%out0 = llvm.getelementptr %outOwn[%at] : (!llvm.ptr<1>, i32) -> "
         "!llvm.ptr<1>, i32\nllvm.store %v, %out0 : i32, !llvm.ptr<1>\n"
         "%out1 = llvm.getelementptr %out0[32] : (!llvm.ptr<1>) -> "
         "!llvm.ptr<1>, i32\nllvm.store %w, %out1 : i32, !llvm.ptr<1>\n";
}

TEST(Clusters, BoxesArriveInSeveralBlocks) {
  RunSizes sizes = twoBlocks;
  sizes.boxRows = 1;
  for (sizes.seed = 0; sizes.seed < 4; ++sizes.seed) {
    RunResult result = runText(rows(3), sizes);
    EXPECT_EQ(result.faults, "") << sizes.seed;
    EXPECT_EQ(result.counters.boxes, 2);
    for (uint32_t n = 0; n < 64; ++n)
      for (uint32_t block : {0, 1})
        // The second row of 128 bytes is swizzled.
        EXPECT_EQ(std::bit_cast<float>(result.out[64 * block + n]),
                  float(n < 32 ? n : n ^ 4));
  }
  sizes.seed = 0;
  expectFault(rows(1), "deadlock",
              "phase 0 of the mbarrier at byte 512 of shared memory of block 1 "
              "of the cluster, which needs 0 more arrivals and 256 bytes",
              sizes);
}

} // namespace

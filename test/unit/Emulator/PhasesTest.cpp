//===- PhasesTest.cpp - barriers with phases, boxes, registers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectFaults.h"

#include <bit>

using namespace fa::test;

namespace {

constexpr RunSizes twoWarps = {.threads = 64, .sharedBytes = 520};

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Warp 0 writes and arrives, warp 1 waits and reads.
std::string passOn(llvm::StringRef arrive, llvm::StringRef wait,
                   int count = 1) {
  return barrier(count, "") +
         ("%writes = llvm.icmp \"ult\" %tid, %c32 : i32\n"
          "llvm.cond_br %writes, ^writer, ^reader\n^writer:\n"
          "llvm.store %tid, %own : i32, !llvm.ptr<3>\n"
          "nvvm.bar.warp.sync %all : i32\n" +
          arrive + "\nllvm.br ^end\n^reader:\n" + wait +
          "\n%v = llvm.load %across : !llvm.ptr<3> -> i32\n"
          "llvm.store %v, %outOwn : i32, !llvm.ptr<1>\n"
          "llvm.br ^end\n^end:\n")
             .str();
}

constexpr const char *arrive = "tgpu.simt.arrive %bar, %tid : !llvm.ptr<3>";
constexpr const char *waitFirst =
    "tgpu.simt.wait_phase %bar, %c0 : !llvm.ptr<3>";

TEST(Phases, OrderWhatComesBefore) {
  RunResult result = runText(passOn(arrive, waitFirst), twoWarps);
  EXPECT_EQ(result.faults, "");
  for (uint32_t n = 0; n < 32; ++n)
    EXPECT_EQ(result.out[32 + n], n);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    RunSizes sizes = twoWarps;
    sizes.seed = seed;
    EXPECT_NE(runText(passOn(arrive, ""), sizes).faults, "") << seed;
  }
}

TEST(Phases, ThePhaseBeforeTheFirstIsComplete) {
  const char *waitBefore = "tgpu.simt.wait_phase %bar, %c1 : !llvm.ptr<3>";
  RunSizes sizes = twoWarps;
  sizes.seed = 1;
  EXPECT_NE(runText(passOn(arrive, waitBefore), sizes).faults, "");
}

TEST(Phases, ArrivalBeforeTheWriteIsARace) {
  std::string body = passOn(arrive, waitFirst);
  // Lane 1 writes after lane 0 has arrived.
  body.replace(body.find("nvvm.bar.warp.sync %all : i32\n"), 30, "");
  expectAmong(body, "race", "", twoWarps);
}

TEST(Phases, OrderAllReaders) {
  // Warps 1 and 2 read what warp 0 writes then.
  auto body = [](int count, llvm::StringRef arrives) {
    return barrier(count, "") +
           ("llvm.store %tid, %own : i32, !llvm.ptr<3>\nnvvm.barrier0\n"
            "%lane = llvm.urem %tid, %c32 : i32\n"
            "%word = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) "
            "-> !llvm.ptr<3>, i32\n"
            "%writes = llvm.icmp \"ult\" %tid, %c32 : i32\n"
            "llvm.cond_br %writes, ^writer, ^reader\n^reader:\n"
            "%v = llvm.load %word : !llvm.ptr<3> -> i32\n"
            "nvvm.bar.warp.sync %all : i32\n"
            "%last = llvm.add %c32, %c32 : i32\n" +
            arrives +
            "\nllvm.cond_br %do, ^arrive, ^end\n^arrive:\n"
            "tgpu.simt.arrive %bar, %lane : !llvm.ptr<3>\nllvm.br ^end\n"
            "^writer:\n" +
            waitFirst +
            "\nllvm.store %c0, %own : i32, !llvm.ptr<3>\n"
            "llvm.br ^end\n^end:\n")
               .str();
  };
  RunSizes sizes = {.threads = 96, .sharedBytes = 520};
  expectNone(body(2, "%do = llvm.icmp \"uge\" %tid, %c32 : i32"), sizes);
  for (const char *one : {"ult", "uge"})
    expectAmong(body(1, "%do = llvm.icmp \"" + std::string(one) +
                            "\" %tid, %last : i32"),
                "race", "was read by threads of several warps", sizes);
}

TEST(Phases, DeadlockNamesThePhase) {
  expectFault(passOn(arrive, waitFirst, 2), "deadlock",
              "for phase 0 of the mbarrier at byte 512 of shared memory, which "
              "needs 1 more arrivals and 0 bytes",
              twoWarps);
}

TEST(Phases, OverArrival) {
  expectAmong(passOn("tgpu.simt.arrive %bar, %c0 : !llvm.ptr<3>", waitFirst),
              "over-arrival", "nobody has waited for phase 0", twoWarps);
}

TEST(Phases, ThereIsABarrier) {
  expectAmong("tgpu.simt.arrive %shared, %c0 : !llvm.ptr<3>",
              "illegal mbarrier", "there is no mbarrier at byte 0");
  expectAmong("nvvm.mbarrier.init %shared, %c0 : !llvm.ptr<3>, i32",
              "illegal mbarrier", "expected a count from 1 to 1048575");
}

TEST(Phases, BeginAnewUnderNobody) {
  std::string again = "llvm.cond_br %first, ^again, ^end\n^again:\n"
                      "nvvm.mbarrier.init %bar, %n : !llvm.ptr<3>, i32\n"
                      "llvm.br ^end\n^end:\n";
  expectNone(barrier(1, "") + again, twoWarps);
  std::string waits = "%low = llvm.icmp \"ult\" %tid, %c32 : i32\n"
                      "llvm.cond_br %low, ^late, ^wait\n^wait:\n" +
                      std::string(waitFirst) +
                      "\nllvm.br ^end\n^late:\n"
                      "nvvm.bar.warp.sync %all : i32\n";
  RunSizes sizes = twoWarps;
  sizes.seed = 1; // the second warp begins
  expectAmong(barrier(1, "") + waits + again, "illegal mbarrier",
              "waits at the mbarrier at byte 512", sizes);
}

TEST(Phases, NamedBarriersOrderTheirThreads) {
  auto exchange = [](const char *count) {
    return "llvm.store %tid, %own : i32, !llvm.ptr<3>\n"
           "%n = llvm.mlir.constant(" +
           std::string(count) +
           " : i32) : i32\nnvvm.barrier id = %c1 number_of_threads = %n\n"
           "%v = llvm.load %across : !llvm.ptr<3> -> i32\n"
           "llvm.store %v, %outOwn : i32, !llvm.ptr<1>";
  };
  expectNone(exchange("64"), twoWarps);
  expectAmong(exchange("32"), "race", "", twoWarps);
  expectAmong(exchange("33"), "illegal mbarrier", "a multiple of 32", twoWarps);
  expectAmong(exchange("96"), "illegal mbarrier", "found barrier 1 of 96",
              twoWarps);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

constexpr RunSizes twoRows = {.threads = 32, .sharedBytes = 520, .boxRows = 2};

/// A box of two rows from row `row` on; all threads read their words of it.
std::string box(int row, int expected, llvm::StringRef fence,
                llvm::StringRef wait = waitFirst) {
  return barrier(1, fence) + "%row = llvm.mlir.constant(" +
         std::to_string(row) + " : i32) : i32\n%bytes = llvm.mlir.constant(" +
         std::to_string(expected) +
         " : i32) : i32\n%to = llvm.addrspacecast %shared : !llvm.ptr<3> to "
         "!llvm.ptr<7>\nllvm.cond_br %first, ^copy, ^read\n^copy:\n"
         "nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32\n"
         "nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, "
         "box[%c0, %row] : !llvm.ptr<7>, !llvm.ptr\n"
         "llvm.br ^read\n^read:\n" +
         wait.str() +
         "\n%v = llvm.load %own : !llvm.ptr<3> -> i32\n"
         "llvm.store %v, %outOwn : i32, !llvm.ptr<1>\n"
         "%up = llvm.getelementptr %own[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
         "i32\n%w = llvm.load %up : !llvm.ptr<3> -> i32\n"
         "%outUp = llvm.getelementptr %outOwn[32] : (!llvm.ptr<1>) -> "
         "!llvm.ptr<1>, i32\nllvm.store %w, %outUp : i32, !llvm.ptr<1>\n";
}

constexpr const char *initFence = "nvvm.fence.mbarrier.init";

TEST(Boxes, AreSwizzledAndEndInZeros) {
  for (int row : {0, 1}) {
    RunResult result = runText(box(row, 256, initFence), twoRows);
    EXPECT_EQ(result.faults, "");
    EXPECT_EQ(result.counters.boxes, 1);
    EXPECT_EQ(result.counters.boxBytes, 256);
    for (uint32_t n = 0; n < 32; ++n) {
      EXPECT_EQ(std::bit_cast<float>(result.out[n]), float(32 * row + n));
      // In the second row of 128 bytes, pieces of 16 change places in pairs.
      float second = row ? 0.0f : float(32 + (n ^ 4));
      EXPECT_EQ(std::bit_cast<float>(result.out[32 + n]), second);
    }
  }
}

TEST(Boxes, AreWaitedFor) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    RunSizes sizes = twoRows;
    sizes.seed = seed;
    expectAmong(box(0, 256, initFence, ""), "missing wait",
                "the mbarrier at byte 512 of shared memory", sizes);
  }
}

TEST(Boxes, NeedTheBytesOfTheirBarrier) {
  expectFault(box(0, 512, initFence), "deadlock",
              "needs 0 more arrivals and 256 bytes", twoRows);
  expectAmong(box(0, 128, initFence), "wrong transaction bytes",
              "has had 128 bytes more than it expected", twoRows);
}

TEST(Boxes, NeedAFenceBehindTheInitialisation) {
  expectFault(box(0, 256, ""), "missing fence",
              "no fence.mbarrier_init lies between", twoRows);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

constexpr RunSizes twoGroups = {.threads = 256, .maxRegisters = 128};

/// The first warpgroup has `first`, the second `second`.
std::string exchange(llvm::StringRef first, llvm::StringRef second,
                     const char *limit = "128") {
  return ("%limit = llvm.mlir.constant(" + llvm::StringRef(limit) +
          " : i32) : i32\n%low = llvm.icmp \"ult\" %tid, %limit : i32\n"
          "llvm.cond_br %low, ^a, ^b\n^a:\n" +
          first + "\nllvm.br ^end\n^b:\n" + second + "\nllvm.br ^end\n^end:\n")
      .str();
}

TEST(Registers, AreGivenAndTaken) {
  const char *give = "nvvm.setmaxregister decrease 24",
             *take = "nvvm.setmaxregister increase 232",
             *takeMore = "nvvm.setmaxregister increase 240";
  expectNone(exchange(give, take), twoGroups);
  expectFault(exchange(give, takeMore), "deadlock",
              "for registers, of which 2560 are left", twoGroups);
  expectAmong(exchange(take, give), "illegal setmaxnreg",
              "the kernel has no maximum number of registers",
              {.threads = 256});
  expectAmong(exchange("nvvm.setmaxregister increase 64", give),
              "illegal setmaxnreg", "expected a count above the 128",
              twoGroups);
}

TEST(Registers, AreThoseOfAWholeWarpgroup) {
  expectFault(exchange("nvvm.setmaxregister decrease 24", "", "64"),
              "illegal setmaxnreg",
              "warp 0 of its warpgroup executed 1 of them, warp 2 0",
              twoGroups);
}

TEST(Registers, OneLaneIsElected) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    RunResult result =
        runText("%e = nvvm.elect.sync -> i1\n%v = llvm.zext %e : i1 to i32\n"
                "llvm.store %v, %outOwn : i32, !llvm.ptr<1>",
                {.seed = seed});
    EXPECT_EQ(result.faults, "");
    EXPECT_EQ(std::count(result.out.begin(), result.out.begin() + 32, 1u), 1);
  }
}

} // namespace

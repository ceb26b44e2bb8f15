//===- FaultsTest.cpp - every kind of fault, and its twin without ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectFaults.h"

#include <gtest/gtest.h>

#include <bit>

using namespace fa::test;

namespace {

constexpr RunSizes twoWarps = {.threads = 64};

std::string exchange(llvm::StringRef between, llvm::StringRef from = "%other") {
  return ("llvm.store %tid, %own : i32, !llvm.ptr<3>\n" + between +
          "\n%v = llvm.load " + from +
          " : !llvm.ptr<3> -> i32\n"
          "llvm.store %v, %outOwn : i32, !llvm.ptr<1>\n")
      .str();
}

TEST(Faults, RaceWithoutBarrier) {
  // Thread 0 reads before thread 1 writes, thread 1 after thread 0.
  expectAmong(exchange(""), "race", "no barrier lies between");
  expectAmong(exchange(""), "uninitialised read", "byte 4 of shared memory");
  expectNone(exchange("nvvm.barrier0"));
}

TEST(Faults, WarpBarrierOrdersOneWarp) {
  expectNone(exchange("nvvm.bar.warp.sync %all : i32"), twoWarps);
  expectFault(exchange("nvvm.bar.warp.sync %all : i32", "%across"), "race", "",
              twoWarps);
  expectNone(exchange("nvvm.barrier0", "%across"), twoWarps);
}

TEST(Faults, ShufflesAndVotesOrderNothing) {
  expectFault(exchange("%s = nvvm.shfl.sync bfly %all, %tid, %c1, %c16 : i32 "
                       "-> i32"),
              "race");
  expectFault(exchange("%p = llvm.icmp \"eq\" %tid, %c0 : i32\n"
                       "%s = nvvm.vote.sync any %all, %p -> i1"),
              "race");
}

TEST(Faults, WriteAfterRead) {
  std::string body = exchange("nvvm.barrier0");
  expectFault(body + "llvm.store %c0, %own : i32, !llvm.ptr<3>", "race",
              "was written (");
  expectNone(body + "nvvm.barrier0\nllvm.store %c0, %own : i32, !llvm.ptr<3>");
}

TEST(Faults, WritesOfTheSameValueAreHarmless) {
  expectNone("llvm.store %c1, %shared : i32, !llvm.ptr<3>");
  expectFault("llvm.store %tid, %shared : i32, !llvm.ptr<3>", "race");
  // Where the first bytes are the same, the others need not be.
  expectFault("%high = llvm.shl %tid, %c16 : i32\n"
              "llvm.store %high, %shared : i32, !llvm.ptr<3>",
              "race");
}

TEST(Faults, UninitialisedShared) {
  expectFault("%v = llvm.load %own : !llvm.ptr<3> -> i32\n"
              "llvm.store %v, %outOwn : i32, !llvm.ptr<1>",
              "uninitialised read", "byte 0 of shared memory");
}

TEST(Faults, UninitialisedOutput) {
  std::string read = "%v = llvm.load %outOwn : !llvm.ptr<1> -> i32\n"
                     "llvm.store %v, %own : i32, !llvm.ptr<3>\n";
  expectFault(read, "uninitialised read", "element 0 of argument 1");
  expectNone("llvm.store %tid, %outOwn : i32, !llvm.ptr<1>\n" + read);
}

TEST(Faults, OutOfBoundsShared) {
  expectFault(exchange("nvvm.barrier0"), "out of bounds",
              "4 bytes at byte 124 of shared memory, the block has 124",
              {.sharedBytes = 124});
  expectNone(exchange("nvvm.barrier0"), {.sharedBytes = 128});
}

TEST(Faults, OutOfBoundsGlobal) {
  auto store = [](llvm::StringRef where) {
    return ("%p = llvm.getelementptr " + where +
            " : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
            "%z = llvm.icmp \"eq\" %tid, %c0 : i32\n"
            "llvm.cond_br %z, ^yes, ^no\n^yes:\n"
            "llvm.store %c1, %p : i32, !llvm.ptr<1>\nllvm.br ^no\n^no:")
        .str();
  };
  expectNone(store("%out[127]"));
  expectFault(store("%out[128]"), "out of bounds",
              "byte 512 of argument 1, which has 512 bytes");
  expectFault(store("%in[0]"), "out of bounds", "argument 0 is an input");
}

TEST(Faults, GapsBetweenRows) {
  auto load = [](llvm::StringRef type, llvm::StringRef from) {
    return ("%p = llvm.getelementptr %in[" + from +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\n"
            "%v = llvm.load %p : !llvm.ptr<1> -> " +
            type)
        .str();
  };
  RunSizes gaps = {.gaps = true};
  expectNone(load("f32", "11"), gaps);
  expectNone(load("f32", "59"), gaps);
  expectNone(load("vector<4xf32>", "8"), gaps);
  expectNone(load("vector<4xf32>", "4"));
  expectFault(load("f32", "12"), "out of bounds", "with gaps between its rows",
              gaps);
  expectFault(load("vector<4xf32>", "4"), "out of bounds", "", gaps);
}

TEST(Faults, Misaligned) {
  expectFault("%p = llvm.getelementptr %shared[2] : (!llvm.ptr<3>) -> "
              "!llvm.ptr<3>, i8\nllvm.store %c1, %p : i32, !llvm.ptr<3>",
              "misaligned access", "expected a multiple of 4");
}

TEST(Faults, RaceBetweenBlocks) {
  expectFault("llvm.store %tid, %outOwn : i32, !llvm.ptr<1>", "race",
              "was written by thread", {.blocks = 2});
}

/// Each thread reads the element `ahead` behind its own, and writes its own
/// behind `between`.
static std::string inPlace(llvm::StringRef ahead, llvm::StringRef between) {
  return ("%first = llvm.mul %bid, %c32 : i32\n"
          "%mine = llvm.add %first, %tid : i32\n"
          "%far = llvm.add %mine, " +
          ahead +
          " : i32\n"
          "%to = llvm.getelementptr %out[%mine] : (!llvm.ptr<1>, i32) -> "
          "!llvm.ptr<1>, i32\n"
          "%from = llvm.getelementptr %out[%far] : (!llvm.ptr<1>, i32) -> "
          "!llvm.ptr<1>, i32\n"
          "%v = llvm.load %from : !llvm.ptr<1> -> i32\n" +
          between + "\nllvm.store %v, %to : i32, !llvm.ptr<1>")
      .str();
}

TEST(Faults, InPlace) {
  RunSizes sizes = {.blocks = 2, .readsOut = true};
  expectNone(inPlace("%c0", ""), sizes);
  // Of the next thread, with a barrier and without.
  sizes.blocks = 1;
  expectNone(inPlace("%c1", "nvvm.barrier0"), sizes);
  expectFault(inPlace("%c1", ""), "race",
              "element 1 of argument 1 was read by thread 0 of block 0", sizes);
}

TEST(Faults, RaceWithAnEarlierReader) {
  // The block that reads runs first, and no barrier is between two.
  RunSizes sizes = {.blocks = 2, .readsOut = true};
  expectFault(inPlace("%c32", "nvvm.barrier0"), "race",
              "element 32 of argument 1 was read by thread 0 of block 0",
              sizes);
}

//===----------------------------------------------------------------------===//
// Sums and assertions
//===----------------------------------------------------------------------===//

/// Every thread of every block adds 1.5 to the first element of the output.
constexpr llvm::StringLiteral kSum =
    "%x = llvm.mlir.constant(1.5 : f32) : f32\n"
    "%s = llvm.atomicrmw fadd %out, %x monotonic : !llvm.ptr<1>, f32\n";

TEST(Faults, SumsOfManyBlocks) {
  RunSizes sizes = {.blocks = 8, .hostThreads = 4, .readsOut = true};
  RunResult result = runText(kSum, sizes);
  EXPECT_EQ(result.faults, "");
  EXPECT_EQ(std::bit_cast<float>(result.out[0]), 1.5f * 32 * 8);
  result = runText("%s = llvm.atomicrmw add %outOwn, %c1 monotonic : "
                   "!llvm.ptr<1>, i32",
                   sizes);
  EXPECT_EQ(result.faults, "");
  EXPECT_EQ(result.out[3], 8u);
}

/// %first and %next: where a block's 32 elements begin, and the next one's.
constexpr llvm::StringLiteral kPlaces =
    "%x = llvm.mlir.constant(1.5 : f32) : f32\n"
    "%n = llvm.mul %bid, %c32 : i32\n"
    "%m = llvm.add %n, %c32 : i32\n"
    "%first = llvm.getelementptr %out[%n] : (!llvm.ptr<1>, i32) -> "
    "!llvm.ptr<1>, f32\n"
    "%next = llvm.getelementptr %out[%m] : (!llvm.ptr<1>, i32) -> "
    "!llvm.ptr<1>, f32\n";

/// A sum at `to`, and what is before and behind it.
static std::string sumBeside(llvm::StringRef before, llvm::StringRef to,
                             llvm::StringRef behind) {
  return (kPlaces + before + "%s = llvm.atomicrmw fadd " + to +
          ", %x monotonic : !llvm.ptr<1>, f32\n" + behind)
      .str();
}

TEST(Faults, SumsRaceWithOtherAccesses) {
  constexpr llvm::StringLiteral barrier = "nvvm.barrier0\n",
                                load = "%v = llvm.load %first : !llvm.ptr<1> "
                                       "-> f32\n",
                                store = "llvm.store %x, %first : f32, "
                                        "!llvm.ptr<1>\n";
  // In one block a barrier orders them.
  RunSizes sizes = {.blocks = 1, .readsOut = true};
  expectNone(sumBeside("", "%first", (barrier + load).str()), sizes);
  expectNone(sumBeside((load + barrier).str(), "%first", ""), sizes);
  expectFault(sumBeside("", "%first", load), "race",
              "element 0 of argument 1 was read by thread 0 of block 0", sizes);
  expectFault(sumBeside(load, "%first", ""), "race",
              "element 0 of argument 1 was added to by thread 0 of block 0",
              sizes);
  expectFault(sumBeside(store, "%first", ""), "race",
              "element 0 of argument 1 was", sizes);
  // Block 0 adds where block 1 reads or writes; none orders blocks.
  sizes.blocks = 2;
  expectFault(sumBeside("", "%next", (barrier + load).str()), "race",
              "element 32 of argument 1 was added to by thread 31 of block 0",
              sizes);
  // What is an output alone.
  expectFault(kSum, "out of bounds", "expected no sum in it");
}

TEST(Faults, Assertions) {
  std::string below = "%holds = llvm.icmp \"ult\" %tid, %c16 : i32\n";
  expectFault(below + "tgpu.simt.assert %holds, \"few threads\"",
              "failed assertion",
              "\"few threads\" in thread 16 of block 0: it does not hold");
  expectFault(below + "tgpu.simt.assert %holds, \"tl.assume\" promise",
              "broken promise", "\"tl.assume\" in thread 16 of block 0");
  expectNone("%holds = llvm.icmp \"ult\" %tid, %c32 : i32\n"
             "tgpu.simt.assert %holds, \"few threads\"");
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// Each thread copies its word of the input, and reads a word.
std::string copy(llvm::StringRef between, llvm::StringRef from) {
  return ("%from = llvm.getelementptr %in[%tid] : (!llvm.ptr<1>, i32) -> "
          "!llvm.ptr<1>, i32\n"
          "nvvm.cp.async.shared.global %own, %from, 4, cache = ca : "
          "!llvm.ptr<3>, !llvm.ptr<1>\n" +
          between + "\n%v = llvm.load " + from +
          " : !llvm.ptr<3> -> i32\n"
          "llvm.store %v, %outOwn : i32, !llvm.ptr<1>\n")
      .str();
}

TEST(Faults, MissingWait) {
  for (uint64_t seed : {0, 1, 2, 3})
    expectFault(copy("nvvm.cp.async.commit.group\nnvvm.barrier0", "%other"),
                "missing wait", "no cp.async.wait_group has waited",
                {.seed = seed});
  expectFault(
      copy("nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 1", "%own"),
      "missing wait");
}

TEST(Faults, MissingCommit) {
  expectFault(copy("nvvm.cp.async.wait.group 0\nnvvm.barrier0", "%other"),
              "missing wait", "a cp.async.commit_group is missing");
}

TEST(Faults, WaitIsForOneThread) {
  std::string wait = "nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 0\n";
  expectNone(copy(wait, "%own"));
  expectAmong(copy(wait, "%other"), "race", "no barrier lies between");
  expectNone(copy(wait + "nvvm.barrier0", "%other"));
}

TEST(Faults, CopyIntoWhatIsRead) {
  std::string wait = "nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 0\n";
  std::string again = "nvvm.cp.async.shared.global %own, %from, 4, cache = ca "
                      ": !llvm.ptr<3>, !llvm.ptr<1>\n";
  std::string body = copy(wait + "nvvm.barrier0", "%other");
  expectAmong(body + again, "race", "was read by thread");
  expectNone(body + "nvvm.barrier0\n" + again);
}

//===----------------------------------------------------------------------===//
// Threads that do not meet
//===----------------------------------------------------------------------===//

/// Lanes below 16 do `low`, the others `high`.
std::string split(llvm::StringRef low, llvm::StringRef high) {
  return ("%z = llvm.icmp \"ult\" %tid, %c16 : i32\n"
          "llvm.cond_br %z, ^low, ^high\n^low:\n" +
          low + "\nllvm.br ^end\n^high:\n" + high + "\nllvm.br ^end\n^end:")
      .str();
}

TEST(Faults, DivergentBarrier) {
  expectFault(split("nvvm.barrier0", "nvvm.barrier0"), "divergent barrier",
              "of its warp came to the barrier at");
  expectFault(split("nvvm.barrier0", ""), "divergent barrier", "have exited");
  expectNone("nvvm.barrier0");
}

TEST(Faults, Deadlock) {
  expectFault(
      split("nvvm.barrier0", "nvvm.bar.warp.sync %all : i32"), "deadlock",
      "threads 0-15 wait at nvvm.barrier0 (-:28:1) for the whole block; "
      "threads 16-31 wait at nvvm.bar.warp.sync (-:31:1) for lanes of "
      "their warps");
}

TEST(Faults, IllegalShuffles) {
  const char *shuffle = "%m = llvm.mlir.constant(65535 : i32) : i32\n"
                        "%from = llvm.mlir.constant(FROM : i32) : i32\n"
                        "%s = nvvm.shfl.sync idx %m, %tid, %from, %clamp : i32 "
                        "-> i32";
  auto from = [&](const char *lane) {
    std::string text =
        "%clamp = llvm.mlir.constant(31 : i32) : i32\n" + std::string(shuffle);
    text.replace(text.find("FROM"), 4, lane);
    return split(text, "");
  };
  expectNone(from("3"));
  expectFault(from("20"), "illegal shuffle",
              "reads lane 20, which does not "
              "take part");
}

TEST(Faults, MatrixOfHalfAWarp) {
  expectFault("llvm.store %tid, %own : i32, !llvm.ptr<3>\nnvvm.barrier0\n" +
                  split("%v = nvvm.ldmatrix %shared {num = 1 : i32, layout = "
                        "#nvvm.mma_layout<row>, shape = "
                        "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
                        "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> "
                        "i32",
                        ""),
              "divergent warp", "found 0xFFFF");
}

TEST(Faults, UnknownOperation) {
  std::string faults = runText("nvvm.cluster.arrive.relaxed").faults;
  EXPECT_NE(faults.find("the emulator does not know this operation"),
            std::string::npos)
      << faults;
}

TEST(Faults, ReportIsTheSameOnManyThreads) {
  RunSizes sizes = {.blocks = 16, .hostThreads = 4};
  const char *body = "llvm.store %tid, %own : i32, !llvm.ptr<3>\n"
                     "%v = llvm.load %other : !llvm.ptr<3> -> i32";
  std::string first = runText(body, sizes).faults;
  EXPECT_NE(first.find("of block 0: "), std::string::npos) << first;
  for (int n = 0; n < 8; ++n)
    EXPECT_EQ(runText(body, sizes).faults, first);
}

} // namespace

//===- LaneMovesTest.cpp - words from lane to lane by DPP -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the table of DPP_CTRL says, lane by lane, written down once more.
//
//===----------------------------------------------------------------------===//

#include "RunText.h"

#include "fa/Machine/LaneMoves.h"

#include <gtest/gtest.h>

#include <functional>

using namespace fa;
using namespace fa::test;

namespace {

constexpr int kNone = -1; ///< no source
constexpr uint32_t kOld = 1000;

struct Move {
  uint32_t control, rows = 0xf, banks = 0xf;
  bool bounded = false;
};

std::string textOf(const Move &move, const std::string &result,
                   const std::string &source) {
  return result + " = rocdl.update.dpp %old, " + source + " with " +
         std::to_string(move.control) + ", " + std::to_string(move.rows) +
         ", " + std::to_string(move.banks) + ", " +
         (move.bounded ? "true" : "false") + " : i32\n";
}

/// What `body` leaves as %v of each of 64 lanes.
RunResult runWave(const std::string &body) {
  RunSizes sizes{.threads = 64};
  return runText("%old = llvm.mlir.constant(1000 : i32) : i32\n" + body +
                     "llvm.store %v, %outOwn : i32, !llvm.ptr<1>",
                 sizes);
}

/// Each lane's number is moved; a lane without a source keeps what it has, and
/// gets 0 with bound_ctrl.
void expectSources(uint32_t control, std::function<int(int)> source) {
  for (bool bounded : {false, true}) {
    RunResult result =
        runWave(textOf({.control = control, .bounded = bounded}, "%v", "%tid"));
    ASSERT_EQ(result.faults, "");
    EXPECT_EQ(result.counters.shuffles, 1);
    for (int lane = 0; lane < 64; ++lane) {
      int from = source(lane);
      uint32_t expected = from != kNone ? from : bounded ? 0 : kOld;
      EXPECT_EQ(result.out[lane], expected)
          << "control " << control << " lane " << lane;
    }
  }
}

TEST(LaneMoves, QuadsPermute) {
  // Lanes 3, 0, 0, 2.
  expectSources(0b10000011, [](int n) {
    int from[] = {3, 0, 0, 2};
    return n / 4 * 4 + from[n % 4];
  });
}

TEST(LaneMoves, RowsShiftAndTurn) {
  for (int by : {1, 7, 15}) {
    expectSources(0x100 + by,
                  [&](int n) { return n % 16 + by > 15 ? kNone : n + by; });
    expectSources(0x110 + by,
                  [&](int n) { return n % 16 < by ? kNone : n - by; });
    expectSources(0x120 + by,
                  [&](int n) { return n % 16 < by ? n - by + 16 : n - by; });
  }
}

TEST(LaneMoves, WavesShiftAndTurn) {
  expectSources(0x130, [](int n) { return n == 63 ? kNone : n + 1; });
  expectSources(0x134, [](int n) { return n == 63 ? 0 : n + 1; });
  expectSources(0x138, [](int n) { return n == 0 ? kNone : n - 1; });
  expectSources(0x13c, [](int n) { return n == 0 ? 63 : n - 1; });
}

TEST(LaneMoves, RowsMirror) {
  expectSources(0x140, [](int n) { return n / 16 * 16 + 15 - n % 16; });
  expectSources(0x141, [](int n) { return n / 8 * 8 + 7 - n % 8; });
}

TEST(LaneMoves, RowsHearOthers) {
  expectSources(0x142, [](int n) { return n < 16 ? kNone : n / 16 * 16 - 1; });
  expectSources(0x143, [](int n) { return n < 32 ? kNone : 31; });
  expectSources(0x155, [](int n) { return n / 16 * 16 + 5; });
}

/// Lanes of other rows and banks keep what they have, with bound_ctrl, too.
TEST(LaneMoves, MasksSayWhoIsWritten) {
  for (bool bounded : {false, true}) {
    RunResult result = runWave(textOf(
        {.control = 0x101, .rows = 0xa, .banks = 0x9, .bounded = bounded}, "%v",
        "%tid"));
    ASSERT_EQ(result.faults, "");
    for (uint32_t n = 0; n < 64; ++n) {
      uint32_t row = n / 16, bank = n % 16 / 4;
      bool isWritten = row % 2 == 1 && (bank == 0 || bank == 3);
      uint32_t moved = n % 16 < 15 ? n + 1 : bounded ? 0 : kOld;
      EXPECT_EQ(result.out[n], isWritten ? moved : kOld) << n;
    }
  }
}

/// Every exchange inside of a row, by as few moves as it takes.
TEST(LaneMoves, Exchange) {
  for (uint32_t mask = 1; mask < 16; ++mask) {
    auto moves = movesAcross(mask);
    bool isOne = mask < 4 || mask == 7 || mask == 8 || mask == 15;
    EXPECT_EQ(moves.size(), isOne ? 1u : 2u) << mask;
    std::string body, from = "%tid";
    for (uint32_t control : moves) {
      std::string to = control == moves.back() ? "%v" : "%between";
      body += textOf({.control = control, .bounded = true}, to, from);
      from = to;
    }
    RunResult result = runWave(body);
    ASSERT_EQ(result.faults, "");
    for (uint32_t n = 0; n < 64; ++n)
      EXPECT_EQ(result.out[n], n ^ mask) << "mask " << mask;
  }
}

TEST(LaneMoves, OthersAreUnknown) {
  for (uint32_t control : {0x100u, 0x110u, 0x120u, 0x131u, 0x144u, 0x160u}) {
    RunResult result = runWave(textOf({.control = control}, "%v", "%tid"));
    EXPECT_NE(result.faults.find("expected a control word of DPP, found " +
                                 std::to_string(control)),
              std::string::npos)
        << result.faults;
  }
  RunResult wide =
      runWave("%x = llvm.zext %tid : i32 to i64\n"
              "%y = rocdl.update.dpp %x, %x with 257, 15, 15, true : i64\n"
              "%v = llvm.trunc %y : i64 to i32\n");
  EXPECT_NE(wide.faults.find("moves words of 32 bits from lane to lane, found "
                             "'i64'"),
            std::string::npos)
      << wide.faults;
}

/// All lanes of a wave take part.
TEST(LaneMoves, LanesThatLeftAreMissed) {
  RunResult result =
      runWave("%five = llvm.mlir.constant(5 : i32) : i32\n"
              "%is = llvm.icmp \"eq\" %tid, %five : i32\n"
              "llvm.cond_br %is, ^end, ^go\n^end:\nllvm.return\n^go:\n" +
              textOf({.control = 0x140}, "%v", "%tid"));
  EXPECT_NE(result.faults.find("deadlock: rocdl.update.dpp"), std::string::npos)
      << result.faults;
}

} // namespace

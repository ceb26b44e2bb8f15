//===- ConstraintsTest.cpp ------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Constraints.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

static std::string problemOf(StringRef text) {
  auto parsed = parseConstraints(text);
  return parsed ? "" : toString(parsed.takeError());
}

TEST(Constraints, AreReadAndPrinted) {
  StringRef all = "tile=128x64 stages=3 warps=8 consumers=2 splits=2 "
                  "rank=5 schedule=plain";
  PlanConstraints constraints = cantFail(parseConstraints(all));
  EXPECT_EQ(constraints.qTile, 128);
  EXPECT_EQ(constraints.kvTile, 64);
  EXPECT_EQ(constraints.stages, 3);
  EXPECT_EQ(constraints.warps, 8);
  EXPECT_EQ(constraints.consumers, 2);
  EXPECT_EQ(constraints.splits, 2);
  EXPECT_EQ(constraints.rank, 5);
  EXPECT_EQ(constraints.schedule, "plain");
  EXPECT_EQ(printConstraints(constraints), all);
  EXPECT_EQ(printConstraints(cantFail(parseConstraints(" tile=0x64 "))),
            "tile=0x64");
  EXPECT_EQ(printConstraints(cantFail(parseConstraints(""))), "");
}

TEST(Constraints, SayWhichWordIsWrong) {
  for (StringRef word : {"tile=64", "tile=axb", "tile=-1x64", "warps=-4",
                         "stages=two", "rows=64", "splits"})
    EXPECT_EQ(problemOf(word),
              ("plan constraints: expected tile=MxN, stages=N, warps=N, "
               "consumers=N, splits=N, rank=N or schedule=NAME, found '" +
               word + "'")
                  .str());
  EXPECT_EQ(problemOf("warps=4 warps=4"),
            "plan constraints: 'warps' is given twice");
}

/// What a user may ask is less than what passes take.
TEST(Constraints, SayWhatCannotBeAsked) {
  auto why = [](StringRef text) {
    return whyInvalid(cantFail(parseConstraints(text)));
  };
  EXPECT_EQ(why("tile=1024x4096 stages=8 warps=8 splits=1024 rank=7 "
                "schedule=clusters"),
            "");
  EXPECT_EQ(why("consumers=3"), "");
  EXPECT_EQ(why("tile=0x64"), "tile: expected MxN with 1 <= M <= 1024 and 1 <= "
                              "N <= 4096, found '0x64'");
  EXPECT_EQ(why("stages=1"), "stages: expected 2 to 8, found 1");
  EXPECT_EQ(why("warps=3"), "warps: expected 1, 2, 4 or 8, found 3");
  EXPECT_EQ(why("consumers=4"), "consumers: expected 1, 2 or 3, found 4");
  EXPECT_EQ(why("consumers=2 tile=128x64"),
            "consumers: expected either consumers or a tile, found both");
  EXPECT_EQ(why("splits=1025"), "splits: expected 0 to 1024, found 1025");
  EXPECT_EQ(why("rank=8"), "rank: expected 0 to 7, found 8");
  EXPECT_EQ(why("schedule=rolls"), "schedule: expected persistent, dynamic, "
                                   "clusters, roles or plain, found 'rolls'");
}

/// The command line's options are made of them.
TEST(Constraints, WordsAreWhatIsRead) {
  for (const ConstraintWord &word : constraintWords()) {
    std::string value = word.key == "tile"       ? "4x8"
                        : word.key == "schedule" ? "plain"
                                                 : "1";
    std::string text = (word.key + "=" + value).str();
    EXPECT_EQ(printConstraints(cantFail(parseConstraints(text))), text);
  }
  EXPECT_EQ(constraintWords().size(), 7u);
}

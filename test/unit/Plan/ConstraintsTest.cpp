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
                  "schedule=plain";
  PlanConstraints constraints = cantFail(parseConstraints(all));
  EXPECT_EQ(constraints.qTile, 128);
  EXPECT_EQ(constraints.kvTile, 64);
  EXPECT_EQ(constraints.stages, 3);
  EXPECT_EQ(constraints.warps, 8);
  EXPECT_EQ(constraints.consumers, 2);
  EXPECT_EQ(constraints.splits, 2);
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
               "consumers=N, splits=N or schedule=NAME, found '" +
               word + "'")
                  .str());
  EXPECT_EQ(problemOf("warps=4 warps=4"),
            "plan constraints: 'warps' is given twice");
}

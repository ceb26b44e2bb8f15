//===- CountersTest.cpp - requests of known cost --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunText.h"

#include <gtest/gtest.h>

using namespace fa::test;

namespace {

/// Every thread stores the type at its number times `step` bytes.
fa::EmulatorCounters strided(llvm::StringRef type, int step) {
  std::string body =
      ("%step = llvm.mlir.constant(" + llvm::Twine(step) +
       " : i32) : i32\n"
       "%at = llvm.mul %tid, %step : i32\n"
       "%p = llvm.getelementptr %shared[%at] : (!llvm.ptr<3>, i32) -> "
       "!llvm.ptr<3>, i8\n"
       "%v = llvm.mlir.zero : " +
       type + "\nllvm.store %v, %p : " + type + ", !llvm.ptr<3>")
          .str();
  RunResult result = runText(body, {.sharedBytes = 4096});
  EXPECT_EQ(result.faults, "");
  EXPECT_EQ(result.counters.sharedRequests, 1);
  return result.counters;
}

TEST(Counters, BankConflicts) {
  EXPECT_EQ(strided("i32", 4).bankConflicts, 0);
  EXPECT_EQ(strided("i32", 8).bankConflicts, 1);
  EXPECT_EQ(strided("i32", 128).bankConflicts, 31);
  EXPECT_EQ(strided("i32", 0).bankConflicts, 0); // one word for all
  EXPECT_EQ(strided("i64", 8).bankConflicts, 0);
  EXPECT_EQ(strided("i64", 16).bankConflicts, 2);
  EXPECT_EQ(strided("vector<4xf32>", 16).bankConflicts, 0);
  EXPECT_EQ(strided("vector<4xf32>", 128).bankConflicts, 28);
  EXPECT_EQ(strided("f16", 2).bankConflicts, 0);
  // Where they are: at the store.
  EXPECT_TRUE(strided("i32", 4).conflictsAt.empty());
  auto places = strided("i32", 128).conflictsAt;
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places.begin()->second, 31);
}

fa::EmulatorCounters matrix(int rowBytes) {
  std::string body =
      ("%row = llvm.mlir.constant(" + llvm::Twine(rowBytes) +
       " : i32) : i32\n"
       "%seven = llvm.mlir.constant(7 : i32) : i32\n"
       "%n = llvm.and %tid, %seven : i32\n"
       "%at = llvm.mul %n, %row : i32\n"
       "%p = llvm.getelementptr %shared[%at] : (!llvm.ptr<3>, i32) -> "
       "!llvm.ptr<3>, i8\n"
       "%v = llvm.mlir.zero : vector<4xf32>\n"
       "llvm.store %v, %p : vector<4xf32>, !llvm.ptr<3>\nnvvm.barrier0\n"
       "%m = nvvm.ldmatrix %p {num = 1 : i32, layout = #nvvm.mma_layout<row>, "
       "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
       "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32")
          .str();
  RunResult result = runText(body, {.sharedBytes = 4096});
  EXPECT_EQ(result.faults, "");
  EXPECT_EQ(result.counters.matrixLoads, 1);
  EXPECT_EQ(result.counters.barriers, 1);
  return result.counters;
}

TEST(Counters, MatrixRows) {
  // The stores of quarter warps conflict in the same way, four times.
  EXPECT_EQ(matrix(16).bankConflicts, 0);
  EXPECT_EQ(matrix(32).bankConflicts, 5 * 1);
  EXPECT_EQ(matrix(128).bankConflicts, 5 * 7);
}

TEST(Counters, Sectors) {
  auto sectors = [](const char *step) {
    std::string body = "%step = llvm.mlir.constant(" + std::string(step) +
                       " : i32) : i32\n%at = llvm.mul %tid, %step : i32\n"
                       "%p = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32)"
                       " -> !llvm.ptr<1>, i32\n"
                       "llvm.store %tid, %p : i32, !llvm.ptr<1>";
    RunResult result = runText(body);
    EXPECT_EQ(result.faults, "");
    EXPECT_EQ(result.counters.globalRequests, 1);
    return result.counters.globalSectors;
  };
  // The tensor may begin inside a sector.
  EXPECT_LE(sectors("1"), 5);
  EXPECT_GE(sectors("1"), 4);
  EXPECT_GE(sectors("4"), 16);
}

} // namespace

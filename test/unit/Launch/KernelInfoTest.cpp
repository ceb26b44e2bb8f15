//===- KernelInfoTest.cpp -------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/KernelInfo.h"
#include "fa/Launch/CheckArguments.h"
#include "fa/Launch/Launch.h"
#include "fa/Launch/LaunchArgument.h"
#include "fa/Launch/TargetName.h"

#include "gtest/gtest.h"

using namespace fa;

/// `x opcode y`.
static std::optional<int64_t> apply(SizeExpr::Opcode opcode, int64_t x,
                                    int64_t y) {
  SizeExpr expr{{{SizeExpr::Const, x}, {SizeExpr::Const, y}, {opcode}}};
  return expr.evaluate([](int64_t, int64_t) { return 0; });
}

/// The definitions of MLIR's affine expressions, with 0 for a division by 0.
TEST(SizeExpr, Divides) {
  EXPECT_EQ(apply(SizeExpr::FloorDiv, 7, 2), 3);
  EXPECT_EQ(apply(SizeExpr::FloorDiv, -7, 2), -4);
  EXPECT_EQ(apply(SizeExpr::FloorDiv, 7, -2), -4);
  EXPECT_EQ(apply(SizeExpr::CeilDiv, 7, 2), 4);
  EXPECT_EQ(apply(SizeExpr::CeilDiv, -7, 2), -3);
  EXPECT_EQ(apply(SizeExpr::CeilDiv, 8, 2), 4);
  EXPECT_EQ(apply(SizeExpr::Mod, -7, 3), 2);
  EXPECT_EQ(apply(SizeExpr::Mod, 7, 3), 1);
  for (auto opcode : {SizeExpr::FloorDiv, SizeExpr::CeilDiv, SizeExpr::Mod})
    EXPECT_EQ(apply(opcode, 7, 0), 0);
}

TEST(SizeExpr, Overflows) {
  EXPECT_EQ(apply(SizeExpr::Add, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(apply(SizeExpr::Mul, INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(apply(SizeExpr::FloorDiv, INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(apply(SizeExpr::CeilDiv, INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(apply(SizeExpr::Mod, INT64_MIN, -1), 0);
  EXPECT_EQ(apply(SizeExpr::FloorDiv, -INT64_MAX, -1), INT64_MAX);
}

/// A kernel @k on one matrix, with a grid of its rows.
static KernelInfo matrixKernel() {
  KernelInfo kernel;
  kernel.symbol = "k";
  ArgumentInfo matrix;
  matrix.isMemRef = true;
  matrix.sizes = matrix.strides = {kDynamic, kDynamic};
  kernel.args = {matrix};
  kernel.grid = {SizeExpr{{{SizeExpr::Size, 0, 0}}}};
  return kernel;
}

static std::string problemOf(const KernelInfo &kernel) {
  Failure failure = checkKernel(kernel);
  return failure ? failure.message() : "";
}

TEST(KernelInfo, Checks) {
  EXPECT_EQ(problemOf(matrixKernel()), "");
  KernelInfo kernel = matrixKernel();
  kernel.grid[0].steps[0].b = 2;
  EXPECT_EQ(problemOf(kernel), "@k: its grid speaks of dimension 2 of argument "
                               "0, which there is not");
  kernel = matrixKernel();
  kernel.grid[0].steps.push_back({SizeExpr::Add});
  EXPECT_EQ(problemOf(kernel),
            "@k: expected two operands for 'add' in its grid, found 1");
  kernel.grid[0].steps.clear();
  EXPECT_EQ(problemOf(kernel),
            "@k: expected one value for an extent of its grid, found 0");
  kernel.grid[0].steps.assign(SizeExpr::maxDepth + 1, {SizeExpr::Const, 1});
  EXPECT_EQ(problemOf(kernel), "@k: expected at most 32 operands at a time in "
                               "its grid, found more");
  kernel = matrixKernel();
  kernel.grid.resize(4, kernel.grid[0]);
  EXPECT_EQ(problemOf(kernel),
            "@k: expected a grid of at most 3 extents, found 4");
  kernel = matrixKernel();
  kernel.rules = {{SizeRule::Equal, 0, 0, 1, 0, 1}};
  EXPECT_EQ(
      problemOf(kernel),
      "@k: its size rule 'equal' speaks of a dimension that there is not");
  kernel.rules = {{SizeRule::Divisible, 0, 0, 0, 0, 0}};
  EXPECT_EQ(problemOf(kernel), "@k: expected a divisor of at least 1, found 0");
  kernel.rules = {{SizeRule::Covers, 0, 0, 0, 0, 0}};
  EXPECT_EQ(problemOf(kernel), "@k: expected a factor of at least 1, found 0");
  kernel = matrixKernel();
  kernel.args[0].sizes.resize(9);
  kernel.args[0].strides.resize(9);
  EXPECT_EQ(problemOf(kernel), "@k: argument 0: expected a rank of at most 8, "
                               "found 9 sizes and 9 strides");
  kernel = matrixKernel();
  kernel.tensorMaps = {{0, 0, 64, 64}};
  kernel.args[0].type = ElementType::I32;
  EXPECT_EQ(problemOf(kernel), "@k: expected a tensor map of rank 2 to 5 of "
                               "f16, bf16, f32 or bytes, found rank 2 of i32");
  for (ElementType type : {ElementType::F16, ElementType::BF16,
                           ElementType::F32, ElementType::I1}) {
    kernel.args[0].type = type;
    EXPECT_EQ(problemOf(kernel), "");
  }
  kernel.tensorMaps[0].rows = 257;
  EXPECT_EQ(problemOf(kernel), "@k: expected a tensor map with boxes of 1 to "
                               "256 rows and columns, found 257x64");
  kernel.tensorMaps[0].rowDim = 2;
  EXPECT_EQ(problemOf(kernel), "@k: its tensor map speaks of dimension 2 of "
                               "argument 0, which there is not");
  kernel = matrixKernel();
  kernel.args[0].type = ElementType::F16;
  kernel.args[0].sizes.insert(kernel.args[0].sizes.begin(), 2, -1);
  kernel.args[0].strides = kernel.args[0].sizes;
  kernel.tensorMaps = {{0, 2, 64, 64, /*joined=*/true}};
  EXPECT_EQ(problemOf(kernel),
            "@k: its tensor map joins dimensions 1 and 2 of argument 0, "
            "expected a rule that they are packed, found none");
  kernel.rules.push_back({SizeRule::Packed, 0, 1, 0, 2, 1});
  EXPECT_EQ(problemOf(kernel), "");
  for (int64_t dim : {0, 3}) {
    kernel.tensorMaps[0].rowDim = dim;
    EXPECT_EQ(problemOf(kernel),
              "@k: its tensor map joins dimension " + std::to_string(dim) +
                  " of argument 0 with the one before it: expected one between "
                  "the first and the last");
  }
  kernel.tensorMaps = {{0, 2, 64, 64, /*joined=*/false, /*paged=*/true}};
  EXPECT_EQ(problemOf(kernel), "");
  kernel.tensorMaps = {{0, 2, 64, 64, false, false, /*headDim=*/1}};
  std::string_view noHeads =
      "@k: its tensor map has heads along dimension 1 of argument 0, expected "
      "a rule that these are a multiple, and neither rows nor columns nor "
      "pages there";
  EXPECT_EQ(problemOf(kernel), noHeads);
  kernel.rules.push_back({SizeRule::Multiple, 0, 1, 0, 0, 1});
  EXPECT_EQ(problemOf(kernel), "");
  kernel.tensorMaps[0].paged = true;
  EXPECT_EQ(problemOf(kernel), noHeads);
  kernel.tensorMaps[0] = {0, 2, 64, 64, false, true};
  // Workspace has maps, too.
  KernelInfo handsOver = matrixKernel();
  ArgumentInfo rows = handsOver.args[0];
  rows.type = ElementType::F32;
  handsOver.args.push_back(rows);
  SizeExpr one;
  one.steps = {{SizeExpr::Const, 1}};
  handsOver.workspace = {{{one}}};
  int64_t number = int64_t(handsOver.args.size()) - 1;
  handsOver.tensorMaps = {{number, 0, 1, 96}};
  EXPECT_EQ(problemOf(handsOver), "");
  handsOver.tensorMaps[0].argument = number + 1;
  EXPECT_EQ(problemOf(handsOver),
            "@k: its tensor map speaks of dimension 0 of argument " +
                std::to_string(number + 1) + ", which there is not");
  kernel.tensorMaps[0].rowDim = 1;
  EXPECT_EQ(problemOf(kernel),
            "@k: its tensor map is of pages, expected rank 4 and rows in "
            "dimension 2 alone, found rank 4 and dimension 1");
  kernel = matrixKernel();
  kernel.programs = 0;
  EXPECT_EQ(problemOf(kernel), "@k: expected programs of at least 1, found 0");
  kernel.programs = 4;
  EXPECT_EQ(problemOf(kernel), "");
  kernel.persistent = true;
  EXPECT_EQ(problemOf(kernel),
            "@k: expected 1 program of a persistent block, found 4");
  kernel = matrixKernel();
  kernel.cluster = 2;
  EXPECT_EQ(problemOf(kernel),
            "@k: expected a cluster of a persistent kernel with a grid, or of "
            "one block, found 2");
  kernel.persistent = true;
  EXPECT_EQ(problemOf(kernel), "");
  kernel.grid.clear();
  EXPECT_NE(problemOf(kernel), "");
  kernel.grid = matrixKernel().grid;
  for (int64_t blocks : {0, 9}) {
    kernel.cluster = blocks;
    EXPECT_EQ(problemOf(kernel), "@k: expected cluster of 1 to 8, found " +
                                     std::to_string(blocks));
  }
  kernel = matrixKernel();
  kernel.persistent = kernel.dynamic = true;
  const char *noCounter =
      "@k: expected programs to be taken in turn by a persistent kernel "
      "without clusters, from a counter that is its last argument, found "
      "another kernel";
  EXPECT_EQ(problemOf(kernel), noCounter);
  kernel.args.push_back(kernel.args[0]);
  kernel.args.back().type = ElementType::I32;
  kernel.args.back().access = Access::InOut;
  kernel.args.back().sizes = kernel.args.back().strides = {kDynamic};
  EXPECT_EQ(problemOf(kernel), "");
  kernel.cluster = 2;
  EXPECT_EQ(problemOf(kernel), noCounter);
  kernel = matrixKernel();
  kernel.args.resize(65, kernel.args[0]);
  EXPECT_EQ(problemOf(kernel), "@k: expected at most 64 arguments, found 65");
  kernel = matrixKernel();
  kernel.tensorMaps.assign(24, {0, 0, 64, 64});
  EXPECT_EQ(problemOf(kernel), "");
  kernel.tensorMaps.push_back({0, 0, 64, 64});
  EXPECT_EQ(problemOf(kernel), "@k: expected at most 24 tensor maps, found 25");
}

/// Of a persistent kernel in clusters, programs come in whole ones.
TEST(KernelInfo, CountsBlocks) {
  KernelInfo kernel = matrixKernel();
  auto blocks = [&](int64_t programs, int64_t processors, int64_t rows = 1) {
    return *countBlocks(kernel, programs * rows, programs, processors);
  };
  EXPECT_EQ(blocks(500, 132), 500);
  kernel.programs = 4;
  EXPECT_EQ(blocks(500, 132), 125);
  EXPECT_EQ(blocks(501, 132), 126);
  EXPECT_EQ(blocks(0, 132), 0);
  kernel.programs = 1;
  kernel.persistent = true;
  EXPECT_EQ(blocks(500, 132), 132);
  EXPECT_EQ(blocks(7, 132), 7);
  kernel.cluster = 2;
  EXPECT_EQ(blocks(500, 132), 132);
  EXPECT_EQ(blocks(500, 131), 130);
  EXPECT_EQ(blocks(7, 132), 8);
  EXPECT_EQ(blocks(7, 1), 2);
  // Of each row: with 130 blocks a cluster would run two programs.
  EXPECT_EQ(blocks(65, 132, /*rows=*/2), 132);
  EXPECT_EQ(blocks(0, 132), 0);
}

/// A kernel that limits steps from row to row takes rows behind each other, and
/// any step that is never taken.
TEST(KernelInfo, LimitsRowSteps) {
  KernelInfo kernel;
  kernel.rowStepLimit = 4096;
  ArgumentInfo info;
  info.isMemRef = true;
  info.type = ElementType::F16;
  info.sizes = {kDynamic, 64};
  info.strides = {kDynamic, 1};
  info.alignment = 16;
  kernel.args = {info};
  auto why = [&](int64_t rows, int64_t stride) {
    std::vector<int64_t> sizes = {rows, 64}, strides = {stride, 1};
    LaunchArgument arguments[] = {
        LaunchArgument::tensor(nullptr, ElementType::F16, sizes, strides)};
    std::string text;
    bool fits = fitsVariant(kernel, arguments, &text);
    EXPECT_EQ(fits, text.empty());
    return text;
  };
  EXPECT_EQ(why(2, 64), "");
  EXPECT_EQ(why(2, 2040), "");
  EXPECT_EQ(why(1, 0), "");
  EXPECT_EQ(why(2, 2048), "argument 0: expected steps of 128 to 4095 bytes "
                          "from row to row, found 2048 elements");
  for (int64_t stride : {int64_t(0), int64_t(56), int64_t(-64), INT64_MAX - 7})
    EXPECT_NE(why(2, stride), "") << stride;
  kernel.rowStepLimit = 0; // the twin
  EXPECT_EQ(why(2, 0), "");
}

TEST(KernelInfo, NamesAreReadAsTheyAreWritten) {
  for (auto access : {Access::In, Access::Out, Access::InOut})
    EXPECT_EQ(parseAccess(name(access)), access);
  for (auto kind : {SizeRule::Equal, SizeRule::Multiple, SizeRule::Divisible,
                    SizeRule::Packed, SizeRule::AtMost, SizeRule::OneMore,
                    SizeRule::AtLeast, SizeRule::Covers})
    EXPECT_EQ(parseRuleKind(name(kind)), kind);
  for (auto opcode : {SizeExpr::Add, SizeExpr::Mul, SizeExpr::FloorDiv,
                      SizeExpr::CeilDiv, SizeExpr::Mod})
    EXPECT_EQ(parseOpcode(name(opcode)), opcode);
  EXPECT_EQ(parseOpcode("size"), std::nullopt); // no operation on operands
  EXPECT_EQ(parseAccess("none"), std::nullopt);
}

TEST(TargetName, Parses) {
  EXPECT_FALSE(parseTargetName("cpu")->driver);
  EXPECT_EQ(parseTargetName("cuda")->card, 0);
  EXPECT_EQ(parseTargetName("cuda:12")->card, 12);
  EXPECT_EQ(parseTargetName("hip:3")->card, 3);
  EXPECT_EQ(parseTargetName("hip")->driver, DriverKind::Hip);
  for (const char *wrong :
       {"", "cuda:", "cuda:1x", "cuda1", "CPU", "cpu:0", "hip:", "hipcuda"})
    EXPECT_FALSE(parseTargetName(wrong)) << wrong;
}

TEST(LaunchArgument, ContiguousStrides) {
  int64_t strides[3];
  fillContiguousStrides(std::vector<int64_t>{2, 3, 4}, strides);
  EXPECT_EQ(formatSizes(strides), "12x4x1");
  fillContiguousStrides(std::vector<int64_t>{2, 0, 4}, strides);
  EXPECT_EQ(formatSizes(strides), "4x4x1");
  fillContiguousStrides(std::vector<int64_t>{2, INT64_MAX, 4}, strides);
  EXPECT_EQ(strides[0], INT64_MAX);
}

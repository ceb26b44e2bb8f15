//===- RaisedLaunchTest.cpp - which launches run as attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/RaisedLaunch.h"

#include "Triton/Triton.h"
#include "fa/Runtime/TritonProgram.h"
#include "fa/Target/Compile.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <array>
#include <optional>

using namespace fa;

namespace {

/// What Triton prints of one head of attention, 16 columns and rows, whose keys
/// are 16 a step and not masked behind the last: N is a multiple of 16.
constexpr const char *kText = R"(
tt.func public @head(%q: !tt.ptr<f32>, %k: !tt.ptr<f32>, %v: !tt.ptr<f32>, %out: !tt.ptr<f32>, %scale: f32, %step: i32, %N: i32) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %least = arith.constant dense<0xFF800000> : tensor<16xf32>
  %pid = tt.get_program_id x : i32
  %pair = tt.get_program_id y : i32
  %head = arith.muli %pair, %step : i32
  %first = arith.muli %pid, %c16 : i32
  %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %first_s = tt.splat %first : i32 -> tensor<16xi32>
  %rows = arith.addi %first_s, %range : tensor<16xi32>
  %rows_e = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %cols_e = tt.expand_dims %range {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %width = arith.constant dense<16> : tensor<16x1xi32>
  %rows_m = arith.muli %rows_e, %width : tensor<16x1xi32>
  %rows_b = tt.broadcast %rows_m : tensor<16x1xi32> -> tensor<16x16xi32>
  %cols_b = tt.broadcast %cols_e : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rows_b, %cols_b : tensor<16x16xi32>
  %N_s = tt.splat %N : i32 -> tensor<16x1xi32>
  %inside = arith.cmpi slt, %rows_e, %N_s : tensor<16x1xi32>
  %inside_b = tt.broadcast %inside : tensor<16x1xi1> -> tensor<16x16xi1>
  %q_head = tt.addptr %q, %head : !tt.ptr<f32>, i32
  %q_s = tt.splat %q_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %q_at = tt.addptr %q_s, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %queries = tt.load %q_at, %inside_b, %zero : tensor<16x16x!tt.ptr<f32>>
  %k_head = tt.addptr %k, %head : !tt.ptr<f32>, i32
  %k_s = tt.splat %k_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %v_head = tt.addptr %v, %head : !tt.ptr<f32>, i32
  %v_s = tt.splat %v_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %scale_s = tt.splat %scale : f32 -> tensor<16x16xf32>
  %r:3 = scf.for %start = %c0 to %N step %c16 iter_args(%top = %least, %total = %none, %acc = %zero) -> (tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>) : i32 {
    %start_s = tt.splat %start : i32 -> tensor<16xi32>
    %keys_n = arith.addi %start_s, %range : tensor<16xi32>
    %keys_e = tt.expand_dims %keys_n {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %keys_m = arith.muli %keys_e, %width : tensor<16x1xi32>
    %keys_b = tt.broadcast %keys_m : tensor<16x1xi32> -> tensor<16x16xi32>
    %key_at = arith.addi %keys_b, %cols_b : tensor<16x16xi32>
    %k_at = tt.addptr %k_s, %key_at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %v_at = tt.addptr %v_s, %key_at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %keys = tt.load %k_at : tensor<16x16x!tt.ptr<f32>>
    %values = tt.load %v_at : tensor<16x16x!tt.ptr<f32>>
    %keys_t = tt.trans %keys {order = array<i32: 1, 0>} : tensor<16x16xf32> -> tensor<16x16xf32>
    %products = tt.dot %queries, %keys_t, %zero, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %scores = arith.mulf %products, %scale_s : tensor<16x16xf32>
    %here = "tt.reduce"(%scores) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.maxnumf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x16xf32>) -> tensor<16xf32>
    %new = arith.maxnumf %top, %here : tensor<16xf32>
    %fall = arith.subf %top, %new : tensor<16xf32>
    %alpha = math.exp %fall : tensor<16xf32>
    %new_e = tt.expand_dims %new {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %new_b = tt.broadcast %new_e : tensor<16x1xf32> -> tensor<16x16xf32>
    %below = arith.subf %scores, %new_b : tensor<16x16xf32>
    %p = math.exp %below : tensor<16x16xf32>
    %sum = "tt.reduce"(%p) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.addf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x16xf32>) -> tensor<16xf32>
    %kept = arith.mulf %total, %alpha : tensor<16xf32>
    %total_new = arith.addf %kept, %sum : tensor<16xf32>
    %alpha_e = tt.expand_dims %alpha {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %alpha_b = tt.broadcast %alpha_e : tensor<16x1xf32> -> tensor<16x16xf32>
    %acc_kept = arith.mulf %acc, %alpha_b : tensor<16x16xf32>
    %acc_new = tt.dot %p, %values, %acc_kept, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %new, %total_new, %acc_new : tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>
  }
  %total_e = tt.expand_dims %r#1 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
  %total_b = tt.broadcast %total_e : tensor<16x1xf32> -> tensor<16x16xf32>
  %o = arith.divf %r#2, %total_b : tensor<16x16xf32>
  %o_head = tt.addptr %out, %head : !tt.ptr<f32>, i32
  %o_s = tt.splat %o_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %o_at = tt.addptr %o_s, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %o_at, %o, %inside_b : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
)";

constexpr int64_t kHeads = 2, kRows = 32, kStep = kRows * 16;

/// The kernel, raised, and a launch of it that meets all conditions.
class RaisedLaunches : public testing::Test {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    triton::registerDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(kText, &context);
    ASSERT_TRUE(module);
    ASSERT_EQ(llvm::toString(lowerTritonProgram(*module)), "");
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    NotRaised reason{kernel.getLoc(), {}};
    raised = raiseAttention(kernel, reason);
    ASSERT_TRUE(raised) << reason.why;
    auto created = RaisedLaunch::create(kernel, *raised);
    ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
    launch = std::move(*created);
    given = {memoryOf(0), memoryOf(1), memoryOf(2), memoryOf(3)};
    given.push_back(LaunchArgument::f32(0.25f));
    given.push_back(number(kStep));
    given.push_back(number(kRows));
    given.push_back(grid(kRows / 16, kHeads));
  }

  LaunchArgument memoryOf(size_t n) {
    memory[n].resize(kHeads * kStep);
    constexpr int64_t sizes[] = {kHeads * kStep}, strides[] = {1};
    return LaunchArgument::tensor(memory[n].data(), ElementType::F32, sizes,
                                  strides);
  }
  static LaunchArgument number(int64_t value) {
    LaunchArgument argument = LaunchArgument::index(value);
    argument.type = ElementType::I32;
    return argument;
  }
  static LaunchArgument grid(int64_t x, int64_t y) {
    static float nothing = 0;
    const int64_t sizes[] = {x, y, 1}, strides[] = {0, 0, 0};
    return LaunchArgument::tensor(&nothing, ElementType::F32, sizes, strides);
  }
  /// What the launch breaks; "": nothing.
  std::string broken() {
    auto bound = launch->bind(given);
    return bound ? "" : llvm::toString(bound.takeError());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<RaisedAttention> raised;
  std::optional<RaisedLaunch> launch;
  std::array<std::vector<float>, 4> memory;
  std::vector<LaunchArgument> given;
};

bool contains(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

} // namespace

TEST_F(RaisedLaunches, SaysWhereTensorsLie) {
  auto bound = launch->bind(given);
  ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
  // Q, K, V, the scale, the output.
  ASSERT_EQ(bound->size(), 5u);
  for (auto [n, from] : {std::pair(0, 0), {1, 1}, {2, 2}, {4, 3}}) {
    const LaunchArgument &view = (*bound)[n];
    EXPECT_EQ(view.data, memory[from].data()) << n;
    EXPECT_EQ(std::vector<int64_t>(view.sizes.begin(), view.sizes.end()),
              (std::vector<int64_t>{1, kHeads, kRows, 16}))
        << n;
    EXPECT_EQ(view.strides[1], kStep) << n;
    EXPECT_EQ(view.strides[2], 16) << n;
    EXPECT_EQ(view.strides[3], 1) << n;
  }
  EXPECT_FALSE((*bound)[3].isTensor);
  EXPECT_EQ((*bound)[3].bits, given[4].bits);
}

/// What is above the 32 bits of a number is no part of it.
TEST_F(RaisedLaunches, TakesNumbersOf32Bits) {
  given[6].bits |= uint64_t(7) << 32;
  EXPECT_EQ(broken(), "");
  given[5].bits = static_cast<uint32_t>(-kStep);
  EXPECT_NE(broken(), "");
}

TEST_F(RaisedLaunches, ChecksTheConditions) {
  given[6] = number(kRows - 2);
  EXPECT_EQ(broken(), "this launch breaks: argument 6 is a multiple of 16");
  given[6] = number(0);
  EXPECT_TRUE(contains(broken(), "this launch breaks: ")) << broken();
  given[6] = number(kRows);
  given[7] = grid(kRows / 16 - 1, kHeads);
  EXPECT_EQ(broken(),
            "this launch breaks: 16 * grid(0) is at least argument 6");
  given[7] = grid(kRows / 16, 0);
  EXPECT_NE(broken(), "");
}

TEST_F(RaisedLaunches, StaysInMemory) {
  given[7] = grid(kRows / 16, kHeads + 1);
  EXPECT_EQ(broken(), "argument 0 is smaller than what is read or written");
  given[7] = grid(kRows / 16, kHeads);
  constexpr int64_t sizes[] = {kHeads * kStep - 1}, strides[] = {1};
  given[2] = LaunchArgument::tensor(memory[2].data(), ElementType::F32, sizes,
                                    strides);
  EXPECT_EQ(broken(), "argument 2 is smaller than what is read or written");
  // Heads so far apart that their distance has more than 64 bits.
  given[2] = memoryOf(2);
  given[5] = number(INT32_MAX);
  EXPECT_NE(broken(), "");
}

TEST_F(RaisedLaunches, WritesNothingTwice) {
  given[5] = number(kStep - 16); // the last row of a head is the next one's
  EXPECT_EQ(broken(), "several programs write the same elements of argument 3");
  given[5] = number(kStep);
  given[3].data = memory[1].data();
  EXPECT_EQ(broken(), "argument 3, which is written, shares memory with "
                      "argument 1");
  // One behind the other in one array is fine, half of each other is not.
  std::vector<float> both(2 * kHeads * kStep);
  given[1].data = both.data();
  given[3].data = both.data() + kHeads * kStep;
  EXPECT_EQ(broken(), "");
  given[3].data = both.data() + kHeads * kStep / 2;
  EXPECT_TRUE(contains(broken(), "shares memory")) << broken();
}

TEST_F(RaisedLaunches, ChecksArguments) {
  LaunchArgument grid = given.back();
  given.pop_back();
  EXPECT_EQ(broken(), "expected 8 arguments, found 7");
  given.push_back(grid);
  given[4] = number(1);
  EXPECT_TRUE(contains(broken(), "argument 4: expected a scalar of type f32"))
      << broken();
  given[4] = LaunchArgument::f32(1);
  given[0].data = nullptr;
  EXPECT_TRUE(contains(broken(), "null pointer")) << broken();
  constexpr int64_t sizes[] = {kHeads * kStep / 2}, strides[] = {2};
  given[0] = LaunchArgument::tensor(memory[0].data(), ElementType::F32, sizes,
                                    strides);
  EXPECT_TRUE(contains(broken(), "found stride 2")) << broken();
}

TEST_F(RaisedLaunches, PlansBeforeThereIsMemory) {
  for (unsigned n : {0, 1, 3})
    given[n].data = nullptr;
  EXPECT_NE(broken(), "");
  auto bound = launch->bindPlanned(given);
  ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
  EXPECT_EQ((*bound)[2].data, memory[2].data());
  for (unsigned n : {0, 1, 4}) {
    EXPECT_NE((*bound)[n].data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*bound)[n].data) % 256, 0u);
  }
  given[6] = number(5);
  auto refused = launch->bindPlanned(given);
  ASSERT_FALSE(bool(refused));
  EXPECT_TRUE(contains(llvm::toString(refused.takeError()), "multiple of 16"));
}

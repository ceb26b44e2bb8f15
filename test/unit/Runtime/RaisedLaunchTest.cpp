//===- RaisedLaunchTest.cpp - which launches run as attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadKernel.h"

#include "Triton/Triton.h"
#include "fa/Runtime/PlanStore.h"
#include "fa/Runtime/RaisedLaunch.h"
#include "fa/Runtime/TritonProgram.h"
#include "fa/Target/Compile.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <optional>

using namespace fa;

namespace {

/// The kernel, raised, and a launch of it that meets all conditions.
class RaisedLaunches : public testing::Test {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    triton::registerDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(kHeadKernel, &context);
    ASSERT_TRUE(module);
    ASSERT_EQ(llvm::toString(lowerTritonProgram(*module)), "");
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    NotRaised reason{kernel.getLoc(), {}};
    raised = raiseAttention(kernel, reason);
    ASSERT_TRUE(raised) << reason.why;
    auto created = RaisedLaunch::create(kernel, *raised);
    ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
    launch = std::move(*created);
    given = {memoryOf(memory.q), memoryOf(memory.k), memoryOf(memory.v),
             memoryOf(memory.out), LaunchArgument::f32(kScale)};
    for (int64_t n : {kHeadStep, kRows, kColumns, kValueStep})
      given.push_back(number(n));
    given.push_back(grid(kRows / 16, kHeads));
  }

  static LaunchArgument memoryOf(std::vector<float> &elements) {
    const int64_t sizes[] = {int64_t(elements.size())}, strides[] = {1};
    return LaunchArgument::tensor(elements.data(), ElementType::F32, sizes,
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
  HeadMemory memory;
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
  const std::tuple<unsigned, const float *, int64_t> tensors[] = {
      {0, memory.q.data(), kColumns},
      {1, memory.k.data(), kColumns},
      {2, memory.v.data(), kValueStep},
      {4, memory.out.data(), kColumns}};
  for (auto [n, data, rowStep] : tensors) {
    const LaunchArgument &view = (*bound)[n];
    EXPECT_EQ(view.data, data) << n;
    EXPECT_EQ(std::vector<int64_t>(view.sizes.begin(), view.sizes.end()),
              (std::vector<int64_t>{1, kHeads, kRows, kColumns}))
        << n;
    EXPECT_EQ(view.strides[1], kHeadStep) << n;
    EXPECT_EQ(view.strides[2], rowStep) << n;
    EXPECT_EQ(view.strides[3], 1) << n;
  }
  EXPECT_FALSE((*bound)[3].isTensor);
  EXPECT_EQ((*bound)[3].bits, given[4].bits);
}

/// What the attention computes is what the kernel would; with K's and V's steps
/// exchanged it is not, and that is seen.
TEST_F(RaisedLaunches, BindsWhatTheKernelReads) {
  RaisedAttention exchanged;
  exchanged.function = raised->function;
  exchanged.arguments = raised->arguments;
  exchanged.conditions = raised->conditions;
  std::swap(exchanged.arguments[1].strides, exchanged.arguments[2].strides);
  auto wrong = RaisedLaunch::create(*module->getOps<tile::KernelOp>().begin(),
                                    exchanged);
  ASSERT_TRUE(bool(wrong)) << llvm::toString(wrong.takeError());
  PlanStore::Options options;
  options.host = std::make_shared<HostDevice>(2);
  PlanStore store(options);
  auto plan = store.prepare(*raised->module, "head");
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  auto run = [&](const RaisedLaunch &how) {
    memory.clear();
    auto bound = how.bind(given);
    EXPECT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
    EXPECT_EQ(llvm::toString((*plan)->host->launch(*bound)), "");
    return memory.errorOf(kRows, kRows);
  };
  EXPECT_LT(run(*launch), 1e-5);
  EXPECT_GT(run(*wrong), 1e-2);
}

/// What is above the 32 bits of a number is no part of it.
TEST_F(RaisedLaunches, TakesNumbersOf32Bits) {
  given[6].bits |= uint64_t(7) << 32;
  EXPECT_EQ(broken(), "");
  given[5].bits = static_cast<uint32_t>(-kHeadStep);
  EXPECT_NE(broken(), "");
}

TEST_F(RaisedLaunches, ChecksTheConditions) {
  given[6] = number(kRows - 2);
  EXPECT_EQ(broken(), "this launch breaks: argument 6 is a multiple of 16");
  given[6] = number(0);
  EXPECT_TRUE(contains(broken(), "this launch breaks: ")) << broken();
  given[6] = number(kRows);
  given[9] = grid(kRows / 16 - 1, kHeads);
  EXPECT_EQ(broken(),
            "this launch breaks: 16 * grid(0) is at least argument 6");
  given[9] = grid(kRows / 16, 0);
  EXPECT_NE(broken(), "");
}

TEST_F(RaisedLaunches, StaysInMemory) {
  given[9] = grid(kRows / 16, kHeads + 1);
  EXPECT_EQ(broken(), "argument 0 is smaller than what is read or written");
  given[9] = grid(kRows / 16, kHeads);
  constexpr int64_t last = kHeadStep + (kRows - 1) * kValueStep + kColumns - 1,
                    sizes[] = {last}, strides[] = {1};
  given[2] =
      LaunchArgument::tensor(memory.v.data(), ElementType::F32, sizes, strides);
  EXPECT_EQ(broken(), "argument 2 is smaller than what is read or written");
  // Heads so far apart that their distance has more than 64 bits.
  given[2] = memoryOf(memory.v);
  given[5] = number(INT32_MAX);
  EXPECT_NE(broken(), "");
}

/// A size that is open is as large as there is memory for in all tensors that
/// have it, up to where the next head begins.
TEST_F(RaisedLaunches, FillsMemory) {
  RaisedAttention open;
  open.function = raised->function;
  open.arguments = raised->arguments;
  for (unsigned n : {1, 2})
    open.arguments[n].sizes[2] = mlir::getAffineDimExpr(0, &context);
  auto created =
      RaisedLaunch::create(*module->getOps<tile::KernelOp>().begin(), open);
  ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
  launch = std::move(*created);
  auto rows = [&]() -> int64_t {
    auto bound = launch->bind(given);
    if (!bound)
      return ADD_FAILURE() << llvm::toString(bound.takeError()), -1;
    EXPECT_EQ((*bound)[1].sizes[2], (*bound)[2].sizes[2]);
    return (*bound)[1].sizes[2];
  };
  constexpr int64_t room = kHeadStep / kValueStep;
  static_assert(room < kHeadStep / kColumns);
  EXPECT_EQ(rows(), room);
  std::vector<float> more(4 * kHeads * kHeadStep);
  given[2] = memoryOf(more);
  EXPECT_EQ(rows(), room);
  more.resize(kHeadStep + (room - 1) * kValueStep + kColumns - 1);
  given[2] = memoryOf(more);
  EXPECT_EQ(rows(), room - 1);
  more.resize(kHeadStep + kColumns - 1);
  given[2] = memoryOf(more);
  EXPECT_EQ(broken(), "argument 2 is smaller than what is read or written");
}

TEST_F(RaisedLaunches, WritesNothingTwice) {
  given[5] = number((kRows - 1) * kColumns); // a head's last row is the next's
  EXPECT_EQ(broken(), "several programs write the same elements of argument 3");
  given[5] = number(kHeadStep);
  given[3].data = memory.k.data();
  EXPECT_EQ(broken(), "argument 3, which is written, shares memory with "
                      "argument 1");
  // One behind the other in one array is fine, half of each other is not.
  std::vector<float> both(2 * kHeads * kHeadStep);
  given[1].data = both.data();
  given[3].data = both.data() + kHeads * kHeadStep;
  EXPECT_EQ(broken(), "");
  given[3].data = both.data() + kHeads * kHeadStep / 2;
  EXPECT_TRUE(contains(broken(), "shares memory")) << broken();
}

TEST_F(RaisedLaunches, ChecksArguments) {
  LaunchArgument grid = given.back();
  given.pop_back();
  EXPECT_EQ(broken(), "expected 10 arguments, found 9");
  given.push_back(grid);
  given[4] = number(1);
  EXPECT_TRUE(contains(broken(), "argument 4: expected a scalar of type f32"))
      << broken();
  given[4] = LaunchArgument::f32(1);
  given[0].data = nullptr;
  EXPECT_TRUE(contains(broken(), "null pointer")) << broken();
  constexpr int64_t sizes[] = {kHeads * kHeadStep / 2}, strides[] = {2};
  given[0] =
      LaunchArgument::tensor(memory.q.data(), ElementType::F32, sizes, strides);
  EXPECT_TRUE(contains(broken(), "found stride 2")) << broken();
}

TEST_F(RaisedLaunches, PlansBeforeThereIsMemory) {
  for (unsigned n : {0, 1, 3})
    given[n].data = nullptr;
  EXPECT_NE(broken(), "");
  auto bound = launch->bindPlanned(given);
  ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
  EXPECT_EQ((*bound)[2].data, memory.v.data());
  for (unsigned n : {0, 1, 4}) {
    EXPECT_NE((*bound)[n].data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*bound)[n].data) % 256, 0u);
  }
  given[6] = number(5);
  auto refused = launch->bindPlanned(given);
  ASSERT_FALSE(bool(refused));
  EXPECT_TRUE(contains(llvm::toString(refused.takeError()), "multiple of 16"));
}

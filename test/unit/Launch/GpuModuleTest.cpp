//===- GpuModuleTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/Launch/GpuModule.h"

#include "gtest/gtest.h"

using namespace fa;

/// A kernel @k on `count` arguments of rank 8, with a grid of two extents of
/// the first.
static KernelInfo kernelOn(size_t count) {
  KernelInfo kernel;
  kernel.symbol = "k";
  kernel.threads = 32;
  ArgumentInfo info;
  info.isMemRef = true;
  info.sizes.assign(8, kDynamic);
  info.strides.assign(8, kDynamic);
  kernel.args.assign(count, info);
  kernel.grid = {SizeExpr{{{SizeExpr::Size, 0, 0}}},
                 SizeExpr{{{SizeExpr::Size, 0, 1}}}};
  return kernel;
}

static Result<std::unique_ptr<GpuModule>> load(KernelInfo kernel,
                                               const char *image) {
  *fakeDriver() = FakeDriver();
  auto device = GpuDevice::open(DriverKind::Cuda, 0, FA_FAKE_DRIVER);
  EXPECT_TRUE(device);
  return GpuModule::load({std::move(kernel)}, "sm_80", image, *device,
                         LaunchCosts());
}

TEST(GpuModule, LimitsItsParameters) {
  // 3 + 29 * 17 = 496 words fit in 4 KiB, 3 + 30 * 17 = 513 do not.
  EXPECT_TRUE(load(kernelOn(29), ".version"));
  auto module = load(kernelOn(30), ".version");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.takeFailure().message(),
            "@k needs 513 words of parameters, a kernel may have 512");
}

TEST(GpuModule, TheDriversLogSaysWhatIsWrong) {
  auto module = load(kernelOn(1), "no code at all");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.takeFailure().message(),
            "cannot load the kernels for sm_80: no header of an image: "
            "CUDA_ERROR_INVALID_IMAGE (200), device kernel image is invalid");
}

TEST(GpuModule, LimitsItsGrid) {
  auto module = load(kernelOn(1), ".version");
  ASSERT_TRUE(module);
  auto launch = [&](int64_t x, int64_t y) {
    std::vector<int64_t> sizes = {x, y, 1, 1, 1, 1, 1, 1}, strides(8, 0);
    LaunchArgument arguments[] = {
        LaunchArgument::tensor(nullptr, ElementType::F32, sizes, strides)};
    Failure failure =
        (*module)->launch({(*module)->kernels()}, arguments, {}, nullptr);
    return failure ? failure.message() : "";
  };
  EXPECT_EQ(launch(1 << 16, (1 << 15) - 1), "");
  EXPECT_EQ(fakeDriver()->launch.grid, (1u << 31) - (1u << 16));
  EXPECT_EQ(launch(1 << 16, 1 << 15), "@k: expected at most 2147483647 "
                                      "programs, found 2147483648");
  EXPECT_EQ(launch(INT64_MAX, 2),
            "the grid of @k has more programs than 64 bits can count");
}

namespace {

/// Launches a kernel and one that follows it, with a driver of this version;
/// which of them begin early.
std::string launchTwo(bool firstEarly, bool secondEarly, int version) {
  *fakeDriver() = FakeDriver();
  fakeDriver()->version = version;
  auto device = GpuDevice::open(DriverKind::Cuda, 1, FA_FAKE_DRIVER);
  EXPECT_TRUE(device);
  KernelInfo first = kernelOn(1), second = first;
  first.beginsEarly = firstEarly;
  second.follows = true;
  second.beginsEarly = secondEarly;
  auto module = GpuModule::load({first, second}, "sm_90", ".version", *device,
                                LaunchCosts());
  EXPECT_TRUE(module);
  int64_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 1}, strides[8] = {};
  LaunchArgument arguments[] = {
      LaunchArgument::tensor(nullptr, ElementType::F32, sizes, strides)};
  EXPECT_FALSE(
      (*module)->launch({(*module)->kernels()}, arguments, {}, nullptr));
  const FakeDriver &driver = *fakeDriver();
  auto name = [](bool isEarly) { return isEarly ? "early" : "late"; };
  return std::string(name(driver.lastLaunch.isEarly)) + " " +
         name(driver.launch.isEarly);
}

} // namespace

TEST(GpuModule, AKernelThatWaitsByItselfBeginsEarly) {
  EXPECT_EQ(launchTwo(true, true, 12030), "early early");
  EXPECT_EQ(launchTwo(true, false, 12030), "early late");
  EXPECT_EQ(launchTwo(false, true, 12030), "late early");
  // Graphs of older drivers have no such launches.
  EXPECT_EQ(launchTwo(true, true, 12020), "late late");
}

/// In the stream of the launch, before the kernel, which does not begin early:
/// what is in front of it is no kernel.
TEST(GpuModule, SetsTheCounterOfProgramsFirst) {
  *fakeDriver() = FakeDriver();
  auto device = GpuDevice::open(DriverKind::Cuda, 1, FA_FAKE_DRIVER);
  ASSERT_TRUE(device);
  KernelInfo kernel = kernelOn(1);
  ArgumentInfo counter;
  counter.isMemRef = true;
  counter.type = ElementType::I32;
  counter.access = Access::InOut;
  counter.sizes = counter.strides = {kDynamic};
  kernel.args.push_back(counter);
  kernel.workspace = {WorkspaceInfo()};
  kernel.splits = 1;
  kernel.persistent = kernel.beginsEarly = kernel.dynamic = true;
  auto module =
      GpuModule::load({kernel}, "sm_90", ".version", *device, LaunchCosts());
  ASSERT_TRUE(module);
  int64_t sizes[] = {5, 1, 1, 1, 1, 1, 1, 1}, strides[8] = {};
  LaunchArgument arguments[] = {
      LaunchArgument::tensor(nullptr, ElementType::F32, sizes, strides)};
  alignas(16) char memory[16];
  int stream = 0;
  auto launch = [&] {
    Failure failure =
        (*module)->launch({(*module)->kernels(), 1, sizeof memory}, arguments,
                          {memory, sizeof memory}, &stream);
    return failure ? failure.message() : "";
  };
  fakeDriver()->numWords = 3 + 17 + 1;
  size_t before = fakeDriver()->numCalls;
  EXPECT_EQ(launch(), "");
  const FakeDriver &driver = *fakeDriver();
  ASSERT_EQ(driver.numCalls, before + 4);
  EXPECT_STREQ(driver.calls[before + 1], "cuMemsetD32Async");
  EXPECT_STREQ(driver.calls[before + 2], "cuLaunchKernel");
  EXPECT_EQ(driver.memset.address, reinterpret_cast<uintptr_t>(memory));
  EXPECT_EQ(driver.memset.word, 0u);
  EXPECT_EQ(driver.memset.count, 1u);
  EXPECT_EQ(driver.memset.stream, &stream);
  EXPECT_EQ(driver.launch.stream, &stream);
  EXPECT_EQ(driver.launch.grid, 5u);
  EXPECT_EQ(uint64_t(driver.launch.words[20]), driver.memset.address);
  // Where it cannot be set, nothing is launched.
  fakeDriver()->failing = "cuMemsetD32Async";
  fakeDriver()->failure = 1;
  size_t launches = driver.numLaunches;
  EXPECT_EQ(launch(), "cannot set the counter of @k to 0: "
                      "CUDA_ERROR_INVALID_VALUE (1), invalid argument");
  EXPECT_EQ(driver.numLaunches, launches);
}

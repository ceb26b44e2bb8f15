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

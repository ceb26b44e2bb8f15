//===- HipBundleTest.cpp - bundles on a HIP that records ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CardBundle.h"

using namespace fa;
using namespace fa::test;

extern "C" {
int hipMalloc(uint64_t *, size_t);
int hipFree(uint64_t);
int hipGetDevice(int *);
int hipSetDevice(int);
}

namespace {

class HipBundle : public CardBundle {
protected:
  HipBundle()
      : CardBundle({fakeHip(), FA_FAKE_HIP, "hip", hipMalloc, hipFree}) {}

  void SetUp() override {
    CardBundle::SetUp();
    static const std::vector<BundleFile> files =
        llvm::cantFail(makeBundle(compileFor({"gfx90a", "gfx942"})));
    open(files);
  }
};

/// The card that the calling thread has current.
int currentCard() {
  int card = -1;
  hipGetDevice(&card);
  return card;
}

} // namespace

/// One launch is one kernel: the card made current and what was current put
/// back, nothing else asked of the driver, nothing allocated.
TEST_F(HipBundle, LaunchDoesNothingElse) {
  ASSERT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  size_t before = fakeHip()->numCalls, allocations = countAllocations();
  int stream = 0;
  EXPECT_EQ(launch(&stream), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(countAllocations(), allocations);
  EXPECT_EQ(callsSince(before),
            "hipGetDevice hipSetDevice hipModuleLaunchKernel hipSetDevice");
  EXPECT_EQ(fakeHip()->launch.stream, &stream);
  // The twin: a launch that fails writes a text.
  sizes[3] = 32;
  EXPECT_NE(launch(), FA_SUCCESS);
  EXPECT_GT(countAllocations(), allocations);
}

/// The card's own architecture is picked; its LDS is not asked for again, and
/// what the caller has current stays so.
TEST_F(HipBundle, LaunchesTheCodeOfTheCard) {
  ASSERT_EQ(hipSetDevice(0), 0);
  ASSERT_EQ(prepare(options("hip:1")), FA_SUCCESS)
      << faBundleGetLastErrorMessage();
  EXPECT_EQ(currentCard(), 0);
  fakeHip()->numWords = 3 + 9;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(currentCard(), 0);
  const auto &found = fakeHip()->launch;
  EXPECT_STREQ(found.kernel, "attention");
  EXPECT_EQ(found.card, 1);
  EXPECT_EQ(found.shared, 0u);
  EXPECT_EQ(found.block, 256u);
  EXPECT_EQ(found.grid, 256 / 128 * 4 * 2);
  EXPECT_EQ(static_cast<uint64_t>(found.words[3]), memory);
  for (int d = 0; d < 4; ++d)
    EXPECT_EQ(found.words[4 + d], sizes[d]);
  sizes[2] = 1;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(found.kernel, "attention_decode");
}

/// HIP takes fewer than 2^32 threads.
TEST_F(HipBundle, LimitsItsGrid) {
  ASSERT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  sizes[0] = (1 << 21) - 1;
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(fakeHip()->launch.grid, (1u << 24) - 8);
  sizes[0] = 1 << 21;
  expectError(
      launch(), FA_ERROR_DEVICE,
      "@attention: expected at most 4294967295 threads in a grid, found "
      "16777216 blocks of 256");
}

TEST_F(HipBundle, HostPointers) { expectHostPointerRefused("Fake Instinct 0"); }

TEST_F(HipBundle, NoDriverOrCard) {
  faBundleOptions how = options();
  how.driver = "/nonexistent/libamdhip64.so";
  expectError(prepare(how), FA_ERROR_DEVICE,
              "the AMD driver is not there: /nonexistent/libamdhip64.so");
  // A driver of CUDA has none of HIP's functions.
  how.driver = FA_FAKE_DRIVER;
  expectError(prepare(how), FA_ERROR_DEVICE,
              "libfake-cuda.so has no function hipInit");
  expectError(prepare(options("hip:2")), FA_ERROR_DEVICE, "no card 2: found 2");
  fakeHip()->gcnArch[0] = "gfx1100";
  expectError(prepare(), FA_ERROR_DEVICE,
              "attention: expected code for Fake Instinct 0, which has "
              "architecture gfx1100, found code for gfx90a, gfx942");
  fakeHip()->ldsLimit = 1000;
  expectError(prepare(options("hip:1")), FA_ERROR_DEVICE,
              "bytes of shared memory, Fake Instinct 1 has 1000");
  fakeHip()->hipVersion = 50732831;
  expectError(prepare(), FA_ERROR_DEVICE,
              "the AMD driver is too old: expected one of HIP 6.0 or newer, "
              "found one of HIP 5.7");
}

/// HIP's own name and text come with what was tried.
TEST_F(HipBundle, TheDriverFails) {
  expectFailure("hipInit", 100,
                "hipInit: hipErrorNoDevice (100), no ROCm-capable device is "
                "detected");
  expectFailure("hipGetDeviceCount", 100,
                "cannot count the cards: hipErrorNoDevice (100), no "
                "ROCm-capable device is detected");
  expectFailure("hipSetDevice", 101,
                "hipSetDevice: hipErrorInvalidDevice (101), invalid device "
                "ordinal");
  expectFailure("hipModuleLoadDataEx", 209,
                "cannot load the kernels for gfx90a: hipErrorNoBinaryForGpu "
                "(209), no kernel image is available for execution on the "
                "device");
  expectFailure("hipModuleGetFunction", 500,
                "hipErrorNotFound (500), named symbol not found");
  ASSERT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  expectFailure("hipModuleLaunchKernel", 719,
                "cannot launch @attention: hipErrorLaunchFailure (719), "
                "unspecified launch failure");
  EXPECT_EQ(launch(), FA_SUCCESS); // the twin: a driver that does not fail
}

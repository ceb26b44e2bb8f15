//===- CudaBundleTest.cpp - bundles on a driver that records --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CardBundle.h"

#include <thread>

using namespace fa;
using namespace fa::test;

extern "C" int cuMemAlloc_v2(uint64_t *, size_t);
extern "C" int cuMemFree_v2(uint64_t);

namespace {

class CudaBundle : public CardBundle {
protected:
  CudaBundle()
      : CardBundle({fakeDriver(), FA_FAKE_DRIVER, "cuda", cuMemAlloc_v2,
                    cuMemFree_v2}) {}

  void SetUp() override {
    CardBundle::SetUp();
    open(attentionBundle());
  }
  void TearDown() override {
    CardBundle::TearDown();
    EXPECT_EQ(fakeDriver()->retained[0], 0);
    EXPECT_EQ(fakeDriver()->retained[1], 0);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// One launch is one kernel: its context pushed and popped, nothing else asked
/// of the driver, nothing allocated.
TEST_F(CudaBundle, LaunchDoesNothingElse) {
  ASSERT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  size_t before = fakeDriver()->numCalls, allocations = countAllocations();
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(countAllocations(), allocations);
  EXPECT_EQ(callsSince(before),
            "cuCtxPushCurrent_v2 cuLaunchKernel cuCtxPopCurrent_v2");
  // A variant that only fits after others is found without allocations, too.
  arguments[1].strides = arguments[2].strides = nullptr;
  int64_t odd[4] = {4 * 256 * 72, 256 * 72, 72, 1};
  arguments[0].strides = odd;
  sizes[2] = 1;
  allocations = countAllocations();
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(countAllocations(), allocations);
  // The twin: a launch that fails writes a text.
  sizes[3] = 32;
  EXPECT_NE(launch(), FA_SUCCESS);
  EXPECT_GT(countAllocations(), allocations);
}

TEST_F(CudaBundle, LaunchesWhatThePlanSays) {
  ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS);
  auto read = test::read(attentionBundle());
  const std::vector<KernelInfo> &kernels = read->targets[1].kernels;
  fakeDriver()->numWords = 3 + 9;
  int stream = 0;
  ASSERT_EQ(launch(&stream), FA_SUCCESS) << faBundleGetLastErrorMessage();
  const auto &found = fakeDriver()->launch;
  const KernelInfo *expected = nullptr;
  for (const KernelInfo &kernel : kernels)
    if (kernel.symbol == found.kernel)
      expected = &kernel;
  ASSERT_NE(expected, nullptr) << found.kernel;
  EXPECT_EQ(expected->symbol, "attention");
  EXPECT_EQ(found.block, expected->threads);
  EXPECT_EQ(found.shared, expected->sharedBytes);
  EXPECT_EQ(found.card, 1);
  EXPECT_EQ(found.stream, &stream);
  // 256 queries in tiles, 4 heads, batch 2.
  EXPECT_EQ(found.grid, 256 / expected->tile[0] * 4 * 2);
  EXPECT_EQ(found.words[0] * found.words[1] * found.words[2], found.grid);
  EXPECT_EQ(static_cast<uint64_t>(found.words[3]), memory);
  for (int d = 0; d < 4; ++d)
    EXPECT_EQ(found.words[4 + d], sizes[d]);
  EXPECT_EQ(found.words[8], 4 * 256 * 64);
  EXPECT_EQ(found.words[11], 1);
  // One query a head is another variant, of few programs in parts of a block.
  sizes[2] = 1;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(found.kernel, "attention_decode_parts");
  EXPECT_EQ(found.block, 128);
}

/// sm_90a: the maps of q, k and v are made at each launch, by the driver's
/// function for it, and travel behind the words.
TEST_F(CudaBundle, EncodesTensorMaps) {
  auto files = llvm::cantFail(makeBundle(compileFor({"sm_90a"})));
  auto read = test::read(files);
  const KernelInfo *kernel = nullptr;
  // The launch has few programs, and too few keys to split.
  for (const KernelInfo &each : read->targets[0].kernels)
    if (each.symbol == "attention_roles_few")
      kernel = &each;
  ASSERT_NE(kernel, nullptr);
  size_t numMaps = kernel->tensorMaps.size();
  ASSERT_GT(numMaps, 0u);
  faBundleClose(bundle);
  open(files);
  fakeDriver()->sharedLimit = 232448;
  ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS)
      << faBundleGetLastErrorMessage();
  fakeDriver()->numMaps = numMaps;
  for (int argument : {0, 1, 2, 4})
    arguments[argument].data = addressOf(size_t(argument) << 12);
  size_t before = fakeDriver()->numCalls, allocations = countAllocations();
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(countAllocations(), allocations);
  std::string encodes;
  for (size_t n = 0; n < numMaps; ++n)
    encodes += "cuTensorMapEncodeTiled ";
  // It begins early, which takes an attribute.
  EXPECT_TRUE(kernel->beginsEarly);
  EXPECT_EQ(callsSince(before), "cuCtxPushCurrent_v2 " + encodes +
                                    "cuLaunchKernelEx cuCtxPopCurrent_v2");
  EXPECT_EQ(fakeDriver()->launch.kernel, kernel->symbol);
  for (size_t n = 0; n < numMaps; ++n) {
    const uint64_t *map = fakeDriver()->launch.maps[n];
    const TensorMapInfo &info = kernel->tensorMaps[n];
    EXPECT_EQ(map[0],
              reinterpret_cast<uintptr_t>(arguments[info.argument].data));
    EXPECT_EQ(map[1], 4u);
    EXPECT_EQ(map[2], uint64_t(info.columns));
  }
}

/// What launches before had, at the same address in the same sizes, is not made
/// again, whatever came between; each other argument is.
TEST_F(CudaBundle, KeepsTensorMaps) {
  auto files = llvm::cantFail(makeBundle(compileFor({"sm_90a"})));
  faBundleClose(bundle);
  open(files);
  fakeDriver()->sharedLimit = 232448;
  ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS)
      << faBundleGetLastErrorMessage();
  auto countEncodes = [&] {
    size_t before = fakeDriver()->numCalls, allocations = countAllocations();
    EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
    EXPECT_EQ(countAllocations(), allocations);
    std::string calls = callsSince(before);
    size_t count = 0;
    for (size_t at = 0; (at = calls.find("Encode", at)) != std::string::npos;
         ++at)
      ++count;
    return count;
  };
  size_t all = countEncodes();
  ASSERT_GE(all, 1u);
  const uint64_t *map = fakeDriver()->launch.maps[0];
  uint64_t first[3] = {map[0], map[1], map[2]};
  EXPECT_EQ(countEncodes(), 0u);
  EXPECT_TRUE(std::equal(first, first + 3, fakeDriver()->launch.maps[0]));
  // K elsewhere, as another layer has it; then both again.
  void *k = arguments[1].data;
  arguments[1].data = addressOf(1 << 15);
  EXPECT_EQ(countEncodes(), 1u);
  arguments[1].data = k;
  EXPECT_EQ(countEncodes(), 0u);
  arguments[1].data = addressOf(1 << 15);
  EXPECT_EQ(countEncodes(), 0u);
  // Other sizes at the same places.
  sizes[2] = 192;
  EXPECT_GE(countEncodes(), 1u);
  EXPECT_EQ(countEncodes(), 0u);
  // What the driver refuses is not kept.
  arguments[1].data = addressOf(3 << 14);
  expectFailure("cuTensorMapEncodeTiled", 1, "cuTensorMapEncodeTiled");
  EXPECT_EQ(countEncodes(), 1u);
}

/// With workspace, a decode runs two kernels on one stream, and nothing else:
/// one on splits of the keys, one that merges them.
TEST_F(CudaBundle, SplitsKeysInWorkspace) {
  int64_t rows[4] = {1, 8, 1, 64}, cache[4] = {1, 2, 4096, 64};
  arguments[0].sizes = arguments[4].sizes = rows;
  arguments[1].sizes = arguments[2].sizes = cache;
  ASSERT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  faLaunchInfo info{};
  info.size = sizeof info;
  ASSERT_EQ(faBundlePlanGetLaunchInfo(plan, arguments.data(), arguments.size(),
                                      &info),
            FA_SUCCESS)
      << faBundleGetLastErrorMessage();
  // 108 multiprocessors with 2 blocks each, 2 programs, 64 tiles of keys.
  EXPECT_EQ(info.splits, 32);
  EXPECT_EQ(info.numKernels, 2u);
  EXPECT_EQ(info.workspaceSize, 32u * 8 * (64 + 2) * 4);

  int stream = 0;
  faLaunchOptions how{};
  how.size = sizeof how;
  how.stream = &stream;
  how.workspace = addressOf(1 << 16);
  how.workspaceSize = info.workspaceSize;
  auto launchWith = [&] {
    return faBundlePlanLaunchWith(plan, &how, arguments.data(),
                                  arguments.size());
  };
  // q, k, v, the scale, the output, then workspace.
  const size_t inWorkspace = 3 + 3 * 9 + 1 + 9;
  fakeDriver()->numWords = inWorkspace + 11;
  size_t before = fakeDriver()->numCalls, allocations = countAllocations();
  ASSERT_EQ(launchWith(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(countAllocations(), allocations);
  EXPECT_EQ(callsSince(before), "cuCtxPushCurrent_v2 cuLaunchKernel "
                                "cuLaunchKernel cuCtxPopCurrent_v2");
  const auto &first = fakeDriver()->lastLaunch, &second = fakeDriver()->launch;
  EXPECT_STREQ(first.kernel, "attention_decode_split");
  EXPECT_STREQ(second.kernel, "attention_decode_merge");
  EXPECT_EQ(first.grid, 32u * 2);
  for (const FakeDriver::Launch *each : {&first, &second}) {
    EXPECT_EQ(each->stream, &stream);
    EXPECT_EQ(uint64_t(each->words[inWorkspace]), memory + (1 << 16));
    EXPECT_EQ(each->words[inWorkspace + 1], 32);
  }
  // The twin: less workspace, and none.
  how.workspaceSize -= 1;
  expectError(launchWith(), FA_ERROR_INVALID_ARGUMENT,
              "@attention_decode_split in 32 splits: expected a workspace of "
              "67584 bytes, found 67583");
  EXPECT_EQ(fakeDriver()->numLaunches, 2u);
  how.workspace = nullptr;
  expectError(launchWith(), FA_ERROR_INVALID_ARGUMENT,
              "faLaunchOptions: expected a workspace of 67583 bytes, found "
              "null");
  how.workspaceSize = 0;
  ASSERT_EQ(launchWith(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(second.kernel, "attention_decode");
}

/// Persistent blocks are as many as the card runs at a time, or as there are
/// programs; of another kernel there is one for each program.
TEST_F(CudaBundle, PersistentBlocksFillTheCard) {
  const auto &found = fakeDriver()->launch;
  fakeDriver()->numWords = 3;
  auto programs = [&] {
    return found.words[0] * found.words[1] * found.words[2];
  };
  const unsigned processors = 108; // of a fake card
  sizes[2] = 8192;
  ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS);
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(found.kernel, "attention");
  EXPECT_GT(found.grid, processors);
  EXPECT_EQ(found.grid, programs());

  faBundlePlanDestroy(plan);
  plan = nullptr;
  faBundleClose(bundle);
  open(llvm::cantFail(makeBundle(compileFor({"sm_90a"}))));
  fakeDriver()->sharedLimit = 232448;
  for (int blocks : {2, 1}) {
    faBundlePlanDestroy(plan);
    plan = nullptr;
    fakeDriver()->residentBlocks = blocks;
    ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS)
        << faBundleGetLastErrorMessage();
    ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
    EXPECT_STREQ(found.kernel, "attention_roles");
    EXPECT_GT(programs(), 2 * processors);
    EXPECT_EQ(found.grid, blocks * processors);
  }
  // So few programs that there is a multiprocessor for each, of 64 rows.
  sizes[2] = 256;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(found.kernel, "attention_roles_few");
  EXPECT_LT(programs(), processors);
  EXPECT_EQ(found.grid, programs());
}

TEST_F(CudaBundle, AnEmptyGridLaunchesNothing) {
  ASSERT_EQ(prepare(), FA_SUCCESS);
  size_t before = fakeDriver()->numCalls;
  sizes[0] = 0;
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(callsSince(before), "");
}

/// What the host program has as current context is current after every call.
TEST_F(CudaBundle, TheCallersContextStays) {
  void *own = fakePushOwnContext();
  ASSERT_EQ(prepare(options("cuda:1")), FA_SUCCESS);
  EXPECT_EQ(fakeCurrentContext(), own);
  EXPECT_EQ(launch(), FA_SUCCESS);
  EXPECT_EQ(fakeCurrentContext(), own);
  faBundlePlanDestroy(plan);
  plan = nullptr;
  EXPECT_EQ(fakeCurrentContext(), own);
}

/// However many plans and threads: a module a card.
TEST_F(CudaBundle, LoadsOnceACard) {
  std::vector<faBundlePlan> plans(8);
  std::vector<std::thread> threads;
  threads.reserve(plans.size());
  for (size_t n = 0; n < plans.size(); ++n)
    threads.emplace_back([&, n] {
      faBundleOptions how = options(n % 2 ? "cuda:1" : "cuda:0");
      EXPECT_EQ(faBundlePrepare(bundle, &how, &plans[n]), FA_SUCCESS);
      EXPECT_EQ(faBundlePlanLaunch(plans[n], nullptr, arguments.data(),
                                   arguments.size()),
                FA_SUCCESS);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeDriver()->maxModules, 2);
  for (faBundlePlan each : plans)
    faBundlePlanDestroy(each);
  EXPECT_EQ(fakeDriver()->numModules, 0);
}

/// A plan lives on when its bundle is closed.
TEST_F(CudaBundle, PlansOutliveTheirBundle) {
  ASSERT_EQ(prepare(), FA_SUCCESS);
  faBundleClose(bundle);
  bundle = nullptr;
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(CudaBundle, ArgumentsThatDoNotFit) {
  ASSERT_EQ(prepare(), FA_SUCCESS);
  size_t before = fakeDriver()->numCalls;
  auto expect = [&](const char *message) {
    expectError(launch(), FA_ERROR_INVALID_ARGUMENT, message);
  };
  arguments[0].data = addressOf(1);
  expect("argument 0: expected an address that is a multiple of 2 (elements "
         "are f16), found 0x");
  arguments[0] = tensor();
  arguments[0].type = FA_F32;
  expect("argument 0: expected elements of type f16, found f32");
  arguments[0] = tensor();
  arguments[0].data = nullptr;
  expect("argument 0: expected a buffer of 2x4x256x64, found a null pointer");
  arguments[0] = tensor();
  arguments[0].rank = 9;
  expect("argument 0: expected a rank of 0 to 8 with its sizes, found rank 9");
  arguments[0] = tensor();
  int64_t other[4] = {2, 3, 256, 64};
  arguments[1].sizes = other;
  expect("expected size 3 in dimension 1 as in dimension 1 of argument 1, "
         "found 4");
  arguments[1] = tensor();
  arguments.pop_back();
  expect("expected 5 arguments, found 4");
  arguments.resize(100);
  expect("expected at most 64 arguments, found 100");
  EXPECT_EQ(callsSince(before), "");
}

/// Two variants count on 16 bytes; the last takes any element's address.
TEST_F(CudaBundle, MisalignedBases) {
  ASSERT_EQ(prepare(), FA_SUCCESS);
  arguments[0].data = addressOf(2);
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_STREQ(fakeDriver()->launch.kernel, "attention_strided");
}

TEST_F(CudaBundle, HostPointers) {
  expectHostPointerRefused("Fake GPU 0");
  faBundlePlanDestroy(plan);
  // A card that reads all memory takes it.
  fakeDriver()->readsHostMemory = 1;
  faBundleOptions how = options();
  how.checkPointers = 1;
  ASSERT_EQ(prepare(how), FA_SUCCESS);
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
}

TEST_F(CudaBundle, NoDriver) {
  faBundleOptions how = options();
  how.driver = "/nonexistent/libcuda.so.1";
  expectError(prepare(how), FA_ERROR_DEVICE,
              "the NVIDIA driver is not there: /nonexistent/libcuda.so.1");
  how.driver = FA_FAKE_OLD_DRIVER;
  expectError(prepare(how), FA_ERROR_DEVICE, "the NVIDIA driver is too old: ");
  expectError(prepare(how), FA_ERROR_DEVICE, "has no function cuLaunchKernel");
  fakeDriver()->version = 10020;
  expectError(prepare(), FA_ERROR_DEVICE,
              "the NVIDIA driver is too old: expected one of CUDA 11.0 or "
              "newer, found one of CUDA 10.2");
}

TEST_F(CudaBundle, NoCard) {
  expectError(prepare(options("cuda:2")), FA_ERROR_DEVICE,
              "no card 2: found 2");
  expectError(prepare(options("cuda:-1")), FA_ERROR_DEVICE,
              "no card -1: found 2");
  expectError(prepare(options("cuda:x")), FA_ERROR_INVALID_ARGUMENT,
              "'cuda:x' is not a target of this build, expected cpu, cuda, "
              "cuda:N, hip or hip:N");
  fakeDriver()->capability[0] = 75;
  expectError(prepare(), FA_ERROR_DEVICE,
              "attention: expected code for Fake GPU 0, which has compute "
              "capability 7.5, found code for sm_80, sm_90");
  expectError(prepare(options("cpu")), FA_ERROR_DEVICE,
              "attention: expected code for cpu, found code for sm_80, sm_90");
}

/// The driver's own name and text come with what was tried.
TEST_F(CudaBundle, TheDriverFails) {
  expectFailure("cuInit", 100,
                "cuInit: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device is "
                "detected");
  expectFailure(
      "cuDevicePrimaryCtxRetain", 2,
      "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2), out of "
      "memory");
  expectFailure("cuModuleGetFunction", 500,
                "cannot find @attention_decode_split: CUDA_ERROR_NOT_FOUND "
                "(500), named symbol "
                "not found");
  expectFailure("cuModuleLoadDataEx", 1234,
                "cannot load the kernels for sm_80: unknown error  (1234)");
  ASSERT_EQ(prepare(), FA_SUCCESS);
  expectFailure("cuLaunchKernel", 719,
                "cannot launch @attention: CUDA_ERROR_LAUNCH_FAILED (719), "
                "unspecified launch failure");
  expectFailure(
      "cuCtxPushCurrent_v2", 201,
      "cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT (201), invalid device "
      "context");
  EXPECT_EQ(launch(), FA_SUCCESS); // the twin: a driver that does not fail
}

TEST_F(CudaBundle, TooMuchSharedMemory) {
  fakeDriver()->sharedLimit = 1000;
  expectError(prepare(), FA_ERROR_DEVICE,
              "bytes of shared memory, Fake GPU 0 has 1000; a smaller --tile "
              "helps");
}

TEST_F(CudaBundle, NullAndWrongSizes) {
  faBundle none = nullptr;
  expectError(faBundleOpen(nullptr, &none), FA_ERROR_INVALID_ARGUMENT,
              "expected a folder and a place for the bundle, found null");
  EXPECT_EQ(none, nullptr);
  expectError(faBundleOpen("/nonexistent", &none), FA_ERROR_INVALID_ARGUMENT,
              "cannot open '/nonexistent/bundle.json': No such file or "
              "directory");
  expectError(faBundlePrepare(nullptr, nullptr, &plan),
              FA_ERROR_INVALID_ARGUMENT, "expected a bundle");
  expectError(launch(), FA_ERROR_INVALID_ARGUMENT, "expected a plan");
  faBundlePlanDestroy(nullptr);
  faBundleClose(nullptr);
}

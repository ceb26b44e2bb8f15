//===- HostBundleTest.cpp - bundles for CPUs ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels are stubs that count their programs; examples/embed/bundle.c runs
// real ones.
//
//===----------------------------------------------------------------------===//

#include "TestBundle.h"

#include "fa/bundle.h"

#include "gtest/gtest.h"

#include "llvm/Support/FileSystem.h"

#include <atomic>

using namespace fa;
using namespace fa::test;

static std::atomic<int> numPrograms[8];
template <int Variant>
static void stub(int64_t, int64_t, int64_t, const int64_t *, void *) {
  ++numPrograms[Variant];
}

namespace {

/// A bundle for this machine in a folder, opened.
class HostBundle : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fa-bundle", path));
    folder = path.str();
    auto files = llvm::cantFail(makeBundle(compileFor({"host"})));
    llvm::cantFail(writeBundle(folder, files));
    ASSERT_EQ(faBundleOpen(folder.c_str(), &bundle), FA_SUCCESS)
        << faBundleGetLastErrorMessage();
    options.size = sizeof options;
    options.target = "cpu";
    options.functions = functions;
    options.numFunctions = 8;
    for (std::atomic<int> &count : numPrograms)
      count = 0;
  }
  void TearDown() override {
    faBundlePlanDestroy(plan);
    faBundleClose(bundle);
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  faStatus launch(void *stream = nullptr) {
    alignas(64) static char memory[64];
    faArgument tensor{};
    tensor.isTensor = 1;
    tensor.type = FA_F16;
    tensor.data = memory;
    tensor.rank = 4;
    tensor.sizes = sizes;
    int64_t keySizes[4] = {sizes[0], sizes[1], numKeys ? numKeys : sizes[2],
                           sizes[3]};
    faArgument keys = tensor;
    keys.sizes = keySizes;
    faArgument scale{};
    scale.type = FA_F32;
    scale.f32 = 0.125f;
    faArgument arguments[] = {tensor, keys, keys, scale, tensor};
    return faBundlePlanLaunch(plan, stream, arguments, 5);
  }

  static void expectError(faStatus found, faStatus expected,
                          const std::string &message) {
    EXPECT_EQ(found, expected);
    std::string text = faBundleGetLastErrorMessage();
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }

  faBundleFunction functions[8] = {
      {"attention_decode", stub<0>},       {"attention", stub<1>},
      {"attention_decode_split", stub<3>}, {"attention_decode_merge", stub<4>},
      {"attention_packed_split", stub<5>}, {"attention_packed_merge", stub<6>},
      {"attention_packed", stub<7>},       {"attention_strided", stub<2>}};
  int64_t sizes[4] = {2, 3, 300, 64};
  int64_t numKeys = 0; ///< 0: as many as queries
  std::string folder;
  faBundleOptions options = {};
  faBundle bundle = nullptr;
  faBundlePlan plan = nullptr;
};

} // namespace

TEST_F(HostBundle, RunsEveryProgramOfItsVariant) {
  ASSERT_EQ(faBundlePrepare(bundle, &options, &plan), FA_SUCCESS)
      << faBundleGetLastErrorMessage();
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(numPrograms[0], 0);
  EXPECT_GT(numPrograms[1], 2 * 3 - 1);
  EXPECT_EQ(numPrograms[1] % (2 * 3), 0);
  sizes[2] = 1;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_GT(numPrograms[0], 0);
  EXPECT_EQ(numPrograms[3] + numPrograms[4], 0);
  int stream = 0;
  expectError(launch(&stream), FA_ERROR_INVALID_ARGUMENT,
              "expected no stream for the CPU, found one");
  // Two splits of 2048 keys each of three heads in two batches, and their
  // merge.
  numKeys = 4096;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(numPrograms[3], 2 * 2 * 3);
  EXPECT_EQ(numPrograms[4], 2 * 3);
  // Of two queries the same splits.
  sizes[2] = 2;
  ASSERT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(numPrograms[5], 2 * 2 * 3);
  EXPECT_EQ(numPrograms[6], 2 * 3);
  EXPECT_EQ(numPrograms[7], 0);
  sizes[3] = 32;
  expectError(launch(), FA_ERROR_INVALID_ARGUMENT,
              "argument 0: expected size 64 in dimension 3, found 32");
}

/// The host program's own threads run the programs.
TEST_F(HostBundle, CallersPool) {
  static int calls;
  calls = 0;
  faContextOptions threads{};
  threads.size = sizeof threads;
  threads.threads = 2;
  threads.parallel = [](void *, uint32_t n, void (*body)(void *, uint32_t),
                        void *argument) {
    ++calls;
    for (uint32_t worker = 0; worker < n; ++worker)
      body(argument, worker);
  };
  options.host = &threads;
  ASSERT_EQ(faBundlePrepare(bundle, &options, &plan), FA_SUCCESS);
  EXPECT_EQ(launch(), FA_SUCCESS);
  EXPECT_EQ(calls, 1);
  threads.size = 7;
  faBundlePlan none = nullptr;
  expectError(faBundlePrepare(bundle, &options, &none),
              FA_ERROR_INVALID_ARGUMENT, "faContextOptions: expected size");
}

TEST_F(HostBundle, SaysWhatIsMissing) {
  options.numFunctions = 7;
  expectError(faBundlePrepare(bundle, &options, &plan), FA_ERROR_DEVICE,
              "expected @attention_strided of attention.cpu.o among the "
              "functions, found 7 without it");
  options.size = 3;
  expectError(faBundlePrepare(bundle, &options, &plan),
              FA_ERROR_INVALID_ARGUMENT, "faBundleOptions: expected size");
  // The metadata cut short, and gone.
  llvm::cantFail(
      writeBundle(folder, {BundleFile{"bundle.json", "{\"entry\""}}));
  faBundle none = nullptr;
  expectError(faBundleOpen(folder.c_str(), &none), FA_ERROR_INVALID_ARGUMENT,
              "bundle.json: expected ':' at byte 8 of 8");
  ASSERT_FALSE(llvm::sys::fs::remove(folder + "/bundle.json"));
  expectError(faBundleOpen(folder.c_str(), &none), FA_ERROR_INVALID_ARGUMENT,
              "bundle.json': No such file or directory");
  expectError(faBundleOpenEmbedded(nullptr, 0, &none),
              FA_ERROR_INVALID_ARGUMENT,
              "expected the file 'bundle.json', found none in 0");
}

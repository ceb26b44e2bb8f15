//===- BundleCostsTest.cpp - what launches cost, in bundles ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CardBundle.h"

#include "llvm/Support/JSON.h"

using namespace fa;
using namespace fa::test;

extern "C" int cuMemAlloc_v2(uint64_t *, size_t);
extern "C" int cuMemFree_v2(uint64_t);

/// Artifacts of an sm_80, made once.
static const std::vector<Artifact> &artifacts() {
  static const std::vector<Artifact> made = compileFor({"sm_80"});
  return made;
}

/// Each another than the H200's.
static LaunchCosts otherCosts() {
  LaunchCosts costs;
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  costs.MEMBER += 1;
#include "fa/Support/LaunchCosts.def"
  return costs;
}

static std::vector<BundleFile> bundleWith(const LaunchCosts &costs) {
  std::vector<Artifact> changed = artifacts();
  changed[0].costs = costs;
  return llvm::cantFail(makeBundle(changed));
}

/// The bundle with `change` of its metadata.
static std::vector<BundleFile>
changedBundle(llvm::function_ref<void(llvm::json::Object &bundle,
                                      llvm::json::Object &costs)>
                  change) {
  std::vector<BundleFile> files = bundleWith(otherCosts());
  std::string &text = fileNamed(files, "bundle.json");
  llvm::json::Value value = llvm::cantFail(llvm::json::parse(text));
  llvm::json::Object &bundle = *value.getAsObject();
  llvm::json::Object &target = *(*bundle.getArray("targets"))[0].getAsObject();
  change(bundle, *target.getObject("costs"));
  text = llvm::formatv("{0}", value).str();
  return files;
}

static std::string refusalOf(const std::vector<BundleFile> &files) {
  auto bundle = read(files);
  return bundle ? "" : bundle.takeFailure().message();
}

//===----------------------------------------------------------------------===//
// The format
//===----------------------------------------------------------------------===//

TEST(BundleCosts, RoundTrip) {
  auto bundle = read(bundleWith(otherCosts()));
  ASSERT_TRUE(bundle) << bundle.takeFailure().message();
  EXPECT_EQ(bundle->targets[0].costs, otherCosts());
  EXPECT_NE(bundle->targets[0].costs, LaunchCosts());
  // What is compiled has the costs of its machine.
  bundle = read(llvm::cantFail(makeBundle(artifacts())));
  ASSERT_TRUE(bundle) << bundle.takeFailure().message();
  EXPECT_EQ(bundle->targets[0].costs, LaunchCosts());
}

/// Bundles of before said nothing of costs, and were chosen from by an H200's.
TEST(BundleCosts, OfOlderBundlesAreTheH200s) {
  for (int64_t version : {2, 3}) {
    auto bundle = read(
        changedBundle([&](llvm::json::Object &json, llvm::json::Object &costs) {
          json["flashtile_bundle"] = version;
          costs.clear();
        }));
    ASSERT_TRUE(bundle) << bundle.takeFailure().message();
    EXPECT_EQ(bundle->targets[0].costs, LaunchCosts());
  }
  EXPECT_EQ(refusalOf(changedBundle(
                [](llvm::json::Object &, llvm::json::Object &costs) {
                  costs.erase("wave_bytes");
                })),
            "bundle.json.targets[0].costs: expected the member 'wave_bytes', "
            "found none");
}

/// A cost that came later is not in older bundles: there it is an H200's, and
/// in today's it is missed.
TEST(BundleCosts, CameWithVersions) {
  auto changed = [](int64_t version) {
    return changedBundle(
        [&](llvm::json::Object &json, llvm::json::Object &costs) {
          json["flashtile_bundle"] = version;
          costs.erase("uneven_rows_percent");
        });
  };
  auto bundle = read(changed(5));
  ASSERT_TRUE(bundle) << bundle.takeFailure().message();
  EXPECT_EQ(bundle->targets[0].costs.unevenRowsPercent,
            LaunchCosts().unevenRowsPercent);
  EXPECT_EQ(bundle->targets[0].costs.waveBytes, otherCosts().waveBytes);
  EXPECT_EQ(refusalOf(changed(6)),
            "bundle.json.targets[0].costs: expected the member "
            "'uneven_rows_percent', found none");
}

/// Costs that would let a sum overflow, or divide by zero, are none.
TEST(BundleCosts, HaveRanges) {
  auto check = [](const char *key, int64_t least, int64_t most) {
    auto refusal = [&](const llvm::json::Value &value) {
      return refusalOf(
          changedBundle([&](llvm::json::Object &, llvm::json::Object &costs) {
            costs[key] = value;
          }));
    };
    std::string place = std::string("bundle.json.targets[0].costs.") + key;
    EXPECT_EQ(refusal(least), "") << key;
    EXPECT_EQ(refusal(most), "") << key;
    EXPECT_EQ(refusal(least - 1), place + ": expected at least " +
                                      std::to_string(least) + ", found " +
                                      std::to_string(least - 1));
    EXPECT_EQ(refusal(most + 1), place + ": expected at most " +
                                     std::to_string(most) + ", found " +
                                     std::to_string(most + 1));
    EXPECT_EQ(refusal("many"), place + ": expected an integer, found a text");
  };
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  check(KEY, LEAST, MOST);
#include "fa/Support/LaunchCosts.def"
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {

/// A decode of two KV heads on 4096 keys.
class CostsOfLaunches : public CardBundle {
protected:
  CostsOfLaunches()
      : CardBundle({fakeDriver(), FA_FAKE_DRIVER, "cuda", cuMemAlloc_v2,
                    cuMemFree_v2}) {}

  void SetUp() override {
    CardBundle::SetUp();
    arguments[0].sizes = arguments[4].sizes = rows;
    arguments[1].sizes = arguments[2].sizes = cache;
  }

  /// How many splits a launch of a bundle with these costs has.
  int64_t splitsWith(const LaunchCosts &costs) {
    faBundlePlanDestroy(plan);
    faBundleClose(bundle);
    plan = nullptr;
    open(bundleWith(costs));
    EXPECT_EQ(prepare(), FA_SUCCESS) << faBundleGetLastErrorMessage();
    faLaunchInfo info{};
    info.size = sizeof info;
    EXPECT_EQ(faBundlePlanGetLaunchInfo(plan, arguments.data(),
                                        arguments.size(), &info),
              FA_SUCCESS)
        << faBundleGetLastErrorMessage();
    return info.splits;
  }

  int64_t rows[4] = {1, 8, 1, 64}, cache[4] = {1, 2, 4096, 64};
};

} // namespace

/// On a card that nobody measured, a launch counts with the bundle's costs.
TEST_F(CostsOfLaunches, AreTheBundles) {
  EXPECT_EQ(splitsWith(LaunchCosts()), 32);
  LaunchCosts costs;
  costs.mergeSplitBytes *= 8;
  EXPECT_LT(splitsWith(costs), 16);
  costs.mergeBytes = 1 << 24;
  EXPECT_EQ(splitsWith(costs), 1);
}

/// A merge that takes as long is fewer bytes where memory is slower.
TEST_F(CostsOfLaunches, AreScaledToTheCard) {
  LaunchCosts costs;
  costs.mergeSplitBytes *= 8;
  int64_t before = splitsWith(costs);
  // A tenth of the bandwidth of the H200, for 108 processors.
  fakeDriver()->memoryClock = 480000;
  fakeDriver()->memoryBus = 4096;
  EXPECT_GT(splitsWith(costs), before);
}

/// On a card that was measured, whatever the bundle says: its numbers may be
/// of another card, or older.
TEST_F(CostsOfLaunches, AreTheCardsWhereTheyAreKnown) {
  LaunchCosts costs;
  costs.mergeBytes = 1 << 24;
  fakeDriver()->capability[0] = 90;
  fakeDriver()->multiprocessors = 132;
  fakeDriver()->memoryClock = 3201000;
  fakeDriver()->memoryBus = 6144;
  EXPECT_GT(splitsWith(costs), 1);
  fakeDriver()->memoryClock = 2619000; // an H100's
  fakeDriver()->memoryBus = 5120;
  EXPECT_GT(splitsWith(costs), 1);
  // The twin: another card with the same code.
  fakeDriver()->memoryClock = 1593000;
  EXPECT_EQ(splitsWith(costs), 1);
}

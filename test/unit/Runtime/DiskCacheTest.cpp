//===- DiskCacheTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/DiskCache.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Runtime/BuildId.h"
#include "fa/Runtime/CacheEntry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace fa;
using llvm::cantFail;

namespace {

/// An artifact of a real plan; its code is never run.
const Artifact &artifact() {
  static const Artifact compiled = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    auto module = cantFail(buildAttention(
        context, cantFail(parseAttentionSpec("type=f32 d=16")).problem));
    return cantFail(compile(*module, "attention", {}));
  }();
  return compiled;
}

class DiskCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("flashtile-test", path));
    options.directory = path.str();
    options.report = [this](const std::string &message) {
      messages.push_back(message);
    };
  }
  void TearDown() override {
    EXPECT_FALSE(llvm::sys::fs::remove_directories(options.directory));
  }

  /// The outcome for a key, compiling or failing to.
  llvm::Expected<CacheOutcome> get(llvm::StringRef key, bool fails = false) {
    auto result = DiskCache(options).get(
        CacheKey{key.str()}, [&]() -> llvm::Expected<Artifact> {
          if (fails)
            return llvm::createStringError("does not compile");
          return artifact();
        });
    if (!result)
      return result.takeError();
    EXPECT_EQ(result->artifact.object, artifact().object);
    EXPECT_EQ(result->artifact.kernels, artifact().kernels);
    return result->outcome;
  }

  CacheOptions options;
  std::vector<std::string> messages;
};

} // namespace

TEST_F(DiskCacheTest, KeepsWhatWasCompiled) {
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Miss);
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Hit);
  EXPECT_EQ(cantFail(get("b")), CacheOutcome::Miss);
  EXPECT_EQ(llvm::toString(get("c", /*fails=*/true).takeError()),
            "does not compile");
  EXPECT_EQ(cantFail(get("c")), CacheOutcome::Miss);
  EXPECT_TRUE(messages.empty());
}

TEST_F(DiskCacheTest, ModesWriteNothing) {
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Miss);
  options.mode = CacheMode::ReadOnly;
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Hit);
  EXPECT_EQ(cantFail(get("b")), CacheOutcome::Miss);
  EXPECT_EQ(cantFail(get("b")), CacheOutcome::Miss);
  options.mode = CacheMode::Only;
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Hit);
  auto missing = get("b");
  ASSERT_FALSE(missing);
  EXPECT_NE(llvm::toString(missing.takeError())
                .find("expected the program in the cache"),
            std::string::npos);
}

/// The file that was not used for longest makes room.
TEST_F(DiskCacheTest, StaysBelowItsCap) {
  size_t bytes = cantFail(writeCacheEntry(CacheKey{"a"}, artifact())).size();
  options.maxBytes = bytes * 5 / 2;
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Miss);
  EXPECT_EQ(cantFail(get("b")), CacheOutcome::Miss);
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Hit);
  EXPECT_EQ(cantFail(get("c")), CacheOutcome::Miss); // and b goes
  EXPECT_EQ(cantFail(get("a")), CacheOutcome::Hit);
  EXPECT_EQ(cantFail(get("b")), CacheOutcome::Miss);
  EXPECT_TRUE(messages.empty());
}

/// Every prefix and every flipped bit of a file is refused, and so is another
/// key's.
TEST(CacheEntry, RefusesWhatIsNotWhole) {
  CacheKey key{"key\nof a program"};
  Artifact small = artifact();
  small.object = "code";
  small.kernels = {small.kernels.back()};
  const std::string good = cantFail(writeCacheEntry(key, small));
  auto accepts = [&](llvm::StringRef bytes) {
    return !llvm::errorToBool(readCacheEntry(key, bytes).takeError());
  };
  EXPECT_TRUE(accepts(good));
  EXPECT_FALSE(accepts(good + "x"));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(accepts(good.substr(0, size))) << size;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= 1 << bit % 8;
    EXPECT_FALSE(accepts(bad)) << bit;
  }
  EXPECT_FALSE(accepts(cantFail(writeCacheEntry(CacheKey{"other"}, small))));
}

TEST(BuildId, TellsLibrariesApart) {
  std::string ids = compilerBuildId();
  EXPECT_GE(ids.size(), 3 * 16u) << ids;
  EXPECT_EQ(buildIdOf(nullptr), "");
  int onTheStack = 0;
  EXPECT_EQ(buildIdOf(&onTheStack), "");
}

//===- CardBundle.cpp - tests of bundles on a card ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CardBundle.h"

#include <atomic>
#include <cstdlib>
#include <new>

using namespace fa;
using namespace fa::test;

static std::atomic<size_t> numAllocations = 0;
void *operator new(size_t bytes) {
  ++numAllocations;
  return std::malloc(bytes ? bytes : 1);
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return operator new(bytes);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

size_t fa::test::countAllocations() { return numAllocations; }

void CardBundle::open(const std::vector<BundleFile> &from) {
  std::vector<faBundleFile> files;
  files.reserve(from.size());
  for (const BundleFile &file : from)
    files.push_back({file.name.c_str(), file.bytes.data(), file.bytes.size()});
  ASSERT_EQ(faBundleOpenEmbedded(files.data(), files.size(), &bundle),
            FA_SUCCESS)
      << faBundleGetLastErrorMessage();
}

faArgument CardBundle::tensor() const {
  faArgument result{};
  result.isTensor = 1;
  result.type = FA_F16;
  result.data = addressOf(0);
  result.rank = 4;
  result.sizes = sizes;
  return result;
}

void CardBundle::expectError(faStatus found, faStatus expected,
                             const std::string &message) {
  EXPECT_EQ(found, expected);
  std::string text = faBundleGetLastErrorMessage();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

void CardBundle::expectFailure(const char *function, int status,
                               const char *message) {
  driver.fake->failing = function;
  driver.fake->failure = status;
  expectError(plan ? launch() : prepare(), FA_ERROR_DEVICE, message);
  driver.fake->failing = nullptr;
}

void CardBundle::expectHostPointerRefused(const std::string &card) {
  faBundleOptions how = options();
  how.checkPointers = 1;
  ASSERT_EQ(prepare(how), FA_SUCCESS) << faBundleGetLastErrorMessage();
  EXPECT_EQ(launch(), FA_SUCCESS) << faBundleGetLastErrorMessage();
  alignas(16) static char host[64];
  arguments[2].data = host;
  expectError(launch(), FA_ERROR_INVALID_ARGUMENT,
              "argument 2: expected memory that " + card +
                  " can reach, found a pointer that its driver does not know");
}

std::string CardBundle::callsSince(size_t from) const {
  std::string text;
  for (size_t n = from; n < driver.fake->numCalls; ++n)
    text += std::string(text.empty() ? "" : " ") + driver.fake->calls[n];
  return text;
}

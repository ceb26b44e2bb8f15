//===- CacheEntry.cpp - a compilation as a file ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   flashtile-cache 2\n
//   XXH3 of 128 bits of what follows it, 32 digits\n
//   bytes of key, plan and code, in decimal, with spaces between\n
//   key, plan (a bundle's metadata, of one target), code
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CacheEntry.h"

#include "fa/Loader/Bundle.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/Bundle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace fa;

static constexpr StringLiteral kMagic = "flashtile-cache 2\n";
static constexpr size_t kHashDigits = 32;

/// Finds accidents, as fast as memory is read; SHA-256 was a fifth of a hit.
static std::string hashOf(StringRef bytes) {
  XXH128_hash_t hash = xxh3_128bits(arrayRefFromStringRef(bytes));
  return utohexstr(hash.high64, /*LowerCase=*/true, kHashDigits / 2) +
         utohexstr(hash.low64, /*LowerCase=*/true, kHashDigits / 2);
}

std::string fa::sealCacheEntry(StringRef body) {
  return (kMagic + hashOf(body) + "\n" + body).str();
}

Expected<std::string> fa::writeCacheEntry(const CacheKey &key,
                                          const Artifact &artifact) {
  auto plan = makeBundleMetadata(artifact);
  if (!plan)
    return plan.takeError();
  const std::string &code = codeOf(artifact);
  std::string body =
      std::to_string(key.text.size()) + " " + std::to_string(plan->size()) +
      " " + std::to_string(code.size()) + "\n" + key.text + *plan + code;
  return sealCacheEntry(body);
}

namespace {
struct Parts {
  StringRef key, plan, code;
};
} // namespace

/// Takes `bytes` apart, whose hash was checked.
static Expected<Parts> split(StringRef bytes) {
  auto [line, rest] = bytes.split('\n');
  size_t key, plan, code;
  if (line.consumeInteger(10, key) || !line.consume_front(" ") ||
      line.consumeInteger(10, plan) || !line.consume_front(" ") ||
      line.consumeInteger(10, code) || !line.empty())
    return createStringError("expected three sizes");
  if (key > rest.size() || plan > rest.size() - key ||
      code != rest.size() - key - plan)
    return createStringError("expected as many bytes as the sizes say, found " +
                             Twine(rest.size()));
  return Parts{rest.take_front(key), rest.substr(key, plan),
               rest.take_back(code)};
}

static Expected<Artifact> readPlan(const Parts &parts) {
  auto bundle = toExpected(parseBundleMetadata(parts.plan.str()));
  if (!bundle)
    return bundle.takeError();
  if (bundle->targets.size() != 1)
    return createStringError("expected a plan of one target, found " +
                             Twine(bundle->targets.size()));
  BundleTarget &target = bundle->targets.front();
  Artifact artifact;
  artifact.target = std::move(target.target);
  artifact.arch = std::move(target.arch);
  artifact.features = std::move(target.features);
  artifact.assembler = std::move(target.assembler);
  artifact.kernels = std::move(target.kernels);
  artifact.costs = target.costs;
  (target.form == "ptx" ? artifact.ptx : artifact.object) = parts.code.str();
  return artifact;
}

Expected<Artifact> fa::readCacheEntry(const CacheKey &key, StringRef bytes) {
  if (!bytes.consume_front(kMagic))
    return createStringError("expected a file that begins with '" +
                             kMagic.trim() + "'");
  StringRef hash = bytes.take_front(kHashDigits);
  bytes = bytes.drop_front(hash.size());
  if (!bytes.consume_front("\n") || hash != hashOf(bytes))
    return createStringError("its checksum does not fit its content");
  auto parts = split(bytes);
  if (!parts)
    return parts.takeError();
  if (parts->key != key.text)
    return createStringError("it is of another build or another program");
  return readPlan(*parts);
}

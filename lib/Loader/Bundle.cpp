//===- Bundle.cpp - compiled kernels, read from files ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Loader/Bundle.h"

#include "fa/Launch/BundleFormat.h"
#include "fa/Launch/Checksum.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace fa;

static bool runsOn(const BundleTarget &target, int64_t capability) {
  if (target.target != "cuda")
    return false;
  if (target.archSpecific)
    return target.computeCapability == capability;
  return target.computeCapability <= capability &&
         (target.form == "ptx" ||
          target.computeCapability / 10 == capability / 10);
}

const BundleTarget *Bundle::findCudaTarget(int64_t capability) const {
  auto rank = [](const BundleTarget &target) {
    return std::pair(target.computeCapability, target.archSpecific);
  };
  const BundleTarget *best = nullptr;
  for (const BundleTarget &target : targets)
    if (runsOn(target, capability) && (!best || rank(*best) < rank(target)))
      best = &target;
  return best;
}

const BundleTarget *Bundle::findTarget(std::string_view name,
                                       std::string_view arch) const {
  for (const BundleTarget &target : targets)
    if (target.target == name && (arch.empty() || target.arch == arch))
      return &target;
  return nullptr;
}

std::string Bundle::listArchs() const {
  std::string list;
  for (const BundleTarget &target : targets)
    list += (list.empty() ? "" : ", ") + target.arch;
  return list;
}

Result<Bundle> fa::readBundle(const ReadBundleFile &read) {
  auto metadata = read(kBundleMetadata);
  if (!metadata)
    return metadata.takeFailure();
  auto bundle = parseBundleMetadata(std::move(*metadata));
  if (!bundle)
    return bundle;
  for (BundleTarget &target : bundle->targets) {
    if (target.form == "object") // linked into the program
      continue;
    auto code = read(target.file);
    if (!code)
      return code.takeFailure();
    if (std::ssize(*code) != target.bytes)
      return makeFailure(target.file, ": expected ", target.bytes,
                         " bytes, found ", code->size());
    if (std::string found = checksum(*code); found != target.sum)
      return makeFailure(target.file, ": expected the checksum ", target.sum,
                         ", found ", found);
    target.code = std::move(*code);
  }
  return bundle;
}

static Result<std::string> readFile(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return makeFailure("cannot open '", path, "': ", std::strerror(errno));
  std::string bytes;
  char chunk[1 << 14];
  while (size_t count = std::fread(chunk, 1, sizeof chunk, file))
    bytes.append(chunk, count);
  int problem = std::ferror(file) ? errno : 0;
  std::fclose(file);
  if (problem)
    return makeFailure("cannot read '", path, "': ", std::strerror(problem));
  return bytes;
}

ReadBundleFile fa::readFromDirectory(std::string directory) {
  return [directory = std::move(directory)](const std::string &name) {
    return readFile(directory + "/" + name);
  };
}

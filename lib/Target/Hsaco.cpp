//===- Hsaco.cpp - code objects of AMD ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hsaco.h"

#include "lld/Common/Driver.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

namespace {

/// A directory that goes with what is in it.
class PrivateDirectory {
public:
  ~PrivateDirectory() {
    if (!path.empty())
      (void)sys::fs::remove_directories(path);
  }

  Error create() {
    if (std::error_code error =
            sys::fs::createUniqueDirectory("flashtile-link", path))
      return createStringError(error,
                               "cannot create a directory for the linker");
    return Error::success();
  }

  std::string file(StringRef name) const {
    SmallString<128> at(path);
    sys::path::append(at, name);
    return std::string(at);
  }

private:
  SmallString<128> path;
};

/// The process's one linker.
class Linker {
public:
  static Linker &get() {
    static Linker linker;
    return linker;
  }

  Error run(const std::string &from, const std::string &to) {
    std::lock_guard lock(mutex);
    if (isBroken)
      return createStringError("lld failed before and cannot run again");
    std::string text;
    raw_string_ostream out(text);
    const char *arguments[] = {"ld.lld", "-shared",  "--no-undefined",
                               "-o",     to.c_str(), from.c_str()};
    lld::Result result =
        lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
    isBroken = !result.canRunAgain;
    if (result.retCode)
      return createStringError("lld: " + text);
    return Error::success();
  }

private:
  std::mutex mutex;
  bool isBroken = false;
};

} // namespace

Expected<std::string> fa::linkHsaco(StringRef object) {
  PrivateDirectory directory;
  if (Error error = directory.create())
    return error;
  std::string from = directory.file("kernel.o"), to = directory.file("hsaco");
  std::error_code problem;
  {
    raw_fd_ostream out(from, problem);
    if (!problem)
      out << object;
  }
  if (problem)
    return createStringError(problem, "cannot write " + from);
  if (Error error = Linker::get().run(from, to))
    return error;
  auto linked = MemoryBuffer::getFile(to);
  if (!linked)
    return createStringError(linked.getError(), "cannot read " + to);
  return (*linked)->getBuffer().str();
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// The note with the metadata of all kernels.
static Expected<std::string> findMetadata(StringRef hsaco) {
  auto file = object::ELF64LEFile::create(hsaco);
  if (!file)
    return file.takeError();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  for (const auto &segment : *segments) {
    if (segment.p_type != ELF::PT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : file->notes(segment, error))
      if (note.getType() == ELF::NT_AMDGPU_METADATA) {
        consumeError(std::move(error));
        return note.getDescAsStringRef(segment.p_align).str();
      }
    if (error)
      return error;
  }
  return createStringError("expected AMDGPU metadata in a code object, found "
                           "none");
}

Error fa::readResources(StringRef hsaco, std::vector<KernelInfo> &kernels) {
  auto metadata = findMetadata(hsaco);
  if (!metadata)
    return metadata.takeError();
  msgpack::Document document;
  if (!document.readFromBlob(*metadata, /*Multi=*/false))
    return createStringError("expected metadata in MessagePack");
  auto &root = document.getRoot().getMap(/*Convert=*/true);
  for (msgpack::DocNode &node : root["amdhsa.kernels"].getArray(true)) {
    auto &entry = node.getMap(true);
    auto number = [&](StringRef key) -> int64_t {
      msgpack::DocNode &value = entry[key];
      return value.getKind() == msgpack::Type::UInt ? value.getUInt() : 0;
    };
    for (KernelInfo &kernel : kernels) {
      if (entry[".name"].toString() != kernel.symbol)
        continue;
      kernel.registers = number(".vgpr_count");
      kernel.stackBytes = number(".private_segment_fixed_size");
      kernel.spillBytes = 4 * number(".vgpr_spill_count");
      if (number(".group_segment_fixed_size") != kernel.sharedBytes)
        return createStringError("@" + kernel.symbol + ": expected " +
                                 Twine(kernel.sharedBytes) +
                                 " bytes of LDS, the code object has " +
                                 Twine(number(".group_segment_fixed_size")));
    }
  }
  return Error::success();
}

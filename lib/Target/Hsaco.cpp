//===- Hsaco.cpp - code objects of AMD ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hsaco.h"

#include "Linker.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace fa;

Expected<std::string> fa::linkHsaco(StringRef object) {
  return link({"-shared", "--no-undefined"}, object.str());
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

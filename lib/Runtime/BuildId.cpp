//===- BuildId.cpp - which build of a library is this? --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/BuildId.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Alignment.h"
#include "llvm/TargetParser/Host.h"

#include <link.h>

using namespace llvm;
using namespace fa;

namespace {
struct Search {
  ElfW(Addr) address;
  std::string id;
};
} // namespace

/// The id in a segment of notes, each a header, a name and a description.
static std::string findNote(ArrayRef<uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.drop_front(sizeof header);
    size_t name = alignTo<4>(header.n_namesz),
           description = alignTo<4>(header.n_descsz);
    if (name + description > notes.size())
      return "";
    bool isGnu =
        toStringRef(notes.take_front(header.n_namesz)) == StringRef("GNU\0", 4);
    if (isGnu && header.n_type == NT_GNU_BUILD_ID)
      return toHex(notes.slice(name, header.n_descsz), /*LowerCase=*/true);
    notes = notes.drop_front(name + description);
  }
  return "";
}

/// Of dl_iterate_phdr: stops, by a result that is not 0, at the object sought.
static int visit(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  ArrayRef<ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
  bool isHere = llvm::any_of(segments, [&](const ElfW(Phdr) & segment) {
    ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && search.address >= begin &&
           search.address - begin < segment.p_memsz;
  });
  if (!isHere)
    return 0;
  for (const ElfW(Phdr) &segment : segments) {
    if (segment.p_type != PT_NOTE || !search.id.empty())
      continue;
    ElfW(Addr) address = info->dlpi_addr + segment.p_vaddr;
    // The dynamic linker says where a segment lies as a number.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto *bytes = reinterpret_cast<const uint8_t *>(address);
    search.id = findNote(ArrayRef(bytes, segment.p_filesz));
  }
  return 1;
}

std::string fa::buildIdOf(const void *address) {
  Search search{reinterpret_cast<ElfW(Addr)>(address), {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

std::string fa::compilerBuildId() {
  // One address of each; linked statically, all three are the same.
  const void *addresses[] = {
      reinterpret_cast<const void *>(&fa::buildIdOf),
      reinterpret_cast<const void *>(&sys::getProcessTriple),
      reinterpret_cast<const void *>(&mlir::registerMLIRContextCLOptions)};
  std::string ids;
  for (const void *address : addresses) {
    std::string id = buildIdOf(address);
    if (id.empty())
      return "";
    ids += (ids.empty() ? "" : " ") + id;
  }
  return ids;
}

//===- Npy.cpp - NumPy's file format --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;
using namespace fa;

static constexpr StringLiteral kMagic = "\x93NUMPY";

namespace {

struct Header {
  std::string descr;
  bool fortranOrder = false;
  SmallVector<int64_t, 4> shape;
  size_t dataOffset = 0;
};

/// Parses the header's dictionary literal, e.g.
/// {'descr': '<f4', 'fortran_order': False, 'shape': (4, 12, 512, 32), }
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  /// What is wrong, or nothing.
  std::optional<std::string> parse(Header &header) {
    if (!take("{"))
      return found("'{'");
    while (!take("}")) {
      StringRef key;
      if (!takeString(key) || !take(":"))
        return found("a quoted key and ':'");
      if (!seen.insert(key).second)
        return "the key '" + key.str() + "' is there twice";
      if (auto problem = parseValue(key, header))
        return problem;
      take(",");
    }
    if (seen.size() != 3)
      return "expected the keys 'descr', 'fortran_order' and 'shape'";
    return std::nullopt;
  }

private:
  std::optional<std::string> parseValue(StringRef key, Header &header) {
    if (key == "descr") {
      StringRef text;
      if (!takeString(text))
        return found("a type string such as '<f4' (structured types are not "
                     "supported)");
      header.descr = text.str();
    } else if (key == "fortran_order") {
      bool yes = take("True");
      if (!yes && !take("False"))
        return found("True or False");
      header.fortranOrder = yes;
    } else if (key == "shape") {
      if (!take("("))
        return found("'('");
      while (!take(")")) {
        int64_t size;
        rest = rest.ltrim();
        if (rest.consumeInteger(10, size) || size < 0)
          return found("a size of at least 0");
        if (header.shape.size() == 32)
          return std::string("more than 32 dimensions");
        header.shape.push_back(size);
        take(",");
      }
    } else {
      return "unknown key '" + key.str() + "'";
    }
    return std::nullopt;
  }

  bool take(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool takeString(StringRef &text) {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    size_t end = rest.find(rest[0], 1);
    if (end == StringRef::npos)
      return false;
    text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return true;
  }
  std::string found(StringRef expected) {
    return "expected " + expected.str() + ", found '" +
           rest.ltrim().take_front(20).str() + "'";
  }

  StringRef rest;
  StringSet<> seen; ///< keys
};

} // namespace

static std::optional<std::string> parseHeader(StringRef file, Header &header) {
  if (!file.starts_with(kMagic))
    return "expected the magic bytes \\x93NUMPY at its start";
  if (file.size() < 10)
    return "ends inside the header";
  unsigned major = static_cast<uint8_t>(file[6]);
  if (major < 1 || major > 3)
    return "expected format version 1, 2 or 3, found " + std::to_string(major);
  size_t prefix = major == 1 ? 10 : 12;
  if (file.size() < prefix)
    return "ends inside the header";
  size_t length = major == 1
                      ? support::endian::read16le(file.data() + 8)
                      : size_t(support::endian::read32le(file.data() + 8));
  if (length > file.size() - prefix)
    return "its header claims " + std::to_string(length) + " bytes, found " +
           std::to_string(file.size() - prefix);
  header.dataOffset = prefix + length;
  return HeaderParser(file.substr(prefix, length)).parse(header);
}

static std::optional<ElementType>
typeOf(StringRef descr, std::optional<ElementType> voidType, bool takesWords) {
  if (takesWords && descr == "<u4")
    return ElementType::I32;
  static constexpr std::pair<StringLiteral, ElementType> known[] = {
      {"<f2", ElementType::F16}, {"<f4", ElementType::F32},
      {"<f8", ElementType::F64}, {"<i4", ElementType::I32},
      {"<i8", ElementType::I64}, {"|b1", ElementType::I1},
      {"<b1", ElementType::I1}};
  for (auto [text, type] : known)
    if (descr == text)
      return type;
  int64_t bytes = StringSwitch<int64_t>(descr)
                      .Cases({"|V2", "<V2"}, 2)
                      .Cases({"|V1", "<V1"}, 1)
                      .Default(0);
  if (bytes && voidType && byteSize(*voidType) == bytes)
    return voidType;
  return std::nullopt;
}

static Error fileError(StringRef path, const Twine &what) {
  return createStringError(path + ": " + what);
}

Expected<HostTensor> fa::readNpy(StringRef path,
                                 std::optional<ElementType> voidType,
                                 bool takesWords) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fileError(path, buffer.getError().message());
  return parseNpy(path, (*buffer)->getBuffer(), voidType, takesWords);
}

Expected<HostTensor> fa::parseNpy(StringRef path, StringRef file,
                                  std::optional<ElementType> voidType,
                                  bool takesWords) {
  Header header;
  if (auto problem = parseHeader(file, header))
    return fileError(path, "not a .npy file that can be read: " + *problem);
  auto type = typeOf(header.descr, voidType, takesWords);
  if (!type)
    return fileError(path, "element type '" + header.descr +
                               "': expected little-endian f2, f4, f8, i4, i8, "
                               "b1, or V2 or V1 with a type= of that size");
  // Compared before anything is allocated: a header may claim any size.
  int64_t bytes = byteSize(*type);
  for (int64_t size : header.shape)
    if (MulOverflow(bytes, size, bytes))
      return fileError(path, "its shape " + formatSizes(header.shape) +
                                 " overflows 64 bits");
  int64_t present = file.size() - header.dataOffset;
  if (bytes != present)
    return fileError(path, "its header claims " + Twine(bytes) +
                               " bytes of data (" + formatSizes(header.shape) +
                               " of " + name(*type) + "), found " +
                               Twine(present));
  SmallVector<int64_t, 4> inMemory(header.shape);
  if (header.fortranOrder)
    std::reverse(inMemory.begin(), inMemory.end());
  Expected<HostTensor> tensor = HostTensor::create(*type, inMemory);
  if (!tensor)
    return fileError(path, toString(tensor.takeError()));
  if (bytes)
    std::memcpy(tensor->data(), file.data() + header.dataOffset, bytes);
  if (!header.fortranOrder)
    return tensor;
  SmallVector<int64_t, 4> reversed(
      llvm::reverse(llvm::seq<int64_t>(0, inMemory.size())));
  return tensor->permuted(reversed);
}

static StringRef descrOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return "<f2";
  case ElementType::F32:
    return "<f4";
  case ElementType::F64:
    return "<f8";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
    return "<i8";
  case ElementType::I1:
    return "|b1";
  case ElementType::BF16:
    return "|V2";
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return "|V1";
  }
  llvm_unreachable("every element type is handled");
}

static std::string makeHeader(const HostTensor &tensor) {
  std::string shape;
  for (int64_t size : tensor.sizes())
    shape += std::to_string(size) + ",";
  std::string dict = "{'descr': '" + descrOf(tensor.type()).str() +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Data begins at a multiple of 64 bytes, the header ends with a newline.
  size_t total = alignTo(10 + dict.size() + 1, 64);
  dict.append(total - 10 - dict.size() - 1, ' ');
  std::string header = kMagic.str() + std::string("\x01\x00", 2);
  char length[2];
  support::endian::write16le(length, static_cast<uint16_t>(dict.size() + 1));
  header.append(length, 2);
  return header + dict + "\n";
}

Error fa::writeNpy(StringRef path, const HostTensor &tensor) {
  auto temporary = sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temporary)
    return fileError(path, "cannot write: " + toString(temporary.takeError()));
  std::error_code written;
  {
    raw_fd_ostream out(temporary->FD, /*shouldClose=*/false);
    out << makeHeader(tensor);
    int64_t bytes = byteSize(tensor.type());
    tensor.forEach([&](char *p) { out.write(p, bytes); });
    out.flush();
    written = out.error();
    out.clear_error();
  }
  if (written) {
    consumeError(temporary->discard());
    return fileError(path, "cannot write: " + written.message());
  }
  if (Error error = temporary->keep(path)) {
    consumeError(temporary->discard());
    return fileError(path, "cannot write: " + toString(std::move(error)));
  }
  return Error::success();
}

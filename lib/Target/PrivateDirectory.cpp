//===- PrivateDirectory.cpp - files for assemblers and linkers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrivateDirectory.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;

Expected<PrivateDirectory> PrivateDirectory::create() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createUniqueDirectory("flashtile", path))
    return createStringError(error, "cannot create a temporary directory");
  return PrivateDirectory(path);
}

PrivateDirectory::~PrivateDirectory() {
  if (!path.empty())
    if (sys::fs::remove_directories(path))
      return; // a folder that stays is all that can happen
}

std::string PrivateDirectory::file(StringRef name) const {
  SmallString<128> full(path);
  sys::path::append(full, name);
  return full.str().str();
}

Error PrivateDirectory::write(StringRef name, StringRef bytes) const {
  std::error_code error;
  raw_fd_ostream out(file(name), error);
  if (!error) {
    out << bytes;
    out.close();
    error = out.error();
    out.clear_error(); // or the process ends with the stream
  }
  if (error)
    return createStringError(error, "cannot write '" + file(name) +
                                        "': " + error.message());
  return Error::success();
}

Expected<std::string> PrivateDirectory::read(StringRef name) const {
  auto buffer = MemoryBuffer::getFile(file(name));
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read '" + file(name) +
                                 "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

//===- OutputPipe.cpp - what a linker writes, without a file --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputPipe.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace fa;

/// Appends to `text` what comes, until nobody can write any more.
static void readAll(int descriptor, std::string &text) {
  char bytes[65536];
  while (true) {
    ssize_t count = ::read(descriptor, bytes, sizeof bytes);
    if (count > 0)
      text.append(bytes, static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
      break;
  }
  ::close(descriptor);
}

Error OutputPipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC))
    return createStringError(std::error_code(errno, std::generic_category()),
                             "cannot open a pipe");
  writeEnd = ends[1];
  reader = std::thread([this, end = ends[0]] { readAll(end, text); });
  return Error::success();
}

std::string OutputPipe::take() {
  if (reader.joinable()) {
    ::close(writeEnd);
    reader.join();
  }
  return std::move(text);
}

OutputPipe::~OutputPipe() { take(); }

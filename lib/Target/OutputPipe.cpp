//===- OutputPipe.cpp - what a linker writes, without a file --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputPipe.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace llvm;
using namespace fa;

/// Appends to `text` what is in the pipe.
static void drain(int descriptor, std::string &text) {
  char bytes[65536];
  while (true) {
    ssize_t count = ::read(descriptor, bytes, sizeof bytes);
    if (count > 0)
      text.append(bytes, static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
      return;
  }
}

/// Drains the pipe until `written` says that all was written. Its end, which
/// comes when nobody can write any more, may not come: a process forked
/// meanwhile has the descriptors, too.
static void readAll(int descriptor, int written, std::string &text) {
  pollfd both[] = {{descriptor, POLLIN, 0}, {written, POLLIN, 0}};
  do {
    ::poll(both, 2, /*timeout=*/-1);
    drain(descriptor, text);
  } while (!both[1].revents);
}

static Error failOfPipe() {
  return createStringError(std::error_code(errno, std::generic_category()),
                           "cannot open a pipe");
}

Error OutputPipe::open() {
  int ends[2];
  // The writer opens it by its name, and waits where it is full.
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK))
    return failOfPipe();
  readEnd = ends[0];
  writeEnd = ends[1];
  written = ::eventfd(0, EFD_CLOEXEC);
  if (written < 0)
    return failOfPipe();
  reader = std::thread([this] { readAll(readEnd, written, text); });
  return Error::success();
}

std::string OutputPipe::take() {
  if (reader.joinable()) {
    ::eventfd_write(written, 1);
    reader.join();
  }
  return std::move(text);
}

OutputPipe::~OutputPipe() {
  take();
  for (int descriptor : {readEnd, writeEnd, written})
    if (descriptor >= 0)
      ::close(descriptor);
}

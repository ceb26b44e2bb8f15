//===- Linker.cpp - lld in this process -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linker.h"

#include "OptionsAside.h"
#include "OutputPipe.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <list>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace fa;

namespace {

/// The process's one linker.
class Linker {
public:
  static Linker &get() {
    static Linker linker;
    return linker;
  }

  Expected<std::string> run(ArrayRef<const char *> options,
                            ArrayRef<std::string> files) {
    std::lock_guard lock(mutex);
    if (isBroken)
      return createStringError("lld failed before and cannot run again");
    OutputPipe linked;
    if (Error error = linked.open())
      return error;
    std::string to = linked.name(), text;
    raw_string_ostream out(text);
    SmallVector<const char *> arguments = {"ld.lld", "--threads=1", "-o",
                                           to.c_str()};
    append_range(arguments, options);
    for (const std::string &file : files)
      arguments.push_back(file.c_str());
    // What lld sets for the process is set back.
    OptionsAside aside;
    auto strategy = parallel::strategy;
    lld::Result result =
        lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
    parallel::strategy = strategy;
    isBroken = !result.canRunAgain;
    if (result.retCode)
      return createStringError("lld: " + text);
    return linked.take();
  }

private:
  std::mutex mutex;
  bool isBroken = false;
};

} // namespace

namespace {

/// An object that has a path but needs no room on a disk, nor a folder that may
/// be written to: programs that embed the compiler may have neither.
class MemoryFile {
public:
  MemoryFile() = default;
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  Error write(StringRef name, StringRef bytes) {
    std::error_code error;
    descriptor = ::memfd_create(name.str().c_str(), MFD_CLOEXEC);
    if (descriptor < 0) {
      error = std::error_code(errno, std::generic_category());
    } else {
      raw_fd_ostream out(descriptor, /*shouldClose=*/false);
      out << bytes;
      out.flush();
      error = out.error();
      out.clear_error(); // or the process ends with the stream
    }
    if (error)
      return createStringError(error, "cannot write '" + name +
                                          "' to memory: " + error.message());
    return Error::success();
  }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor = -1;
};

} // namespace

Expected<std::string> fa::link(ArrayRef<const char *> options,
                               ArrayRef<std::string> objects) {
  std::list<MemoryFile> files;
  std::vector<std::string> paths;
  for (auto [number, object] : enumerate(objects)) {
    MemoryFile &file = files.emplace_back();
    if (Error error =
            file.write("kernel" + std::to_string(number) + ".o", object))
      return error;
    paths.push_back(file.path());
  }
  return Linker::get().run(options, paths);
}

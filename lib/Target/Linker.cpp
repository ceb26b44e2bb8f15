//===- Linker.cpp - lld in this process -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linker.h"

#include "OptionsAside.h"
#include "OutputPipe.h"
#include "PrivateDirectory.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Parallel.h"

#include <mutex>

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

Expected<std::string> fa::link(ArrayRef<const char *> options,
                               ArrayRef<std::string> objects) {
  auto directory = PrivateDirectory::create();
  if (!directory)
    return directory.takeError();
  std::vector<std::string> files;
  for (auto [number, object] : enumerate(objects)) {
    std::string name = "kernel" + std::to_string(number) + ".o";
    if (Error error = directory->write(name, object))
      return error;
    files.push_back(directory->file(name));
  }
  return Linker::get().run(options, files);
}

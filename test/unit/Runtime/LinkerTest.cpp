//===- LinkerTest.cpp - lld in the host program's process -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linker.h"

#include "fa/Runtime/ReadProgram.h"
#include "fa/Target/Compile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CommandLine.h"

#include "gtest/gtest.h"

#include <csignal>
#include <sys/mman.h>

using namespace llvm;

namespace {

/// A code object of a small attention, which lld links.
std::string linkOne() {
  fa::AttentionProblem problem;
  problem.type = fa::ElementType::F16;
  problem.headDim = problem.headDimV = 64;
  auto program = fa::buildProgram(problem, "", "");
  if (!program)
    return toString(program.takeError());
  fa::CompileOptions options;
  options.arch = "gfx942";
  auto artifact = fa::compile(*program->module, program->entry, options);
  if (!artifact)
    return toString(artifact.takeError());
  return artifact->object.substr(1, 3);
}

/// Memory that nobody may touch while it is closed.
class Page {
public:
  Page()
      : memory(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Page() { munmap(memory, size); }
  void *get() const { return memory; }
  void close() const { EXPECT_EQ(mprotect(memory, size, PROT_NONE), 0); }
  void open() const {
    EXPECT_EQ(mprotect(memory, size, PROT_READ | PROT_WRITE), 0);
  }

private:
  static constexpr size_t size = 65536;
  void *memory;
};

} // namespace

/// Linking changes no handler of the host program's. (LLVM's would be there for
/// good after the first.)
TEST(Linker, LeavesSignalsAlone) {
  EXPECT_EQ(linkOne(), "ELF");
  for (int number : {SIGHUP, SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGPIPE}) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    EXPECT_TRUE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        << number;
  }
}

/// lld sets every option of LLVM's command line back. Those of the host program
/// keep their values, and those whose library is gone are not touched.
TEST(Linker, LeavesOptionsAlone) {
  Page page;
  cl::opt<int> mine("fa-test-mine", cl::init(1));
  auto *gone = new (page.get()) cl::opt<int>("fa-test-gone", cl::init(1));
  const char *line[] = {"test", "--fa-test-mine=7", "--fa-test-gone=8"};
  ASSERT_TRUE(cl::ParseCommandLineOptions(3, line, "", &nulls()));
  page.close();
  EXPECT_EQ(linkOne(), "ELF");
  page.open();
  EXPECT_EQ(mine, 7);
  EXPECT_EQ(*gone, 8);
  EXPECT_EQ(cl::getRegisteredOptions().lookup("fa-test-mine"), &mine);
  EXPECT_EQ(cl::getRegisteredOptions().lookup("fa-test-gone"), gone);
  // The twin: what lld does without that.
  cl::ResetAllOptionOccurrences();
  EXPECT_EQ(mine, 1);
  std::destroy_at(gone);
}

/// A host program's kernels are compiled side by side, each to an object, of
/// which one is made. The twin: what is defined twice is an error, after which
/// lld still links.
TEST(Linker, MakesOneObjectOfSeveral) {
  fa::AttentionProblem problem;
  problem.seqQ = 1;
  auto program = fa::buildProgram(problem, "", "");
  ASSERT_TRUE(bool(program));
  auto artifact = cantFail(fa::compile(*program->module, program->entry, {}));
  ASSERT_GT(artifact.kernels.size(), 1u);
  auto object = cantFail(object::ObjectFile::createObjectFile(
      MemoryBufferRef(artifact.object, "kernels")));
  for (const fa::KernelInfo &kernel : artifact.kernels)
    EXPECT_TRUE(any_of(object->symbols(), [&](object::SymbolRef symbol) {
      return cantFail(symbol.getName()) == kernel.symbol;
    })) << kernel.symbol;
  auto twice = fa::link({"-r"}, {artifact.object, artifact.object});
  ASSERT_FALSE(bool(twice));
  EXPECT_NE(toString(twice.takeError()).find("duplicate symbol"),
            std::string::npos);
  EXPECT_FALSE(cantFail(fa::link({"-r"}, {artifact.object})).empty());
}

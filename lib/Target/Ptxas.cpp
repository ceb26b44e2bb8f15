//===- Ptxas.cpp - NVIDIA's assembler as a program ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "CompileSteps.h"
#include "PrivateDirectory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <thread>

using namespace llvm;
using namespace fa;

/// What a process ended with: its exit status, or an error if it has none.
static Expected<int> readStatus(int status) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  return createStringError("it was ended by signal " + Twine(WTERMSIG(status)));
}

/// Waits for `process`, whose exit status is the result. LLVM's own function
/// sets the host program's alarm clock, and cannot be cancelled.
static Expected<int> waitFor(const sys::ProcessInfo &process,
                             const CompileOptions &options) {
  using namespace std::chrono;
  auto begin = steady_clock::now(), asked = begin;
  while (true) {
    int status;
    pid_t found = ::waitpid(process.Pid, &status, WNOHANG);
    if (found == process.Pid)
      return readStatus(status);
    if (found < 0 && errno != EINTR)
      return createStringError(std::error_code(errno, std::generic_category()),
                               "its end cannot be waited for");
    auto now = steady_clock::now();
    if (now - asked >= milliseconds(20)) {
      asked = now;
      if (Error error = now - begin > minutes(5)
                            ? createStringError("no end within 5 minutes")
                            : beginPhase(options, "assembly")) {
        ::kill(process.Pid, SIGKILL);
        ::waitpid(process.Pid, &status, 0);
        return error;
      }
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// Runs the assembler; its messages are the result, or the error's text.
static Expected<std::string> runPtxas(StringRef program,
                                      ArrayRef<StringRef> arguments,
                                      const PrivateDirectory &directory,
                                      const CompileOptions &options) {
  std::string messages = directory.file("messages");
  SmallVector<StringRef> all = {program};
  append_range(all, arguments);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages),
                                          StringRef(messages)};
  std::string problem;
  bool failed = false;
  sys::ProcessInfo process =
      sys::ExecuteNoWait(program, all, std::nullopt, redirects,
                         /*MemoryLimit=*/0, &problem, &failed);
  if (failed)
    return createStringError("cannot run '" + program + "': " + problem);
  auto rc = waitFor(process, options);
  if (!rc) {
    Error error = rc.takeError();
    if (error.isA<CancelledError>())
      return error;
    return createStringError("cannot run '" + program +
                             "': " + toString(std::move(error)));
  }
  auto text = directory.read("messages");
  if (text && *rc != 0)
    return createStringError("'" + program + "' failed:\n" + *text);
  return text;
}

/// The number before `unit` in a line of the report, or -1.
static int64_t numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return -1;
  StringRef words = line.take_front(end).rtrim();
  int64_t number;
  return words.substr(words.find_last_of(" :") + 1).getAsInteger(10, number)
             ? -1
             : number;
}

/// Reads registers, stack and spills of each kernel.
static Error readReport(StringRef report, Artifact &artifact) {
  KernelInfo *kernel = nullptr;
  SmallVector<StringRef> lines;
  report.split(lines, '\n');
  for (StringRef line : lines) {
    // Spills are counted below, and for the user to know.
    bool isSlow = line.contains("(C75"); // dots one by one, registers kept
    if ((line.contains("warning") && !line.contains("spilled")) || isSlow)
      return createStringError("ptxas: " + line.trim() +
                               (isSlow ? "; a smaller --tile helps" : ""));
    if (line.contains("Compiling entry function '")) {
      StringRef name = line.split('\'').second.split('\'').first;
      auto it = find_if(artifact.kernels, [&](const KernelInfo &info) {
        return info.symbol == name;
      });
      kernel = it == artifact.kernels.end() ? nullptr : &*it;
    }
    if (!kernel)
      continue;
    if (int64_t bytes = numberBefore(line, "bytes stack frame"); bytes >= 0) {
      kernel->stackBytes = bytes;
      kernel->spillBytes = numberBefore(line, "bytes spill stores");
    }
    if (int64_t count = numberBefore(line, "registers"); count >= 0)
      kernel->registers = count;
  }
  return Error::success();
}

/// The assembler's path; "": there is none.
static std::string findPtxas(const CompileOptions &options) {
  if (options.ptxas == "none")
    return "";
  if (!options.ptxas.empty())
    return options.ptxas;
  auto found = sys::findProgramByName("ptxas");
  return found ? *found : "";
}

/// "13.0, V13.0.88".
static Expected<std::string> askVersion(StringRef program,
                                        const PrivateDirectory &directory,
                                        const CompileOptions &options) {
  auto version = runPtxas(program, {"--version"}, directory, options);
  if (!version)
    return version.takeError();
  StringRef release = StringRef(*version).split("release ").second;
  return release.take_until([](char c) { return c == '\n'; }).str();
}

/// Since when ptxas has the option was not found out: 13.0 to 13.5 were tried.
static bool knowsSplitCompile(StringRef version) {
  unsigned major;
  return !version.consumeInteger(10, major) && major >= 13;
}

Expected<std::string> fa::assemblerVersion(const CompileOptions &options) {
  if (!isNvidiaArch(options.arch))
    return ("LLVM " + llvmVersion()).str();
  std::string program = findPtxas(options);
  if (program.empty())
    return "driver";
  auto directory = PrivateDirectory::create();
  if (!directory)
    return directory.takeError();
  return askVersion(program, *directory, options);
}

Error fa::assemble(Artifact &artifact, const CompileOptions &options) {
  if (Error error = beginPhase(options, "assembly"))
    return error;
  std::string program = findPtxas(options);
  if (program.empty())
    return Error::success();
  auto directory = PrivateDirectory::create();
  if (!directory)
    return directory.takeError();
  std::string source = directory->file("kernels.ptx"),
              cubin = directory->file("kernels.cubin");
  if (Error error = directory->write("kernels.ptx", artifact.ptx))
    return error;
  auto version = askVersion(program, *directory, options);
  if (!version)
    return version.takeError();
  SmallVector<StringRef> arguments = {
      "-arch", artifact.arch, "-v", "--warn-on-spills", "-o", cubin, source};
  // Kernels side by side, on all processors: the same code, sooner.
  if (knowsSplitCompile(*version))
    append_range(arguments, ArrayRef<StringRef>{"--split-compile", "0"});
  auto report = runPtxas(program, arguments, *directory, options);
  if (!report)
    return report.takeError();
  artifact.assembler = std::move(*version);
  auto object = directory->read("kernels.cubin");
  if (!object)
    return object.takeError();
  artifact.object = std::move(*object);
  return readReport(*report, artifact);
}

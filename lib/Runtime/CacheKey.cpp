//===- CacheKey.cpp - what decides the code of a program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CacheKey.h"

#include "fa/Runtime/BuildId.h"
#include "fa/Target/HostInfo.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;
using namespace fa;

std::string CacheKey::hash() const {
  return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

/// The assembler by its file's name, size and time: asking it for its version
/// would take longer than everything else of a hit.
static Expected<std::string> identifyAssembler(StringRef ptxas) {
  if (ptxas == "none")
    return "none";
  std::string path = ptxas.str();
  if (path.empty()) {
    auto found = sys::findProgramByName("ptxas");
    if (!found)
      return "none";
    path = *found;
  }
  SmallString<128> real;
  sys::fs::file_status status;
  std::error_code error = sys::fs::real_path(path, real);
  if (!error)
    error = sys::fs::status(real, status);
  if (error)
    return createStringError(error,
                             "cannot run '" + path + "': " + error.message());
  auto time = status.getLastModificationTime().time_since_epoch().count();
  return (real + " " + Twine(status.getSize()) + " " + Twine(time)).str();
}

/// What the code is for: a card's architecture and its assembler, if that is
/// not part of the build, or a CPU with its features.
static Error printTarget(StringRef arch, StringRef ptxas, raw_ostream &out) {
  if (isNvidiaArch(arch)) {
    auto assembler = identifyAssembler(ptxas);
    if (!assembler)
      return assembler.takeError();
    out << "cuda " << arch << "\nassembler " << *assembler << "\n";
    return Error::success();
  }
  if (isAmdArch(arch)) {
    out << "hip " << arch << "\n";
    return Error::success();
  }
  InitializeNativeTarget();
  auto host = getHostInfo(arch);
  if (!host)
    return host.takeError();
  out << "cpu " << host->triple << " " << host->cpu << " " << host->features
      << "\n";
  return Error::success();
}

Expected<CacheKey> fa::makeCacheKey(mlir::ModuleOp module, StringRef entry,
                                    const CompileOptions &options) {
  std::string program;
  raw_string_ostream out(program);
  module.print(out);
  return makeCacheKey(program, entry, options);
}

Expected<CacheKey> fa::makeCacheKey(StringRef program, StringRef entry,
                                    const CompileOptions &options) {
  std::string build = compilerBuildId();
  if (build.empty())
    return createStringError("this build has no build id (-Wl,--build-id)");
  // An option that is added later does not compile before it is taken up here.
  const auto &[arch, asked, tuning, dies, ptxas, emulate, hostCpu, mutate,
               fusion, plans, kernels, progress] = options;
  const auto &[assumeNoEmptyRows, allowNoMax, differentiate] = fusion;
  (void)progress; // changes nothing of the code
  CacheKey key;
  raw_string_ostream out(key.text);
  out << "build " << build << "\n";
  if (Error error = printTarget(arch, ptxas, out))
    return error;
  out << "asked " << printConstraints(asked) << "\ntuning "
      << (tuning.empty() ? "none" : tuning) << "\ndies " << dies << "\nemulate "
      << emulate << "\nhost-cpu " << (emulate ? StringRef(hostCpu) : "none")
      << "\nmutate " << mutate << "\nassume-no-empty-rows " << assumeNoEmptyRows
      << "\nallow-no-max " << allowNoMax << "\ndifferentiate " << differentiate
      << "\nplans " << plans << "\nkernels "
      << (kernels.empty() ? "all" : join(kernels, " ")) << "\nentry " << entry
      << "\n"
      << program;
  return key;
}

//===- TestBundle.cpp - a bundle for tests --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestBundle.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Target/Compile.h"

using namespace fa;
using namespace fa::test;

std::vector<Artifact> fa::test::compileFor(std::vector<std::string> archs) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  AttentionProblem problem =
      llvm::cantFail(parseAttentionSpec("type=f16 d=64")).problem;
  std::vector<Artifact> artifacts;
  for (const std::string &arch : archs) {
    auto module = llvm::cantFail(buildAttention(context, problem));
    CompileOptions options;
    options.arch = arch;
    options.ptxas = "none";
    artifacts.push_back(llvm::cantFail(compile(*module, "attention", options)));
  }
  return artifacts;
}

const std::vector<BundleFile> &fa::test::attentionBundle() {
  static const std::vector<BundleFile> files =
      llvm::cantFail(makeBundle(compileFor({"sm_80", "sm_90"})));
  return files;
}

std::string &fa::test::fileNamed(std::vector<BundleFile> &files,
                                 std::string_view name) {
  for (BundleFile &file : files)
    if (file.name == name)
      return file.bytes;
  llvm::report_fatal_error("the test's bundle has no such file");
}

Result<Bundle> fa::test::read(const std::vector<BundleFile> &files) {
  return readBundle([&](const std::string &name) -> Result<std::string> {
    for (const BundleFile &file : files)
      if (file.name == name)
        return file.bytes;
    return makeFailure("no file '", name, "'");
  });
}

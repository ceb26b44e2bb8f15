//===- TestBundle.h - a bundle for tests ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_LOADER_TESTBUNDLE_H
#define FA_TEST_UNIT_LOADER_TESTBUNDLE_H

#include "fa/Loader/Bundle.h"
#include "fa/Target/Bundle.h"

namespace fa::test {

/// Attention of f16, D 64, as PTX for each of `archs`.
std::vector<Artifact> compileFor(std::vector<std::string> archs);

/// The bundle of `compileFor({"sm_80", "sm_90"})`, made once.
const std::vector<BundleFile> &attentionBundle();

/// The text of a file of the bundle.
std::string &fileNamed(std::vector<BundleFile> &files, std::string_view name);

/// Reads `files`.
Result<Bundle> read(const std::vector<BundleFile> &files);

} // namespace fa::test

#endif // FA_TEST_UNIT_LOADER_TESTBUNDLE_H

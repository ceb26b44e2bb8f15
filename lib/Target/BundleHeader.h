//===- BundleHeader.h - a bundle as a C header ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_BUNDLEHEADER_H
#define FA_LIB_TARGET_BUNDLEHEADER_H

#include "fa/Target/Bundle.h"

namespace fa {

/// A header that says in comments what a launch is given, and holds `files` as
/// arrays for faBundleOpenEmbedded. Kernels for CPUs are declared: the program
/// links their object file.
std::string bundleHeader(llvm::ArrayRef<Artifact> artifacts,
                         llvm::ArrayRef<BundleFile> files);

} // namespace fa

#endif // FA_LIB_TARGET_BUNDLEHEADER_H

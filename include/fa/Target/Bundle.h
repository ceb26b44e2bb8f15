//===- Bundle.h - artifacts as files of an application ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/ahead-of-time.md describes the format; lib/Loader reads it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_BUNDLE_H
#define FA_TARGET_BUNDLE_H

#include "fa/Target/Artifact.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace fa {

struct BundleFile {
  std::string name, bytes;
};

/// The files of a bundle: the code of each artifact, the metadata, and a C
/// header with both as arrays. All artifacts are of one program.
llvm::Expected<std::vector<BundleFile>>
makeBundle(llvm::ArrayRef<Artifact> artifacts);

/// The metadata alone, of one artifact.
llvm::Expected<std::string> makeBundleMetadata(const Artifact &artifact);

/// The code of an artifact that a bundle carries: its object, cubin or code
/// object or, where there is none, its PTX.
const std::string &codeOf(const Artifact &artifact);

/// Writes `files` into `directory`, which is created if it is not there. The
/// metadata come last: a bundle that has them is complete.
llvm::Error writeBundle(llvm::StringRef directory,
                        llvm::ArrayRef<BundleFile> files);

} // namespace fa

#endif // FA_TARGET_BUNDLE_H

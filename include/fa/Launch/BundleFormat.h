//===- BundleFormat.h - what writer and reader of a bundle share *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/ahead-of-time.md describes the format.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_BUNDLEFORMAT_H
#define FA_LAUNCH_BUNDLEFORMAT_H

#include <cstdint>

namespace fa {

/// Counts up with every change that an older reader would misunderstand.
inline constexpr int64_t kBundleVersion = 12, kOldestBundleVersion = 2;

/// The first version whose targets for cards say what launches cost.
inline constexpr int64_t kCostsVersion = 4;

/// The file with the metadata.
inline constexpr char kBundleMetadata[] = "bundle.json";

/// The one rule that picks a variant: the first kernel that fits.
inline constexpr char kBundleSelection[] = "first-fit";

} // namespace fa

#endif // FA_LAUNCH_BUNDLEFORMAT_H

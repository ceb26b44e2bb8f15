//===- Bundle.h - compiled kernels, read from files -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LOADER_BUNDLE_H
#define FA_LOADER_BUNDLE_H

#include "fa/Launch/KernelInfo.h"
#include "fa/Support/LaunchCosts.h"

namespace fa {

/// Code for one architecture, and its plan.
struct BundleTarget {
  std::string target;              ///< "cuda", "hip" or "cpu"
  std::string arch;                ///< "sm_80"
  std::string features;            ///< of a CPU, as LLVM spells them
  std::string assembler;           ///< version of ptxas; empty: none ran
  std::string form;                ///< "cubin", "ptx", "hsaco" or "object"
  std::string file;                ///< where the code is
  int64_t computeCapability = 0;   ///< 80; 0 if not of NVIDIA
  bool archSpecific = false;       ///< runs on this compute capability alone
  int64_t bytes = 0;               ///< of the code
  std::string sum;                 ///< of the code: `checksum`
  std::vector<KernelInfo> kernels; ///< the first that fits a launch is taken
  LaunchCosts costs; ///< of code for a card: with which it chooses
  std::string code;
};

struct Bundle {
  std::string metadata; ///< the text of bundle.json
  std::string entry;
  std::vector<BundleTarget> targets;

  /// The best code for a card of this compute capability, or null. Cubins run
  /// within their major version, from their own minor version on; PTX on
  /// everything that is not older; code of an architecture with its own
  /// features (sm_90a) there alone (CUDA C++ Programming Guide, "Binary
  /// Compatibility", "PTX Compatibility").
  const BundleTarget *findCudaTarget(int64_t computeCapability) const;
  /// The code for AMD cards of this architecture, or null: a code object runs
  /// on its own alone (LLVM, "User Guide for AMDGPU Backend", "Processors").
  const BundleTarget *findHipTarget(std::string_view arch) const {
    return findTarget("hip", arch);
  }
  /// The code for CPUs, or null.
  const BundleTarget *findHostTarget() const { return findTarget("cpu", ""); }
  /// "sm_80, sm_90".
  std::string listArchs() const;

private:
  /// The first of a kind and of an architecture (empty: any), or null.
  const BundleTarget *findTarget(std::string_view name,
                                 std::string_view arch) const;
};

/// Gives the bytes of a bundle's file by name.
using ReadBundleFile =
    std::function<Result<std::string>(const std::string &name)>;

/// Reads a bundle. Its files are not trusted to be complete or as they were
/// written: what is wrong is a failure that names the file.
Result<Bundle> readBundle(const ReadBundleFile &read);

/// The metadata alone, without the code.
Result<Bundle> parseBundleMetadata(std::string text);

/// Reads files of `directory`.
ReadBundleFile readFromDirectory(std::string directory);

} // namespace fa

#endif // FA_LOADER_BUNDLE_H

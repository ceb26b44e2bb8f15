//===- LoadedBundle.h - a bundle on its devices -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LOADER_LOADEDBUNDLE_H
#define FA_LIB_LOADER_LOADEDBUNDLE_H

#include "fa/Launch/ContextOptions.h"
#include "fa/Launch/GpuModule.h"
#include "fa/Launch/HostLaunch.h"
#include "fa/Launch/TargetName.h"
#include "fa/Loader/Bundle.h"
#include "fa/bundle.h"

#include <mutex>

namespace fa {

/// faBundleOptions, checked.
struct PrepareOptions {
  TargetName target = {.driver = DriverKind::Cuda};
  std::string driver; ///< the library; empty: where it is found
  bool checkPointers = false;
  faContextOptions host = {};
  std::span<const faBundleFunction> functions;
};

/// Kernels where they run. Safe to use from several threads.
class BundlePlan {
public:
  virtual ~BundlePlan() = default;
  /// What a launch with these arguments and this workspace runs on `stream`.
  virtual Result<LaunchChoice> choose(std::span<const LaunchArgument> arguments,
                                      const Workspace &workspace,
                                      void *stream) const = 0;
  /// Launches what `choose` gave.
  virtual Failure launch(const LaunchChoice &choice,
                         std::span<const LaunchArgument> arguments,
                         const Workspace &workspace, void *stream) const = 0;
};

/// A bundle and the modules of it that are loaded. Safe to use from several
/// threads.
class LoadedBundle {
public:
  explicit LoadedBundle(Bundle bundle) : bundle(std::move(bundle)) {}
  const std::string &metadata() const { return bundle.metadata; }

  Result<std::unique_ptr<BundlePlan>> prepare(const PrepareOptions &options);

private:
  Result<std::unique_ptr<BundlePlan>>
  prepareOnHost(const PrepareOptions &options) const;
  Result<std::shared_ptr<const GpuModule>>
  findModule(const PrepareOptions &options);

  /// A module as long as a plan uses it.
  struct CardModule {
    DriverKind kind;
    std::string driver;
    int card;
    std::weak_ptr<const GpuModule> module;
  };

  const Bundle bundle;
  std::mutex mutex; ///< of `modules`
  std::vector<CardModule> modules;
};

} // namespace fa

#endif // FA_LIB_LOADER_LOADEDBUNDLE_H

//===- CApi.cpp - the C interface of flashtile-rt -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/bundle.h"

#include "LoadedBundle.h"

#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/LaunchOptions.h"

using namespace fa;

struct faBundleImpl {
  explicit faBundleImpl(Bundle bundle) : bundle(std::move(bundle)) {}
  LoadedBundle bundle;
};

struct faBundlePlanImpl {
  std::unique_ptr<BundlePlan> plan;
};

static thread_local std::string lastError;

const char *faBundleGetLastErrorMessage(void) noexcept {
  return lastError.c_str();
}

static faStatus report(faStatus status, const Failure &failure) {
  lastError = failure.message();
  return status;
}

static faStatus refuse(const auto &...parts) {
  return report(FA_ERROR_INVALID_ARGUMENT, makeFailure(parts...));
}

//===----------------------------------------------------------------------===//
// Bundles
//===----------------------------------------------------------------------===//

static faStatus open(const ReadBundleFile &read, faBundle *bundle) {
  auto opened = readBundle(read);
  if (!opened)
    return report(FA_ERROR_INVALID_ARGUMENT, opened.takeFailure());
  *bundle = new faBundleImpl(std::move(*opened));
  return FA_SUCCESS;
}

faStatus faBundleOpen(const char *directory, faBundle *bundle) noexcept {
  if (bundle)
    *bundle = nullptr;
  if (!directory || !bundle)
    return refuse("faBundleOpen: expected a folder and a place for the bundle, "
                  "found null");
  return open(readFromDirectory(directory), bundle);
}

static Failure checkFiles(const faBundleFile *files, size_t count) {
  for (size_t n = 0; n < count; ++n)
    if (!files[n].name || (!files[n].data && files[n].size))
      return makeFailure("faBundleOpenEmbedded: file ", n,
                         ": expected a name and bytes, found null");
  return {};
}

faStatus faBundleOpenEmbedded(const faBundleFile *files, size_t count,
                              faBundle *bundle) noexcept {
  if (bundle)
    *bundle = nullptr;
  if (!bundle || (!files && count))
    return refuse("faBundleOpenEmbedded: expected files and a place for the "
                  "bundle, found null");
  if (Failure failure = checkFiles(files, count))
    return report(FA_ERROR_INVALID_ARGUMENT, failure);
  return open(
      [&](const std::string &name) -> Result<std::string> {
        for (size_t n = 0; n < count; ++n)
          if (name == files[n].name)
            return std::string(static_cast<const char *>(files[n].data),
                               files[n].size);
        return makeFailure("expected the file '", name, "', found none in ",
                           count);
      },
      bundle);
}

void faBundleClose(faBundle bundle) noexcept { delete bundle; }

const char *faBundleDescribe(faBundle bundle) noexcept {
  return bundle ? bundle->bundle.metadata().c_str() : "";
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The options as lib/Loader takes them.
static Result<PrepareOptions> readOptions(const faBundleOptions *options) {
  PrepareOptions result;
  if (!options)
    return result;
  if (options->size != sizeof(faBundleOptions))
    return makeFailure("faBundleOptions: expected size ",
                       sizeof(faBundleOptions), ", found ", options->size);
  if (!options->functions && options->numFunctions)
    return makeFailure("faBundleOptions: expected functions, found null");
  if (options->target) {
    auto target = parseTargetName(options->target);
    if (!target)
      return makeFailure("faBundleOptions: ", target.takeFailure().message());
    result.target = *target;
  }
  auto host = readContextOptions(options->host);
  if (!host)
    return host.takeFailure();
  result.host = *host;
  if (options->driver)
    result.driver = options->driver;
  result.checkPointers = options->checkPointers;
  result.functions = std::span(options->functions, options->numFunctions);
  return result;
}

faStatus faBundlePrepare(faBundle bundle, const faBundleOptions *options,
                         faBundlePlan *plan) noexcept {
  if (plan)
    *plan = nullptr;
  if (!bundle || !plan)
    return refuse("faBundlePrepare: expected a bundle and a place for the "
                  "plan, found null");
  auto how = readOptions(options);
  if (!how)
    return report(FA_ERROR_INVALID_ARGUMENT, how.takeFailure());
  auto prepared = bundle->bundle.prepare(*how);
  if (!prepared)
    return report(FA_ERROR_DEVICE, prepared.takeFailure());
  *plan = new faBundlePlanImpl{std::move(*prepared)};
  return FA_SUCCESS;
}

void faBundlePlanDestroy(faBundlePlan plan) noexcept { delete plan; }

/// Launches on arguments as the caller gave them.
static faStatus launchWith(const BundlePlan &plan, const LaunchOptions &options,
                           const faArgument *arguments, size_t count) {
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return report(FA_ERROR_INVALID_ARGUMENT, failure);
  auto choice = plan.choose(converted.get(), options.workspace, options.stream);
  if (!choice)
    return report(FA_ERROR_INVALID_ARGUMENT, choice.takeFailure());
  if (Failure failure = plan.launch(*choice, converted.get(), options.workspace,
                                    options.stream))
    return report(FA_ERROR_DEVICE, failure);
  return FA_SUCCESS;
}

faStatus faBundlePlanLaunch(faBundlePlan plan, void *stream,
                            const faArgument *arguments,
                            size_t count) noexcept {
  if (!plan || (!arguments && count))
    return refuse("faBundlePlanLaunch: expected a plan and arguments, found "
                  "null");
  return launchWith(*plan->plan, {stream, {}}, arguments, count);
}

faStatus faBundlePlanLaunchWith(faBundlePlan plan,
                                const faLaunchOptions *options,
                                const faArgument *arguments,
                                size_t count) noexcept {
  if (!plan || !options || (!arguments && count))
    return refuse("faBundlePlanLaunchWith: expected a plan, options and "
                  "arguments, found null");
  auto how = readLaunchOptions(*options);
  if (!how)
    return report(FA_ERROR_INVALID_ARGUMENT, how.takeFailure());
  return launchWith(*plan->plan, *how, arguments, count);
}

faStatus faBundlePlanGetLaunchInfo(faBundlePlan plan,
                                   const faArgument *arguments, size_t count,
                                   faLaunchInfo *info) noexcept {
  if (!plan || !info || (!arguments && count))
    return refuse("faBundlePlanGetLaunchInfo: expected a plan, arguments and a "
                  "place for the description, found null");
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return report(FA_ERROR_INVALID_ARGUMENT, failure);
  auto choice = plan->plan->choose(converted.get(), Workspace::any(), nullptr);
  if (!choice)
    return report(FA_ERROR_INVALID_ARGUMENT, choice.takeFailure());
  if (Failure failure = writeLaunchInfo(*choice, info))
    return report(FA_ERROR_INVALID_ARGUMENT, failure);
  return FA_SUCCESS;
}

/*===- bundle.h - kernels compiled ahead of time ------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* libflashtile-rt: opens what `fa-run --emit=bundle` wrote and launches it;
|* there is no compiler in the process. Types and conventions are those of
|* fa.h, of whose functions this library has none. docs/ahead-of-time.md
|* describes bundles.
|*
\*===----------------------------------------------------------------------===*/

#ifndef FA_BUNDLE_H
#define FA_BUNDLE_H

#include "fa/fa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong in the last call of a faBundle function on this thread that
 * failed; "" if none did. Valid until this thread's next call. */
FA_API const char *faBundleGetLastErrorMessage(void) FA_NOEXCEPT;

/*===--- Bundles ----------------------------------------------------------===*/

/* A bundle that was read. It does not change: several threads may use it at the
 * same time. */
typedef struct faBundleImpl *faBundle;

/* A file of a bundle in memory; generated headers have arrays of them. */
typedef struct faBundleFile {
  const char *name;
  const void *data;
  size_t size; /* bytes */
} faBundleFile;

/* Reads the bundle in a folder. Files that are missing, cut short, changed or
 * of another version are FA_ERROR_INVALID_ARGUMENT, with the file's name. The
 * caller closes the bundle. May be called from several threads. */
FA_API faStatus faBundleOpen(const char *directory,
                             faBundle *bundle) FA_NOEXCEPT;

/* The same from memory, which is not used any more after the call. */
FA_API faStatus faBundleOpenEmbedded(const faBundleFile *files, size_t count,
                                     faBundle *bundle) FA_NOEXCEPT;

/* Null is fine. Plans of the bundle stay as they are. No other thread uses the
 * bundle at this time. */
FA_API void faBundleClose(faBundle bundle) FA_NOEXCEPT;

/* The metadata, JSON; owned by the bundle. May be called from several
 * threads. */
FA_API const char *faBundleDescribe(faBundle bundle) FA_NOEXCEPT;

/*===--- Plans ------------------------------------------------------------===*/

/* A bundle's kernels, loaded where they run. */
typedef struct faBundlePlanImpl *faBundlePlan;

/* A kernel for CPUs, linked into the program; generated headers have arrays of
 * them. */
typedef void (*faHostKernel)(int64_t, int64_t, int64_t, const int64_t *,
                             void *);
typedef struct faBundleFunction {
  const char *symbol;
  faHostKernel function;
} faBundleFunction;

typedef struct faBundleOptions {
  size_t size;        /* sizeof(faBundleOptions) */
  const char *target; /* as in fa.h; null: "cuda" */
  /* Of a card: the driver's library; null: as in fa.h. */
  const char *driver;
  /* Of a card: not 0: every launch asks the driver whether the card can reach
   * the tensors, one question each, and refuses memory of the host alone. */
  int32_t checkPointers;
  /* cpu: the threads, as in fa.h; null: all cores. */
  const faContextOptions *host;
  /* cpu: the kernels that were linked in. */
  const faBundleFunction *functions;
  size_t numFunctions;
} faBundleOptions;

/* Loads the bundle's kernels on a card: opens the driver, retains the card's
 * primary context (of CUDA) and picks the code for its architecture. The code
 * is loaded once a card, however many plans there are. What the caller has as
 * current context or device stays so. `options` may be null. FA_ERROR_DEVICE
 * says what the card, the driver or the bundle lacks. The caller destroys the
 * plan. May be called from several threads. */
FA_API faStatus faBundlePrepare(faBundle bundle, const faBundleOptions *options,
                                faBundlePlan *plan) FA_NOEXCEPT;

/* Null is fine. Waits for nothing: the caller sees to it that no launch of the
 * plan is under way, on the card or in another thread. */
FA_API void faBundlePlanDestroy(faBundlePlan plan) FA_NOEXCEPT;

/* Checks the arguments against the plan, picks the variant that needs no
 * workspace and enqueues it on `stream`, a CUstream of the card's primary
 * context or a hipStream_t (null: the default stream). Tensors are in the
 * card's memory. Nothing is allocated, opened or waited for, so that it is
 * legal while a graph is captured; a grid without programs launches nothing.
 * cpu: `stream` is null; runs, and returns when the outputs are written.
 * Arguments that do not fit are FA_ERROR_INVALID_ARGUMENT and nothing was
 * launched. May be called from several threads. */
FA_API faStatus faBundlePlanLaunch(faBundlePlan plan, void *stream,
                                   const faArgument *arguments,
                                   size_t count) FA_NOEXCEPT;

/* faPlanGetLaunchInfo and faPlanEnqueueWith of fa.h for bundles. cpu: no launch
 * wants workspace. May be called from several threads. */
FA_API faStatus faBundlePlanGetLaunchInfo(faBundlePlan plan,
                                          const faArgument *arguments,
                                          size_t count,
                                          faLaunchInfo *info) FA_NOEXCEPT;
FA_API faStatus faBundlePlanLaunchWith(faBundlePlan plan,
                                       const faLaunchOptions *options,
                                       const faArgument *arguments,
                                       size_t count) FA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* FA_BUNDLE_H */

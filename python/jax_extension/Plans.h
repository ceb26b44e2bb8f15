//===- Plans.h - plans of XLA's calls ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library links to no libflashtile.so: a process has the one that Python
// has loaded, and Python hands its functions over, beside one of its own that
// makes a plan of the text that a call carries. A compiled program of XLA's may
// outlive the process that traced it (its cache on disk, jax.export): the text
// is all of a plan that it has. The struct's mirror is
// python/flashtile/_jax_extension.py.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHTILE_JAX_PLANS_H
#define FLASHTILE_JAX_PLANS_H

#include "fa/fa.h"

#include <string>
#include <string_view>

namespace flashtile {

struct Host {
  size_t size; ///< sizeof(Host): a package of another version has another
  decltype(&faPlanLaunch) launch;
  decltype(&faPlanEnqueueWith) enqueueWith;
  decltype(&faPlanGetLaunchInfo) getLaunchInfo;
  decltype(&faGetLastErrorMessage) lastError;
  /// The plan of a call's text on a card, or on the CPU if `card` is -1, which
  /// lives as long as the process. Null: there is none, and `message`, of
  /// `capacity` bytes, says why.
  faPlan (*prepare)(const char *key, int32_t card, char *message,
                    size_t capacity);
};

/// What flashtileJaxRegister was given.
const Host &host();

/// The plan of a call's text, asked of Python once. Null: `message` says why
/// there is none.
faPlan findPlan(std::string_view key, int32_t card, std::string &message);

} // namespace flashtile

#endif // FLASHTILE_JAX_PLANS_H

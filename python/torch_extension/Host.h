//===- Host.h - what the operator's library has from Python -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library links to no libflashtile.so: a process has the one that Python
// has loaded, and Python hands its functions over, beside some of its own that
// make plans as they are made for flashtile.attention. The structs' mirror is
// python/flashtile/_torch_extension.py.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHTILE_TORCH_HOST_H
#define FLASHTILE_TORCH_HOST_H

#include "fa/fa.h"

namespace flashtile {

/// A call of the operator whose plan is not known yet.
struct Request {
  /// q, k, v and, if there is one, the bias. Of a type that FlashTile does not
  /// have, `type` is -1.
  const faArgument *tensors;
  const char *const *types;  ///< of each tensor, as PyTorch names it
  const char *const *places; ///< of each tensor: "cpu", "cuda:0"
  uint64_t numTensors;
  const char *causal; ///< "", "bottom-right" or "top-left"
  int64_t windowLeft, windowRight;
  double softcap;
  const char *scoreMod, *maskMod; ///< null: none
  int32_t hasLse;
};

/// A plan, and what is given back when it is not needed any more.
struct HeldPlan {
  faPlan plan;
  uint64_t token;
};

struct Host {
  /// sizeof(Host) and sizeof(Request): a package of another version has others.
  size_t size, requestSize;
  uint64_t mostPlans; ///< that are kept: all go when there are so many
  decltype(&faPlanLaunch) launch;
  decltype(&faPlanEnqueueWith) enqueueWith;
  decltype(&faPlanGetLaunchInfo) getLaunchInfo;
  decltype(&faGetLastErrorMessage) lastError;
  /// Makes the plan of a request. Not 0: there is none, and `message`, of
  /// `capacity` bytes, says why.
  int32_t (*prepare)(const Request *request, HeldPlan *held, char *message,
                     size_t capacity);
  void (*release)(uint64_t token);
  /// Is told that a launch on this thread failed, right after it.
  void (*failed)(int32_t status);
};

/// What flashtileTorchRegister was given.
const Host &host();

} // namespace flashtile

#endif // FLASHTILE_TORCH_HOST_H

//===- Plans.cpp - plans of calls that were seen --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include <shared_mutex>
#include <unordered_map>
#include <vector>

using namespace flashtile;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

Plan::LaunchFacts Plan::collect(const faArgument *arguments, size_t count) {
  // What no kernel asks for more than: a tensor map's, of 128 bytes at most.
  constexpr uintptr_t kAlignment = 256;
  LaunchFacts facts = {};
  size_t used = 0;
  for (size_t n = 0; n < count; ++n) {
    const faArgument &argument = arguments[n];
    if (!argument.isTensor)
      continue;
    for (int32_t d = 0; d < argument.rank; ++d) {
      facts[used++] = argument.sizes[d];
      facts[used++] = argument.strides[d];
    }
    facts[used++] =
        int64_t(reinterpret_cast<uintptr_t>(argument.data) % kAlignment);
  }
  return facts;
}

faStatus Plan::getWorkspaceSize(const faArgument *arguments, size_t count,
                                size_t &bytes) {
  LaunchFacts launch = collect(arguments, count);
  std::lock_guard lock(mutex);
  if (lastLaunch != launch) {
    faLaunchInfo info = {};
    info.size = sizeof(info);
    if (faStatus status =
            host().getLaunchInfo(held.plan, arguments, count, &info))
      return status;
    lastLaunch = launch;
    lastSize = info.workspaceSize;
  }
  bytes = lastSize;
  return FA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// What a call is known by
//===----------------------------------------------------------------------===//

template <typename T> static void append(std::string &key, const T &value) {
  key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

/// No other text that follows anything gives the same bytes.
static void appendText(std::string &key, const String &text) {
  append(key, text.c_str() ? int64_t(text.view().size()) : int64_t(-1));
  key += text.view();
}

/// Which dimensions the bias has, as the pattern of faAttentionDesc says it.
static uint8_t patternOfBias(const Call &call) {
  const int64_t *q = call.facts[0].sizes;
  const int64_t full[] = {q[0], q[1], q[2], call.facts[1].sizes[2]};
  uint8_t pattern = 0;
  for (int d = 0; d < 4; ++d)
    if (call.facts[3].sizes[d] == 1 && full[d] != 1)
      pattern |= 1 << d;
  return pattern;
}

/// Empty: the call has a tensor that no plan takes.
static std::string keyOf(const Call &call) {
  std::string key;
  key.reserve(128);
  for (int n = 0; n < call.numTensors; ++n) {
    const TensorFacts &tensor = call.facts[n];
    if (tensor.rank != 4 || toType(tensor.dtype) < 0)
      return std::string();
    append(key, tensor.dtype);
    append(key, tensor.deviceType);
    append(key, tensor.deviceIndex);
  }
  append(key, int8_t(call.numTensors == 4 ? patternOfBias(call) : -1));
  append(key, call.facts[0].sizes[3]);
  append(key, call.facts[2].sizes[3]);
  append(key, call.windowLeft);
  append(key, call.windowRight);
  append(key, call.softcap);
  append(key, call.hasLse);
  appendText(key, call.causal);
  appendText(key, call.scoreMod);
  appendText(key, call.maskMod);
  return key;
}

//===----------------------------------------------------------------------===//
// The plans
//===----------------------------------------------------------------------===//

/// Asks Python, which takes its lock: none of ours may be held.
static std::shared_ptr<Plan> prepare(const Call &call, std::string &message) {
  std::vector<faArgument> tensors;
  std::vector<std::string> names;
  std::vector<const char *> types, places;
  for (int n = 0; n < call.numTensors; ++n) {
    const TensorFacts &facts = call.facts[n];
    tensors.push_back(facts.argument());
    names.push_back(nameOfType(facts.dtype));
    names.push_back(nameOfPlace(facts.deviceType, facts.deviceIndex));
  }
  for (size_t n = 0; n < names.size(); n += 2) {
    types.push_back(names[n].c_str());
    places.push_back(names[n + 1].c_str());
  }
  Request request = {};
  request.tensors = tensors.data();
  request.types = types.data();
  request.places = places.data();
  request.numTensors = tensors.size();
  request.causal = call.causal.c_str();
  request.windowLeft = call.windowLeft;
  request.windowRight = call.windowRight;
  request.softcap = call.softcap;
  request.scoreMod = call.scoreMod.c_str();
  request.maskMod = call.maskMod.c_str();
  request.hasLse = call.hasLse;
  HeldPlan held = {};
  message.assign(1 << 16, '\0');
  bool failed = host().prepare(&request, &held, message.data(), message.size());
  message.resize(std::strlen(message.c_str()));
  return failed ? nullptr : std::make_shared<Plan>(held);
}

namespace {
/// Emptied when it is full, which code that is new with each call brings about.
struct Plans {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Plan>> known;
};
} // namespace

/// Never destroyed: what a plan gives back when it goes is Python's, which is
/// gone before static objects are.
static Plans &plans() {
  static Plans &plans = *new Plans;
  return plans;
}

std::shared_ptr<Plan> flashtile::findPlan(const Call &call,
                                          std::string &message) {
  std::string key = keyOf(call);
  {
    std::shared_lock lock(plans().mutex);
    auto found = plans().known.find(key);
    if (found != plans().known.end())
      return found->second;
  }
  std::shared_ptr<Plan> plan = prepare(call, message);
  if (!plan || key.empty())
    return plan;
  decltype(Plans::known) old; // goes without the lock
  std::lock_guard lock(plans().mutex);
  // Another thread may have made it meanwhile: then nothing has to make way.
  auto found = plans().known.find(key);
  if (found != plans().known.end())
    return found->second;
  if (plans().known.size() >= host().mostPlans)
    old.swap(plans().known);
  return plans()
      .known.try_emplace(std::move(key), std::move(plan))
      .first->second;
}

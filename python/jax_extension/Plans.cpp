//===- Plans.cpp - plans of XLA's calls -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include <cstring>
#include <map>
#include <shared_mutex>

using namespace flashtile;

static Host given;

const Host &flashtile::host() { return given; }

namespace {
struct Plans {
  std::shared_mutex mutex;
  /// By where they run, then by their text.
  std::map<int32_t, std::map<std::string, faPlan, std::less<>>> known;
};
} // namespace

/// Never destroyed: calls may be under way when static objects are.
static Plans &plans() {
  static Plans &plans = *new Plans;
  return plans;
}

/// Asks Python, which takes its lock: none of ours may be held.
static faPlan prepare(const std::string &key, int32_t card,
                      std::string &message) {
  message.assign(1 << 16, '\0');
  faPlan plan =
      given.prepare(key.c_str(), card, message.data(), message.size());
  message.resize(std::strlen(message.c_str()));
  return plan;
}

faPlan flashtile::findPlan(std::string_view key, int32_t card,
                           std::string &message) {
  {
    std::shared_lock lock(plans().mutex);
    auto ofCard = plans().known.find(card);
    if (ofCard != plans().known.end()) {
      auto found = ofCard->second.find(key);
      if (found != ofCard->second.end())
        return found->second;
    }
  }
  std::string text(key);
  faPlan plan = prepare(text, card, message);
  if (!plan)
    return plan;
  std::lock_guard lock(plans().mutex);
  plans().known[card].try_emplace(std::move(text), plan);
  return plan;
}

/// Not 0: the package is of another version.
extern "C" FA_API int32_t flashtileJaxRegister(const Host *host) {
  if (host->size != sizeof(Host))
    return 1;
  given = *host;
  return 0;
}

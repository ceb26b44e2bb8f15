//===- Plans.h - plans of calls that were seen ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FLASHTILE_TORCH_PLANS_H
#define FLASHTILE_TORCH_PLANS_H

#include "Call.h"
#include "Host.h"

#include <array>
#include <memory>
#include <mutex>

namespace flashtile {

/// A plan that Python made and holds until nobody has this object any more.
class Plan {
public:
  explicit Plan(HeldPlan held) : held(held) {}
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;
  ~Plan() { host().release(held.token); }

  faPlan get() const { return held.plan; }

  /// How many bytes of workspace a launch wants; not asked again as long as
  /// launches have the sizes and strides of the one before, and addresses as
  /// aligned.
  faStatus getWorkspaceSize(const faArgument *arguments, size_t count,
                            size_t &bytes);

private:
  /// Sizes, strides and alignment of at most six tensors of rank 4.
  using LaunchFacts = std::array<int64_t, 64>;
  static LaunchFacts collect(const faArgument *arguments, size_t count);

  HeldPlan held;
  std::mutex mutex; ///< of the two below
  std::optional<LaunchFacts> lastLaunch;
  size_t lastSize = 0;
};

/// The plan of a call whose tensors are described. A call is known again by all
/// that decides its code: options, types, places, head dimensions and which
/// dimensions the bias has. Lengths, strides and the scale do not. Null:
/// `message` says why there is none.
std::shared_ptr<Plan> findPlan(const Call &call, std::string &message);

} // namespace flashtile

#endif // FLASHTILE_TORCH_PLANS_H

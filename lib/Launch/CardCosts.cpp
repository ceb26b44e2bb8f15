//===- CardCosts.cpp - what launches cost on the card there is ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/CardCosts.h"

#include <algorithm>

using namespace fa;

namespace {

struct MeasuredCard {
  int64_t computeCapability;
  LaunchCosts costs;
};

enum Scale { OfTime, Relative };

} // namespace

/// An H100 SXM decodes 1.03 times as fast by the H200's numbers as by those
/// scaled to its bandwidth (bench/results/2026-11-25-h100-sweep.md).
static constexpr LaunchCosts ofH100() {
  LaunchCosts costs;
  costs.bandwidth = 3352320;
  return costs;
}

/// The H200, by the races that LaunchCosts.def names, and the H100.
static constexpr MeasuredCard kMeasured[] = {{90, LaunchCosts()},
                                             {90, ofH100()}};

static bool isNear(int64_t found, int64_t measured) {
  return found >= measured - measured / 20 && found <= measured + measured / 20;
}

static int64_t scaled(int64_t cost, Scale scale, int64_t least, int64_t most,
                      double ratio) {
  return scale == OfTime
             ? std::clamp(int64_t(double(cost) * ratio + 0.5), least, most)
             : cost;
}

/// A quarter and four times at least and at most: a part of a card may name the
/// bandwidth of the whole.
static LaunchCosts scaleTo(const CardFacts &card, const LaunchCosts &made) {
  if (card.processors < 1 || card.bandwidth < 1)
    return made;
  auto perProcessor = [](int64_t bandwidth, int64_t processors) {
    return double(bandwidth) / double(processors);
  };
  double ratio = std::clamp(perProcessor(card.bandwidth, card.processors) /
                                perProcessor(made.bandwidth, made.processors),
                            0.25, 4.0);
  LaunchCosts result;
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  result.MEMBER = scaled(made.MEMBER, SCALE, LEAST, MOST, ratio);
#include "fa/Support/LaunchCosts.def"
  result.processors = card.processors;
  result.bandwidth = card.bandwidth;
  return result;
}

LaunchCosts fa::findCosts(const CardFacts &card, const LaunchCosts &made) {
  for (const MeasuredCard &known : kMeasured)
    if (card.computeCapability == known.computeCapability &&
        isNear(card.processors, known.costs.processors) &&
        isNear(card.bandwidth, known.costs.bandwidth))
      return known.costs;
  return scaleTo(card, made);
}

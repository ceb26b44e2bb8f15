//===- HostExp2Test.cpp - powers of two in host kernels -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"

#include <cmath>
#include <string>

using Floats = std::vector<float>;

static constexpr int64_t kDim = 16;

/// 2^x of each x, as host kernels for `cpu` (null: this one) compute it: the
/// log-sum-exp of one key is its score.
static Floats exp2InKernels(const char *cpu, const Floats &x) {
  faContextOptions options = fa::contextOptions("cpu");
  options.hostCpu = cpu;
  fa::Context context(options);
  int64_t rows = x.size();
  Floats q(rows * kDim), k(kDim), v(kDim), out(rows * kDim), lse(rows);
  for (int64_t row = 0; row < rows; ++row)
    q[row * kDim] = x[row];
  k[0] = 1;
  std::vector<fa::Argument> arguments = {
      fa::tensor(q.data(), {1, 1, rows, kDim}),
      fa::tensor(k.data(), {1, 1, 1, kDim}),
      fa::tensor(v.data(), {1, 1, 1, kDim}),
      fa::scalar(1.f),
      fa::tensor(out.data(), {1, 1, rows, kDim}),
      fa::tensor(lse.data(), {1, 1, rows})};
  faAttentionDesc desc = fa::attention(FA_F32, kDim);
  desc.hasLse = 1;
  desc.scoreMod = "%score = math.exp2 %s : f32";
  fa::Plan plan(context, desc);
  EXPECT_TRUE(plan) << fa::lastError();
  EXPECT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  return lse;
}

/// The largest relative error of `powers` as 2^(x + shift).
static double largestError(const Floats &x, const Floats &powers,
                           double shift) {
  double worst = 0;
  for (size_t n = 0; n < x.size(); ++n)
    worst = std::max(worst, std::abs(powers[n] / std::exp2(x[n] + shift) - 1));
  return worst;
}

/// This CPU and, where it can do as much, one that has no AVX-512.
static std::vector<const char *> cpus() {
  std::vector<const char *> known = {nullptr};
  if (llvm::sys::getHostCPUFeatures().lookup("avx2"))
    known.push_back("x86-64-v3");
  return known;
}

/// The twin: powers of numbers that are a little larger are others.
TEST(HostExp2, IsThatOfDoublesButForRoundings) {
  Floats x;
  for (int n = 0; n < 4000; ++n)
    x.push_back(-125.99f + 253.98f * float(n) / 4000);
  for (int n = -125; n < 128; ++n)
    x.insert(x.end(), {float(n), std::nextafter(float(n), -200.f)});
  x.push_back(std::nextafter(128.f, 0.f));
  Floats all = x;
  all.insert(all.end(), {0, -1, 100, -126.5, -1000, -3e38f, 128, 1e6, NAN});
  for (const char *cpu : cpus()) {
    Floats powers = exp2InKernels(cpu, all);
    EXPECT_LE(largestError(x, powers, 0), 1.8e-7);
    EXPECT_GT(largestError(x, powers, 3e-7), 1.8e-7);
    Floats rest(powers.begin() + x.size(), powers.end());
    EXPECT_EQ(Floats(rest.begin(), rest.begin() + 6),
              (Floats{1, 0.5, 0x1p100f, 0, 0, 0}));
    // Rows whose largest score is infinite, and one that is no number.
    EXPECT_FALSE(std::isfinite(rest[6])) << rest[6];
    EXPECT_FALSE(std::isfinite(rest[7])) << rest[7];
    EXPECT_TRUE(std::isnan(rest[8])) << rest[8];
  }
}

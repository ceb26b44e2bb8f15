//===- embed.cpp - attention in a C++ program -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

/// The largest difference from attention computed in double precision.
static double check(const std::vector<float> &q, const std::vector<float> &k,
                    const std::vector<float> &v, const std::vector<float> &out,
                    int heads, int length, int dim, double scale) {
  double worst = 0;
  for (int row = 0; row < heads * length; ++row) {
    int head = row / length, i = row % length;
    std::vector<double> p(i + 1), o(dim);
    double sum = 0;
    for (int j = 0; j <= i; ++j) {
      double dot = 0;
      for (int d = 0; d < dim; ++d)
        dot += double(q[row * dim + d]) * k[(head * length + j) * dim + d];
      sum += p[j] = std::exp(scale * dot);
    }
    for (int j = 0; j <= i; ++j)
      for (int d = 0; d < dim; ++d)
        o[d] += p[j] / sum * v[(head * length + j) * dim + d];
    for (int d = 0; d < dim; ++d)
      worst = std::fmax(worst, std::fabs(o[d] - out[row * dim + d]));
  }
  return worst;
}

int main() {
  constexpr int heads = 4, length = 100, dim = 64;
  std::vector<float> q(heads * length * dim), k(q), v(q), out(q);
  for (size_t n = 0; n < q.size(); ++n) {
    q[n] = std::sin(0.1f * n);
    k[n] = std::cos(0.3f * n);
    v[n] = std::sin(0.7f * n);
  }

  fa::Context context;
  faAttentionDesc desc = fa::attention(FA_F32, dim);
  desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
  fa::Plan plan(context, desc);
  std::vector<int64_t> sizes = {1, heads, length, dim};
  if (!plan ||
      plan.launch({fa::tensor(q.data(), sizes), fa::tensor(k.data(), sizes),
                   fa::tensor(v.data(), sizes), fa::scalar(0.125f),
                   fa::tensor(out.data(), sizes)})) {
    std::fprintf(stderr, "%s\n", fa::lastError());
    return 1;
  }
  double error = check(q, k, v, out, heads, length, dim, 0.125);
  std::printf("largest error %g\n", error);
  return error < 2e-6 ? 0 : 1;
}

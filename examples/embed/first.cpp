//===- first.cpp - the C++ program that README.md shows -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <fa/fa.hpp>
#include <vector>

int main() {
  std::vector<int64_t> sizes = {1, 8, 512, 64}; // batch, heads, length, D
  std::vector<float> q(8 * 512 * 64), k = q, v = q, out = q;
  for (size_t n = 0; n < v.size(); ++n)
    v[n] = n / 64 % 512; // a key's value is its number

  fa::Context context; // the CPU's cores; a card: fa::contextOptions("cuda")
  faAttentionDesc desc = fa::attention(FA_F32, 64);
  desc.maskMod = "%keep = arith.cmpi sle, %j, %i : index"; // any mask
  fa::Plan plan(context, desc); // compiled once, for all lengths and batches
  if (!plan ||
      plan.launch({fa::tensor(q.data(), sizes), fa::tensor(k.data(), sizes),
                   fa::tensor(v.data(), sizes), fa::scalar(0.125f),
                   fa::tensor(out.data(), sizes)}))
    return std::puts(fa::lastError()), 1;
  std::printf("%g\n", out.back()); // the mean of 0 to 511: 255.5
}

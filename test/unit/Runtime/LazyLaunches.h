//===- LazyLaunches.h - launches that tests of lazy plans share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_LAZYLAUNCHES_H
#define FA_TEST_LAZYLAUNCHES_H

#include "fa/fa.hpp"

inline const faAttentionDesc problem = fa::attention(FA_F16, 64);

alignas(256) inline char memory[256];

/// A launch of an f16 attention with eight heads on `kvHeads`.
inline std::vector<fa::Argument> launchOf(int64_t queries, int64_t keys,
                                          int64_t batch = 1,
                                          int64_t kvHeads = 1,
                                          void *at = memory) {
  auto q = fa::tensor(at, FA_F16, {batch, 8, queries, 64}),
       k = fa::tensor(at, FA_F16, {batch, kvHeads, keys, 64});
  return {q, k, k, fa::scalar(0.125f), q};
}

/// One launch each for four kernels of a plan, or for the two of a split one.
inline const std::vector<fa::Argument> prefill = launchOf(256, 256, 1, 8),
                                       decode = launchOf(1, 64),
                                       longDecode = launchOf(1, 2048);

#endif // FA_TEST_LAZYLAUNCHES_H

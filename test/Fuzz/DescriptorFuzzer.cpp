//===- DescriptorFuzzer.cpp - attention problems as structs ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.h"

#include <algorithm>
#include <cstring>
#include <string>

/// The input is a faAttentionDesc, as far as it goes, and behind it the text of
/// `bias`. Pointers are the caller's, and so is the size that says how much of
/// the struct there is: never more than that. What is accepted is lowered as
/// far as the host's kernels.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  faAttentionDesc desc{};
  size_t taken = std::min(size, sizeof desc);
  std::memcpy(static_cast<void *>(&desc), data, taken);
  desc.size = std::min(desc.size, sizeof desc);
  std::string bias(reinterpret_cast<const char *>(data) + taken, size - taken);
  desc.bias = size > taken ? bias.c_str() : nullptr;
  desc.scoreMod = desc.maskMod = nullptr;
  faStatus status = faAttentionIsSupported("host", &desc);
  // A message for each refusal, and no device that could fail.
  if (status == FA_ERROR_DEVICE ||
      (status != FA_SUCCESS && !*faGetLastErrorMessage()))
    __builtin_trap();
  return 0;
}

//===- Call.h - one call of the operator ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FLASHTILE_TORCH_CALL_H
#define FLASHTILE_TORCH_CALL_H

#include "Shim.h"
#include "fa/fa.h"

#include <optional>

namespace flashtile {

/// What a launch has to know of a tensor. Sizes and strides are the tensor's.
struct TensorFacts {
  int32_t dtype = 0, deviceType = 0, deviceIndex = 0;
  int64_t rank = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  void *data = nullptr;

  faArgument argument() const;
};

/// False if PyTorch does not say: of a tensor without memory, for instance.
bool describe(const Tensor &tensor, TensorFacts &facts);

/// FlashTile's type of a type of PyTorch's; -1: it has none.
int32_t toType(int32_t dtype);
/// "torch.float32", or its number where the name is not known.
std::string nameOfType(int32_t dtype);
/// "cpu" or "cuda:0", as faContextOptions has it.
std::string nameOfPlace(int32_t deviceType, int32_t deviceIndex);

/// The arguments of flashtile::attention and attention_lse, owned.
struct Call {
  /// Takes them from the dispatcher's stack, in the order of the schema.
  Call(StableIValue *stack, bool hasLse);

  static constexpr int kMostTensors = 4;
  Tensor tensors[kMostTensors]; ///< q, k, v and the bias
  TensorFacts facts[kMostTensors];
  int numTensors = 3;
  std::optional<double> scale;
  String causal, scoreMod, maskMod;
  int64_t windowLeft, windowRight;
  double softcap;
  bool hasLse;
};

} // namespace flashtile

#endif // FLASHTILE_TORCH_CALL_H

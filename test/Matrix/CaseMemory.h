//===- CaseMemory.h - inputs and outputs as a case wants them  -*- C++ -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_MATRIX_CASEMEMORY_H
#define FA_TEST_MATRIX_CASEMEMORY_H

#include "Case.h"

#include "fa/Launch/LaunchArgument.h"
#include "fa/Numerics/ReferenceBackward.h"

namespace fa::matrix {

/// A tensor inside a larger one whose other elements are NaN.
struct Guarded {
  HostTensor whole, inner;
  bool far = false;

  /// Whether everything outside `inner` is NaN still: `inner` is overwritten
  /// with NaN for the comparison.
  bool isIntact();
};

/// The strides that the case gives to a tensor of `sizes`: contiguous, with
/// gaps, or far apart.
llvm::SmallVector<int64_t, 4> placedStrides(const Case &c,
                                            llvm::ArrayRef<int64_t> sizes);

/// Memory for a tensor of `sizes`, with gaps after each dimension and one
/// element before if the case asks for that. Dimensions of size 1 get a stride
/// that would leave the memory.
llvm::Expected<Guarded> makeGuarded(const Case &c, ElementType type,
                                    llvm::ArrayRef<int64_t> sizes);

/// What a case is launched on.
struct CaseMemory {
  AttentionInputs inputs;
  std::optional<BackwardInputs> backward; ///< of gradients
  /// "out" and "lse", or "dq", ...: full of NaN.
  std::vector<std::pair<std::string, Guarded>> outputs;
  std::vector<LaunchArgument> arguments;
};

/// The inputs of a case, random, scaled, poisoned and placed as it says, and
/// outputs placed in the same way.
llvm::Expected<CaseMemory> makeMemory(const Case &c);

} // namespace fa::matrix

#endif // FA_TEST_MATRIX_CASEMEMORY_H

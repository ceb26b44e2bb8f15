//===- AttentionArguments.h - an attention's launch arguments ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_ATTENTIONARGUMENTS_H
#define FA_RUNTIME_ATTENTIONARGUMENTS_H

#include "fa/Numerics/ReferenceBackward.h"
#include "fa/Runtime/HostPlan.h"

#include <vector>

namespace fa {

/// The argument that stands for `tensor`, whose memory it does not keep.
LaunchArgument makeArgument(const HostTensor &tensor);

/// Arguments of the program that `buildAttention` writes for `problem`, in its
/// order. `lse` is null if the problem has none. All in logical order
/// [b, h, s, d]. Sets `starts` and `ends` of `inputs` from its documents.
llvm::Expected<std::vector<LaunchArgument>>
makeArguments(const AttentionProblem &problem, AttentionInputs &inputs,
              const HostTensor &out, const HostTensor *lse);

/// Arguments of a program of gradients (`problem.backward`): the inputs, the
/// forward's results, the cotangents and the gradients that are asked for. All
/// in logical order.
llvm::Expected<std::vector<LaunchArgument>>
makeBackwardArguments(const AttentionProblem &problem, AttentionInputs &inputs,
                      const BackwardInputs &given,
                      llvm::ArrayRef<HostTensor> gradients);

/// The same of either without memory: types, sizes and strides of a launch of
/// `problem`.
std::vector<LaunchArgument> describeArguments(const AttentionProblem &problem);

} // namespace fa

#endif // FA_RUNTIME_ATTENTIONARGUMENTS_H

//===- AttentionArguments.cpp - an attention's launch arguments -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/AttentionArguments.h"

using namespace fa;

LaunchArgument fa::makeArgument(const HostTensor &tensor) {
  return LaunchArgument::tensor(tensor.data(), tensor.type(), tensor.sizes(),
                                tensor.strides());
}

std::vector<LaunchArgument> fa::makeArguments(const AttentionProblem &problem,
                                              const AttentionInputs &inputs,
                                              const HostTensor &out,
                                              const HostTensor *lse) {
  std::vector<LaunchArgument> arguments = {
      makeArgument(inputs.q), makeArgument(inputs.k), makeArgument(inputs.v)};
  if (!problem.bias.empty())
    arguments.push_back(makeArgument(*inputs.bias));
  if (problem.alibi)
    arguments.push_back(makeArgument(*inputs.slopes));
  if (problem.lengths)
    arguments.push_back(makeArgument(*inputs.lengths));
  arguments.push_back(
      LaunchArgument::f32(static_cast<float>(problem.effectiveScale())));
  arguments.push_back(makeArgument(out));
  if (lse)
    arguments.push_back(makeArgument(*lse));
  return arguments;
}

//===- ServingArguments.cpp - launches of merges and appends --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ServingArguments.h"

#include "fa/Runtime/AttentionArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace fa;

std::vector<LaunchArgument> fa::makeArguments(const MergeInputs &inputs,
                                              const HostTensor &out,
                                              const HostTensor *lse) {
  std::vector<LaunchArgument> arguments;
  for (auto [part, partLse] : llvm::zip_equal(inputs.outs, inputs.lses)) {
    arguments.push_back(makeArgument(part));
    arguments.push_back(makeArgument(partLse));
  }
  arguments.push_back(makeArgument(out));
  if (lse)
    arguments.push_back(makeArgument(*lse));
  return arguments;
}

std::vector<LaunchArgument> fa::makeArguments(const AppendInputs &inputs) {
  std::vector<LaunchArgument> arguments;
  for (const HostTensor &tensor :
       {inputs.k, inputs.v, inputs.slots, inputs.kPages, inputs.vPages})
    arguments.push_back(makeArgument(tensor));
  for (const auto &tensor :
       {inputs.positions, inputs.cosines, inputs.sines, inputs.q})
    if (tensor)
      arguments.push_back(makeArgument(*tensor));
  return arguments;
}

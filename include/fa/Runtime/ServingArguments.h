//===- ServingArguments.h - launches of merges and appends ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_SERVINGARGUMENTS_H
#define FA_RUNTIME_SERVINGARGUMENTS_H

#include "fa/Launch/LaunchArgument.h"
#include "fa/Numerics/AppendProblem.h"
#include "fa/Numerics/MergeProblem.h"

#include <vector>

namespace fa {

/// Arguments of the program that `buildMerge` writes, in its order. `lse` is
/// null if there is no such result.
std::vector<LaunchArgument> makeArguments(const MergeInputs &inputs,
                                          const HostTensor &out,
                                          const HostTensor *lse);

/// The same of `buildAppend`. Pages and queries are written to.
std::vector<LaunchArgument> makeArguments(const AppendInputs &inputs);

} // namespace fa

#endif // FA_RUNTIME_SERVINGARGUMENTS_H

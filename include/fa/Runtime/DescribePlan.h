//===- DescribePlan.h - what a plan is, for the C interface -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_DESCRIBEPLAN_H
#define FA_RUNTIME_DESCRIBEPLAN_H

#include "fa/Runtime/TritonPlan.h"
#include "fa/fa.h"

namespace fa {

/// The plan as JSON; of one of Triton's kernels that may run as attention,
/// `triton`, else null, with what was proved or why nothing was.
std::string describePlan(const LoadedPlan &plan, const TritonPlan *triton);

/// The same as structs, whose strings the plan owns; the sizes are set.
/// `threads` are the workers of a launch on the host.
faPlanInfo planInfo(const LoadedPlan &plan, unsigned threads);
faKernelInfo kernelInfo(const KernelInfo &kernel);

/// The attentions of a program as JSON (faModuleDescribe). The module is
/// transformed.
llvm::Expected<std::string> describeModule(mlir::ModuleOp module);

/// Why attention in a program is not fused, a line for each of the remarks that
/// the passes up to S1 make; the module is transformed.
std::string explainUnfused(mlir::ModuleOp module);

} // namespace fa

#endif // FA_RUNTIME_DESCRIBEPLAN_H

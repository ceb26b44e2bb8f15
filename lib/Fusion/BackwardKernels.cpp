//===- BackwardKernels.cpp - the kernels of gradients ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardKernels.h"

#include "BackwardBuilder.h"
#include "DescribeAttention.h"

using namespace mlir;
using namespace fa;

static bool isWanted(const BackwardFunction &match, BackwardPart part) {
  switch (part) {
  case BackwardPart::Rows:
    return true;
  case BackwardPart::Queries:
    return match.dq.has_value();
  case BackwardPart::Keys:
    return match.dk || match.dv;
  case BackwardPart::Capture:
    return match.dcapture.has_value();
  }
  llvm_unreachable("every part is handled");
}

/// The kernels of `chain` that are wanted: all follow the first one. A kernel
/// whose warps are specialized is an alternative to the one behind it.
static void buildChain(OpBuilder &b, const BackwardFunction &match,
                       const PlannedChain &chain, StringRef entry,
                       llvm::function_ref<std::string(StringRef)> unusedName) {
  tile::KernelOp first, alternative;
  auto symbolOf = [](tile::KernelOp kernel) {
    return FlatSymbolRefAttr::get(kernel.getSymNameAttr());
  };
  for (const PlannedBackward &plan : chain.kernels) {
    if (!isWanted(match, plan.part))
      continue;
    OpBuilder::InsertionGuard guard(b);
    std::string name = (entry + chain.suffix + plan.suffix).str();
    tile::KernelOp kernel =
        BackwardBuilder(b, match, plan).build(unusedName(name), entry);
    if (first)
      kernel->setAttr(tile::KernelOp::followsAttrName, symbolOf(first));
    else
      first = kernel;
    if (alternative)
      alternative->setAttr(tile::KernelOp::alternativeAttrName,
                           symbolOf(kernel));
    alternative = plan.isAlternative ? kernel : tile::KernelOp();
  }
}

LogicalResult fa::buildBackwardKernels(
    func::FuncOp function, const ForwardRules &rules,
    llvm::function_ref<std::string(StringRef)> unusedName) {
  std::string reason;
  BackwardFunction match = matchBackward(function, reason);
  if (!reason.empty())
    return emitError(function.getLoc())
           << "gradients of an attention do not run unfused: " << reason;
  auto chains = planBackward(describeAttention(match), rules);
  if (!chains)
    return emitError(function.getLoc(), toString(chains.takeError()));
  std::string name = function.getSymName().str();
  function.setSymName(name + "_s2");
  OpBuilder b(function);
  for (const PlannedChain &chain : *chains)
    buildChain(b, match, chain, name, unusedName);
  function.erase();
  return success();
}

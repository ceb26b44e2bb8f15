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

/// The gradients that have a kernel of their own by `plan`; null is one that is
/// not of a captured tensor.
static SmallVector<const CapturedGradient *>
findGradients(const BackwardFunction &match, const PlannedBackward &plan) {
  BackwardPart part = plan.part;
  auto onlyIf = [](bool isWanted) {
    return SmallVector<const CapturedGradient *>(isWanted ? 1 : 0, nullptr);
  };
  switch (part) {
  case BackwardPart::Whole:
  case BackwardPart::Rows:
    return onlyIf(true);
  case BackwardPart::Queries:
    return onlyIf(match.dq || match.numRowSums());
  case BackwardPart::Keys:
    return onlyIf((plan.ofKeys && match.dk) || (plan.ofValues && match.dv));
  case BackwardPart::Capture:
  case BackwardPart::Table:
  case BackwardPart::Heads:
    break;
  }
  auto wanted = onlyIf(part == BackwardPart::Heads && match.dsink);
  for (const CapturedGradient &gradient : match.dcaptures) {
    BackwardPart own = gradient.isOfHeads() ? BackwardPart::Heads
                       : gradient.isTable() ? BackwardPart::Table
                                            : BackwardPart::Capture;
    if (own == part)
      wanted.push_back(&gradient);
  }
  return wanted;
}

namespace {

/// Builds the kernels of a chain that are wanted: all follow the first one. A
/// kernel whose warps are specialized is an alternative to the one behind it.
class ChainBuilder {
public:
  ChainBuilder(OpBuilder &b, const BackwardFunction &match, bool ownsHeads,
               StringRef entry)
      : b(b), match(match), ownsHeads(ownsHeads), entry(entry) {}

  void add(const PlannedBackward &plan, const CapturedGradient *captured,
           StringRef name) {
    OpBuilder::InsertionGuard guard(b);
    tile::KernelOp kernel =
        BackwardBuilder(b, match, plan, ownsHeads, captured).build(name, entry);
    if (first)
      kernel->setAttr(tile::KernelOp::followsAttrName, symbolOf(first));
    else
      first = kernel;
    if (alternative)
      alternative->setAttr(tile::KernelOp::alternativeAttrName,
                           symbolOf(kernel));
    alternative = plan.isAlternative ? kernel : tile::KernelOp();
  }

private:
  static FlatSymbolRefAttr symbolOf(tile::KernelOp kernel) {
    return FlatSymbolRefAttr::get(kernel.getSymNameAttr());
  }

  OpBuilder &b;
  const BackwardFunction &match;
  bool ownsHeads;
  StringRef entry;
  tile::KernelOp first, alternative;
};

} // namespace

LogicalResult fa::buildBackwardKernels(
    func::FuncOp function, const ForwardRules &rules,
    llvm::function_ref<std::string(StringRef)> unusedName) {
  std::string reason;
  BackwardFunction match = matchBackward(function, reason);
  if (!reason.empty())
    return emitError(function.getLoc())
           << "gradients of an attention do not run unfused: " << reason;
  simplifyMask(match.op.getMask());
  auto chains = planBackward(describeAttention(match), rules);
  if (!chains)
    return emitError(function.getLoc(), toString(chains.takeError()));
  std::string name = function.getSymName().str();
  function.setSymName(name + "_s2");
  OpBuilder b(function);
  for (const PlannedChain &chain : *chains) {
    if (chain.ownsHeads && !match.takesWholeHeads())
      continue;
    ChainBuilder kernels(b, match, chain.ownsHeads, name);
    for (const PlannedBackward &plan : chain.kernels)
      for (const CapturedGradient *captured : findGradients(match, plan))
        kernels.add(plan, captured,
                    unusedName((name + chain.suffix + plan.suffix).str()));
  }
  function.erase();
  return success();
}

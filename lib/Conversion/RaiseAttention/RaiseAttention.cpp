//===- RaiseAttention.cpp - kernels that are attention as one -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/RaiseAttention.h"

#include "BuildRaised.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

std::optional<RaisedAttention> fa::raiseAttention(tile::KernelOp kernel,
                                                  NotRaised &reason) {
  ExponentialSums sums;
  TileReader reader(sums);
  LaunchNumbers numbers;
  Refusal refusal;
  std::optional<RaisedAttention> raised;
  if (std::optional<ProvenLoops> proven =
          LoopProof(kernel, sums, reader).prove(refusal))
    if (std::optional<PlacedAttention> placed =
            placeAttention(*proven, sums, reader, numbers, kernel, refusal))
      raised = buildRaised(*placed, numbers, sums, kernel, refusal);
  if (!raised)
    reason = {refusal.at ? refusal.at->getLoc() : kernel.getLoc(), refusal.why};
  return raised;
}

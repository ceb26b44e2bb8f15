//===- Sweep.h - canonicalization in one sweep ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_SWEEP_H
#define FA_SUPPORT_SWEEP_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace fa {

/// The canonicalizer for what passes of ours left: it looks at each operation,
/// and at those that a change concerns again, but not at all of them until
/// nothing changes, and merges no blocks. Kernels come out the same in half of
/// the time. Bottom-up where loops carry hundreds of registers.
inline void addSweep(mlir::OpPassManager &pm, bool topDown = true) {
  mlir::GreedyRewriteConfig config;
  config.setUseTopDownTraversal(topDown)
      .setMaxIterations(1)
      .setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  pm.addPass(mlir::createCanonicalizerPass(config));
}

} // namespace fa

#endif // FA_SUPPORT_SWEEP_H

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
/// the time. Bottom-up where loops carry hundreds of registers. `keepsLoops`:
/// one of one iteration stays a loop, for which a producer can fetch tiles.
inline void addSweep(mlir::OpPassManager &pm, bool topDown = true,
                     bool keepsLoops = false) {
  mlir::GreedyRewriteConfig config;
  config.setUseTopDownTraversal(topDown)
      .setMaxIterations(1)
      .setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  // Named as LLVM 22 names it (lib/Dialect/SCF/IR/SCF.cpp).
  llvm::SmallVector<std::string, 1> disabled;
  if (keepsLoops)
    disabled.push_back("(anonymous namespace)::SimplifyTrivialLoops");
  pm.addPass(mlir::createCanonicalizerPass(config, disabled));
}

} // namespace fa

#endif // FA_SUPPORT_SWEEP_H

//===- Mutate.cpp - faults planted in kernels -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "Tile/Tile.h"
#include "fa/Conversion/TileToHost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa;

/// acc * broadcast(alpha) becomes acc.
static void dropRescale(tile::KernelOp kernel) {
  kernel.walk([](tile::DotOp dot) {
    if (auto scaled = dot.getAcc() ? dot.getAcc().getDefiningOp<arith::MulFOp>()
                                   : arith::MulFOp())
      dot.getAccMutable().assign(isa<BlockArgument>(scaled.getLhs())
                                     ? scaled.getLhs()
                                     : scaled.getRhs());
  });
}

static void shiftMask(tile::KernelOp kernel) {
  kernel.walk([](arith::CmpIOp compare) {
    if (isa<TensorType>(compare.getType()) &&
        compare.getPredicate() == arith::CmpIPredicate::sle)
      compare.setPredicate(arith::CmpIPredicate::slt);
  });
}

static void skipLastTile(tile::KernelOp kernel) {
  scf::ForOp last;
  kernel.walk([&](scf::ForOp loop) { last = loop; });
  last.setUpperBound(last.getLowerBound());
}

/// tf32 where IEEE was asked for, and the other way round.
static void swapPrecision(tile::KernelOp kernel) {
  kernel.walk([](tile::DotOp dot) {
    if (getElementTypeOrSelf(dot.getA().getType()).isF32())
      dot.setPrecision(dot.isTf32() ? tile::DotPrecision::Ieee
                                    : tile::DotPrecision::Tf32);
  });
}

llvm::Error fa::mutateKernels(ModuleOp module, StringRef fault) {
  PassManager pm(module.getContext());
  HostPipelineOptions options;
  // Which every target takes.
  options.constraints = "tile=64x0 splits=1";
  buildHostKernelPipeline(pm, options);
  if (failed(pm.run(module)))
    return llvm::createStringError("the passes to kernels failed");
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (fault == "drop-rescale")
      dropRescale(kernel);
    else if (fault == "mask-off-by-one")
      shiftMask(kernel);
    else if (fault == "skip-last-tile")
      skipLastTile(kernel);
    else if (fault == "swap-precision")
      swapPrecision(kernel);
    else
      return llvm::createStringError(
          "--mutate: expected drop-rescale, mask-off-by-one, skip-last-tile, "
          "swap-precision or wrong-alignment, found '" +
          fault + "'");
  }
  return llvm::Error::success();
}

//===- HoistScalars.cpp - tgpu-hoist-scalars ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewOfArgument.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUHOISTSCALARS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Whether dots of two iterations run together: then the first tile's stand
/// before the loop, and what the loop reads is read in any case.
static bool isOverlapped(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<DotWaitOp>(),
                      [](DotWaitOp wait) { return wait.getPending() != 0; });
}

namespace {

struct TgpuHoistScalars final
    : fa::impl::TgpuHoistScalarsBase<TgpuHoistScalars> {
  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) {
      if (!isOverlapped(loop))
        return;
      for (Operation &op :
           llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
        auto load = dyn_cast<memref::LoadOp>(op);
        if (load && readsInput(load) &&
            llvm::all_of(load->getOperands(), [&](Value operand) {
              return loop.isDefinedOutsideOfLoop(operand);
            }))
          load->moveBefore(loop);
      }
    });
  }
};

} // namespace

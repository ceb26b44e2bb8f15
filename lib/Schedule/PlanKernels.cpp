//===- PlanKernels.cpp - tgpu-plan-kernels --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeLoops.h"
#include "RowTiles.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUPLANKERNELS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

struct TgpuPlanKernels final : fa::impl::TgpuPlanKernelsBase<TgpuPlanKernels> {
  using TgpuPlanKernelsBase::TgpuPlanKernelsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto target = findMachine(machine);
    auto asked = parseConstraints(constraints);
    std::string problems;
    if (!target)
      problems = toString(target.takeError());
    if (!asked)
      problems += toString(asked.takeError());
    if (!problems.empty())
      return emitError(UnknownLoc::get(context), problems);
    if (target->isHost())
      return emitError(UnknownLoc::get(context))
             << "expected a GPU's architecture, found " << machine;
    if (sharedBytes)
      target->sharedBytes = sharedBytes;
    rules = scheduleRules(*target, *asked);
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (!kernel.getUnfused() &&
          !kernel->hasAttr(TileGPUDialect::planAttrName))
        kernel->setAttr(TileGPUDialect::planAttrName,
                        PlanAttr::get(&getContext(), plan(kernel)));
  }

  SchedulePlan plan(KernelOp kernel) {
    SchedulePlan plan = choose(kernel);
    if (auto tile =
            kernel->getAttrOfType<DenseI64ArrayAttr>(KernelOp::tileAttrName);
        tile && tile.size() == 2) {
      plan.rows = tile[0];
      plan.columns = tile[1];
    }
    return plan;
  }

  SchedulePlan choose(KernelOp kernel) {
    if (rules.isSpecialized) {
      std::string reason;
      if (auto facts = describeLoops(kernel, reason))
        return planSpecialized(*facts, rules);
      emitRemark(kernel.getLoc()) << "stays with one role: " << reason;
    }
    return planUniform(countRowTiles(kernel, chooseUnit(kernel, rules.mfma)),
                       rules);
  }

  ScheduleRules rules;
};

} // namespace

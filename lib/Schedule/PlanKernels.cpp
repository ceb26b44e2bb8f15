//===- PlanKernels.cpp - tgpu-plan-kernels --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeLoops.h"
#include "RowTiles.h"

#include "TileGPU/TileGPU.h"
#include "fa/Plan/RankPlans.h"
#include "fa/Plan/Request.h"
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
    auto request = parseRequest(machine, constraints, sharedBytes);
    if (!request)
      return emitError(UnknownLoc::get(context), toString(request.takeError()));
    if (request->machine.isHost())
      return emitError(UnknownLoc::get(context))
             << "expected a GPU's architecture, found " << machine;
    asked = request->asked;
    target = request->machine;
    rules = scheduleRules(target, asked);
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (kernel.getUnfused())
        continue;
      if (!kernel->hasAttr(TileGPUDialect::planAttrName)) {
        kernel->setAttr(TileGPUDialect::planAttrName,
                        PlanAttr::get(&getContext(), plan(kernel)));
      } else if (std::string why = whyNotHere(kernel); !why.empty()) {
        emitError(kernel.getLoc()) << "its plan: " << why;
        return signalPassFailure();
      }
    }
  }

  /// Queries and keys of the kernel's tile; zeros if it does not say so.
  static std::pair<int64_t, int64_t> tileOf(KernelOp kernel) {
    auto tile =
        kernel->getAttrOfType<DenseI64ArrayAttr>(KernelOp::tileAttrName);
    return tile && tile.size() == 2 ? std::pair(tile[0], tile[1])
                                    : std::pair<int64_t, int64_t>();
  }

  /// Why the plan that `kernel` was given is none for it on this machine.
  std::string whyNotHere(KernelOp kernel) {
    SchedulePlan plan = planOf(kernel);
    auto [rows, columns] = tileOf(kernel);
    if (rows && std::pair(plan.rows, plan.columns) != std::pair(rows, columns))
      return ("expected the kernel's tile, " + Twine(rows) + "x" +
              Twine(columns) + ", found " + Twine(plan.rows) + "x" +
              Twine(plan.columns))
          .str();
    if (plan.isSpecialized())
      return rules.isSpecialized
                 ? ""
                 : "expected one partition, as there are no warpgroups on " +
                       machine + ", found " +
                       std::to_string(plan.partitions.size());
    int64_t most = countRowTiles(kernel, chooseUnit(kernel, target));
    if (plan.warps() > most)
      return ("expected at most " + Twine(most) +
              " warps, as many as there are rows for, found " +
              Twine(plan.warps()))
          .str();
    return "";
  }

  SchedulePlan plan(KernelOp kernel) {
    std::vector<SchedulePlan> ranked = rank(kernel);
    SchedulePlan plan =
        ranked[asked.rank < int64_t(ranked.size()) ? asked.rank : 0];
    std::tie(plan.rows, plan.columns) = tileOf(kernel);
    return plan;
  }

  std::vector<SchedulePlan> rank(KernelOp kernel) {
    if (rules.isSpecialized) {
      std::string reason;
      if (auto facts = describeLoops(kernel, reason))
        return rankSpecialized(*facts, rules, asked);
      emitRemark(kernel.getLoc()) << "is not warp-specialized: " << reason;
    }
    return rankUniform(countRowTiles(kernel, chooseUnit(kernel, target)), rules,
                       asked);
  }

  PlanConstraints asked;
  Machine target;
  ScheduleRules rules;
};

} // namespace

//===- FormClusters.cpp - tgpu-form-clusters ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUFORMCLUSTERS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// What follows from where a program is on the first axis of the grid: it
/// differs between the blocks of a cluster.
class OwnValues {
public:
  explicit OwnValues(KernelOp kernel) {
    kernel.walk([&](ProgramIdOp id) {
      if (id.getAxis() == 0)
        values.insert(id.getResult());
    });
    // A branch or loop gives own results if anything inside of it is.
    for (size_t n = 0; n < values.size(); ++n)
      for (OpOperand &use : values[n].getUses())
        for (Operation *op = use.getOwner();
             op != kernel && !isa<WarpSpecializeOp>(op); op = op->getParentOp())
          values.insert(op->result_begin(), op->result_end());
  }

  bool contains(Value value) const { return values.contains(value); }

private:
  llvm::SetVector<Value> values;
};

struct TgpuFormClusters final
    : fa::impl::TgpuFormClustersBase<TgpuFormClusters> {
  using TgpuFormClustersBase::TgpuFormClustersBase;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      int64_t blocks = planOf(kernel).cluster;
      if (blocks > 1 && !formClusters(kernel, blocks) &&
          kernel->hasAttr(KernelOp::clusterAttrName))
        kernel.erase();
    }
  }

  static bool formClusters(KernelOp kernel, int64_t blocks) {
    if (!kernel->hasAttr(TileGPUDialect::persistentAttrName) ||
        kernel->hasAttr(KernelOp::splitKeysAttrName))
      return false;
    OwnValues own(kernel);
    SmallVector<ChannelOp> shared;
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      if (!channel.getOwn() && !channel.getWidened() &&
          canShare(channel, blocks, own))
        shared.push_back(channel);
    for (ChannelOp channel : shared)
      channel.setShared(true);
    if (!shared.empty())
      kernel->setAttr(TileGPUDialect::clusterAttrName,
                      OpBuilder(kernel.getContext()).getI64IntegerAttr(blocks));
    return !shared.empty();
  }

  /// Whether all blocks fetch the same tiles, as many, and of whole groups of
  /// rows each.
  static bool canShare(ChannelOp channel, int64_t blocks,
                       const OwnValues &own) {
    if (channel.getType().getBuffer().getShape()[0] % (blocks * kSwizzleRows))
      return false;
    auto isOwn = [&](Value value) { return own.contains(value); };
    return llvm::all_of(channel->getUsers(), [&](Operation *user) {
      if (isa<ReceiveOp>(user))
        return false;
      if (auto fetch = dyn_cast<FetchOp>(user);
          fetch && (fetch.getEnd() || fetch.getTable() ||
                    llvm::any_of(fetch.getIndices(), isOwn)))
        return false;
      for (Operation *op = user->getParentOp(); !isa<WarpSpecializeOp>(op);
           op = op->getParentOp())
        if (!isa<scf::ForOp>(op) ||
            llvm::any_of(op->getOperands().take_front(3), isOwn))
          return false;
      return true;
    });
  }
};

} // namespace

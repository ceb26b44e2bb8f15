//===- ChooseAlternatives.cpp - tgpu-choose-alternatives ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUCHOOSEALTERNATIVES
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

struct TgpuChooseAlternatives final
    : fa::impl::TgpuChooseAlternativesBase<TgpuChooseAlternatives> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SmallSetVector<KernelOp, 4> dropped;
    // Whether all that have this alternative have roles.
    llvm::SmallMapVector<KernelOp, bool, 4> isReplaced;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      auto name = kernel->getAttrOfType<FlatSymbolRefAttr>(
          KernelOp::alternativeAttrName);
      auto other = name ? symbols.lookup<KernelOp>(name.getAttr()) : nullptr;
      if (!other)
        continue;
      bool hasRoles = planOf(kernel).isSpecialized();
      isReplaced.try_emplace(other, true).first->second &= hasRoles;
      if (!hasRoles)
        dropped.insert(kernel);
    }
    for (auto [other, replaced] : isReplaced)
      if (replaced)
        dropped.insert(other);
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (auto first = kernel->getAttrOfType<FlatSymbolRefAttr>(
              KernelOp::followsAttrName);
          first && dropped.contains(symbols.lookup<KernelOp>(first.getAttr())))
        dropped.insert(kernel);
    for (KernelOp kernel : dropped)
      kernel.erase();
  }
};

} // namespace

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
    // Whether all that have this alternative are warp-specialized.
    llvm::SmallMapVector<KernelOp, bool, 4> isReplaced;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      auto name = kernel->getAttrOfType<FlatSymbolRefAttr>(
          KernelOp::alternativeAttrName);
      auto other = name ? symbols.lookup<KernelOp>(name.getAttr()) : nullptr;
      if (!other)
        continue;
      bool isSpecialized = planOf(kernel).isSpecialized();
      isReplaced.try_emplace(other, true).first->second &= isSpecialized;
      if (isSpecialized)
        continue;
      dropped.insert(kernel);
      if (follows(other) == kernel.getSymNameAttr())
        putInPlace(other, kernel);
    }
    for (auto [other, replaced] : isReplaced)
      if (replaced)
        dropped.insert(other);
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (StringAttr first = follows(kernel);
          first && dropped.contains(symbols.lookup<KernelOp>(first)))
        dropped.insert(kernel);
    for (KernelOp kernel : dropped)
      kernel.erase();
  }

  /// The kernel that `kernel` follows in its launch; null: it is the first.
  static StringAttr follows(KernelOp kernel) {
    auto first =
        kernel->getAttrOfType<FlatSymbolRefAttr>(KernelOp::followsAttrName);
    return first ? first.getAttr() : StringAttr();
  }

  /// `kernel` is the first of the launch that `old` was the first of.
  void putInPlace(KernelOp kernel, KernelOp old) {
    auto first = FlatSymbolRefAttr::get(kernel.getSymNameAttr());
    for (auto other : getOperation().getOps<KernelOp>())
      if (follows(other) == old.getSymNameAttr())
        other->setAttr(KernelOp::followsAttrName, first);
    kernel->removeAttr(KernelOp::followsAttrName);
    if (Attribute splits = old->getAttr(KernelOp::splitsAttrName))
      kernel->setAttr(KernelOp::splitsAttrName, splits);
  }
};

} // namespace

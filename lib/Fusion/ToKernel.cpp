//===- ToKernel.cpp - tile-to-kernel --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardKernels.h"
#include "CallerKernels.h"
#include "DescribeAttention.h"
#include "KernelSignature.h"
#include "KeyDistances.h"
#include "UnfusedKernel.h"

#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Fusion/Passes.h"
#include "fa/Plan/Forward.h"
#include "fa/Plan/Request.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TILETOKERNEL
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

struct TileToKernel final : fa::impl::TileToKernelBase<TileToKernel> {
  using TileToKernelBase::TileToKernelBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto request = parseRequest(machine, constraints, sharedBytes);
    if (!request)
      return emitError(UnknownLoc::get(context), toString(request.takeError()));
    rules = forwardRules(request->machine, request->asked);
    rules.variants = variants;
    return success();
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> callers, functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (callsParts(function))
        callers.push_back(function);
    // What they call goes with them.
    for (func::FuncOp function : callers)
      if (failed(buildCallerKernels(function, rules, [&](StringRef name) {
            return unusedName(name);
          })))
        return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(convert(function)))
        return signalPassFailure();
  }

  static LogicalResult convertUnfused(func::FuncOp function, StringRef reason) {
    emitRemark(function.getLoc())
        << "runs unfused, on whole tensors: " << reason;
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    if (failed(buildUnfusedKernel(function, name)))
      return failure();
    function.erase();
    return success();
  }

  /// `name`, with a number behind it if something else has that name.
  std::string unusedName(StringRef name) {
    ModuleOp module = getOperation();
    unsigned number = 0;
    auto isUsed = [&](StringRef each) { return module.lookupSymbol(each); };
    return isUsed(name)
               ? SymbolTable::generateSymbolName<32>(name, isUsed, number)
                     .str()
                     .str()
               : name.str();
  }

  /// The planned kernel and, before it, the one on splits of the keys with the
  /// one that merges them.
  void build(OpBuilder &b, const AttentionFunction &match,
             const PlannedKernel &plan, StringRef name) {
    std::string own = (name + plan.suffix).str();
    SmallVector<tile::KernelOp, 2> kernels;
    if (plan.split) {
      kernels.push_back(
          buildKernel(b, match, *plan.split, unusedName(own + "_split"), name));
      buildMergeKernel(b, match, *plan.split, unusedName(own + "_merge"),
                       kernels.front());
    }
    if (!plan.isSplitAlone)
      kernels.push_back(
          buildKernel(b, match, plan.shape, unusedName(own), name));
    if (plan.isAlternative)
      for (tile::KernelOp kernel : kernels)
        kernel->setAttr(tile::KernelOp::alternativeAttrName,
                        FlatSymbolRefAttr::get(&getContext(), name));
  }

  LogicalResult convert(func::FuncOp function) {
    if (!function.getBody().getOps<tile::AttentionBackwardOp>().empty())
      return buildBackwardKernels(
          function, rules, [&](StringRef name) { return unusedName(name); });
    std::string reason;
    AttentionFunction match = matchFunction(function, reason);
    if (!reason.empty())
      return convertUnfused(function, reason);
    simplifyMask(match.attention.getMask());
    dropSignsOfDistances(match.attention);
    auto plans = planForward(describeAttention(match), rules);
    if (!plans)
      return emitError(function.getLoc(), toString(plans.takeError()));
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    OpBuilder b(function);
    for (const PlannedKernel &plan : *plans)
      if (hasVariant(match, plan.shape))
        build(b, match, plan, name);
    function.erase();
    return success();
  }

  ForwardRules rules;
};

} // namespace

//===- ToKernel.cpp - tile-to-kernel --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "fa/Fusion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Checks that the function is one online attention on its arguments, and finds
/// where its results come from.
static FailureOr<AttentionFunction> matchFunction(func::FuncOp function) {
  AttentionFunction match{function, {}, {}};
  auto attentions =
      llvm::to_vector(function.getBody().getOps<tile::OnlineAttentionOp>());
  if (attentions.size() != 1)
    return function.emitOpError("expects one tile.online_attention to make a "
                                "kernel of, found ")
           << attentions.size();
  match.attention = attentions.front();
  auto isArgument = [](Value value) { return isa<BlockArgument>(value); };
  tile::OnlineAttentionOp op = match.attention;
  if (!isArgument(op.getQ()) || !isArgument(op.getK()) ||
      !isArgument(op.getV()))
    return op.emitOpError("expects q, k and v to be arguments of the function");
  for (Value capture : op.getCaptures())
    if (isa<TensorType>(capture.getType()) && !isArgument(capture))
      return op.emitOpError("expects captured tensors to be arguments of the "
                            "function, found ")
             << capture;
  if (!op.getAccOut().hasOneUse())
    return op.emitOpError("expects one tile.online_finalize of its state");
  auto finalize =
      dyn_cast<tile::OnlineFinalizeOp>(*op.getAccOut().getUsers().begin());
  if (!finalize)
    return op.emitOpError("expects a tile.online_finalize of its state");
  Operation *terminator = function.getBody().front().getTerminator();
  for (Value result : terminator->getOperands()) {
    Value source = result;
    if (auto truncation = source.getDefiningOp<arith::TruncFOp>())
      source = truncation.getIn();
    if (source.getDefiningOp() != finalize)
      return function.emitOpError("expects results of the attention alone, "
                                  "found ")
             << result;
    match.resultIsLse.push_back(source == finalize.getLse());
  }
  return match;
}

namespace {

struct TileToKernel final : fa::impl::TileToKernelBase<TileToKernel> {
  using TileToKernelBase::TileToKernelBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() &&
          !function.getBody().getOps<tile::OnlineAttentionOp>().empty())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(convert(function)))
        return signalPassFailure();
  }

  LogicalResult convert(func::FuncOp function) {
    FailureOr<AttentionFunction> match = matchFunction(function);
    if (failed(match))
      return failure();
    auto element = cast<FloatType>(
        getElementTypeOrSelf(match->attention.getQ().getType()));
    KernelShape shape;
    shape.rows = element.getWidth() <= 16 ? qTile16bit : qTile;
    shape.columns = kvTile;
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    OpBuilder b(function);
    if (variants) {
      KernelShape decode = shape;
      decode.rows = decodeQTile;
      decode.packHeads = true;
      if (failed(buildKernel(b, *match, decode, name + "_decode", name)))
        return failure();
    }
    if (failed(buildKernel(b, *match, shape, name, name)))
      return failure();
    if (variants) {
      shape.unitStride = false;
      if (failed(buildKernel(b, *match, shape, name + "_strided", name)))
        return failure();
    }
    function.erase();
    return success();
  }
};

} // namespace

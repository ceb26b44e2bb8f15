//===- TileToHost.cpp - convert-tile-to-host ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileToHost.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILETOHOST
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct ConvertTileToHost final
    : fa::impl::ConvertTileToHostBase<ConvertTileToHost> {
  using ConvertTileToHostBase::ConvertTileToHostBase;

  void runOnOperation() override {
    fa::VectorShape shape;
    shape.lanes = vectorBits / 32;
    fa::DotBlock block = fa::chooseDotBlock(vectorBits, vectorRegisters);
    shape.maxVectors = block.vectors;
    shape.accumulators = block.accumulators;
    shape.pairDots = pairDots;
    shape.tileDots = pairDots && tileDots;
    SmallVector<fa::tile::KernelOp> kernels(
        getOperation().getOps<fa::tile::KernelOp>());
    for (fa::tile::KernelOp kernel : kernels) {
      unfoldScales(kernel);
      if (failed(fa::stageRows(kernel)))
        return signalPassFailure();
      if (pairDots)
        fa::splitReads(kernel, shape);
      if (kernel.getUnfused())
        inlineUnfused(kernel);
      else if (failed(fa::lowerHostKernel(kernel, shape)))
        return signalPassFailure();
      kernel.erase();
    }
  }

private:
  /// A scale of online softmax becomes a product with its scores.
  static void unfoldScales(fa::tile::KernelOp kernel) {
    kernel.walk([](fa::tile::OnlineSoftmaxOp op) {
      if (!op.getScale())
        return;
      OpBuilder b(op);
      Value scale = fa::tile::BroadcastOp::create(b, op.getLoc(),
                                                  op.getScores().getType(),
                                                  op.getScale(), ValueRange{});
      op.getScoresMutable().assign(
          arith::MulFOp::create(b, op.getLoc(), op.getScores(), scale));
      op.getScaleMutable().clear();
    });
  }

  /// A kernel on whole tensors is a function as it stands.
  static void inlineUnfused(fa::tile::KernelOp kernel) {
    ImplicitLocOpBuilder b(kernel.getLoc(), kernel);
    fa::HostArguments arguments;
    func::FuncOp function = fa::createHostFunction(kernel, b, arguments);
    IRMapping mapping;
    mapping.map(kernel.getArguments(), arguments.arguments);
    for (Operation &op : kernel.getBody().front().without_terminator())
      b.clone(op, mapping);
    func::ReturnOp::create(b);
    function->setAttr("fa.scratch_bytes", b.getI64IntegerAttr(0));
  }
};

} // namespace

//===- SimtWalk.cpp - the function, the walk ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "../KernelAbi/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using tile::isTile;
using namespace fa::tgpu;

static bool isTileWithoutLayout(Value value) {
  return isTile(value) &&
         !isa_and_present<LayoutAttr>(
             cast<RankedTensorType>(value.getType()).getEncoding());
}

LogicalResult fa::verifyPlaced(tile::KernelOp kernel) {
  for (StringRef name :
       {TileGPUDialect::sharedBytesAttrName, TileGPUDialect::warpsAttrName})
    if (!kernel->hasAttr(name))
      return emitError(kernel.getLoc())
             << "expected a kernel at stage S7, found one without '" << name
             << "'";
  return failure(kernel
                     .walk([](Operation *op) {
                       if (llvm::none_of(op->getResults(), isTileWithoutLayout))
                         return WalkResult::advance();
                       return WalkResult(
                           op->emitOpError("expected a kernel at stage S7, "
                                           "found a tile without a layout"));
                     })
                     .wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static void createFunction(SimtContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  b.setInsertionPoint(ctx.kernel);
  ctx.declareFunction();
  b.setInsertionPointToStart(&ctx.function.front());
  ctx.numberThreads();
  ctx.entryEnd = ctx.thread.getDefiningOp();
  WordReader reader(b, ctx.function.getArgument(0));
  for (unsigned axis = 0; axis < 3; ++axis)
    ctx.extents.push_back(reader.nextExtent());
  for (auto [argument, type] :
       llvm::zip(ctx.kernel.getArguments(), ctx.kernel.getArgumentTypes()))
    ctx.mapping.map(argument, reader.nextArgument(type));
}

void fa::mapPrograms(SimtContext &ctx, std::array<Value, 3> program) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> ids;
  for (Value id : program)
    ids.push_back(arith::IndexCastUIOp::create(b, b.getIndexType(), id));
  ctx.kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      ctx.mapping.map(id.getResult(), ids[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      ctx.mapping.map(num.getResult(), ctx.extents[num.getAxis()]);
  });
}

LogicalResult fa::lowerBody(SimtContext &ctx, tile::KernelOp kernel) {
  // 31 bits number all programs; a division of 64 takes a hundred instructions.
  auto [outer, id0] =
      ctx.divide(ctx.programNumber(), ctx.i32Of(ctx.extents[0]));
  auto [id2, id1] = ctx.divide(outer, ctx.i32Of(ctx.extents[1]));
  mapPrograms(ctx, {id0, id1, id2});
  return lowerBlock(ctx, kernel.getBody().front());
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Whether the operation works on scalars and memrefs alone.
static bool isScalarOp(Operation *op) {
  return op->getNumRegions() == 0 && llvm::none_of(op->getOperands(), isTile) &&
         llvm::none_of(op->getResults(), isTile);
}

LogicalResult fa::lowerBlock(SimtContext &ctx, Block &block) {
  ImplicitLocOpBuilder &b = ctx.b;
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(ctx, &op)))
      return failure();
  }
  return success();
}

LogicalResult fa::lowerOp(SimtContext &ctx, Operation *op) {
  if (const LoweringRegistry::Lowering *lower = ctx.registry.find(op))
    return (*lower)(op);
  if (isa_and_nonnull<TileGPUDialect>(op->getDialect()))
    return op->emitOpError("has no lowering for this GPU");
  if (isScalarOp(op)) {
    ctx.b.clone(*op, ctx.mapping);
    return success();
  }
  if (isa<arith::ConstantOp>(op))
    return lowerConstant(ctx, op);
  if (OpTrait::hasElementwiseMappableTraits(op))
    return lowerElementwise(ctx, op);
  return op->emitOpError("has no lowering on tiles for a GPU");
}

LogicalResult fa::lowerKernel(SimtContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!ctx.kernel.getBody().hasOneBlock())
    return ctx.kernel.emitOpError(
               "expects a body of one block on a GPU, found ")
           << ctx.kernel.getBody().getBlocks().size();
  createFunction(ctx);
  if (failed(lowerOp(ctx, ctx.kernel))) {
    ctx.function.erase();
    return failure();
  }
  LLVM::ReturnOp::create(b, ValueRange{});
  return success();
}

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

void fa::addSimtLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerBody);
  // Mapped when the program's number is known; a buffer is where it is used.
  ctx.registry.skip<tile::ProgramIdOp, tile::NumProgramsOp, tile::PartIdOp,
                    tile::IdleOp, tile::ReturnOp, AllocOp>();
  addColumnBitsLowerings(ctx);
  addControlLowerings(ctx);
  addElementwiseLowerings(ctx);
  addGlobalLowerings(ctx);
  addGroupsLowerings(ctx);
  addMergeLowerings(ctx);
  addNarrowLowerings(ctx);
  addPagesLowerings(ctx);
  addPositionsLowerings(ctx);
  addScanLowerings(ctx);
  addShapesLowerings(ctx);
  addSharedLowerings(ctx);
  addSoftmaxLowerings(ctx);
  addTanhLowerings(ctx);
  addCappedLowerings(ctx); // their tanh is tried before that of others
}

//===- HostWalk.cpp - the function, the walk ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa;
using tile::isTile;

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

bool fa::isScalarOp(Operation *op) {
  return !op->walk([](Operation *inner) {
              bool tiles = llvm::any_of(inner->getOperands(), isTile) ||
                           llvm::any_of(inner->getResults(), isTile);
              return tiles ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
}

/// Elementwise operations behind a value that cost more than a store and loads:
/// a random number of dropout takes 150.
static constexpr size_t kCostly = 24;

/// Whether so many are evaluated for an element of `value`.
static bool isCostly(HostContext &ctx, Value value) {
  llvm::SetVector<Operation *> steps;
  auto add = [&](Value x) {
    Operation *op = x.getDefiningOp();
    if (op && isTile(x) && isLazy(op) && !ctx.buffers.count(x) &&
        OpTrait::hasElementwiseMappableTraits(op))
      steps.insert(op);
  };
  add(value);
  for (size_t n = 0; n < steps.size() && steps.size() < kCostly; ++n)
    for (Value operand : steps[n]->getOperands())
      add(operand);
  return steps.size() >= kCostly;
}

/// Whether a lazy value is better computed once: an operand of a dot, whose
/// elements are read for each block, or what several read of a function or of
/// many operations.
static bool isReadManyTimes(HostContext &ctx, Operation *op) {
  Value value = op->getResult(0);
  bool isShared = !value.hasOneUse();
  if (isShared && isa<math::MathDialect>(op->getDialect()))
    return true;
  // Of integers, which are on the way to floats, few are read elsewhere.
  if (isShared && isa<FloatType>(getElementTypeOrSelf(value)) &&
      isCostly(ctx, value))
    return true;
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (!dot || use.get() == dot.getAcc())
      return false;
    return use.get() == dot.getA() || !isa<tile::TransposeOp>(op);
  });
}

/// What is lazy is computed where it is needed, or now if it is needed often.
static void lowerLazy(HostContext &ctx, Operation *op) {
  Value result = op->getResult(0);
  if (isComputedPairs(ctx, result))
    for (Operation *user : result.getUsers())
      if (auto dot = cast<tile::DotOp>(user); isPairDot(ctx, dot))
        return writeComputedPairs(ctx, result, dot);
  if (ctx.buffers.count(result) || ctx.pairBuffers.count(result) ||
      !isReadManyTimes(ctx, op))
    return;
  TileBuffer buffer = ctx.materialize(result, ctx.tileForm());
  ctx.buffers[result] = buffer;
}

static LogicalResult lowerOp(HostContext &ctx, Operation *op) {
  if (const LoweringRegistry::Lowering *lower = ctx.registry.find(op))
    return (*lower)(op);
  if (isScalarOp(op)) {
    ctx.b.clone(*op, ctx.mapping);
    return success();
  }
  if (!isLazy(op))
    return op->emitOpError("has no lowering on tiles for the host");
  lowerLazy(ctx, op);
  return success();
}

LogicalResult fa::lowerBlock(HostContext &ctx, Block &block) {
  for (Operation &op : block) {
    ctx.b.setLoc(op.getLoc());
    if (failed(lowerOp(ctx, &op)))
      return failure();
  }
  return success();
}

LogicalResult fa::verifyMatrix(Operation *op, RankedTensorType tile) {
  if (tile.getRank() == 2)
    return success();
  return op->emitOpError("expects a tile of rank 2 in a kernel, found ")
         << tile;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// How the kernel is lowered: along rows or across them, by which units.
static void chooseForm(HostContext &ctx) {
  ctx.alongRows = suitsRowForm(ctx);
  ctx.tiles = hasTileDots(ctx);
  ctx.narrowExp = ctx.tiles && !hasTileDots(ctx, ctx.b.getF32Type());
  if (ctx.tiles) {
    ctx.shape.maxVectors = kTileVectors;
    ctx.shape.accumulators = kTileVectors * kTileVectors;
  }
}

static void createFunction(HostContext &ctx) {
  HostArguments arguments;
  ctx.function = createHostFunction(ctx.kernel, ctx.b, arguments);
  ctx.mapping.map(ctx.kernel.getArguments(), arguments.arguments);
  ctx.scratch = arguments.scratch;
  ctx.kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      ctx.mapping.map(id.getResult(), arguments.programIds[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      ctx.mapping.map(num.getResult(), arguments.gridExtents[num.getAxis()]);
  });
}

LogicalResult fa::lowerHostKernel(tile::KernelOp kernel,
                                  const VectorShape &shape) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expects a body of one block on the host, found ")
           << kernel.getBody().getBlocks().size();
  // Nothing is checked here.
  kernel.walk([](tile::AssertOp op) { op.erase(); });
  HostContext ctx(kernel, shape);
  chooseForm(ctx);
  addHostLowerings(ctx);
  createFunction(ctx);
  if (failed(lowerBlock(ctx, kernel.getBody().front()))) {
    ctx.function.erase();
    return failure();
  }
  ctx.b.setInsertionPointToEnd(&ctx.function.getBody().front());
  func::ReturnOp::create(ctx.b);
  ctx.function->setAttr("fa.scratch_bytes",
                        ctx.b.getI64IntegerAttr(ctx.scratchBytes));
  return success();
}

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

void fa::addHostLowerings(HostContext &ctx) {
  addControlLowerings(ctx);
  addDotLowerings(ctx);
  addLoadLowerings(ctx);
  addLoopLowerings(ctx);
  addMergeLowerings(ctx);
  addPlaceLowerings(ctx);
  addReduceLowerings(ctx);
  addSoftmaxLowerings(ctx);
  addStoreLowerings(ctx);
  if (!ctx.alongRows)
    return;
  addRowDotLowerings(ctx);
  addRowSoftmaxLowerings(ctx);
}

//===- RowForm.cpp - kernels of few rows, lowered along rows --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decode packs the query heads that share a KV head into the rows of a tile:
// four or eight where a register has sixteen lanes. With lanes across rows most
// of each product would be thrown away, and the machine, which should wait for
// K and V only, would compute. So lanes run along rows there:
//  - Q K^T multiplies whole vectors of a query and a key and adds the lanes at
//    the end, those of a block's sums together;
//  - P V has the lanes along the columns of V;
//  - rows are a loop, which ends with the last row that a store keeps: the
//    number of heads in a group is known at run time only.
// So they do where splits of the keys are merged, whose rows lie in memory, and
// in kernels of few rows that compute element by element.
// K and V are read where they lie, narrow floats widened on the way; where
// there is a matrix unit, it multiplies bf16 (LowerRowTiles.cpp).
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

/// The most rows that are few: a whole register of queries is better spent
/// across them.
static constexpr int64_t kFewRows = 16;

/// Whether `value` does not depend on other rows' results: a load, widened
/// perhaps.
static bool isLoaded(Value value) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  return value.getDefiningOp<tile::LoadOp>();
}

bool fa::suitsRowForm(HostContext &ctx) {
  int64_t rows = 0;
  SmallVector<Value> stored;
  auto hasRows = [&](Value value) {
    auto type = typeOf(value);
    rows = rows ? rows : type.getDimSize(0);
    return type.getRank() == 2 && type.getDimSize(0) == rows;
  };
  WalkResult result = ctx.kernel.walk([&](Operation *op) {
    bool suits =
        !isa<tile::ReduceOp, tile::ScanOp, tile::GatherOp, tile::ScatterOp,
             tile::TransposeOp, tile::AtomicAddOp>(op);
    if (auto softmax = dyn_cast<tile::OnlineSoftmaxOp>(op))
      suits = hasRows(softmax.getScores()) &&
              typeOf(softmax.getScores()).getDimSize(1) % ctx.lanes() == 0;
    if (auto merge = dyn_cast<tile::OnlineMergeOp>(op))
      suits = hasRows(merge.getAcc()) &&
              typeOf(merge.getAcc()).getDimSize(1) % ctx.lanes() == 0;
    if (auto store = dyn_cast<tile::StoreOp>(op);
        store && typeOf(store.getValue()).getRank() == 2)
      stored.push_back(store.getValue());
    if (auto dot = dyn_cast<tile::DotOp>(op))
      suits = hasRows(dot.getResult()) && isLoaded(dot.getB()) &&
              !(dot.getTransposeB() && dot.getAcc()) &&
              typeOf(dot.getResult()).getElementType().isF32() &&
              (dot.getTransposeB()
                   ? typeOf(dot.getResult()).getDimSize(1) % ctx.lanes() == 0
                   : typeOf(dot.getA()).getDimSize(1) % kRowUnroll == 0);
    return suits ? WalkResult::advance() : WalkResult::interrupt();
  });
  // Of what is computed element by element rows are those of its stores.
  if (!rows && !llvm::all_of(stored, hasRows))
    return false;
  return !result.wasInterrupted() && rows && rows <= kFewRows &&
         rows % kRowBlock == 0 &&
         kRowBlock * rowBlockColumns(ctx, kRowBlock) >= ctx.lanes();
}

//===----------------------------------------------------------------------===//
// Rows that are kept
//===----------------------------------------------------------------------===//

/// The size of dimension 0 of `view`, if a subview says it.
static OpFoldResult getRows(Value view) {
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  if (!subview)
    return {};
  auto dropped = subview.getDroppedDims();
  for (auto [d, size] : llvm::enumerate(subview.getMixedSizes()))
    if (!dropped.test(d))
      return size;
  return {};
}

/// Whether `value` was loaded or counted, not computed from rows.
static bool isGiven(Value value) {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(value, &slice, options);
  auto isCarried = [](Value operand) {
    return isa<BlockArgument>(operand) && isa<TensorType>(operand.getType());
  };
  return value.getDefiningOp() && llvm::none_of(slice, [&](Operation *op) {
           return isa<tile::DotOp, tile::OnlineSoftmaxOp,
                      tile::OnlineFinalizeOp, tile::OnlineMergeOp,
                      tile::ReduceOp, tile::ScanOp, scf::ForOp>(op) ||
                  llvm::any_of(op->getOperands(), isCarried);
         });
}

/// Whether a row of a tile that is stored comes from the same row of tiles
/// alone, and from what was loaded.
static bool keepsRowsApart(HostContext &ctx) {
  WalkResult result = ctx.kernel.walk([](Operation *op) {
    bool apart = !isa<tile::GatherOp, tile::ScatterOp, tile::TransposeOp>(op);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      apart = isLoaded(dot.getB());
    if (auto scan = dyn_cast<tile::ScanOp>(op)) // of rows, or of their numbers
      apart = typeOf(scan.getInput()).getRank() == 2;
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
      apart = expand.getDim() != 0 || isGiven(expand.getInput());
    return apart ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Rows of q outside of its view are rows of the results outside of theirs,
/// where every store is to as many rows as q has, at the same place.
void fa::countLiveRows(HostContext &ctx, tile::LoadOp load) {
  auto isLeft = [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.get() == dot.getA();
  };
  OpFoldResult rows = getRows(load.getSource());
  if (ctx.liveRows || !rows || load.getInBounds() ||
      load->getBlock() != &ctx.kernel.getBody().front() ||
      llvm::none_of(load.getResult().getUses(), isLeft) || !keepsRowsApart(ctx))
    return;
  auto type = typeOf(load.getResult());
  WalkResult stores = ctx.kernel.walk([&](tile::StoreOp store) {
    bool same = getRows(store.getDest()) == rows &&
                store.getIndices()[0] == load.getIndices()[0] &&
                typeOf(store.getValue()).getDimSize(0) == type.getDimSize(0);
    return same ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!stores.wasInterrupted())
    ctx.liveRows = insideRanges(ctx, ctx.mapped(load.getSource()),
                                load.getIndices(), type.getShape())[0]
                       .second;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void fa::storeRows(HostContext &ctx, tile::StoreOp store, TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = typeOf(store.getValue());
  auto loop =
      scf::ForOp::create(b, rows.first, rows.second, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  auto storeVector = [&](Value column, int64_t count) {
    Value x = ctx.evaluateVector(store.getValue(), {{row}, {column, true}});
    storeRow(ctx, store, x, row, column, count);
  };
  int64_t columns = type.getDimSize(1),
          main = columns / ctx.lanes() * ctx.lanes();
  ctx.forVectors(main, {}, [&](Value column, ValueRange) -> SmallVector<Value> {
    storeVector(column, ctx.lanes());
    return {};
  });
  if (columns > main) {
    auto [column, count] = lastVector(ctx, columns);
    storeVector(ctx.constantIndex(column), count);
  }
}

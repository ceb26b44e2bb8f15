//===- LowerReduce.cpp - reductions and scans of rows ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

static LogicalResult lowerReduce(HostContext &ctx, tile::ReduceOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (input.getRank() != 2 || op.getDim() != 1)
    return op.emitOpError("has a lowering for the host along dimension 1 of a "
                          "tile of rank 2, found dimension ")
           << op.getDim() << " of " << input;
  Type element = input.getElementType();
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return op.emitOpError("has a lowering for the host on floats and integers "
                          "of 32 and 64 bits, found ")
           << input;
  TileBuffer source = ctx.materialize(op.getInput(), TileForm::Lanes);
  TileBuffer result = ctx.bufferForResult(op.getResult());
  ctx.forRowBlocks(input.getDimSize(0), [&](Value row, int64_t vectors) {
    SmallVector<Value> first;
    for (int64_t v = 0; v < vectors; ++v)
      first.push_back(
          ctx.readBuffer(source, {{ctx.addIndex(row, v * ctx.lanes()), true},
                                  {ctx.constantIndex(0)}}));
    auto loop = scf::ForOp::create(
        b, ctx.constantIndex(1), ctx.constantIndex(input.getDimSize(1)),
        ctx.constantIndex(1), first,
        [&](OpBuilder &, Location, Value col, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(tile::combine(
                b, op.getKind(), carried[v],
                ctx.readBuffer(
                    source,
                    {{ctx.addIndex(row, v * ctx.lanes()), true}, {col}})));
          scf::YieldOp::create(b, next);
        });
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, loop.getResult(v), result.memref,
                              ctx.addIndex(row, v * ctx.lanes()));
  });
  ctx.buffers[op.getResult()] = result;
  return success();
}

/// Calls `body(at, carried)`, which gives what is carried on, for each of
/// `size` elements in the order of a scan but the first, for which `first(at)`
/// does.
static void
forScanned(HostContext &ctx, int64_t size, bool reverse,
           llvm::function_ref<SmallVector<Value>(Value)> first,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value last = ctx.constantIndex(size - 1);
  scf::ForOp::create(
      b, ctx.constantIndex(1), ctx.constantIndex(size), ctx.constantIndex(1),
      first(reverse ? last : ctx.constantIndex(0)),
      [&](OpBuilder &, Location, Value n, ValueRange carried) {
        Value at = reverse ? arith::SubIOp::create(b, last, n).getResult() : n;
        scf::YieldOp::create(b, body(at, carried));
      });
}

/// A vector lies along the lanes: its elements are added one by one.
static void scanVector(HostContext &ctx, tile::ScanOp op, TileBuffer source,
                       TileBuffer result) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto store = [&](Value element, Value at) -> SmallVector<Value> {
    memref::StoreOp::create(b, element, result.memref, at);
    return {element};
  };
  forScanned(
      ctx, tile::typeOf(op.getInput()).getNumElements(), op.getReverse(),
      [&](Value at) { return store(ctx.readBuffer(source, {{at}}), at); },
      [&](Value at, ValueRange carried) {
        return store(tile::combine(b, op.getKind(), carried[0],
                                   ctx.readBuffer(source, {{at}})),
                     at);
      });
}

static LogicalResult lowerScan(HostContext &ctx, tile::ScanOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  RankedTensorType type = tile::typeOf(op.getInput());
  if (type.getRank() > 2 || int64_t(op.getDim()) != type.getRank() - 1)
    return op.emitOpError("has a lowering for the host along the last of at "
                          "most two dimensions, found dimension ")
           << op.getDim() << " of " << type;
  TileBuffer source = ctx.materialize(op.getInput(), TileForm::Lanes);
  TileBuffer result = ctx.bufferForResult(op.getResult());
  ctx.buffers[op.getResult()] = result;
  if (type.getRank() == 1) {
    scanVector(ctx, op, source, result);
    return success();
  }
  ctx.forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    auto step = [&](Value column, ValueRange carried) {
      SmallVector<Value> next;
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = ctx.addIndex(row, v * ctx.lanes());
        Value x = ctx.readBuffer(source, {{at, true}, {column}});
        if (!carried.empty())
          x = tile::combine(b, op.getKind(), carried[v], x);
        vector::StoreOp::create(b, x, result.memref, ValueRange{column, at});
        next.push_back(x);
      }
      return next;
    };
    forScanned(
        ctx, type.getDimSize(1), op.getReverse(),
        [&](Value column) { return step(column, {}); }, step);
  });
  return success();
}

void fa::addReduceLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerReduce);
  ctx.registry.add(ctx, lowerScan);
}

//===- ComputedPairs.cpp - what is computed, in pairs of bf16 -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// P and dS of gradients are rounded for the products that read them, which do
// so in pairs along the contraction (LowerPairDot.cpp), with matrix units those
// of f16, too, in pieces (Pieces.h). Tiles are held with their lanes along
// rows: pairs along a row are of two registers, which exchange elements; pairs
// along a column lie as they are narrowed.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

bool fa::isComputedPairs(HostContext &ctx, Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!rounding || !type || !ctx.shape.canPair(type.getElementType()) ||
      ctx.alongRows)
    return false;
  bool isEven = type.getRank() == 2 && type.getDimSize(0) % 2 == 0 &&
                type.getDimSize(1) % 2 == 0;
  // P of an online softmax is written by that.
  return isEven && typeOf(rounding.getIn()).getElementType().isF32() &&
         !rounding.getIn().getDefiningOp<tile::OnlineSoftmaxOp>() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<tile::DotOp>(use.getOwner());
           return dot && use.get() != dot.getAcc();
         });
}

/// Calls `body` for each of `count` lines and, there, for each `step`-th row.
static void forLines(HostContext &ctx, int64_t count, int64_t rows,
                     int64_t step,
                     llvm::function_ref<void(Value line, int64_t row)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto lines = scf::ForOp::create(
      b, ctx.constantIndex(0), ctx.constantIndex(count), ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(lines.getBody());
  for (int64_t row = 0; row < rows; row += step)
    body(lines.getInductionVar(), row);
}

/// The elements of two vectors, one behind the other, with an even number, or
/// an odd one.
static Value everySecond(HostContext &ctx, Value first, Value second,
                         int64_t odd) {
  SmallVector<int64_t> order;
  for (int64_t n = 0; n < ctx.lanes(); ++n)
    order.push_back(2 * n + odd);
  return vector::ShuffleOp::create(ctx.b, first, second, order);
}

void fa::writeComputedPairs(HostContext &ctx, Value value, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  RankedTensorType type = typeOf(value);
  int64_t rows = ctx.paddedRows(type.getDimSize(0));
  bool isLeft = dot.getA() == value;
  TileBuffer buffer =
      ctx.allocate(type, isLeft ? TileForm::LanePairs : TileForm::ColumnPairs);
  // An instruction rounds to bf16; pieces are those of what has been rounded.
  bool isWhole = buffer.pieces == 1;
  Value source = value;
  if (isWhole)
    source = value.getDefiningOp<arith::TruncFOp>().getIn();
  auto read = [&](int64_t row, Value column) {
    return ctx.evaluateVector(source,
                              {{ctx.constantIndex(row), true}, {column}});
  };
  auto store = [&](ValueRange pieces, Value line, int64_t at) {
    for (auto [n, piece] : llvm::enumerate(pieces))
      vector::StoreOp::create(
          b, piece, buffer.memref,
          ValueRange{lineOfPiece(ctx, buffer, line, n), ctx.constantIndex(at)});
  };
  auto writeLeft = [&](Value pair, int64_t row) {
    Value column = arith::MulIOp::create(b, pair, ctx.constantIndex(2));
    Value even = read(row, column), odd = read(row, ctx.addIndex(column, 1));
    if (isWhole)
      store(packPair(ctx, even, odd), pair, row);
    else
      store(emitPieces(b, even, odd, buffer.pieces), pair, row);
  };
  auto writeRight = [&](Value column, int64_t row) {
    Value first = read(row, column), second = first;
    if (row + ctx.lanes() < rows)
      second = read(row + ctx.lanes(), column);
    if (isWhole)
      store(vector::BitCastOp::create(b, ctx.vectorType(b.getI32Type()),
                                      narrowBoth(ctx, first, second))
                ->getResults(),
            column, row / 2);
    else
      store(emitPieces(b, everySecond(ctx, first, second, 0),
                       everySecond(ctx, first, second, 1), buffer.pieces),
            column, row / 2);
  };
  if (isLeft)
    forLines(ctx, type.getDimSize(1) / 2, rows, ctx.lanes(), writeLeft);
  else
    forLines(ctx, type.getDimSize(1), rows, 2 * ctx.lanes(), writeRight);
  ctx.pairBuffers[value] = buffer;
}

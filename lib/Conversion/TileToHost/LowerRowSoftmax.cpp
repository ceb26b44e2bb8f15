//===- LowerRowSoftmax.cpp - online softmax with lanes along rows ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowForm.cpp, and LowerSoftmax.cpp for the formulas. Scores and their
// exponentials are taken row by row; what there is one of for each row
// (maximum, sum, rescaling) is computed for all rows at once, lanes across
// them.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa;

void KernelLowering::emitRowScores(tile::OnlineSoftmaxOp op, Buffer scores,
                                   Buffer maxima) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  Value none = constantVector(-std::numeric_limits<double>::infinity());
  forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, none, maxima.memref,
                              addIndex(row, v * lanes()));
  });
  forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    SmallVector<Value> max =
        forVectors(type.getDimSize(1), none,
                   [&](Value col, ValueRange carried) -> SmallVector<Value> {
                     Value score =
                         evaluateVector(op.getScores(), {{row}, {col, true}});
                     vector::StoreOp::create(b, score, scores.memref,
                                             ValueRange{row, col});
                     return {emitMax(b, score, carried[0])};
                   });
    Value largest = emitLaneReduction(
        b, max[0], [&](Value x, Value y) { return emitMax(b, x, y); });
    memref::StoreOp::create(b, largest, maxima.memref, row);
  });
}

void KernelLowering::emitRowExponentials(Buffer scores, Buffer p,
                                         RankedTensorType type, Buffer maxima,
                                         Buffer sums, Type narrow) {
  forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    Value max = emitFinite(
        toVector(memref::LoadOp::create(b, maxima.memref, ValueRange{row})));
    SmallVector<Value> sum = forVectors(
        type.getDimSize(1), constantVector(0.0),
        [&](Value col, ValueRange carried) -> SmallVector<Value> {
          Value x =
              emitExponential(readBuffer(scores, {{row}, {col, true}}), max);
          Value total = arith::AddFOp::create(b, carried[0], x);
          if (p.form == Form::NaturalPairs)
            x = arith::TruncFOp::create(b, vectorType(narrow), x);
          else if (narrow)
            x = emitRound(b, x, narrow);
          vector::StoreOp::create(b, x, p.memref, ValueRange{row, col});
          return {total};
        });
    Value total = emitLaneReduction(b, sum[0], [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    });
    memref::StoreOp::create(b, total, sums.memref, row);
  });
  if (!liveRows)
    return;
  // P V takes whole blocks of rows. What the scratch holds where no row is may
  // be numbers so small that each product with them takes 100 cycles.
  Value blocks =
      arith::CeilDivUIOp::create(b, liveRows, constantIndex(kRowBlock));
  Value end = arith::MulIOp::create(b, blocks, constantIndex(kRowBlock));
  auto loop = scf::ForOp::create(b, liveRows, end, constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  VectorType part =
      vectorType(cast<MemRefType>(p.memref.getType()).getElementType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(part));
  forVectors(type.getDimSize(1), {},
             [&](Value col, ValueRange) -> SmallVector<Value> {
               vector::StoreOp::create(b, zero, p.memref,
                                       ValueRange{loop.getInductionVar(), col});
               return {};
             });
}

LogicalResult KernelLowering::lowerRowSoftmax(tile::OnlineSoftmaxOp op) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  int64_t rows = type.getDimSize(0);
  arith::TruncFOp truncation = getOnlyNarrowing(op);
  Type narrow =
      truncation ? getElementTypeOrSelf(truncation.getType()) : Type();
  Buffer scores = allocate(type, Form::Natural), p = scores;
  bool pairs = truncation && isPairOperand(truncation.getOut());
  if (pairs)
    p = allocate(cast<RankedTensorType>(truncation.getType()),
                 Form::NaturalPairs);
  Buffer maxima = allocate(rowType, Form::Natural);
  Buffer sums = allocate(rowType, Form::Natural);
  Buffer alpha = bufferForResult(op.getAlpha());
  Buffer maxOut = bufferForResult(op.getMaxOut());
  Buffer sumOut = bufferForResult(op.getSumOut());

  emitRowScores(op, scores, maxima);
  auto forRows = [&](llvm::function_ref<void(Value)> body) {
    forRowBlocks(rows, [&](Value row, int64_t vectors) {
      for (int64_t v = 0; v < vectors; ++v)
        body(addIndex(row, v * lanes()));
    });
  };
  forRows([&](Value at) {
    Value oldMax = evaluateVector(op.getMax(), {{at, true}});
    Value max = emitMax(b, readBuffer(maxima, {{at, true}}), oldMax);
    vector::StoreOp::create(b, emitExponential(oldMax, emitFinite(max)),
                            alpha.memref, at);
    vector::StoreOp::create(b, max, maxOut.memref, at);
    vector::StoreOp::create(b, max, maxima.memref, at);
  });
  emitRowExponentials(scores, p, type, maxima, sums, narrow);
  forRows([&](Value at) {
    Value oldSum = evaluateVector(op.getSum(), {{at, true}});
    Value factor = readBuffer(alpha, {{at, true}});
    Value sum =
        arith::AddFOp::create(b, readBuffer(sums, {{at, true}}),
                              Value(arith::MulFOp::create(b, oldSum, factor)));
    vector::StoreOp::create(b, sum, sumOut.memref, at);
  });
  if (pairs)
    pairBuffers[truncation.getResult()] = p;
  else
    buffers[op.getP()] = p;
  if (truncation && !pairs)
    buffers[truncation.getResult()] = p;
  buffers[op.getAlpha()] = alpha;
  buffers[op.getMaxOut()] = maxOut;
  buffers[op.getSumOut()] = sumOut;
  return success();
}

LogicalResult KernelLowering::lowerRowFinalize(tile::OnlineFinalizeOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  Buffer output = allocate(type, Form::Natural);
  forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    auto constant = [&](float value) -> Value {
      return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    };
    Value sum = evaluate(op.getSum(), {{row}});
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum,
                                        constant(0.0f));
    Value inverse = toVector(arith::DivFOp::create(b, constant(1.0f), sum));
    forVectors(paddedRows(type.getDimSize(1)), {},
               [&](Value col, ValueRange) -> SmallVector<Value> {
                 Value acc = evaluateVector(op.getAcc(), {{row}, {col, true}});
                 Value scaled = arith::MulFOp::create(b, acc, inverse);
                 // Not a product with 0, see lowerOnlineFinalize.
                 vector::StoreOp::create(
                     b,
                     Value(arith::SelectOp::create(
                         b, empty, constantVector(0.0), scaled)),
                     output.memref, ValueRange{row, col});
                 return {};
               });
  });
  buffers[op.getOutput()] = output;
  if (op.getMaxOut())
    buffers[op.getMaxOut()] = materialize(op.getMax(), Form::Natural);
  if (op.getLse().use_empty())
    return success();
  auto rowType = cast<RankedTensorType>(op.getLse().getType());
  Buffer lse = allocate(rowType, Form::Natural);
  forRowBlocks(rowType.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = addIndex(row, v * lanes());
      Value sum = evaluateVector(op.getSum(), {{at, true}});
      Value max = evaluateVector(op.getMax(), {{at, true}});
      vector::StoreOp::create(b, emitLogSumExp(op, max, sum), lse.memref, at);
    }
  });
  buffers[op.getLse()] = lse;
  return success();
}

LogicalResult KernelLowering::lowerRowMerge(tile::OnlineMergeOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  Buffer alphas = allocate(rowType, Form::Natural);
  Buffer betas = allocate(rowType, Form::Natural);
  Buffer acc = bufferForResult(op.getAccOut());
  Buffer maxOut = bufferForResult(op.getMaxOut());
  Buffer sumOut = bufferForResult(op.getSumOut());
  forRowBlocks(rowType.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = addIndex(row, v * lanes());
      auto [alpha, beta] = emitMergeFactors(op, at, maxOut, sumOut);
      vector::StoreOp::create(b, alpha, alphas.memref, at);
      vector::StoreOp::create(b, beta, betas.memref, at);
    }
  });
  forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    auto factor = [&](Buffer factors) {
      return toVector(readBuffer(factors, {{row}}));
    };
    Value alpha = factor(alphas), beta = factor(betas);
    forVectors(type.getDimSize(1), {},
               [&](Value col, ValueRange) -> SmallVector<Value> {
                 SmallVector<TileCoord> at = {{row}, {col, true}};
                 Value before = arith::MulFOp::create(
                     b, evaluateVector(op.getAcc(), at), alpha);
                 Value output = evaluateVector(op.getOutput(), at);
                 vector::StoreOp::create(
                     b, Value(vector::FMAOp::create(b, output, beta, before)),
                     acc.memref, ValueRange{row, col});
                 return {};
               });
  });
  buffers[op.getAccOut()] = acc;
  buffers[op.getMaxOut()] = maxOut;
  buffers[op.getSumOut()] = sumOut;
  return success();
}

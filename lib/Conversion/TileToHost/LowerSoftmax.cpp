//===- LowerSoftmax.cpp - online softmax, its start and its end -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp(s - m) is taken of the difference, which is exact where s is near m
// however large both are (sentinels of -FLT_MAX, say). So p is 1 where s is m,
// and stays 1 when it is rounded to 16 bits. exp2(s * c - m * c), c = log2 e,
// with m * c rounded would save nothing, since c is part of the range reduction
// (VectorMath.cpp; one multiplication of the short form), and make p a little
// more or less than 1 there: rounded, that is an error of the whole row, whose
// sum is not rounded. A maximum of
// -inf (no key seen yet) is replaced by the lowest number: all of the row's
// exponentials are exp(-inf) = 0.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa;
using tile::typeOf;

//===----------------------------------------------------------------------===//
// Pending dots
//===----------------------------------------------------------------------===//

/// A dot is left to the online softmax that is the only reader of its scores,
/// through elementwise operations with one reader each.
tile::OnlineSoftmaxOp KernelLowering::findSoftmax(tile::DotOp dot) {
  if (alongRows || dot.getType().getRank() != 2 ||
      !dot.getType().getElementType().isF32())
    return {};
  Value value = dot.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != dot->getBlock())
      return {};
    if (auto softmax = dyn_cast<tile::OnlineSoftmaxOp>(user))
      return softmax.getScores() == value &&
                     findPendingDot(softmax.getScores()) == dot
                 ? softmax
                 : tile::OnlineSoftmaxOp();
    if (!isLazy(user) || !OpTrait::hasElementwiseMappableTraits(user))
      return {};
    value = user->getResult(0);
  }
  return {};
}

bool KernelLowering::isPending(tile::DotOp dot) {
  return static_cast<bool>(findSoftmax(dot));
}

/// The dot that the scores are computed from: the first one on the way back
/// through elementwise operations.
tile::DotOp KernelLowering::findPendingDot(Value scores) {
  if (auto dot = scores.getDefiningOp<tile::DotOp>())
    return dot;
  Operation *op = scores.getDefiningOp();
  if (!op || !OpTrait::hasElementwiseMappableTraits(op))
    return {};
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()) && operand.hasOneUse())
      if (tile::DotOp dot = findPendingDot(operand))
        return dot;
  return {};
}

//===----------------------------------------------------------------------===//
// OnlineSoftmaxOp
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLowering::emitScores(tile::OnlineSoftmaxOp op,
                                              tile::DotOp dot, Buffer buffer,
                                              Value row, ArrayRef<Value> max,
                                              Value end) {
  int64_t vectors = max.size();
  auto store = [&](Value score, Value col, int64_t v, Value running) {
    vector::StoreOp::create(b, score, buffer.memref,
                            ValueRange{col, addIndex(row, v * lanes())});
    return emitMax(b, score, running);
  };
  if (dot)
    return emitDotColumns(
        dot, row, vectors, max,
        [&](ArrayRef<SmallVector<Value>> acc, Value row, Value col,
            ValueRange carried) {
          SmallVector<Value> next(carried);
          for (auto [n, values] : llvm::enumerate(acc))
            for (auto [v, value] : llvm::enumerate(values)) {
              dotElement[dot.getResult()] = value;
              Value at = addIndex(col, n);
              Value score = evaluateVector(
                  op.getScores(), {{addIndex(row, v * lanes()), true}, {at}});
              next[v] = store(score, at, v, next[v]);
            }
          dotElement.erase(dot.getResult());
          return next;
        },
        end);
  int64_t columns =
      cast<RankedTensorType>(op.getScores().getType()).getDimSize(1);
  auto loop = scf::ForOp::create(b, constantIndex(0),
                                 end ? end : constantIndex(columns),
                                 constantIndex(1), max);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next(loop.getRegionIterArgs());
  Value col = loop.getInductionVar();
  for (int64_t v = 0; v < vectors; ++v) {
    Value score = evaluateVector(op.getScores(),
                                 {{addIndex(row, v * lanes()), true}, {col}});
    next[v] = store(score, col, v, next[v]);
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

Value KernelLowering::emitFinite(Value max) {
  return emitMax(b, max, constantVector(std::numeric_limits<float>::lowest()));
}

Value KernelLowering::emitExponential(Value score, Value max) {
  Value x = arith::SubFOp::create(b, score, max);
  // Tile dots come with AVX512DQ.
  return shape.tileDots ? emitShortExp(b, x, narrowExp) : emitExp(b, x);
}

SmallVector<Value>
KernelLowering::emitExponentials(ScoreSource scoreAt, Buffer p, Value columns,
                                 Value row, ArrayRef<Value> maxima,
                                 ArrayRef<Value> sum, Type narrow,
                                 BesideTrip beside) {
  bool pairs = p.form == Form::LanePairs;
  if (pairs)
    columns = b.createOrFold<arith::DivUIOp>(columns, constantIndex(2));
  auto loop =
      scf::ForOp::create(b, constantIndex(0), columns, constantIndex(1), sum);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  Value at = loop.getInductionVar();
  if (beside)
    beside(at);
  Value col =
      pairs ? Value(arith::MulIOp::create(b, at, constantIndex(2))) : at;
  for (auto [index, max] : llvm::enumerate(maxima)) {
    int64_t v = index;
    auto exponential = [&](Value col) {
      return emitExponential(scoreAt(v, col), max);
    };
    Value x = exponential(col);
    Value total = arith::AddFOp::create(b, loop.getRegionIterArg(v), x);
    SmallVector<Value> kept = {x};
    if (pairs) {
      Value odd = exponential(addIndex(col, 1));
      total = arith::AddFOp::create(b, total, odd);
      // The sum keeps the NaN of a row.
      if (tiles)
        kept = emitRoundedPieces(b, x, odd, p.pieces);
      else
        kept = {packPair(x, odd)};
    } else if (narrow) {
      kept = {emitRound(b, x, narrow)};
    }
    next.push_back(total);
    for (auto [n, piece] : llvm::enumerate(kept))
      vector::StoreOp::create(
          b, piece, p.memref,
          ValueRange{lineOfPiece(p, at, n), addIndex(row, v * lanes())});
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

KernelLowering::SoftmaxResults
KernelLowering::allocateResults(tile::OnlineSoftmaxOp op, Buffer p) {
  return {p, bufferForResult(op.getAlpha()), bufferForResult(op.getMaxOut()),
          bufferForResult(op.getSumOut())};
}

KernelLowering::RowState KernelLowering::readState(tile::OnlineSoftmaxOp op,
                                                   Value row, int64_t vectors) {
  RowState state;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = addIndex(row, v * lanes());
    state.max.push_back(evaluateVector(op.getMax(), {{at, true}}));
    state.sum.push_back(evaluateVector(op.getSum(), {{at, true}}));
  }
  return state;
}

KernelLowering::RowState
KernelLowering::emitRescale(const RowState &old, ArrayRef<Value> max,
                            const SoftmaxResults &results, Value row) {
  RowState scaled;
  for (auto [v, newMax] : llvm::enumerate(max)) {
    Value at = addIndex(row, v * lanes());
    scaled.max.push_back(emitFinite(newMax));
    Value rescale = emitExponential(old.max[v], scaled.max.back());
    scaled.sum.push_back(arith::MulFOp::create(b, old.sum[v], rescale));
    vector::StoreOp::create(b, rescale, results.alpha.memref, at);
    vector::StoreOp::create(b, newMax, results.max.memref, at);
  }
  return scaled;
}

void KernelLowering::storeState(ArrayRef<Value> sum,
                                const SoftmaxResults &results, Value row) {
  for (auto [v, value] : llvm::enumerate(sum))
    vector::StoreOp::create(b, value, results.sum.memref,
                            addIndex(row, v * lanes()));
}

void KernelLowering::keepResults(tile::OnlineSoftmaxOp op,
                                 const SoftmaxResults &results, Limits limits) {
  Value p = getReadP(op);
  if (results.p.form == Form::LanePairs)
    pairBuffers[p] = results.p;
  else
    buffers[op.getP()] = buffers[p] = results.p;
  limitsOf[p] = std::move(limits);
  buffers[op.getAlpha()] = results.alpha;
  buffers[op.getMaxOut()] = results.max;
  buffers[op.getSumOut()] = results.sum;
}

LogicalResult KernelLowering::lowerOnlineSoftmax(tile::OnlineSoftmaxOp op) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  if (type.getRank() != 2)
    return op.emitOpError("expects a tile of rank 2 in a kernel, found ")
           << type;
  if (alongRows)
    return lowerRowSoftmax(op);
  tile::DotOp dot = findPendingDot(op.getScores());
  if (dot && (buffers.count(dot.getResult()) || !isPending(dot)))
    dot = {};
  if (dot && isTileDot(dot))
    return lowerTileSoftmax(op, dot);
  if (dot)
    prepareDot(dot);
  arith::TruncFOp truncation = getOnlyNarrowing(op);
  Type narrow =
      truncation ? getElementTypeOrSelf(truncation.getType()) : Type();

  Buffer scores = allocate(type, Form::Lanes);
  Value p = getReadP(op);
  SoftmaxResults results = allocateResults(
      op, isPairOperand(p) ? allocate(typeOf(p), Form::LanePairs) : scores);
  int64_t columns = type.getDimSize(1);
  Limits limits = findLimits(op);
  forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        RowState old = readState(op, row, vectors);
        Value end = emitSeenColumns(limits, row, vectors, columns);
        SmallVector<Value> max = emitScores(op, dot, scores, row, old.max, end);
        RowState scaled = emitRescale(old, max, results, row);
        auto scoreAt = [&](int64_t v, Value col) {
          return readBuffer(scores,
                            {{addIndex(row, v * lanes()), true}, {col}});
        };
        storeState(emitExponentials(scoreAt, results.p,
                                    end ? end : constantIndex(columns), row,
                                    scaled.max, scaled.sum, narrow),
                   results, row);
      },
      liveRows);
  keepResults(op, results, std::move(limits));
  return success();
}

//===----------------------------------------------------------------------===//
// OnlineFinalizeOp
//===----------------------------------------------------------------------===//

Value KernelLowering::emitLogSumExp(tile::OnlineFinalizeOp op, Value max,
                                    Value sum) {
  Value log = math::LogOp::create(b, sum);
  return op.getMaxOut() ? log : Value(arith::AddFOp::create(b, max, log));
}

LogicalResult KernelLowering::lowerOnlineFinalize(tile::OnlineFinalizeOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  if (type.getRank() != 2)
    return op.emitOpError("expects a tile of rank 2 in a kernel, found ")
           << type;
  if (alongRows)
    return lowerRowFinalize(op);
  // In place of what nobody reads later: that is in the caches.
  auto held = buffers.find(op.getAcc());
  Buffer output = held != buffers.end() && op.getAcc().hasOneUse() &&
                          held->second.form == Form::Lanes
                      ? held->second
                      : allocate(type, Form::Lanes);
  Buffer lse =
      allocate(cast<RankedTensorType>(op.getLse().getType()), Form::Lanes);
  forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = addIndex(row, v * lanes());
      Value sum = evaluateVector(op.getSum(), {{at, true}});
      Value max = evaluateVector(op.getMax(), {{at, true}});
      Value zero = constantVector(0.0);
      // Not a product with 0: the accumulator of an empty row may hold a NaN
      // from a masked V.
      Value empty =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
      Value inverse = arith::DivFOp::create(b, constantVector(1.0), sum);
      if (!op.getLse().use_empty())
        vector::StoreOp::create(b, emitLogSumExp(op, max, sum), lse.memref, at);
      auto loop = scf::ForOp::create(b, constantIndex(0),
                                     constantIndex(type.getDimSize(1)),
                                     constantIndex(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar();
      Value acc = evaluateVector(op.getAcc(), {{at, true}, {col}});
      Value scaled = arith::MulFOp::create(b, acc, inverse);
      vector::StoreOp::create(
          b, Value(arith::SelectOp::create(b, empty, zero, scaled)),
          output.memref, ValueRange{col, at});
    }
  });
  buffers[op.getOutput()] = output;
  buffers[op.getLse()] = lse;
  if (op.getMaxOut())
    buffers[op.getMaxOut()] = materialize(op.getMax(), Form::Lanes);
  return success();
}

//===----------------------------------------------------------------------===//
// OnlineMergeOp
//===----------------------------------------------------------------------===//

std::pair<Value, Value> KernelLowering::emitMergeFactors(tile::OnlineMergeOp op,
                                                         Value at,
                                                         Buffer maxOut,
                                                         Buffer sumOut) {
  Value oldMax = evaluateVector(op.getMax(), {{at, true}});
  Value otherMax = evaluateVector(op.getOtherMax(), {{at, true}});
  Value logSum = evaluateVector(op.getLogSum(), {{at, true}});
  Value max = emitMax(b, otherMax, oldMax);
  Value finite = emitFinite(max);
  Value alpha = emitExponential(oldMax, finite);
  // One exponential: of log_sum alone it may be too large. exp(89) is inf.
  Value size = arith::AddFOp::create(
      b, Value(arith::SubFOp::create(b, otherMax, finite)), logSum);
  Value beta =
      emitExp(b, arith::MinimumFOp::create(b, size, constantVector(89.0)));
  Value sum = evaluateVector(op.getSum(), {{at, true}});
  vector::StoreOp::create(b, max, maxOut.memref, at);
  vector::StoreOp::create(b, Value(vector::FMAOp::create(b, sum, alpha, beta)),
                          sumOut.memref, at);
  return {alpha, beta};
}

LogicalResult KernelLowering::lowerOnlineMerge(tile::OnlineMergeOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  if (type.getRank() != 2)
    return op.emitOpError("expects a tile of rank 2 in a kernel, found ")
           << type;
  if (alongRows)
    return lowerRowMerge(op);
  Buffer acc = allocate(type, Form::Lanes);
  Buffer maxOut = allocate(rowType, Form::Lanes);
  Buffer sumOut = allocate(rowType, Form::Lanes);
  forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = addIndex(row, v * lanes());
      auto [alpha, beta] = emitMergeFactors(op, at, maxOut, sumOut);
      auto loop = scf::ForOp::create(b, constantIndex(0),
                                     constantIndex(type.getDimSize(1)),
                                     constantIndex(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar();
      Value before = arith::MulFOp::create(
          b, evaluateVector(op.getAcc(), {{at, true}, {col}}), alpha);
      Value output = evaluateVector(op.getOutput(), {{at, true}, {col}});
      vector::StoreOp::create(
          b, Value(vector::FMAOp::create(b, output, beta, before)), acc.memref,
          ValueRange{col, at});
    }
  });
  buffers[op.getAccOut()] = acc;
  buffers[op.getMaxOut()] = maxOut;
  buffers[op.getSumOut()] = sumOut;
  return success();
}

//===- TileToLinalg.cpp - convert-tile-to-linalg --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on whole tensors as loops: each as its definition says, one after
// the other. Speed is what fusion is for.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILETOLINALG
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

/// Builds the loops of one operation.
class LoopBuilder {
public:
  explicit LoopBuilder(Operation *op) : b(op->getLoc(), op) {}

  /// The values that replace the results of `op`; nothing: it stays.
  std::optional<SmallVector<Value>> lower(Operation *op) {
    using Result = std::optional<SmallVector<Value>>;
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](DotOp dot) { return Result({lowerDot(dot)}); })
        .Case(
            [&](SoftmaxOp softmax) { return Result({lowerSoftmax(softmax)}); })
        .Case([&](LogSumExpOp lse) { return Result({lowerLogSumExp(lse)}); })
        .Case([&](ReduceOp reduce) { return Result({lowerReduce(reduce)}); })
        .Case([&](TransposeOp transpose) {
          return Result({lowerTranspose(transpose)});
        })
        .Case(
            [&](ExpandDimsOp expand) { return Result({lowerExpand(expand)}); })
        .Case([&](BroadcastOp broadcast) {
          return Result({lowerBroadcast(broadcast)});
        })
        .Case([&](IotaOp iota) { return Result({lowerIota(iota)}); })
        .Case([&](OnlineAttentionOp op) { return Result(lowerAttention(op)); })
        .Case([&](OnlineFinalizeOp op) { return Result(lowerFinalize(op)); })
        .Default([&](Operation *op) -> Result {
          if (OpTrait::hasElementwiseMappableTraits(op) &&
              isa<RankedTensorType>(op->getResult(0).getType()))
            return Result({lowerElementwise(op)});
          return std::nullopt;
        });
  }

private:
  using Body = llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

  //===--- Helpers ---===//

  Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value infinity(ImplicitLocOpBuilder &b, Type type) {
    return constant(b, type, -std::numeric_limits<double>::infinity());
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value sizeOf(Value tensor, int64_t dim) {
    return tensor::DimOp::create(b, tensor, dim);
  }
  AffineExpr dimExpr(unsigned d) { return b.getAffineDimExpr(d); }
  AffineMap mapOf(int64_t rank, ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rank, 0, exprs, b.getContext());
  }
  AffineMap identity(int64_t rank) { return b.getMultiDimIdentityMap(rank); }

  /// A tensor of `type` without values, as large as `sizes` say.
  Value empty(RankedTensorType type, ArrayRef<Value> sizes) {
    SmallVector<Value> dynamic;
    for (auto [d, size] : llvm::enumerate(sizes))
      if (type.isDynamicDim(d))
        dynamic.push_back(size);
    return tensor::EmptyOp::create(b, type, dynamic);
  }
  Value emptyLike(RankedTensorType type, Value tensor) {
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      sizes.push_back(sizeOf(tensor, d));
    return empty(type, sizes);
  }
  Value filled(Value tensor, Value scalar) {
    return linalg::FillOp::create(b, scalar, tensor).getResult(0);
  }

  /// Loops over `rank` dimensions, of which the last `numReduced` reduce.
  Value loops(Value init, ValueRange inputs, ArrayRef<AffineMap> maps,
              ArrayRef<utils::IteratorType> iterators, Body body) {
    auto generic = linalg::GenericOp::create(
        b, init.getType(), inputs, init, maps, iterators,
        [&](OpBuilder &inner, Location loc, ValueRange arguments) {
          ImplicitLocOpBuilder at(loc, inner);
          linalg::YieldOp::create(at, body(at, arguments));
        });
    return generic.getResult(0);
  }

  /// A tensor of `type` whose elements are computed from those of `inputs`, all
  /// of its sizes.
  Value pointwise(RankedTensorType type, ValueRange inputs, Body body) {
    int64_t rank = type.getRank();
    SmallVector<AffineMap> maps(inputs.size() + 1, identity(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    return loops(emptyLike(type, inputs.front()), inputs, maps, iterators,
                 body);
  }

  /// Combines `input` along `dim`, starting from `init`, of the other
  /// dimensions. `rows` are values for each of those.
  Value along(Value input, int64_t dim, ValueRange rows, Value init,
              Body body) {
    int64_t rank = typeOf(input).getRank();
    AffineMap rowMap = identity(rank).dropResult(dim);
    SmallVector<AffineMap> maps = {identity(rank)};
    maps.append(rows.size() + 1, rowMap);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators[dim] = utils::IteratorType::reduction;
    SmallVector<Value> inputs = {input};
    llvm::append_range(inputs, rows);
    return loops(init, inputs, maps, iterators, body);
  }

  /// Computes each element from that of `input` and its row's of `rows`.
  Value withRows(Value input, int64_t dim, ValueRange rows, Body body) {
    RankedTensorType type = typeOf(input);
    int64_t rank = type.getRank();
    SmallVector<AffineMap> maps = {identity(rank)};
    maps.append(rows.size(), identity(rank).dropResult(dim));
    maps.push_back(identity(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    SmallVector<Value> inputs = {input};
    llvm::append_range(inputs, rows);
    return loops(emptyLike(type, input), inputs, maps, iterators, body);
  }

  //===--- Shapes ---===//

  Value lowerTranspose(TransposeOp op) {
    SmallVector<Value> sizes;
    for (int64_t from : op.getPermutation())
      sizes.push_back(sizeOf(op.getInput(), from));
    return linalg::TransposeOp::create(b, op.getInput(),
                                       empty(op.getType(), sizes),
                                       op.getPermutation())
        ->getResult(0);
  }

  Value lowerExpand(ExpandDimsOp op) {
    RankedTensorType type = op.getType();
    int64_t at = op.getDim();
    SmallVector<ReassociationIndices> groups;
    SmallVector<OpFoldResult> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (d == at)
        sizes.push_back(b.getIndexAttr(1));
      else if (type.isDynamicDim(d))
        sizes.push_back(sizeOf(op.getInput(), d < at ? d : d - 1));
      else
        sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
      bool joins = !groups.empty() && (d == at ? at != 0 : d == 1 && at == 0);
      if (joins)
        groups.back().push_back(d);
      else
        groups.push_back({d});
    }
    if (type.getRank() == 1) // of rank 0
      groups.clear();
    return tensor::ExpandShapeOp::create(b, type, op.getInput(), groups, sizes);
  }

  Value lowerBroadcast(BroadcastOp op) {
    RankedTensorType type = op.getType();
    Value result = tensor::EmptyOp::create(b, type, op.getSizes());
    auto input = dyn_cast<RankedTensorType>(op.getInput().getType());
    if (!input)
      return filled(result, op.getInput());
    int64_t rank = type.getRank();
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank; ++d)
      exprs.push_back(input.getDimSize(d) == 1 ? b.getAffineConstantExpr(0)
                                               : dimExpr(d));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    return loops(
        result, op.getInput(), {mapOf(rank, exprs), identity(rank)}, iterators,
        [](ImplicitLocOpBuilder &, ValueRange args) { return args[0]; });
  }

  Value lowerIota(IotaOp op) {
    RankedTensorType type = op.getType();
    Value result = tensor::EmptyOp::create(b, type, op.getSizes());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return loops(result, {}, identity(type.getRank()), iterators,
                 [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                   Value at = linalg::IndexOp::create(b, op.getDim());
                   if (type.getElementType().isIndex())
                     return at;
                   return arith::IndexCastOp::create(b, type.getElementType(),
                                                     at);
                 });
  }

  Value lowerElementwise(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<Value> tensors;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        tensors.push_back(operand);
    return pointwise(
        type, tensors, [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
          SmallVector<Value> operands;
          size_t next = 0;
          for (Value operand : op->getOperands())
            operands.push_back(isa<RankedTensorType>(operand.getType())
                                   ? arguments[next++]
                                   : operand);
          OperationState state(op->getLoc(), op->getName(), operands,
                               {type.getElementType()}, op->getAttrs());
          return b.create(state)->getResult(0);
        });
  }

  //===--- Dots ---===//

  /// Σ_k a[.., m, k] b[.., n, k]; a batch of `b` may be shared.
  Value dot(RankedTensorType type, Value left, Value right, Value acc,
            bool transposeB) {
    int64_t rank = type.getRank(), k = rank;
    Type element = type.getElementType();
    if (!acc) {
      SmallVector<Value> sizes;
      for (int64_t d = 0; d + 1 < rank; ++d)
        sizes.push_back(sizeOf(left, d));
      sizes.push_back(sizeOf(right, transposeB ? rank - 2 : rank - 1));
      acc = filled(empty(type, sizes), constant(b, element, 0));
    }
    SmallVector<Value> groups;
    for (int64_t d = 0; d < rank - 2; ++d)
      groups.push_back(
          arith::DivUIOp::create(b, sizeOf(left, d), sizeOf(right, d)));
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank - 1; ++d)
      exprs.push_back(dimExpr(d));
    exprs.push_back(dimExpr(k));
    SmallVector<utils::IteratorType> iterators(rank + 1,
                                               utils::IteratorType::parallel);
    iterators[k] = utils::IteratorType::reduction;
    AffineMap out = identity(rank + 1).dropResult(k);
    return loops(acc, left, {mapOf(rank + 1, exprs), out}, iterators,
                 [&](ImplicitLocOpBuilder &b, ValueRange args) -> Value {
                   SmallVector<Value> at;
                   for (int64_t d = 0; d < rank - 2; ++d)
                     at.push_back(arith::DivUIOp::create(
                         b, Value(linalg::IndexOp::create(b, d)), groups[d]));
                   Value n = linalg::IndexOp::create(b, rank - 1);
                   Value kAt = linalg::IndexOp::create(b, k);
                   at.push_back(transposeB ? n : kAt);
                   at.push_back(transposeB ? kAt : n);
                   Value x = widened(b, args[0], element);
                   Value y = widened(b, tensor::ExtractOp::create(b, right, at),
                                     element);
                   return arith::AddFOp::create(
                       b, args[1], Value(arith::MulFOp::create(b, x, y)));
                 });
  }

  static Value widened(ImplicitLocOpBuilder &b, Value value, Type type) {
    return value.getType() == type
               ? value
               : Value(arith::ExtFOp::create(b, type, value));
  }

  Value lowerDot(DotOp op) {
    return dot(op.getType(), op.getA(), op.getB(), op.getAcc(),
               op.getTransposeB());
  }

  //===--- Softmax ---===//

  Value lowerReduce(ReduceOp op) {
    RankedTensorType type = op.getType();
    Type element = type.getElementType();
    double extreme = std::numeric_limits<double>::infinity();
    double start = op.getKind() == ReduceKind::Add   ? 0
                   : op.getKind() == ReduceKind::Max ? -extreme
                                                     : extreme;
    Value init = filled(rowsOf(type, op.getInput(), op.getDim()),
                        constant(b, element, start));
    return along(op.getInput(), op.getDim(), {}, init,
                 [&](ImplicitLocOpBuilder &b, ValueRange args) -> Value {
                   if (op.getKind() == ReduceKind::Add)
                     return arith::AddFOp::create(b, args[0], args[1]);
                   if (op.getKind() == ReduceKind::Max)
                     return arith::MaximumFOp::create(b, args[0], args[1]);
                   return arith::MinimumFOp::create(b, args[0], args[1]);
                 });
  }

  /// A tensor of `type`, that of `input` without `dim`.
  Value rowsOf(RankedTensorType type, Value input, int64_t dim) {
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < typeOf(input).getRank(); ++d)
      if (d != dim)
        sizes.push_back(sizeOf(input, d));
    return empty(type, sizes);
  }

  /// The state of a softmax over `input` along `dim`.
  struct RowState {
    Value max;   ///< of what has been seen; −inf: nothing
    Value shift; ///< max, or 0 where that is −inf: what is subtracted
    Value sum;
  };

  /// exp(x − shift).
  static Value exponential(ImplicitLocOpBuilder &b, Value x, Value shift) {
    return math::ExpOp::create(b, Value(arith::SubFOp::create(b, x, shift)));
  }

  /// Continues `max` and `sum` over `input`.
  RowState scan(Value input, int64_t dim, Value max, Value sum) {
    Type element = typeOf(input).getElementType();
    Value newMax = along(
        input, dim, {}, max, [](ImplicitLocOpBuilder &b, ValueRange args) {
          return Value(arith::MaximumFOp::create(b, args[0], args[1]));
        });
    Value shift = pointwise(
        typeOf(newMax), newMax, [&](ImplicitLocOpBuilder &b, ValueRange args) {
          Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                             args[0], infinity(b, element));
          return Value(arith::SelectOp::create(b, none, constant(b, element, 0),
                                               args[0]));
        });
    Value rescaled =
        pointwise(typeOf(sum), {sum, max, shift},
                  [&](ImplicitLocOpBuilder &b, ValueRange args) {
                    return Value(arith::MulFOp::create(
                        b, args[0], exponential(b, args[1], args[2])));
                  });
    Value newSum = along(input, dim, shift, rescaled,
                         [](ImplicitLocOpBuilder &b, ValueRange args) {
                           return Value(arith::AddFOp::create(
                               b, args[2], exponential(b, args[0], args[1])));
                         });
    return {newMax, shift, newSum};
  }

  /// The state before anything was seen: nothing, or the sink.
  RowState initialState(Value input, int64_t dim, Value sink) {
    RankedTensorType type = typeOf(input);
    SmallVector<int64_t> sizes(type.getShape());
    sizes.erase(sizes.begin() + dim);
    auto rows = type.clone(sizes);
    Type element = type.getElementType();
    auto splat = [&](Value scalar) {
      return filled(rowsOf(rows, input, dim), scalar);
    };
    if (sink)
      return {sink, {}, splat(constant(b, element, 1))};
    return {splat(infinity(b, element)), {}, splat(constant(b, element, 0))};
  }

  Value lowerSoftmax(SoftmaxOp op) {
    int64_t dim = op.getNormalizedDim();
    Type element = op.getType().getElementType();
    RowState state = initialState(op.getInput(), dim, op.getSink());
    state = scan(op.getInput(), dim, state.max, state.sum);
    return withRows(op.getInput(), dim, {state.shift, state.sum},
                    [&](ImplicitLocOpBuilder &b, ValueRange args) {
                      return Value(arith::DivFOp::create(
                          b, exponential(b, args[0], args[1]),
                          divisor(b, args[2], element)));
                    });
  }

  /// `sum`, or 1 where it is 0.
  Value divisor(ImplicitLocOpBuilder &b, Value sum, Type element) {
    Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum,
                                       constant(b, element, 0));
    return arith::SelectOp::create(b, none, constant(b, element, 1), sum);
  }

  Value lowerLogSumExp(LogSumExpOp op) {
    int64_t dim = typeOf(op.getInput()).getRank() - 1;
    RowState state = initialState(op.getInput(), dim, op.getSink());
    state = scan(op.getInput(), dim, state.max, state.sum);
    return logSumExp(op.getType(), state.max, state.sum);
  }

  Value logSumExp(RankedTensorType type, Value max, Value sum) {
    return pointwise(type, {max, sum},
                     [](ImplicitLocOpBuilder &b, ValueRange args) {
                       return Value(arith::AddFOp::create(
                           b, args[0], Value(math::LogOp::create(b, args[1]))));
                     });
  }

  //===--- Attention ---===//

  /// The region's value for each element of `scores`, or of its shape.
  Value applyRegion(Region &region, OperandRange captures, Value scores,
                    bool readsScore) {
    RankedTensorType type = typeOf(scores);
    SmallVector<utils::IteratorType> iterators(4,
                                               utils::IteratorType::parallel);
    Type element = readsScore ? type.getElementType() : b.getI1Type();
    auto result = RankedTensorType::get(type.getShape(), element);
    SmallVector<AffineMap> maps(2, identity(4));
    return loops(emptyLike(result, scores), scores, maps, iterators,
                 [&](ImplicitLocOpBuilder &b, ValueRange args) {
                   IRMapping mapping;
                   Block &block = region.front();
                   unsigned n = 0;
                   if (readsScore)
                     mapping.map(block.getArgument(n++), args[0]);
                   for (int64_t d = 0; d < 4; ++d)
                     mapping.map(block.getArgument(n++),
                                 Value(linalg::IndexOp::create(b, d)));
                   for (Value capture : captures)
                     mapping.map(block.getArgument(n++), capture);
                   for (Operation &op : block.without_terminator())
                     b.clone(op, mapping);
                   return mapping.lookupOrDefault(
                       block.getTerminator()->getOperand(0));
                 });
  }

  Value scoresOf(OnlineAttentionOp op) {
    RankedTensorType q = typeOf(op.getQ()), k = typeOf(op.getK());
    auto type = RankedTensorType::get(
        {q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), k.getDimSize(2)},
        b.getF32Type());
    Value scores = dot(type, op.getQ(), op.getK(), Value(), true);
    scores =
        pointwise(type, scores, [&](ImplicitLocOpBuilder &b, ValueRange args) {
          return Value(arith::MulFOp::create(b, args[0], op.getScale()));
        });
    if (!op.getScore().empty())
      scores = applyRegion(op.getScore(), op.getCaptures(), scores, true);
    if (op.getMask().empty())
      return scores;
    Value mask = applyRegion(op.getMask(), op.getCaptures(), scores, false);
    return pointwise(type, {scores, mask},
                     [&](ImplicitLocOpBuilder &b, ValueRange args) {
                       return Value(arith::SelectOp::create(
                           b, args[1], args[0], infinity(b, b.getF32Type())));
                     });
  }

  SmallVector<Value> lowerAttention(OnlineAttentionOp op) {
    Value scores = scoresOf(op);
    RowState state = scan(scores, 3, op.getMax(), op.getSum());
    Value p = withRows(scores, 3, state.shift,
                       [](ImplicitLocOpBuilder &b, ValueRange args) {
                         return exponential(b, args[0], args[1]);
                       });
    Type element = typeOf(op.getV()).getElementType();
    if (!element.isF32() && !op.getWideP())
      p = pointwise(typeOf(p).clone(element), p,
                    [&](ImplicitLocOpBuilder &b, ValueRange args) {
                      return Value(
                          arith::TruncFOp::create(b, element, args[0]));
                    });
    Value acc = withRows(op.getAcc(), 3, {op.getMax(), state.shift},
                         [](ImplicitLocOpBuilder &b, ValueRange args) {
                           return Value(arith::MulFOp::create(
                               b, args[0], exponential(b, args[1], args[2])));
                         });
    acc = dot(typeOf(acc), p, op.getV(), acc, false);
    return {acc, state.max, state.sum};
  }

  SmallVector<Value> lowerFinalize(OnlineFinalizeOp op) {
    RankedTensorType type = typeOf(op.getAcc());
    Value out =
        withRows(op.getAcc(), type.getRank() - 1, op.getSum(),
                 [&](ImplicitLocOpBuilder &b, ValueRange args) {
                   return Value(arith::DivFOp::create(
                       b, args[0], divisor(b, args[1], type.getElementType())));
                 });
    RankedTensorType rows = typeOf(op.getMax());
    if (!op.getMaxOut())
      return {out, logSumExp(rows, op.getMax(), op.getSum())};
    Value log =
        pointwise(rows, op.getSum(), [](ImplicitLocOpBuilder &b, ValueRange x) {
          return Value(math::LogOp::create(b, x[0]));
        });
    return {out, log, op.getMax()};
  }

  ImplicitLocOpBuilder b;
};

struct ConvertTileToLinalg final
    : fa::impl::ConvertTileToLinalgBase<ConvertTileToLinalg> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.getUnfused())
        continue;
      for (Operation &op :
           llvm::make_early_inc_range(kernel.getBody().front())) {
        if (op.getNumResults() == 0)
          continue;
        auto values = LoopBuilder(&op).lower(&op);
        if (!values)
          continue;
        op.replaceAllUsesWith(*values);
        op.erase();
      }
    }
  }
};

} // namespace

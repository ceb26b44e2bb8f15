//===- RaiseLinalg.cpp - tile-raise-linalg --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILERAISELINALG
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// `value` with its dimensions in the order of `permutation`.
static Value transposed(ImplicitLocOpBuilder &b, Value value,
                        ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(permutation.size())))
    return value;
  SmallVector<int64_t> sizes;
  for (int64_t from : permutation)
    sizes.push_back(typeOf(value).getDimSize(from));
  return TransposeOp::create(b, typeOf(value).clone(sizes), value, permutation);
}

static Value expanded(ImplicitLocOpBuilder &b, Value value, int64_t dim) {
  SmallVector<int64_t> sizes(typeOf(value).getShape());
  sizes.insert(sizes.begin() + dim, 1);
  return ExpandDimsOp::create(b, typeOf(value).clone(sizes), value, dim);
}

/// Where each result of an indexing map goes: a dimension of the iteration
/// space, or −1 for a constant 0. Fails for anything else.
static FailureOr<SmallVector<int64_t>> positionsOf(AffineMap map) {
  SmallVector<int64_t> positions;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (llvm::is_contained(positions, dim.getPosition()))
        return failure();
      positions.push_back(dim.getPosition());
    } else if (auto zero = dyn_cast<AffineConstantExpr>(expr);
               zero && zero.getValue() == 0) {
      positions.push_back(-1);
    } else {
      return failure();
    }
  }
  return positions;
}

namespace {

/// The iteration space of a linalg.generic.
class IterationSpace {
public:
  IterationSpace(ImplicitLocOpBuilder &b, linalg::GenericOp op) : b(b) {
    shape = op.getStaticLoopRanges();
    values.resize(shape.size());
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type)
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [n, expr] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr);
            dim && !sources[dim.getPosition()].first)
          sources[dim.getPosition()] = {operand.get(), n};
    }
  }

  ArrayRef<int64_t> sizes() const { return shape; }
  int64_t rank() const { return shape.size(); }
  RankedTensorType type(Type element) const {
    return RankedTensorType::get(shape, element);
  }

  /// The dynamic sizes, in order.
  SmallVector<Value> dynamicSizes() {
    SmallVector<Value> result;
    for (auto [d, size] : llvm::enumerate(shape))
      if (ShapedType::isDynamic(size)) {
        if (!values[d]) {
          auto [source, dim] = sources[d];
          values[d] = tensor::DimOp::create(b, source, dim);
        }
        result.push_back(values[d]);
      }
    return result;
  }

  /// `value`, a tensor read at `positions` or a scalar, as a tensor of the
  /// whole space; nothing if that needs more than views.
  FailureOr<Value> align(Value value, ArrayRef<int64_t> positions) {
    if (isa<TensorType>(value.getType())) {
      SmallVector<int64_t> free; // dimensions of size 1, read at 0
      for (auto [n, position] : llvm::enumerate(positions)) {
        if (position >= 0)
          continue;
        if (typeOf(value).getDimSize(n) != 1)
          return failure(); // the first of several
        free.push_back(n);
      }
      SmallVector<int64_t> order, missing;
      for (int64_t d = 0; d < rank(); ++d) {
        const auto *found = llvm::find(positions, d);
        if (found != positions.end()) {
          order.push_back(found - positions.begin());
        } else if (!free.empty()) {
          order.push_back(free.front());
          free.erase(free.begin());
        } else {
          missing.push_back(d);
        }
      }
      if (!free.empty())
        return failure();
      value = transposed(b, value, order);
      for (int64_t d : missing)
        value = expanded(b, value, d);
    }
    RankedTensorType wanted = type(getElementTypeOrSelf(value.getType()));
    if (value.getType() == wanted)
      return value;
    return Value(BroadcastOp::create(b, wanted, value, dynamicSizes()));
  }

private:
  ImplicitLocOpBuilder &b;
  SmallVector<int64_t> shape;
  SmallVector<Value> values;
  llvm::DenseMap<int64_t, std::pair<Value, int64_t>> sources;
};

/// Turns one linalg.generic into operations of tile and arith.
class GenericRaiser {
public:
  explicit GenericRaiser(linalg::GenericOp op)
      : op(op), b(op.getLoc(), op), space(b, op) {}

  /// The result, or nothing if the operation is not understood.
  FailureOr<Value> raise() {
    if (!op.hasPureTensorSemantics() || op.getNumResults() != 1)
      return failure();
    auto positions =
        positionsOf(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
    if (failed(positions))
      return failure();
    outPositions = *positions;
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    for (auto [n, position] : llvm::enumerate(outPositions))
      if (position < 0 && type.getDimSize(n) != 1)
        return failure(); // the first of several
    yielded = op.getBody()->getTerminator()->getOperand(0);
    if (op.getNumReductionLoops() == 0)
      return raiseElementwise();
    if (FailureOr<Value> dot = raiseContraction(); succeeded(dot))
      return dot;
    return raiseReduction();
  }

private:
  //===--- Elementwise ---===//

  FailureOr<Value> raiseElementwise() {
    FailureOr<Value> value = build(yielded);
    if (failed(value))
      return failure();
    return asOutput(*value);
  }

  /// A scalar of the body as a tensor of the whole space.
  FailureOr<Value> build(Value scalar) {
    if (Value known = values.lookup(scalar))
      return known;
    FailureOr<Value> result = buildNew(scalar);
    if (succeeded(result))
      values[scalar] = *result;
    return result;
  }

  FailureOr<Value> buildNew(Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    if (argument && argument.getOwner() == op.getBody()) {
      // In a reduction the accumulator is not what it was at the beginning.
      if (op.getNumReductionLoops() && argument == op.getRegionOutputArgs()[0])
        return failure();
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      auto positions = positionsOf(op.getMatchingIndexingMap(&operand));
      if (failed(positions))
        return failure();
      return space.align(operand.get(), *positions);
    }
    Operation *source = scalar.getDefiningOp();
    bool isInside = source && source->getBlock() == op.getBody();
    if (!isInside)
      return space.align(scalar, {});
    if (auto index = dyn_cast<linalg::IndexOp>(source))
      return Value(IotaOp::create(b, space.type(b.getIndexType()),
                                  index.getDim(), space.dynamicSizes()));
    if (auto constant = dyn_cast<arith::ConstantOp>(source))
      return space.align(arith::ConstantOp::create(b, constant.getValue()), {});
    if (!OpTrait::hasElementwiseMappableTraits(source) ||
        source->getNumResults() != 1)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : source->getOperands()) {
      FailureOr<Value> built = build(operand);
      if (failed(built))
        return failure();
      operands.push_back(*built);
    }
    OperationState state(source->getLoc(), source->getName(), operands,
                         {space.type(scalar.getType())}, source->getAttrs());
    return b.create(state)->getResult(0);
  }

  /// A tensor of the dimensions that the output has, in ascending order, as the
  /// output.
  Value asOutput(Value value) {
    SmallVector<int64_t> dims;
    for (int64_t position : outPositions)
      if (position >= 0)
        dims.push_back(position);
    SmallVector<int64_t> sorted(dims), permutation;
    llvm::sort(sorted);
    for (int64_t dim : dims)
      permutation.push_back(llvm::find(sorted, dim) - sorted.begin());
    value = transposed(b, value, permutation);
    for (auto [n, position] : llvm::enumerate(outPositions))
      if (position < 0)
        value = expanded(b, value, n);
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (value.getType() != type)
      value = tensor::CastOp::create(b, type, value);
    return value;
  }

  //===--- Reductions ---===//

  /// The operation that combines the accumulator with what is new, which is
  /// returned.
  Value getAddend(Operation *&combine) {
    combine = yielded.getDefiningOp();
    if (!combine || combine->getBlock() != op.getBody() ||
        combine->getNumOperands() != 2)
      return {};
    Value acc = op.getRegionOutputArgs()[0];
    for (unsigned n : {0u, 1u})
      if (combine->getOperand(n) == acc && combine->getOperand(1 - n) != acc)
        return combine->getOperand(1 - n);
    return {};
  }

  /// Whether the initial accumulator changes nothing.
  bool isNeutral(Value init, ReduceKind kind) {
    if (auto broadcast = init.getDefiningOp<BroadcastOp>())
      return isNeutral(broadcast.getInput(), kind);
    FloatAttr number;
    DenseElementsAttr dense;
    if (matchPattern(init, m_Constant(&dense)) && dense.isSplat() &&
        isa<FloatType>(dense.getElementType()))
      number = dense.getSplatValue<FloatAttr>();
    else if (!matchPattern(init, m_Constant(&number)))
      return false;
    APFloat value = number.getValue();
    if (kind == ReduceKind::Add)
      return value.isZero();
    bool extreme = value.isInfinity() || value.isLargest();
    return extreme && value.isNegative() == (kind == ReduceKind::Max);
  }

  static std::optional<ReduceKind> kindOf(Operation *combine) {
    if (isa<arith::AddFOp>(combine))
      return ReduceKind::Add;
    if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combine))
      return ReduceKind::Max;
    if (isa<arith::MinimumFOp, arith::MinNumFOp>(combine))
      return ReduceKind::Min;
    return std::nullopt;
  }

  /// Combines with the initial accumulator, unless that changes nothing.
  Value withInit(Value value, Operation *combine, ReduceKind kind) {
    Value init = op.getDpsInitOperand(0)->get();
    if (isNeutral(init, kind))
      return value;
    OperationState state(op.getLoc(), combine->getName(), {init, value},
                         {value.getType()}, combine->getAttrs());
    return b.create(state)->getResult(0);
  }

  FailureOr<Value> raiseReduction() {
    Operation *combine = nullptr;
    Value addend = getAddend(combine);
    std::optional<ReduceKind> kind;
    if (addend)
      kind = kindOf(combine);
    if (!kind)
      return failure();
    FailureOr<Value> value = build(addend);
    if (failed(value))
      return failure();
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    llvm::sort(dims, std::greater<>());
    for (unsigned dim : dims) {
      SmallVector<int64_t> sizes(typeOf(*value).getShape());
      sizes.erase(sizes.begin() + dim);
      value = Value(
          ReduceOp::create(b, typeOf(*value).clone(sizes), *kind, *value, dim));
    }
    return withInit(asOutput(*value), combine, *kind);
  }

  //===--- Contractions ---===//

  /// The operand of the body's product that `value` is, through widening.
  std::optional<unsigned> factorOf(Value value) {
    while (auto wider = value.getDefiningOp<arith::ExtFOp>())
      value = wider.getIn();
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != op.getBody() ||
        argument.getArgNumber() > 1)
      return std::nullopt;
    return argument.getArgNumber();
  }

  FailureOr<Value> raiseContraction() {
    Operation *combine = nullptr;
    Value addend = getAddend(combine);
    auto multiply = addend && isa<arith::AddFOp>(combine)
                        ? addend.getDefiningOp<arith::MulFOp>()
                        : arith::MulFOp();
    if (!multiply || op.getNumDpsInputs() != 2 ||
        op.getNumReductionLoops() != 1)
      return failure();
    auto x = factorOf(multiply.getLhs()), y = factorOf(multiply.getRhs());
    if (!x || !y || *x == *y)
      return failure();
    auto a = positionsOf(op.getMatchingIndexingMap(op.getDpsInputOperand(0)));
    auto c = positionsOf(op.getMatchingIndexingMap(op.getDpsInputOperand(1)));
    if (failed(a) || failed(c) || llvm::is_contained(*a, -1) ||
        llvm::is_contained(*c, -1) || llvm::is_contained(outPositions, -1))
      return failure();
    return buildDot(*a, *c, combine);
  }

  /// The order of the dimensions of a dot: batches, with those of the left
  /// operand alone but its last; then m, n, k.
  FailureOr<Value> buildDot(ArrayRef<int64_t> a, ArrayRef<int64_t> c,
                            Operation *combine) {
    Value left = op.getDpsInputOperand(0)->get();
    Value right = op.getDpsInputOperand(1)->get();
    SmallVector<int64_t> batches, onlyLeft, onlyRight, reduced;
    for (int64_t position : outPositions) {
      bool inA = llvm::is_contained(a, position);
      bool inC = llvm::is_contained(c, position);
      if (!inA && !inC)
        return failure(); // repeated
      (inA && inC ? batches : inA ? onlyLeft : onlyRight).push_back(position);
    }
    for (int64_t position : a)
      if (!llvm::is_contained(outPositions, position))
        reduced.push_back(position);
    if (reduced.size() != 1 || !llvm::is_contained(c, reduced[0]))
      return failure();
    // The side with more dimensions of its own is the left one.
    bool swapped = onlyRight.size() > onlyLeft.size();
    if (swapped) {
      std::swap(left, right);
      std::swap(a, c);
      std::swap(onlyLeft, onlyRight);
    }
    if (onlyLeft.empty() || onlyRight.size() != 1)
      return failure();
    int64_t m = onlyLeft.pop_back_val(), n = onlyRight[0];
    SmallVector<int64_t> order = batches;
    order.append(onlyLeft);
    SmallVector<int64_t> leftOrder = order, rightOrder = batches;
    leftOrder.append({m, reduced[0]});
    rightOrder.append({n, reduced[0]});
    left = inOrder(left, a, leftOrder);
    right = inOrder(right, c, rightOrder);
    for (size_t d = 0; d < onlyLeft.size(); ++d)
      right = expanded(b, right, batches.size() + d);

    SmallVector<int64_t> sizes(typeOf(left).getShape().drop_back());
    sizes.push_back(typeOf(right).getDimSize(typeOf(right).getRank() - 2));
    Type element = op.getResult(0).getType();
    Value result = DotOp::create(
        b, RankedTensorType::get(sizes, b.getF32Type()), left, right, Value(),
        /*transpose_b=*/true);
    order.append({m, n});
    result = inOrder(result, order, outPositions);
    auto type = cast<RankedTensorType>(element);
    if (type.getElementType() != b.getF32Type()) {
      if (type.getElementTypeBitWidth() >= 32)
        return failure();
      result = arith::TruncFOp::create(
          b, typeOf(result).clone(type.getElementType()), result);
    }
    if (result.getType() != type)
      result = tensor::CastOp::create(b, type, result);
    return withInit(result, combine, ReduceKind::Add);
  }

  /// `value`, whose dimensions are `from`, with those of `to`.
  Value inOrder(Value value, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    SmallVector<int64_t> permutation;
    for (int64_t dim : to)
      permutation.push_back(llvm::find(from, dim) - from.begin());
    return transposed(b, value, permutation);
  }

  linalg::GenericOp op;
  ImplicitLocOpBuilder b;
  IterationSpace space;
  SmallVector<int64_t> outPositions;
  Value yielded;
  llvm::DenseMap<Value, Value> values;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct TileRaiseLinalg final : fa::impl::TileRaiseLinalgBase<TileRaiseLinalg> {
  void runOnOperation() override {
    generalize();
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      if (llvm::any_of(op->getOperandTypes(), [](Type type) {
            return getElementTypeOrSelf(type).isF64();
          }))
        continue;
      FailureOr<Value> result = GenericRaiser(op).raise();
      if (failed(result))
        continue;
      op.getResult(0).replaceAllUsesWith(*result);
      op.erase();
    }
  }

private:
  /// Named operations become linalg.generic, but the softmax.
  void generalize() {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp>(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    SmallVector<linalg::SoftmaxOp> softmaxes;
    getOperation().walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
    for (linalg::SoftmaxOp op : softmaxes) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
      if (!type || op->getNumResults() != 1)
        continue;
      Value result = SoftmaxOp::create(b, type, op.getInput(), Value(),
                                       b.getI64IntegerAttr(op.getDimension()));
      if (type != op->getResult(0).getType())
        result = tensor::CastOp::create(b, op->getResult(0).getType(), result);
      op->getResult(0).replaceAllUsesWith(result);
      op.erase();
    }
  }
};

} // namespace

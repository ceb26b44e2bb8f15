//===- RaiseGeneric.cpp - one linalg.generic as tile and arith ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseGeneric.h"
#include "IterationSpace.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

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
    if (!writesEachOnce())
      return failure();
    yielded = op.getBody()->getTerminator()->getOperand(0);
    if (op.getNumReductionLoops() == 0)
      return raiseElementwise();
    if (FailureOr<Value> dot = raiseContraction(); succeeded(dot))
      return dot;
    if (FailureOr<Value> masked = raiseAllMasked(); succeeded(masked))
      return masked;
    return raiseReduction();
  }

private:
  /// Whether the output has the parallel loops, and them alone.
  bool writesEachOnce() {
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    SmallVector<int64_t> written;
    for (int64_t position : outPositions)
      if (position >= 0)
        written.push_back(position);
    return std::is_permutation(written.begin(), written.end(), parallel.begin(),
                               parallel.end());
  }

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

  /// The value that `scalar`, a boolean, compares with −inf; exact widening is
  /// no matter. Null if it does something else.
  Value comparedWithMinusInfinity(Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar);
        argument && argument.getOwner() == op.getBody()) {
      // Another generic has compared, and was raised.
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      auto positions = positionsOf(op.getMatchingIndexingMap(&operand));
      if (failed(positions))
        return {};
      Value value = comparedWithMinusInfinity(operand.get());
      FailureOr<Value> aligned =
          value ? space.align(value, *positions) : FailureOr<Value>(failure());
      return failed(aligned) ? Value() : *aligned;
    }
    auto compare = scalar.getDefiningOp<arith::CmpFOp>();
    std::optional<double> number =
        compare ? getDouble(compare.getRhs()) : std::nullopt;
    if (!number || *number != -kInfinity ||
        compare.getPredicate() != arith::CmpFPredicate::OEQ)
      return {};
    Value value = compare.getLhs();
    while (auto wider = value.getDefiningOp<arith::ExtFOp>())
      value = wider.getIn();
    if (isa<TensorType>(value.getType()))
      return value;
    FailureOr<Value> built = build(value);
    return failed(built) ? Value() : *built;
  }

  /// Whether all of a line are −inf: whether its maximum is, which keeps a NaN.
  FailureOr<Value> raiseAllMasked() {
    Operation *combine = nullptr;
    Value addend = getAddend(combine);
    Value init = getUniform(op.getDpsInitOperand(0)->get());
    if (!addend || !isa<arith::AndIOp>(combine) || !init ||
        !matchPattern(init, m_One()))
      return failure();
    Value value = comparedWithMinusInfinity(addend);
    if (!value)
      return failure();
    value = reduce(value, ReduceKind::Max);
    RankedTensorType type = typeOf(value);
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(tensor::DimOp::create(b, value, d));
    Value low = arith::ConstantOp::create(
        b, b.getFloatAttr(type.getElementType(), -kInfinity));
    low = BroadcastOp::create(b, type, low, sizes);
    return asOutput(
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value, low));
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

  /// `value`, a tensor of the whole space, without the loops that reduce.
  Value reduce(Value value, ReduceKind kind) {
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    llvm::sort(dims, std::greater<>());
    for (unsigned dim : dims) {
      SmallVector<int64_t> sizes(typeOf(value).getShape());
      sizes.erase(sizes.begin() + dim);
      value = ReduceOp::create(b, typeOf(value).clone(sizes), kind, value, dim);
    }
    return value;
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
    return withInit(asOutput(reduce(*value, *kind)), combine, *kind);
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
    if (!multiply || op.getNumDpsInputs() != 2)
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
  /// operand alone but its last; then m, n, k. Several that are summed over
  /// become one.
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
    llvm::sort(reduced);
    if (reduced.size() != op.getNumReductionLoops() ||
        !llvm::all_of(reduced, [&](int64_t position) {
          return llvm::is_contained(c, position);
        }))
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
    leftOrder.push_back(m);
    rightOrder.push_back(n);
    leftOrder.append(reduced);
    rightOrder.append(reduced);
    left = joinLast(inOrder(left, a, leftOrder), reduced.size());
    right = joinLast(inOrder(right, c, rightOrder), reduced.size());
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

  /// `value` with its last `count` dimensions as one.
  Value joinLast(Value value, size_t count) {
    if (count == 1)
      return value;
    SmallVector<ReassociationIndices> groups;
    for (int64_t d = 0; d < typeOf(value).getRank(); ++d)
      if (d <= typeOf(value).getRank() - int64_t(count))
        groups.push_back({d});
      else
        groups.back().push_back(d);
    return tensor::CollapseShapeOp::create(b, value, groups);
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

} // namespace

FailureOr<Value> fa::raiseGeneric(linalg::GenericOp op) {
  return GenericRaiser(op).raise();
}

//===- LowerReductions.cpp - sums, extremes and where they are ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Triton says how a reduction combines two elements by a region. That of one
// tile is one operation of the two, or chooses one; that of values with their
// indices chooses one of two pairs, as tl.argmax does. What it chooses depends
// on how the values compare, and the indices, and on nothing else: for each way
// they may the region is evaluated, however it is written. That of means,
// squares and weights is three sums (Welford.h).
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"
#include "Welford.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// What a region does
//===----------------------------------------------------------------------===//

namespace {
/// The region of a reduction of values, perhaps with their indices, where the
/// first of two values, and the first of their indices, is below (-1), equal to
/// (0) or above (1) the other one. What it does with a NaN is not asked.
class Choice {
public:
  Choice(Block &block, int values, int indices)
      : block(block), second(block.getNumArguments() / 2), values(values),
        indices(indices) {}

  /// Which of two values is chosen, 0 or 1; none: something else happens.
  std::optional<unsigned> findValue() const {
    auto ret = cast<triton::ReduceReturnOp>(block.getTerminator());
    return pick(ret.getSrcs()[0], 0);
  }

  /// Which of two pairs is chosen, 0 or 1; none: something else happens. Of
  /// equal values either is the value.
  std::optional<unsigned> find() const {
    auto ret = cast<triton::ReduceReturnOp>(block.getTerminator());
    auto value = pick(ret.getSrcs()[0], 0), index = pick(ret.getSrcs()[1], 1);
    return value && index && (*value == *index || values == 0) ? index
                                                               : std::nullopt;
  }

private:
  /// Which argument `result` is, of the two values (`which` is 0) or indices.
  std::optional<unsigned> pick(Value result, unsigned which) const {
    if (result == block.getArgument(which))
      return 0;
    if (result == block.getArgument(second + which))
      return 1;
    auto select = result.getDefiningOp<arith::SelectOp>();
    std::optional<bool> condition =
        select ? evaluate(select.getCondition()) : std::nullopt;
    if (!condition)
      return std::nullopt;
    return pick(*condition ? select.getTrueValue() : select.getFalseValue(),
                which);
  }

  /// How `x` compares with `y`: two values or two indices.
  std::optional<int> compare(Value x, Value y) const {
    if (x == y)
      return 0;
    for (auto [which, order] :
         {std::pair(0u, values), std::pair(1u, indices)}) {
      if (which == second)
        break;
      Value one = block.getArgument(which),
            other = block.getArgument(second + which);
      if (x == one && y == other)
        return order;
      if (x == other && y == one)
        return -order;
    }
    return std::nullopt;
  }

  std::optional<bool> evaluate(Value condition) const {
    if (matchPattern(condition, m_One()))
      return true;
    if (matchPattern(condition, m_Zero()))
      return false;
    Operation *op = condition.getDefiningOp();
    if (auto number = dyn_cast_or_null<arith::CmpFOp>(op)) {
      auto order = compare(number.getLhs(), number.getRhs());
      return order ? holds(number.getPredicate(), *order) : std::nullopt;
    }
    if (auto number = dyn_cast_or_null<arith::CmpIOp>(op)) {
      auto order = compare(number.getLhs(), number.getRhs());
      return order ? holds(number.getPredicate(), *order) : std::nullopt;
    }
    if (!isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
      return std::nullopt;
    auto x = evaluate(op->getOperand(0)), y = evaluate(op->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    return isa<arith::AndIOp>(op)  ? *x && *y
           : isa<arith::OrIOp>(op) ? *x || *y
                                   : *x != *y;
  }

  /// Of numbers; what a NaN does is not said.
  static std::optional<bool> holds(arith::CmpFPredicate predicate, int order) {
    using enum arith::CmpFPredicate;
    switch (predicate) {
    case OEQ:
    case UEQ:
      return order == 0;
    case ONE:
    case UNE:
      return order != 0;
    case OGT:
    case UGT:
      return order > 0;
    case OGE:
    case UGE:
      return order >= 0;
    case OLT:
    case ULT:
      return order < 0;
    case OLE:
    case ULE:
      return order <= 0;
    case ORD:
      return true;
    case UNO:
      return false;
    default:
      return std::nullopt;
    }
  }

  static std::optional<bool> holds(arith::CmpIPredicate predicate, int order) {
    using enum arith::CmpIPredicate;
    switch (predicate) {
    case eq:
      return order == 0;
    case ne:
      return order != 0;
    case sgt:
      return order > 0;
    case sge:
      return order >= 0;
    case slt:
      return order < 0;
    case sle:
      return order <= 0;
    default:
      return std::nullopt;
    }
  }

  Block &block;
  unsigned second; ///< the number of the second value
  int values, indices;
};
} // namespace

/// Max or Min, if the region chooses the larger or the smaller of two.
static std::optional<tile::ReduceKind> extremeOf(Block &block) {
  auto choose = [&](int values) {
    return Choice(block, values, /*indices=*/0).findValue();
  };
  std::optional<unsigned> above = choose(1);
  if (!above || choose(-1) != 1 - *above || !choose(0))
    return std::nullopt;
  return *above == 0 ? tile::ReduceKind::Max : tile::ReduceKind::Min;
}

/// How the region of a reduction of one tile combines two elements.
static std::optional<tile::ReduceKind> kindOf(triton::ReduceOp op) {
  Block &block = op.getCombineOp().front();
  auto ret = cast<triton::ReduceReturnOp>(block.getTerminator());
  Operation *combine = ret.getSrcs()[0].getDefiningOp();
  if (!combine || combine->getNumOperands() != 2 ||
      combine->getBlock() != &block ||
      !llvm::all_of(combine->getOperands(),
                    [&](Value value) {
                      return llvm::is_contained(block.getArguments(), value);
                    }) ||
      combine->getOperand(0) == combine->getOperand(1))
    return extremeOf(block);
  using Found = std::optional<tile::ReduceKind>;
  return llvm::TypeSwitch<Operation *, Found>(combine)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return tile::ReduceKind::Add; })
      .Case<arith::MaxNumFOp, arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return tile::ReduceKind::Max; })
      .Case<arith::MinNumFOp, arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return tile::ReduceKind::Min; })
      .Default([](Operation *) { return Found(); });
}

/// Max or Min, if the pair with that value is chosen and, of pairs with equal
/// values, either or the one with the lesser index.
static std::optional<tile::ReduceKind> indexedKindOf(triton::ReduceOp op) {
  Block &block = op.getCombineOp().front();
  auto choose = [&](int values, int indices) {
    return Choice(block, values, indices).find();
  };
  std::optional<unsigned> above = choose(1, 0);
  if (!above)
    return std::nullopt;
  for (int indices : {-1, 0, 1})
    if (choose(1, indices) != above || choose(-1, indices) != 1 - *above)
      return std::nullopt;
  std::optional<unsigned> lesser = choose(0, -1), greater = choose(0, 1);
  bool isAny = lesser && lesser == greater;
  if (!isAny && (lesser != 0U || greater != 1U))
    return std::nullopt;
  return *above == 0 ? tile::ReduceKind::Max : tile::ReduceKind::Min;
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

/// `source` with the dimension that is reduced as the last of two.
FailureOr<Value> TritonLowering::turnReduced(triton::ReduceOp op,
                                             Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  ArrayRef<int64_t> shape = type.getShape();
  bool turns = shape.size() == 2 && op.getAxis() == 0;
  // What follows steps is made as it is wanted.
  if (auto steps = findAffine(source); steps && shape.size() == 2) {
    if (turns)
      std::swap(steps->steps[0], steps->steps[1]);
    return materialize(*steps, {shape[turns], shape[!turns]},
                       type.getElementType());
  }
  FailureOr<Value> tile = get(op, source);
  if (failed(tile))
    return failure();
  if (shape.size() == 1)
    return Value(
        tile::ExpandDimsOp::create(b, type.clone({1, shape[0]}), *tile, 0));
  if (turns)
    return Value(tile::TransposeOp::create(b, type.clone({shape[1], shape[0]}),
                                           *tile, ArrayRef<int64_t>{1, 0}));
  return *tile;
}

/// One number for each row of `tile`, of two dimensions.
Value TritonLowering::reduceRows(tile::ReduceKind kind, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return tile::ReduceOp::create(b, type.clone({type.getDimSize(0)}), kind, tile,
                                1);
}

/// `rows`, a number for each, as often as `type` has columns.
static Value repeatRows(ImplicitLocOpBuilder &b, Value rows,
                        RankedTensorType type) {
  auto vector = cast<RankedTensorType>(rows.getType());
  Value column = tile::ExpandDimsOp::create(
      b, vector.clone({type.getDimSize(0), 1}), rows, 1);
  return tile::BroadcastOp::create(b, type.clone(vector.getElementType()),
                                   column, ValueRange());
}

LogicalResult TritonLowering::lowerReduce(triton::ReduceOp op) {
  if (op.getCombineOp().hasOneBlock() &&
      mergesMoments(op.getCombineOp().front()))
    return lowerMoments(op);
  std::optional<tile::ReduceKind> kind;
  bool isIndexed = op.getSrcs().size() == 2;
  if (op.getCombineOp().hasOneBlock())
    kind = isIndexed                  ? indexedKindOf(op)
           : op.getSrcs().size() == 1 ? kindOf(op)
                                      : std::nullopt;
  if (!kind)
    return refuse(op, "no kernel has a reduction but the sum, the maximum and "
                      "the minimum of numbers, where these two are, and the "
                      "merge of means and squares");
  for (Value source : op.getSrcs()) {
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getRank() > 2)
      return refuse(op,
                    "no kernel has tiles of more than two dimensions, found ")
             << type;
    Type element = type.getElementType();
    if (!isa<FloatType>(element) && !element.isInteger(32) &&
        !element.isInteger(64))
      return refuse(op, "no kernel reduces such elements: ") << type;
  }
  FailureOr<Value> tile = turnReduced(op, op.getSrcs()[0]);
  if (failed(tile))
    return failure();
  // Narrow floats are reduced in f32, which is what lanes of a GPU exchange.
  auto type = cast<RankedTensorType>(tile->getType());
  auto element = dyn_cast<FloatType>(type.getElementType());
  bool isNarrow = element && element.getWidth() < 32;
  if (isNarrow)
    *tile = arith::ExtFOp::create(b, type.clone(b.getF32Type()), *tile);
  Value result = reduceRows(*kind, *tile);
  if (isIndexed && failed(lowerIndexed(op, *tile, result)))
    return failure();
  if (isNarrow)
    result = arith::TruncFOp::create(
        b, cast<RankedTensorType>(result.getType()).clone(element), result);
  values.map(op->getResult(0), result);
  return success();
}

/// Of the elements of each row that are its extreme, in `most`, the least
/// index. Of a row with a NaN all elements are.
LogicalResult TritonLowering::lowerIndexed(triton::ReduceOp op, Value tile,
                                           Value most) {
  FailureOr<Value> indices = turnReduced(op, op.getSrcs()[1]);
  if (failed(indices))
    return failure();
  auto type = cast<RankedTensorType>(tile.getType());
  auto indexType = cast<RankedTensorType>(indices->getType());
  if (!isa<IntegerType>(indexType.getElementType()))
    return refuse(op, "expected indices of integers, found ") << indexType;
  Value all = repeatRows(b, most, type);
  Value isMost =
      isa<FloatType>(type.getElementType())
          ? arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ, tile, all)
                .getResult()
          : arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile, all)
                .getResult();
  unsigned width = indexType.getElementTypeBitWidth();
  Value beyond = arith::ConstantOp::create(
      b, SplatElementsAttr::get(indexType, APInt::getSignedMaxValue(width)));
  Value candidates = arith::SelectOp::create(b, isMost, *indices, beyond);
  values.map(op->getResult(1), reduceRows(tile::ReduceKind::Min, candidates));
  return success();
}

/// With the mean of all, squares of each part grow by the square of how far its
/// mean is away, as often as it weighs.
LogicalResult TritonLowering::lowerMoments(triton::ReduceOp op) {
  SmallVector<Value> tiles;
  for (Value source : op.getSrcs()) {
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getRank() > 2 || !type.getElementType().isF32())
      return refuse(op, "expected tiles of f32 of at most two dimensions, "
                        "found ")
             << type;
    FailureOr<Value> tile = turnReduced(op, source);
    if (failed(tile))
      return failure();
    tiles.push_back(*tile);
  }
  Value mean = tiles[0], squares = tiles[1], weight = tiles[2];
  auto type = cast<RankedTensorType>(mean.getType());
  auto sum = [&](Value tile) {
    return reduceRows(tile::ReduceKind::Add, tile);
  };
  Value all = sum(weight);
  Value weighted = sum(arith::MulFOp::create(b, mean, weight));
  auto vector = cast<RankedTensorType>(all.getType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, all, zero);
  Value mid = arith::SelectOp::create(
      b, isNone, zero, Value(arith::DivFOp::create(b, weighted, all)));
  Value away = arith::SubFOp::create(b, mean, repeatRows(b, mid, type));
  Value more = arith::MulFOp::create(
      b, weight, Value(arith::MulFOp::create(b, away, away)));
  Value spread = sum(arith::AddFOp::create(b, squares, more));
  Value merged[] = {mid, spread, all};
  for (auto [result, value] : llvm::zip_equal(op.getResults(), merged))
    values.map(result, value);
  return success();
}

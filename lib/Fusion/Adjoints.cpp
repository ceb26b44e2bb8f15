//===- Adjoints.cpp - reverse mode over a block of tensors ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "ArgumentView.h"
#include "Derivatives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

static bool isOfFloats(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

static Value transposed(ImplicitLocOpBuilder &b, Value value,
                        ArrayRef<int64_t> permutation) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      permutation, [&](int64_t d) { return type.getDimSize(d); });
  return TransposeOp::create(b, type.clone(sizes), value, permutation);
}

/// The last two dimensions exchanged.
static Value transposed(ImplicitLocOpBuilder &b, Value value) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(typeOf(value).getRank()));
  std::swap(order.end()[-1], order.end()[-2]);
  return transposed(b, value, order);
}

static SmallVector<int64_t> inverseOf(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  return inverse;
}

/// What `op`, which moves no data, makes of its operand, undone: `value`, like
/// its result, like its operand, with 0 where the result has none of it. Null:
/// it is another operation.
static Value undo(ImplicitLocOpBuilder &b, Operation *op, Value value) {
  auto like = [&](Value operand) {
    return typeOf(operand).clone(typeOf(value).getElementType());
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](TransposeOp transpose) {
        return transposed(b, value, inverseOf(transpose.getPermutation()));
      })
      .Case([&](ExpandDimsOp expand) -> Value {
        if (typeOf(expand.getInput()).getRank() == 0)
          return {};
        return tensor::CollapseShapeOp::create(
            b, like(expand.getInput()), value,
            groupsWithUnit(typeOf(value).getRank(), expand.getDim()));
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        return tensor::CollapseShapeOp::create(
            b, like(expand.getSrc()), value, expand.getReassociationIndices());
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        return tensor::ExpandShapeOp::create(
            b, like(collapse.getSrc()), value,
            collapse.getReassociationIndices(),
            tensor::getMixedSizes(b, b.getLoc(), collapse.getSrc()));
      })
      .Case([&](RaggedOp ragged) {
        return PackOp::create(b, like(ragged.getRows()), value,
                              ragged.getOffsets());
      })
      .Case([&](PackOp pack) {
        return RaggedOp::create(b, like(pack.getInput()), value,
                                pack.getOffsets());
      })
      .Default([](Operation *) { return Value(); });
}

/// Whether the operand of `op`, which moves no data, may be made of its result.
/// What `ragged` leaves out is not there. What `pack` leaves out is 0 then,
/// which is as good where no other use gives it a gradient.
static bool isKnownByResult(Operation *op) {
  auto pack = dyn_cast<PackOp>(op);
  return pack ? pack.getInput().hasOneUse() &&
                    isa<BlockArgument>(pack.getOffsets())
              : !isa<RaggedOp>(op);
}

void Adjoints::addKnown(Value value, Value argument) {
  known[value] = argument;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 ||
      !isa<RankedTensorType>(argument.getType()) || !isKnownByResult(op))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  if (Value source = undo(b, op, argument))
    addKnown(op->getOperand(0), source);
}

void Adjoints::add(Value value, Value adjoint) {
  if (!isActive(value))
    return;
  Value &sum = sums[value];
  sum = sum ? b.createOrFold<arith::AddFOp>(sum, adjoint) : adjoint;
}

Value Adjoints::of(Value value) {
  Value sum = sums.lookup(value);
  return sum ? sum : constantLike(b, value, 0.0);
}

LogicalResult Adjoints::propagate() {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  for (Operation *op : forward) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return isActive(v); }))
      continue;
    if (hidesDerivative(op))
      return refuse(op, "expected an operation with a known derivative, found "
                        "'" +
                            op->getName().getStringRef() + "'");
    for (Value result : op->getResults())
      if (isOfFloats(result))
        active.insert(result);
  }
  for (auto [value, cotangent] : cotangents)
    add(value, cotangent);
  for (Operation *op : llvm::reverse(forward)) {
    b.setLoc(op->getLoc());
    bool isReached = llvm::any_of(op->getResults(), [&](Value result) {
      return sums.lookup(result) != Value();
    });
    if (isReached && failed(visit(op)))
      return failure();
  }
  return success();
}

LogicalResult Adjoints::visit(Operation *op) {
  if (op->getNumOperands() &&
      isa<RankedTensorType>(op->getOperand(0).getType()))
    if (Value sum = sums.lookup(op->getResult(0)))
      if (Value source = undo(b, op, sum)) {
        add(op->getOperand(0), source);
        return success();
      }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AttentionOp attention) { return visitAttention(attention); })
      .Case([&](BroadcastOp broadcast) {
        visitBroadcast(broadcast);
        return success();
      })
      .Case([&](ReduceOp reduce) { return visitReduce(reduce); })
      .Case([&](DotOp dot) { return visitDot(dot); })
      .Case([&](SoftmaxOp softmax) { return visitSoftmax(softmax); })
      .Case([&](LogSumExpOp lse) { return visitLogSumExp(lse); })
      .Case([&](DropoutOp op) { // the same elements are dropped
        add(op.getInput(),
            DropoutOp::create(b, sums.lookup(op.getResult()), op.getRng(),
                              op.getProbabilityAttr()));
        return success();
      })
      .Default([&](Operation *op) { return visitElementwise(op); });
}

LogicalResult Adjoints::refuse(Operation *op, const Twine &what) {
  return op->emitError("gradients: ") << what;
}

LogicalResult Adjoints::visitElementwise(Operation *op) {
  bool isKnown =
      op->getNumResults() == 1 && op->getNumRegions() == 0 &&
      (OpTrait::hasElementwiseMappableTraits(op) || isa<arith::SelectOp>(op));
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (!isActive(operand))
      continue;
    FailureOr<Value> share = failure();
    if (isKnown)
      share = pullBack(b, op, number, sums.lookup(op->getResult(0)));
    if (failed(share))
      return refuse(op,
                    "expected an operation with a known derivative, found '" +
                        op->getName().getStringRef() + "'");
    if (*share)
      add(operand, *share);
  }
  return success();
}

Value Adjoints::spread(Value rows, int64_t dim, Value like) {
  RankedTensorType type = typeOf(like).clone(typeOf(rows).getElementType());
  SmallVector<int64_t> sizes(typeOf(rows).getShape());
  sizes.insert(sizes.begin() + dim, 1);
  rows = ExpandDimsOp::create(b, type.clone(sizes), rows, dim);
  SmallVector<Value> dynamic;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      dynamic.push_back(tensor::DimOp::create(b, like, d));
  return BroadcastOp::create(b, type, rows, dynamic);
}

/// Sums over what was repeated.
void Adjoints::visitBroadcast(BroadcastOp op) {
  Value input = op.getInput(), sum = sums.lookup(op.getResult());
  if (!isActive(input))
    return;
  auto type = dyn_cast<RankedTensorType>(input.getType());
  RankedTensorType wide = typeOf(sum);
  for (int64_t d = wide.getRank() - 1; d >= 0; --d) {
    bool isRepeated =
        !type || (type.getDimSize(d) == 1 && wide.getDimSize(d) != 1);
    if (!isRepeated)
      continue;
    SmallVector<int64_t> sizes(typeOf(sum).getShape());
    sizes.erase(sizes.begin() + d);
    sum = ReduceOp::create(b, wide.clone(sizes), ReduceKind::Add, sum, d);
    if (!type)
      continue;
    sizes.insert(sizes.begin() + d, 1);
    sum = ExpandDimsOp::create(b, wide.clone(sizes), sum, d);
  }
  if (!type)
    sum = tensor::ExtractOp::create(b, sum, ValueRange{});
  add(input, sum);
}

LogicalResult Adjoints::visitReduce(ReduceOp op) {
  if (op.getKind() != ReduceKind::Add)
    return refuse(op, "expected a reduction that adds, found another");
  add(op.getInput(),
      spread(sums.lookup(op.getResult()), op.getDim(), op.getInput()));
  return success();
}

/// `value`, like the result of a dot, in the type of its operands.
static Value narrowed(ImplicitLocOpBuilder &b, Value value, Type element) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == element)
    return value;
  return arith::TruncFOp::create(b, type.clone(element), value);
}

/// Dimension `d` of `value`, `members` of each of `groups`, as two.
static Value splitGroups(ImplicitLocOpBuilder &b, Value value, int64_t d,
                         OpFoldResult groups, OpFoldResult members) {
  RankedTensorType type = typeOf(value);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  sizes[d] = groups;
  sizes.insert(sizes.begin() + d + 1, members);
  SmallVector<int64_t> from(type.getShape()), to(type.getShape());
  auto sizeOf = [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  };
  to[d] = sizeOf(groups);
  to.insert(to.begin() + d + 1, sizeOf(members));
  // What is split into sizes that are not known is none that is.
  if (ShapedType::isDynamic(to[d]) || ShapedType::isDynamic(to[d + 1]))
    from[d] = ShapedType::kDynamic;
  if (type.clone(from) != type)
    value = tensor::CastOp::create(b, type.clone(from), value);
  SmallVector<ReassociationIndices> reassociation;
  for (int64_t dim = 0, next = 0; dim < type.getRank(); ++dim) {
    reassociation.push_back({next++});
    if (dim == d)
      reassociation.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(b, type.clone(to), value, reassociation,
                                       sizes);
}

/// Sums the heads of `value` that share one of `like`, [.., h, n, k].
static Value sumGroups(ImplicitLocOpBuilder &b, Value value, Value like) {
  for (int64_t d = 0; d < typeOf(like).getRank() - 2; ++d) {
    RankedTensorType type = typeOf(value);
    int64_t all = type.getDimSize(d), groups = typeOf(like).getDimSize(d);
    bool isKnown =
        !ShapedType::isDynamic(all) && !ShapedType::isDynamic(groups);
    if (isKnown && all == groups)
      continue;
    OpFoldResult groupsHere = tensor::getMixedSize(b, b.getLoc(), like, d);
    OpFoldResult members = b.getIndexAttr(isKnown && groups ? all / groups : 0);
    if (!isKnown)
      members = arith::DivUIOp::create(
                    b, tensor::DimOp::create(b, value, d),
                    getValueOrCreateConstantIndexOp(b, b.getLoc(), groupsHere))
                    .getResult();
    value = splitGroups(b, value, d, groupsHere, members);
    SmallVector<int64_t> sizes(typeOf(value).getShape());
    sizes.erase(sizes.begin() + d + 1);
    value =
        ReduceOp::create(b, type.clone(sizes), ReduceKind::Add, value, d + 1);
  }
  return value;
}

LogicalResult Adjoints::visitDot(DotOp op) {
  Value sum = sums.lookup(op.getResult());
  if (op.getAcc())
    add(op.getAcc(), sum);
  Type element = typeOf(op.getA()).getElementType();
  if (typeOf(op.getB()).getElementType() != element)
    return refuse(op, "expected a dot of one element type, found two");
  Type wide = typeOf(sum).getElementType();
  Value right = narrowed(b, sum, element);
  auto dot = [&](Value lhs, Value rhs, bool transposeB, Value like) {
    SmallVector<int64_t> sizes(typeOf(lhs).getShape());
    sizes.back() = typeOf(like).getShape().back();
    Value product = DotOp::create(b, RankedTensorType::get(sizes, wide), lhs,
                                  rhs, Value(), transposeB, op.getPrecision());
    return product;
  };
  if (isActive(op.getA()))
    add(op.getA(),
        narrowed(b, dot(right, op.getB(), !op.getTransposeB(), op.getA()),
                 element));
  if (!isActive(op.getB()))
    return success();
  Value product = op.getTransposeB()
                      ? dot(transposed(b, right), op.getA(), false, op.getB())
                      : dot(transposed(b, op.getA()), right, false, op.getB());
  add(op.getB(), narrowed(b, sumGroups(b, product, op.getB()), element));
  return success();
}

LogicalResult Adjoints::visitSoftmax(SoftmaxOp op) {
  if (op.getSink() && isActive(op.getSink()))
    return refuse(op, "those of sinks are not derived yet");
  Value sum = sums.lookup(op.getResult()), p = op.getResult();
  int64_t dim = op.getNormalizedDim();
  SmallVector<int64_t> sizes(typeOf(p).getShape());
  sizes.erase(sizes.begin() + dim);
  Value weighted = arith::MulFOp::create(b, sum, p);
  Value mean = ReduceOp::create(b, typeOf(p).clone(sizes), ReduceKind::Add,
                                weighted, dim);
  Value difference = arith::SubFOp::create(b, sum, spread(mean, dim, p));
  add(op.getInput(), arith::MulFOp::create(b, p, difference));
  return success();
}

LogicalResult Adjoints::visitLogSumExp(LogSumExpOp op) {
  if (op.getSink() && isActive(op.getSink()))
    return refuse(op, "those of sinks are not derived yet");
  Value p = SoftmaxOp::create(b, op.getInput().getType(), op.getInput(),
                              op.getSink(), IntegerAttr());
  int64_t dim = typeOf(p).getRank() - 1;
  Value sum = spread(sums.lookup(op.getResult()), dim, p);
  add(op.getInput(), arith::MulFOp::create(b, p, sum));
  return success();
}

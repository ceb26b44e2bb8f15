//===- ElementRegion.cpp - tensor code as code of one element -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementRegion.h"
#include "FindSource.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value RegionCaptures::get(Value value, Block *block) {
  if (values.insert(value))
    for (Block *each : blocks)
      each->addArgument(value.getType(), value.getLoc());
  size_t position = llvm::find(values, value) - values.begin();
  size_t leading = block->getNumArguments() - values.size();
  return block->getArgument(leading + position);
}

ElementBuilder::ElementBuilder(Location loc, Block *block,
                               RegionCaptures &captures, Value scores,
                               Value score, ArrayRef<Value> coordinates)
    : b(loc, loc.getContext()), block(block), captures(captures),
      scores(scores), score(score), coordinates(coordinates) {
  b.setInsertionPointToEnd(block);
}

Value ElementBuilder::constantIndex(int64_t value) {
  Value &constant = indices[value];
  if (!constant)
    constant = arith::ConstantIndexOp::create(b, value);
  return constant;
}

/// Whether `value` is computed from the scores.
bool ElementBuilder::readsScores(Value value) {
  auto isScores = [&](Value v) { return v == scores; };
  return scores && findSource(value, isScores);
}

Value ElementBuilder::build(Value tensor, ArrayRef<Value> at) {
  if (!isa<TensorType>(tensor.getType()))
    return captures.get(tensor, block);
  if (tensor == scores && llvm::equal(at, coordinates))
    return score;
  for (const Element &element : known[tensor])
    if (llvm::equal(element.at, at))
      return element.value;
  Operation *op = tensor.getDefiningOp();
  Value element = op ? buildOp(op, at) : Value();
  if (!element && blocker)
    return {};
  if (!element) {
    if (tensor == scores || readsScores(tensor)) {
      blocker = op;
      return {};
    }
    element = tensor::ExtractOp::create(b, captures.get(tensor, block), at);
  }
  known[tensor].push_back({llvm::to_vector(at), element});
  return element;
}

/// The dimension of `group` that alone may be larger than 1; the last if none
/// is. −1 if there are several.
static int64_t largeOf(ArrayRef<int64_t> group, RankedTensorType type) {
  int64_t large = group.back(), count = 0;
  for (int64_t d : group)
    if (type.getDimSize(d) != 1) {
      large = d;
      ++count;
    }
  return count > 1 ? -1 : large;
}

/// The element along one dimension of the numbers first, first + step, first +
/// 2 step, ..; null of others.
Value ElementBuilder::buildSequence(Attribute numbers, ArrayRef<Value> at) {
  auto dense = dyn_cast<DenseIntElementsAttr>(numbers);
  int64_t large = -1;
  if (dense)
    large = largeOf(llvm::to_vector(llvm::seq(dense.getType().getRank())),
                    cast<RankedTensorType>(dense.getType()));
  if (large < 0)
    return {};
  auto values = llvm::to_vector(dense.getValues<APInt>());
  if (values.size() < 2)
    return {};
  APInt step = values[1] - values[0];
  for (size_t n = 2; n < values.size(); ++n)
    if (values[n] - values[n - 1] != step)
      return {};
  Type type = dense.getElementType();
  auto constant = [&](const APInt &number) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, number));
  };
  Value element = at[large];
  if (!type.isIndex())
    element = arith::IndexCastOp::create(b, type, element);
  if (!step.isOne())
    element = arith::MulIOp::create(b, element, constant(step));
  if (!values[0].isZero())
    element = arith::AddIOp::create(b, element, constant(values[0]));
  return element;
}

/// What the operation of `state` gives, or what is known of it.
Value ElementBuilder::createOrFold(const OperationState &state) {
  Operation *op = b.create(state);
  SmallVector<Value> folded;
  if (failed(b.tryFold(op, folded)) || folded.empty())
    return op->getResult(0);
  op->erase();
  return folded[0];
}

/// Null, without a blocker, where `op` is not translated but captured.
Value ElementBuilder::buildOp(Operation *op, ArrayRef<Value> at) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) -> Value {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        if (!splat)
          return buildSequence(constant.getValue(), at);
        return arith::ConstantOp::create(b, splat.getSplatValue<TypedAttr>());
      })
      .Case([&](tensor::SplatOp splat) {
        return captures.get(splat.getInput(), block);
      })
      .Case([&](BroadcastOp broadcast) -> Value {
        Value input = broadcast.getInput();
        auto type = dyn_cast<RankedTensorType>(input.getType());
        SmallVector<Value> inner(at);
        if (type)
          for (auto [d, size] : llvm::enumerate(type.getShape()))
            if (size == 1)
              inner[d] = constantIndex(0);
        if (auto constant = input.getDefiningOp<arith::ConstantOp>();
            constant && !type)
          return arith::ConstantOp::create(
              b, cast<TypedAttr>(constant.getValue()));
        return build(input, inner);
      })
      .Case([&](ExpandDimsOp expand) {
        SmallVector<Value> inner(at);
        inner.erase(inner.begin() + expand.getDim());
        return build(expand.getInput(), inner);
      })
      .Case([&](TransposeOp transpose) {
        SmallVector<Value> inner(at);
        for (auto [d, from] : llvm::enumerate(transpose.getPermutation()))
          inner[from] = at[d];
        return build(transpose.getInput(), inner);
      })
      .Case([&](tensor::ExtractSliceOp slice) -> Value {
        ArrayRef<int64_t> offsets = slice.getStaticOffsets();
        if (!slice.hasUnitStride() || slice.getDroppedDims().any() ||
            llvm::is_contained(offsets, ShapedType::kDynamic))
          return {};
        SmallVector<Value> inner(at);
        for (auto [d, offset] : llvm::enumerate(offsets))
          if (offset)
            inner[d] = arith::AddIOp::create(b, at[d], constantIndex(offset));
        return build(slice.getSource(), inner);
      })
      .Case([&](tensor::ExpandShapeOp expand) -> Value {
        SmallVector<Value> inner;
        for (ArrayRef<int64_t> group : expand.getReassociationIndices())
          if (int64_t large = largeOf(group, expand.getResultType()); large < 0)
            return {};
          else
            inner.push_back(at[large]);
        return build(expand.getSrc(), inner);
      })
      .Case([&](tensor::CollapseShapeOp collapse) -> Value {
        SmallVector<Value> inner(collapse.getSrcType().getRank(),
                                 constantIndex(0));
        for (auto [d, group] :
             llvm::enumerate(collapse.getReassociationIndices())) {
          int64_t large = largeOf(group, collapse.getSrcType());
          if (large < 0)
            return {};
          inner[large] = at[d];
        }
        return build(collapse.getSrc(), inner);
      })
      .Case([&](IotaOp iota) -> Value {
        Value index = at[iota.getDim()];
        Type element = iota.getType().getElementType();
        if (isa<IndexType>(element))
          return index;
        return arith::IndexCastOp::create(b, element, index);
      })
      .Default([&](Operation *op) -> Value {
        if (!OpTrait::hasElementwiseMappableTraits(op) ||
            op->getNumResults() != 1)
          return {};
        SmallVector<Value> operands;
        for (Value operand : op->getOperands()) {
          operands.push_back(build(operand, at));
          if (!operands.back())
            return {};
        }
        OperationState state(op->getLoc(), op->getName(), operands,
                             {getElementTypeOrSelf(op->getResult(0).getType())},
                             op->getAttrs());
        return createOrFold(state);
      });
}

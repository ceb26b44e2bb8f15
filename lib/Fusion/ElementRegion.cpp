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

/// Null, without a blocker, where `op` is not translated but captured.
Value ElementBuilder::buildOp(Operation *op, ArrayRef<Value> at) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) -> Value {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        if (!splat)
          return {};
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
        return b.create(state)->getResult(0);
      });
}

//===- Evaluate.cpp - lazy tile values at one coordinate ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

static bool isNarrowFloat(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && floatType.getWidth() < 32;
}

bool fa::isLazy(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::TransposeOp,
          tile::IotaOp, tensor::SplatOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0;
}

Value HostContext::toVector(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, vectorType(value.getType()), value);
}

Value HostContext::evaluateVector(Value value, ArrayRef<TileCoord> coords) {
  return toVector(evaluate(value, coords));
}

/// Consecutive indices base, base + 1, ...
static Value laneIndices(ImplicitLocOpBuilder &b, int64_t lanes, Value base) {
  auto type = VectorType::get({lanes}, b.getIndexType());
  Value steps = vector::StepOp::create(b, type);
  return arith::AddIOp::create(b, vector::BroadcastOp::create(b, type, base),
                               steps);
}

Value HostContext::evaluate(Value value, ArrayRef<TileCoord> coords) {
  if (auto it = dotElement.find(value); it != dotElement.end())
    return it->second;
  if (auto it = buffers.find(value); it != buffers.end())
    return readBuffer(it->second, coords);
  Operation *op = value.getDefiningOp();
  using namespace tile;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) -> Value {
        auto splat = cast<SplatElementsAttr>(constant.getValue());
        auto scalar = splat.getSplatValue<TypedAttr>();
        if (isNarrowFloat(scalar.getType()))
          scalar =
              b.getF32FloatAttr(cast<FloatAttr>(scalar).getValueAsDouble());
        return arith::ConstantOp::create(b, scalar);
      })
      .Case([&](tensor::SplatOp splat) -> Value {
        Value scalar = mapped(splat.getInput());
        if (isNarrowFloat(scalar.getType()))
          return arith::ExtFOp::create(b, b.getF32Type(), scalar);
        return scalar;
      })
      .Case([&](BroadcastOp broadcast) -> Value {
        auto input = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
        if (!input) {
          Value scalar = mapped(broadcast.getInput());
          if (isNarrowFloat(scalar.getType()))
            return arith::ExtFOp::create(b, b.getF32Type(), scalar);
          return scalar;
        }
        SmallVector<TileCoord> inner(coords);
        for (auto [d, size] : llvm::enumerate(input.getShape()))
          if (size == 1)
            inner[d] = {constantIndex(0)};
        return evaluate(broadcast.getInput(), inner);
      })
      .Case([&](ExpandDimsOp expand) {
        SmallVector<TileCoord> inner(coords);
        inner.erase(inner.begin() + expand.getDim());
        return evaluate(expand.getInput(), inner);
      })
      .Case([&](TransposeOp transpose) {
        SmallVector<TileCoord> inner(coords);
        for (auto [d, from] : llvm::enumerate(transpose.getPermutation()))
          inner[from] = coords[d];
        return evaluate(transpose.getInput(), inner);
      })
      .Case([&](IotaOp iota) -> Value {
        TileCoord coord = coords[iota.getDim()];
        Value index =
            coord.lanes ? laneIndices(b, lanes(), coord.index) : coord.index;
        Type element = iota.getType().getElementType();
        if (isa<IndexType>(element))
          return index;
        return arith::IndexCastOp::create(
            b, coord.lanes ? Type(vectorType(element)) : element, index);
      })
      .Case([&](LoadOp load) { return readInPlace(*this, load, coords); })
      .Default([&](Operation *op) { return evaluateElementwise(op, coords); });
}

Value HostContext::evaluateElementwise(Operation *op,
                                       ArrayRef<TileCoord> coords) {
  for (const Evaluated &known : evaluated[op])
    if (ArrayRef(known.coords) == coords)
      return known.value;
  ++evaluationDepth;
  Value value = evaluateNewElementwise(op, coords);
  evaluated[op].push_back({llvm::to_vector(coords), value});
  // The next evaluation may be elsewhere.
  if (--evaluationDepth == 0)
    evaluated.clear();
  return value;
}

Value HostContext::evaluateNewElementwise(Operation *op,
                                          ArrayRef<TileCoord> coords) {
  SmallVector<Value> operands;
  bool anyVector = false;
  for (Value operand : op->getOperands()) {
    Value x = isa<TensorType>(operand.getType()) ? evaluate(operand, coords)
                                                 : mapped(operand);
    anyVector |= isa<VectorType>(x.getType());
    operands.push_back(x);
  }
  if (anyVector)
    for (Value &operand : operands)
      operand = toVector(operand);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  // Narrow floats are held as f32: widening is nothing, narrowing rounds.
  if (isa<arith::ExtFOp>(op) &&
      getElementTypeOrSelf(operands[0]) == computeType(element))
    return operands[0];
  if (isa<arith::TruncFOp>(op) && isNarrowFloat(element) &&
      getElementTypeOrSelf(operands[0]).isF32())
    return emitRound(b, operands[0], element);
  Type compute = computeType(element);
  auto rounded = [&](Value x) {
    return isNarrowFloat(element) ? emitRound(b, x, element) : x;
  };
  if (isa<math::Exp2Op>(op) && anyVector && compute.isF32())
    return rounded(shape.tileDots
                       ? emitShortExp2(b, operands[0], /*narrow=*/false)
                       : emitExp2(b, operands[0]));
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(anyVector ? Type(vectorType(compute)) : compute);
  state.addAttributes(op->getAttrs());
  return rounded(b.create(state)->getResult(0));
}

Value HostContext::readBuffer(TileBuffer buffer, ArrayRef<TileCoord> coords) {
  auto type = cast<MemRefType>(buffer.memref.getType());
  SmallVector<TileCoord> order(coords);
  if (buffer.form == TileForm::Lanes && order.size() == 2)
    std::swap(order[0], order[1]);
  SmallVector<Value> indices;
  for (const TileCoord &coord : order)
    indices.push_back(coord.index);
  bool anyLanes =
      llvm::any_of(order, [](const TileCoord &c) { return c.lanes; });
  if (!anyLanes)
    return memref::LoadOp::create(b, buffer.memref, indices);
  VectorType vector = vectorType(type.getElementType());
  if (order.back().lanes)
    return vector::LoadOp::create(b, vector, buffer.memref, indices);
  // Lanes along the other dimension: one element at a time.
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    SmallVector<Value> at(indices);
    at[0] = addIndex(indices[0], lane);
    elements.push_back(memref::LoadOp::create(b, buffer.memref, at));
  }
  return vector::FromElementsOp::create(b, vector, elements);
}

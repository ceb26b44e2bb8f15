//===- Evaluator.cpp - one function, op by op -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Dot.h"
#include "Lines.h"
#include "Packing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

llvm::Error interp::located(Operation *op, llvm::Error error) {
  return llvm::createStringError(debugString(op->getLoc()) + ": " +
                                 toString(std::move(error)));
}

bool interp::hasType(ArrayRef<int64_t> sizes, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return sizes.empty();
  return sizes.size() == size_t(tensor.getRank()) &&
         llvm::all_of(llvm::zip(sizes, tensor.getShape()), [](auto pair) {
           auto [size, declared] = pair;
           return ShapedType::isDynamic(declared) || size == declared;
         });
}

Tensor Evaluator::rounded(Tensor tensor, Type type) {
  if (tensor.isFloat)
    roundAll(tensor.floats, roundingOf(type, precision));
  return tensor;
}

llvm::Error interp::notEvaluated(Operation *op) {
  return llvm::createStringError("'" + op->getName().getStringRef() +
                                 "' is not evaluated by the reference");
}

llvm::Error Evaluator::evaluate(Operation *op) {
  if (auto attention = dyn_cast<tile::AttentionOp>(op))
    return evaluateAttention(attention);
  if (auto backward = dyn_cast<tile::AttentionBackwardOp>(op))
    return evaluateBackward(backward);
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op);
      linalg && linalg.hasPureTensorSemantics())
    return evaluateLoops(linalg);
  if (op->getNumResults() != 1)
    return located(op, notEvaluated(op));
  llvm::Expected<Tensor> result = compute(op);
  if (!result)
    return located(op, result.takeError());
  values[op->getResult(0)] =
      rounded(std::move(*result), op->getResult(0).getType());
  return llvm::Error::success();
}

static llvm::Expected<Tensor> constant(arith::ConstantOp op) {
  auto fill = [](Tensor &result, int64_t n, Attribute element) {
    if (auto number = dyn_cast<FloatAttr>(element))
      result.floats[n] = number.getValueAsDouble();
    else
      result.ints[n] = element == BoolAttr::get(element.getContext(), true)
                           ? 1
                           : cast<IntegerAttr>(element).getInt();
  };
  Attribute value = op.getValue();
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense && !isa<FloatAttr, IntegerAttr>(value))
    return notEvaluated(op);
  if (!dense) {
    Tensor result(ArrayRef<int64_t>{}, isa<FloatAttr>(value));
    fill(result, 0, value);
    return result;
  }
  Tensor result(dense.getType().getShape(), isFloat(dense.getType()));
  int64_t n = 0;
  for (Attribute element : dense.getValues<Attribute>())
    fill(result, n++, element);
  return result;
}

Sizes Evaluator::sizesOf(RankedTensorType type, OperandRange given) {
  Sizes sizes;
  auto next = given.begin();
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size) ? getIndex(*next++) : size);
  return sizes;
}

llvm::Expected<Tensor> Evaluator::compute(Operation *op) {
  using Result = llvm::Expected<Tensor>;
  auto sinkOf = [&](auto op) {
    return op.getSink() ? &get(op.getSink()) : nullptr;
  };
  Result result =
      llvm::TypeSwitch<Operation *, Result>(op)
          .Case([&](arith::ConstantOp op) { return constant(op); })
          .Case([&](tensor::DimOp op) { return dim(op); })
          .Case([&](tensor::ExtractOp op) { return extract(op); })
          .Case([&](tensor::SplatOp op) {
            return spread(get(op.getInput()),
                          sizesOf(op.getType(), op.getDynamicSizes()));
          })
          .Case(
              [&](tensor::CastOp op) -> Result { return get(op.getSource()); })
          .Case([&](tensor::EmptyOp op) -> Result { // nothing reads it
            return Tensor(sizesOf(op.getType(), op.getDynamicSizes()),
                          isFloat(op.getType()));
          })
          .Case([&](tensor::ExpandShapeOp op) {
            return reshape(get(op.getSrc()),
                           sizesOf(op.getResultType(), op.getOutputShape()));
          })
          .Case([&](tensor::CollapseShapeOp op) { return collapse(op); })
          .Case([&](tensor::ExtractSliceOp op) { return slice(op); })
          .Case([&](linalg::SoftmaxOp op) {
            return softmax(get(op.getInput()), op.getDimension(), nullptr,
                           precision);
          })
          .Case([&](tile::BroadcastOp op) {
            return broadcast(get(op.getInput()),
                             sizesOf(op.getType(), op.getSizes()));
          })
          .Case([&](tile::IotaOp op) {
            return iota(sizesOf(op.getType(), op.getSizes()), op.getDim());
          })
          .Case([&](tile::ExpandDimsOp op) {
            Tensor result = get(op.getInput());
            result.sizes.insert(result.sizes.begin() + op.getDim(), 1);
            return result;
          })
          .Case([&](tile::RepeatOp op) {
            return repeat(get(op.getInput()), op.getTimes(),
                          sizesOf(op.getType(), op.getSizes()));
          })
          .Case([&](tile::TransposeOp op) {
            return transpose(get(op.getInput()), op.getPermutation());
          })
          .Case([&](tile::DotOp op) {
            return dot(get(op.getA()), get(op.getB()), op.getTransposeB(),
                       op.getAcc() ? &get(op.getAcc()) : nullptr, precision,
                       op.getPrecision());
          })
          .Case([&](tile::SoftmaxOp op) {
            return softmax(get(op.getInput()), op.getNormalizedDim(),
                           sinkOf(op), precision);
          })
          .Case([&](tile::LogSumExpOp op) {
            return logSumExp(get(op.getInput()), sinkOf(op), precision);
          })
          .Case([&](tile::DropoutOp op) -> Result {
            return dropout(get(op.getInput()), get(op.getRng()),
                           op.getProbability().convertToDouble());
          })
          .Case([&](tile::PagedOp op) { return paged(op); })
          .Case([&](tile::ReduceOp op) -> Result {
            if (!isFloat(op.getType()))
              return notEvaluated(op);
            return reduce(get(op.getInput()), op.getDim(), op.getKind());
          })
          .Case([&](tile::RaggedOp op) {
            return ragged(get(op.getRows()), get(op.getOffsets()));
          })
          .Case([&](tile::PackOp op) {
            return pack(get(op.getInput()), get(op.getOffsets()));
          })
          .Default([&](Operation *op) { return computeElementwise(op); });
  Type type = op->getResult(0).getType();
  if (result && !hasType(result->sizes, type))
    return llvm::createStringError("expected " + debugString(type) +
                                   ", found sizes " +
                                   formatSizes(result->sizes));
  return result;
}

llvm::Expected<Tensor> Evaluator::dim(tensor::DimOp op) {
  const Sizes &sizes = get(op.getSource()).sizes;
  int64_t at = getIndex(op.getIndex());
  if (at < 0 || at >= static_cast<int64_t>(sizes.size()))
    return llvm::createStringError("expected a dimension below " +
                                   llvm::Twine(sizes.size()) + ", found " +
                                   llvm::Twine(at));
  Tensor result(ArrayRef<int64_t>{}, /*isFloat=*/false);
  result.ints[0] = sizes[at];
  return result;
}

llvm::Expected<Tensor> Evaluator::extract(tensor::ExtractOp op) {
  SmallVector<ConstRow> indices;
  for (Value index : op.getIndices())
    indices.push_back(get(index));
  Tensor result(ArrayRef<int64_t>{}, isFloat(op.getType()));
  if (llvm::Error error = gather(get(op.getTensor()), indices, result, 1))
    return error;
  return result;
}

llvm::Expected<Tensor> Evaluator::collapse(tensor::CollapseShapeOp op) {
  const Tensor &source = get(op.getSrc());
  Sizes sizes;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t size = 1;
    for (int64_t d : group)
      size *= source.sizes[d];
    sizes.push_back(size);
  }
  return reshape(source, sizes);
}

llvm::Expected<Tensor> Evaluator::slice(tensor::ExtractSliceOp op) {
  const Tensor &source = get(op.getSource());
  auto numbers = [&](ArrayRef<OpFoldResult> values) {
    Sizes result;
    for (OpFoldResult value : values)
      result.push_back(isa<Value>(value) ? getIndex(cast<Value>(value))
                                         : *getConstantIntValue(value));
    return result;
  };
  Sizes offsets = numbers(op.getMixedOffsets()),
        sizes = numbers(op.getMixedSizes());
  if (!op.hasUnitStride())
    return notEvaluated(op);
  for (auto [d, size] : llvm::enumerate(source.sizes))
    if (offsets[d] < 0 || sizes[d] < 0 || sizes[d] > size - offsets[d])
      return llvm::createStringError(
          "expected a part of " + formatSizes(source.sizes) + ", found " +
          formatSizes(sizes) + " at " + formatSizes(offsets));
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Tensor result = interp::slice(source, offsets, sizes);
  result.sizes.clear();
  for (auto [d, size] : llvm::enumerate(sizes))
    if (!dropped.test(d))
      result.sizes.push_back(size);
  return result;
}

llvm::Expected<Tensor> Evaluator::computeElementwise(Operation *op) {
  std::optional<Elementwise> function = findElementwise(op);
  if (!function)
    return notEvaluated(op);
  const Sizes &sizes = get(op->getOperands().back()).sizes;
  SmallVector<ConstRow> rows;
  std::optional<Tensor> condition;
  for (Value operand : op->getOperands()) {
    const Tensor &tensor = get(operand);
    if (tensor.sizes == sizes) {
      rows.push_back(tensor);
    } else if (tensor.sizes.empty()) { // of arith.select
      rows.push_back(condition.emplace(spread(tensor, sizes)));
    } else {
      return llvm::createStringError(
          "expected operands of equal sizes, found " +
          formatSizes(tensor.sizes) + " and " + formatSizes(sizes));
    }
  }
  Tensor result(sizes, isFloat(op->getResult(0).getType()));
  function->apply(rows, result, result.count());
  return result;
}

/// Whether `op` and what is inside it reads only `known` values and its own.
static bool readsOnly(Operation *op, const ValueMap &known) {
  return !op->walk([&](Operation *inner) {
              for (Value operand : inner->getOperands())
                if (!known.contains(operand) &&
                    !op->isAncestor(operand.getParentBlock()->getParentOp()))
                  return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

llvm::Error Evaluator::evaluateUniform(Block &body) {
  for (Operation &op : body.without_terminator())
    if (!isa<linalg::IndexOp>(op) && readsOnly(&op, values))
      if (llvm::Error error = evaluate(&op))
        return error;
  return llvm::Error::success();
}

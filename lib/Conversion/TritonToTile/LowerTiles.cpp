//===- LowerTiles.cpp - what is computed ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryFunctions.h"
#include "TritonLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value TritonLowering::broadcast(Value scalar, RankedTensorType type) {
  return tile::BroadcastOp::create(b, type, scalar, ValueRange());
}

Value TritonLowering::iota(int64_t dim, ArrayRef<int64_t> shape, Type element) {
  return tile::IotaOp::create(b, RankedTensorType::get(shape, element), dim,
                              ValueRange());
}

Value TritonLowering::materialize(const AffineTile &offsets,
                                  ArrayRef<int64_t> shape, Type element) {
  auto type = RankedTensorType::get(shape, element);
  auto repeat = [&](Value number) {
    if (element != b.getIndexType())
      number = b.createOrFold<arith::IndexCastOp>(element, number);
    return broadcast(number, type);
  };
  Value sum;
  for (auto [dim, step] : llvm::enumerate(offsets.steps)) {
    if (!step)
      continue;
    Value part = iota(dim, shape, element);
    if (!matchPattern(step, m_One()))
      part = arith::MulIOp::create(b, part, repeat(step));
    sum = sum ? Value(arith::AddIOp::create(b, sum, part)) : part;
  }
  if (sum && (!offsets.base || matchPattern(offsets.base, m_Zero())))
    return sum;
  Value base = repeat(math.orZero(offsets.base));
  return sum ? Value(arith::AddIOp::create(b, sum, base)) : base;
}

std::optional<AffineTile> TritonLowering::findAffine(Value source) {
  auto known = integers.find(source);
  if (known == integers.end())
    return std::nullopt;
  return known->second;
}

FailureOr<Value> TritonLowering::get(Operation *user, Value source) {
  if (Value value = values.lookupOrNull(source))
    return value;
  if (auto tile = findAffine(source))
    return materialize(*tile, shapeOf(source),
                       getElementTypeOrSelf(source.getType()));
  if (auto mask = findMask(source))
    return materialize(*mask, shapeOf(source));
  return refuse(user, "no kernel computes with addresses as numbers");
}

Value TritonLowering::scalarOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getNumElements() != 1)
    return value;
  SmallVector<Value> first(type.getRank(), math.constant(0));
  return tensor::ExtractOp::create(b, value, first);
}

FailureOr<Value> TritonLowering::getScalar(Operation *user, Value source) {
  FailureOr<Value> value = get(user, source);
  if (failed(value))
    return failure();
  return scalarOf(*value);
}

void TritonLowering::makeAlike(MutableArrayRef<Value> numbers) {
  auto isTile = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  if (llvm::none_of(numbers, isTile))
    return;
  for (Value &number : numbers)
    if (!isTile(number))
      number = broadcast(number, RankedTensorType::get(1, number.getType()));
}

FailureOr<Value> TritonLowering::getIndex(Operation *user, Value source) {
  FailureOr<Value> value = getScalar(user, source);
  if (failed(value))
    return failure();
  if (value->getType().isIndex())
    return *value;
  if (!isa<IntegerType>(value->getType()))
    return refuse(user, "expected an integer in an address, found ")
           << value->getType();
  return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), *value);
}

LogicalResult TritonLowering::lowerProgram(Operation *op, Value index) {
  values.map(op->getResult(0),
             arith::IndexCastOp::create(b, op->getResult(0).getType(), index)
                 .getResult());
  return success();
}

LogicalResult TritonLowering::lowerConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    b.clone(*op, values);
    return success();
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return refuse(op, "no kernel has a constant tile of different elements");
  if (type.getElementType().isInteger(1)) {
    TileMask mask;
    if (!splat.getSplatValue<bool>())
      mask.bounds.push_back({0, {}, math.constant(0)});
    masks[op] = mask;
  } else if (isa<IntegerType>(type.getElementType())) {
    Value base = math.constant(splat.getSplatValue<APInt>().getSExtValue());
    integers[op] = {base, SmallVector<Value>(type.getRank())};
  } else {
    b.clone(*op, values);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

bool TritonLowering::isIntegerTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<IntegerType>(type.getElementType()) &&
         !type.getElementType().isInteger(1);
}

/// Sums of steps stay such; numbers that are the same for all elements are
/// computed once. Fails, silently, for others.
LogicalResult TritonLowering::lowerIntegers(Operation *op) {
  SmallVector<AffineTile> operands;
  for (Value operand : op->getOperands()) {
    std::optional<AffineTile> tile = findAffine(operand);
    if (!tile)
      return failure();
    operands.push_back(*tile);
  }
  auto set = [&](AffineTile tile) {
    integers[op->getResult(0)] = std::move(tile);
    return success();
  };
  if (isa<arith::ExtSIOp>(op))
    return set(operands[0]);
  if (operands.size() != 2)
    return failure();
  AffineTile &x = operands[0], &y = operands[1];
  if (isa<arith::AddIOp>(op))
    return set(math.add(x, y));
  if (isa<arith::SubIOp>(op))
    return set(math.sub(x, y));
  if (isa<arith::MulIOp>(op) && (x.isUniform() || y.isUniform()))
    return set(x.isUniform() ? math.scale(y, math.orZero(x.base))
                             : math.scale(x, math.orZero(y.base)));
  bool known =
      isa<arith::DivSIOp, arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp>(op);
  if (!known || !x.isUniform() || !y.isUniform())
    return failure();
  OperationState state(op->getLoc(), op->getName(),
                       {math.orZero(x.base), math.orZero(y.base)},
                       {b.getIndexType()});
  return set({b.create(state)->getResult(0), x.steps});
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The name of what `op` is on tiles.
static StringRef nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](triton::PreciseSqrtOp) {
        return math::SqrtOp::getOperationName();
      })
      .Case<triton::PreciseDivFOp, triton::ApproxDivFOp>(
          [](auto) { return arith::DivFOp::getOperationName(); })
      .Case([](triton::BitcastOp) {
        return arith::BitcastOp::getOperationName();
      })
      .Case([](triton::ExternElementwiseOp op) {
        return findLibraryFunction(op.getSymbol());
      })
      .Default([](Operation *op) { return op->getName().getStringRef(); });
}

/// Whether elements of `type` are numbers that tiles and scalars have.
static bool isNumber(Type type) {
  return isa<IntegerType, FloatType>(getElementTypeOrSelf(type));
}

LogicalResult TritonLowering::lowerElementwise(Operation *op) {
  Value result = op->getResult(0);
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && lowerCompare(compare))
    return success();
  if (auto both = dyn_cast<arith::AndIOp>(op); both && lowerBothMasks(both))
    return success();
  if (isIntegerTile(result) && succeeded(lowerIntegers(op)))
    return success();
  bool native = isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
  if (!isNumber(result.getType()) ||
      (native && !OpTrait::hasElementwiseMappableTraits(op)))
    return refuse(op, "no kernel has it of such values");
  if (auto function = dyn_cast<triton::ExternElementwiseOp>(op);
      function && nameOf(op).empty())
    return refuse(op, "no kernel has the function '")
           << function.getSymbol() << "'";
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> value = get(op, operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  Type type = result.getType();
  if (!isa<RankedTensorType>(type)) {
    makeAlike(operands);
    if (isa<RankedTensorType>(operands[0].getType()))
      type = RankedTensorType::get(1, type);
  }
  OperationState state(op->getLoc(), nameOf(op), operands, {type});
  if (native)
    state.addAttributes(op->getAttrs());
  values.map(result, b.create(state)->getResult(0));
  return success();
}

LogicalResult TritonLowering::lowerClamp(triton::ClampFOp op) {
  if (op.getPropagateNan() != "none" && op.getPropagateNan() != "all")
    return refuse(op, "expected propagateNan none or all");
  FailureOr<Value> x = get(op, op.getX()), low = get(op, op.getMin()),
                   high = get(op, op.getMax());
  if (failed(x) || failed(low) || failed(high))
    return failure();
  Value numbers[] = {*x, *low, *high};
  makeAlike(numbers);
  if (op.getPropagateNan() == "all") {
    Value most = arith::MinimumFOp::create(b, numbers[0], numbers[2]);
    values.map(op.getResult(),
               arith::MaximumFOp::create(b, most, numbers[1]).getResult());
    return success();
  }
  Value least = arith::MaxNumFOp::create(b, numbers[0], numbers[1]);
  values.map(op.getResult(),
             arith::MinNumFOp::create(b, least, numbers[2]).getResult());
  return success();
}

/// The upper half of a product, which has twice the bits.
LogicalResult TritonLowering::lowerMulhi(triton::MulhiUIOp op) {
  Type narrow = getElementTypeOrSelf(op.getType());
  FailureOr<Value> x = get(op, op.getX()), y = get(op, op.getY());
  if (failed(x) || failed(y))
    return failure();
  if (!narrow.isInteger(32))
    return refuse(op, "no kernel has it but of integers of 32 bits");
  Value factors[] = {*x, *y};
  makeAlike(factors);
  Type type = factors[0].getType(), wide = b.getI64Type();
  TypedAttr half = b.getI64IntegerAttr(32);
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    wide = tile.clone(wide);
    half = SplatElementsAttr::get(cast<RankedTensorType>(wide), int64_t(32));
  }
  Value product = arith::MulIOp::create(
      b, Value(arith::ExtUIOp::create(b, wide, factors[0])),
      Value(arith::ExtUIOp::create(b, wide, factors[1])));
  Value upper = arith::ShRUIOp::create(
      b, product, Value(arith::ConstantOp::create(b, half)));
  values.map(op.getResult(),
             arith::TruncIOp::create(b, type, upper).getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

LogicalResult TritonLowering::lowerDot(triton::DotOp op) {
  auto a = cast<RankedTensorType>(op.getA().getType()),
       right = cast<RankedTensorType>(op.getB().getType()),
       result = cast<RankedTensorType>(op.getType());
  Type element = a.getElementType();
  if (a.getRank() != 2 || right.getRank() != 2 || result.getRank() != 2)
    return refuse(op, "no kernel has a dot of more than two dimensions");
  if (element != right.getElementType() ||
      !(element.isF16() || element.isBF16() || element.isF32()) ||
      !result.getElementType().isF32())
    return refuse(op, "no kernel has a dot of such elements: ")
           << a << ", " << right << " and " << result;
  StringRef precision = op.getInputPrecision().value_or("ieee");
  if (element.isF32() && precision != "ieee" && precision != "tf32")
    return refuse(op, "no kernel has the precision '" + precision + "'");
  FailureOr<Value> x = get(op, op.getA()), y = get(op, op.getB());
  if (failed(x) || failed(y))
    return failure();
  Value acc;
  if (!matchPattern(op.getC(), m_AnyZeroFloat())) {
    FailureOr<Value> c = get(op, op.getC());
    if (failed(c))
      return failure();
    acc = *c;
  }
  bool rounds = element.isF32() && precision == "tf32";
  values.map(op.getResult(),
             tile::DotOp::create(b, result, *x, *y, acc, /*transpose_b=*/false,
                                 rounds ? tile::DotPrecision::Tf32
                                        : tile::DotPrecision::Ieee)
                 .getResult());
  return success();
}

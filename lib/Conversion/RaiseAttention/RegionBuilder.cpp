//===- RegionBuilder.cpp - regions of a raised attention
//--------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

AffineExpr LaunchExpressions::get(const Number &number) {
  AffineExpr expression = numbers.toAffine(number, kernel.getNumArguments() - 1,
                                           kernel.getContext());
  if (!expression && !failed) {
    failed = true;
    refusal = {kernel, "it depends on what a launch does not know: " +
                           numbers.print(number)};
  }
  return expression;
}

/// The part of `number` that a launch knows, by what it is multiplied with.
static std::map<Monomial, Number> groupByPlace(const LaunchNumbers &numbers,
                                               const Number &number,
                                               const PlacedAttention &placed) {
  std::map<Monomial, Number> groups;
  for (const auto &[monomial, coefficient] : number.terms()) {
    Monomial outside, inside;
    for (unsigned n : monomial) {
      bool isPlace = numbers.variable(n).kind == Variable::Place ||
                     numbers.variable(n).kind == Variable::Element ||
                     n == placed.batch || n == placed.head;
      (isPlace ? inside : outside).push_back(n);
    }
    groups[inside].addTerm(outside, coefficient);
  }
  return groups;
}

void RegionBuilder::openRegion(ArrayRef<Type> leading) {
  numLeading = leading.size();
  for (Type type : leading)
    region->addArgument(type, b.getLoc());
  b.setInsertionPointToStart(region);
  for (unsigned n = 0; n < 4; ++n)
    coordinates[n] = region->getArgument(numLeading - 4 + n);
  if (placed.batch)
    places[*placed.batch] = coordinates[0];
  if (placed.head)
    places[*placed.head] = coordinates[1];
  places[*numbers.place(kQueryNumber).variable()] = coordinates[2];
  places[*numbers.place(kKeyNumber).variable()] = coordinates[3];
}

Value RegionBuilder::capture(const std::string &key, Type type,
                             RaisedArgument argument) {
  auto known = llvm::find_if(
      captures, [&](const Capture &capture) { return capture.key == key; });
  unsigned number = known - captures.begin();
  if (known == captures.end())
    captures.push_back({key, type, std::move(argument)});
  for (unsigned n = region->getNumArguments() - numLeading; n <= number; ++n)
    region->addArgument(captures[n].type, b.getLoc());
  return region->getArgument(numLeading + number);
}

Value RegionBuilder::captureNumber(const Number &number) {
  if (std::optional<int64_t> constant = number.constant())
    return arith::ConstantIndexOp::create(b, *constant);
  RaisedArgument index;
  index.kind = RaisedArgument::Index;
  index.offset = expressions.get(number);
  return capture("number " + numbers.print(number), b.getIndexType(), index);
}

std::string RegionBuilder::keyOf(const ElementPlace &place,
                                 const LaunchNumbers &numbers) {
  std::string key = "element " + std::to_string(place.argument) + " " +
                    numbers.print(place.offset);
  for (auto [coordinate, stride] :
       llvm::zip_equal(place.coordinates, place.strides))
    key += " " + std::to_string(coordinate) + " " + numbers.print(stride);
  return key;
}

RaisedArgument RegionBuilder::describe(const ElementPlace &place) {
  RaisedArgument tensor;
  tensor.from = place.argument;
  tensor.offset = expressions.get(place.offset);
  for (auto [size, stride] : llvm::zip_equal(place.sizes, place.strides)) {
    tensor.sizes.push_back(expressions.get(size));
    tensor.strides.push_back(expressions.get(stride));
  }
  return tensor;
}

Value RegionBuilder::captureElement(const ElementPlace &place) {
  SmallVector<Value> at;
  for (unsigned coordinate : place.coordinates)
    at.push_back(coordinates[coordinate]);
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(at.size(), ShapedType::kDynamic), place.element);
  Value element = tensor::ExtractOp::create(
      b, capture(keyOf(place, numbers), type, describe(place)), at);
  if (place.element.isInteger())
    return arith::IndexCastOp::create(b, b.getIndexType(), element);
  return place.element.isF32()
             ? element
             : Value(arith::ExtFOp::create(b, b.getF32Type(), element));
}

/// A coordinate, or what lies in memory for the batch.
Value RegionBuilder::buildVariable(unsigned variable) {
  auto found = placed.sequenceNumbers.find(variable);
  return found == placed.sequenceNumbers.end() ? places[variable]
                                               : captureElement(found->second);
}

Value RegionBuilder::buildNumber(const Number &number) {
  Value sum;
  for (auto &[inside, outside] : groupByPlace(numbers, number, placed)) {
    Value product;
    for (unsigned n : inside) {
      Value factor = buildVariable(n);
      product =
          product ? Value(arith::MulIOp::create(b, product, factor)) : factor;
    }
    if (!product)
      product = captureNumber(outside);
    else if (outside != Number(1))
      product = arith::MulIOp::create(b, product, captureNumber(outside));
    sum = sum ? Value(arith::AddIOp::create(b, sum, product)) : product;
  }
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

Value RegionBuilder::buildCondition(const Condition &condition) {
  if (condition.kind == Condition::AtLeastZero) {
    // The key on one side.
    Number key = numbers.place(kKeyNumber);
    std::optional<Number> factor =
        condition.number.coefficientOf(*key.variable());
    std::optional<int64_t> c = factor ? factor->constant() : std::nullopt;
    using enum arith::CmpIPredicate;
    if (c == -1) {
      Number last = condition.number + key;
      auto constant = last.terms().find({});
      bool isBelow = constant != last.terms().end() && constant->second == -1;
      return arith::CmpIOp::create(b, isBelow ? slt : sle, coordinates[3],
                                   buildNumber(isBelow ? last + 1 : last));
    }
    if (c == 1)
      return arith::CmpIOp::create(b, sge, coordinates[3],
                                   buildNumber(key - condition.number));
    return arith::CmpIOp::create(b, sge, buildNumber(condition.number),
                                 arith::ConstantIndexOp::create(b, 0));
  }
  bool all = condition.kind == Condition::All;
  Value result;
  for (const Condition &part : condition.parts) {
    Value next = buildCondition(part);
    if (!result)
      result = next;
    else if (all)
      result = arith::AndIOp::create(b, result, next);
    else
      result = arith::OrIOp::create(b, result, next);
  }
  return result ? result
                : Value(arith::ConstantIntOp::create(b, all, /*width=*/1));
}

void RegionBuilder::buildMask() {
  if (placed.mask.empty())
    return;
  mask = std::make_unique<Block>();
  region = mask.get();
  openRegion(SmallVector<Type>(4, b.getIndexType()));
  Condition all{Condition::All, {}, placed.mask};
  tile::YieldOp::create(b, buildCondition(all));
}

Value RegionBuilder::buildFactor(unsigned number) {
  const Factor &f = sums.factor(number);
  if (f.kind == Factor::Function) {
    Value argument = buildSum(sums.sum(f.argument));
    if (f.name == math::TanhOp::getOperationName())
      return math::TanhOp::create(b, argument);
    return math::AbsFOp::create(b, argument);
  }
  if (auto found = placed.scoreNumbers.find(number);
      found != placed.scoreNumbers.end())
    return arith::SIToFPOp::create(
        b, b.getF32Type(),
        arith::IndexCastOp::create(b, b.getI64Type(),
                                   buildNumber(found->second)));
  if (auto found = placed.scoreElements.find(number);
      found != placed.scoreElements.end())
    return captureElement(found->second);
  RaisedArgument same;
  same.kind = RaisedArgument::Same;
  same.from = cast<BlockArgument>(sums.valueOf(f)).getArgNumber();
  return capture("scalar " + std::to_string(same.from), b.getF32Type(), same);
}

Value RegionBuilder::buildSum(const Sum &sum) {
  auto constant = [&](double value) {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  };
  Value total;
  for (auto [term, c] : sum) {
    Value part;
    auto factors = term.factors;
    if (llvm::is_contained(factors, std::pair(placed.scores.dot, 1))) {
      part = product;
      c /= placed.scores.factor;
      llvm::erase_if(factors, [&](auto power) {
        return power.first == placed.scores.dot ||
               llvm::is_contained(placed.scores.scalars, power);
      });
    }
    if (!part || std::fabs(c - 1) >= 1e-7)
      part = part ? Value(arith::MulFOp::create(b, part, constant(c)))
                  : constant(c);
    for (auto [number, power] : factors) {
      Value factor = buildFactor(number);
      for (int n = 0; n < std::abs(power); ++n)
        part = power > 0 ? Value(arith::MulFOp::create(b, part, factor))
                         : Value(arith::DivFOp::create(b, part, factor));
    }
    total = total ? Value(arith::AddFOp::create(b, total, part)) : part;
  }
  return total ? total : Value(constant(0));
}

void RegionBuilder::buildScore() {
  if (placed.scores.change.empty())
    return;
  score = std::make_unique<Block>();
  region = score.get();
  SmallVector<Type> leading(5, b.getIndexType());
  leading[0] = b.getF32Type();
  openRegion(leading);
  product = region->getArgument(0);
  tile::YieldOp::create(b, buildSum(placed.scores.change));
}

void RegionBuilder::addArguments(unsigned number) {
  for (auto [block, leading] :
       {std::pair(score.get(), 5u), std::pair(mask.get(), 4u)})
    if (block && block->getNumArguments() < leading + number)
      block->addArgument(captures[number - 1].type, b.getLoc());
}

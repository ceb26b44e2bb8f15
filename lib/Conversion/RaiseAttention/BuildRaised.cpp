//===- BuildRaised.cpp - a function of one attention ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildRaised.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

namespace {

class FunctionBuilder {
public:
  FunctionBuilder(const PlacedAttention &placed, LaunchNumbers &numbers,
                  tile::KernelOp kernel, Refusal &refusal)
      : placed(placed), numbers(numbers), kernel(kernel), refusal(refusal),
        b(kernel.getLoc(), kernel.getContext()),
        numArguments(kernel.getNumArguments() - 1) {}

  std::optional<RaisedAttention> build();

private:
  AffineExpr toAffine(const Number &number) {
    return numbers.toAffine(number, numArguments, b.getContext());
  }
  Value addArgument(Type type, RaisedArgument argument);
  Value addTensor(const TensorPlace &place);
  RaisedArgument describe(const TensorPlace &place, bool hasColumns);
  Value buildScale();
  void findCaptures(const Number &number);
  Value buildNumber(const Number &number);
  Value buildCondition(const Condition &condition);
  Value capture(const Number &number);
  bool buildMask(tile::AttentionOp attention);
  void report();

  const PlacedAttention &placed;
  LaunchNumbers &numbers;
  tile::KernelOp kernel;
  Refusal &refusal;
  ImplicitLocOpBuilder b;
  unsigned numArguments;
  RaisedAttention raised;
  Block *body = nullptr;
  /// What the mask reads of a launch: arguments of the function, in order, and
  /// of the region.
  std::vector<std::pair<Number, Value>> captures;
  std::map<unsigned, Value> places; ///< b, h, i, j by variable
};

} // namespace

/// The part of `number` that a launch knows, by what it is multiplied with.
static std::map<Monomial, Number> groupByPlace(const LaunchNumbers &numbers,
                                               const Number &number,
                                               const PlacedAttention &placed) {
  std::map<Monomial, Number> groups;
  for (const auto &[monomial, coefficient] : number.terms()) {
    Monomial outside, inside;
    for (unsigned n : monomial) {
      bool isPlace = numbers.variable(n).kind == Variable::Place ||
                     n == placed.batch || n == placed.head;
      (isPlace ? inside : outside).push_back(n);
    }
    groups[inside].addTerm(outside, coefficient);
  }
  return groups;
}

RaisedArgument FunctionBuilder::describe(const TensorPlace &place,
                                         bool hasColumns) {
  RaisedArgument argument;
  argument.from = place.argument;
  argument.offset = toAffine(place.offset);
  for (unsigned d = 0; d < (hasColumns ? 4 : 3); ++d) {
    argument.sizes.push_back(toAffine(place.sizes[d]));
    argument.strides.push_back(toAffine(place.strides[d]));
  }
  return argument;
}

Value FunctionBuilder::addArgument(Type type, RaisedArgument argument) {
  raised.arguments.push_back(std::move(argument));
  return body->addArgument(type, b.getLoc());
}

Value FunctionBuilder::addTensor(const TensorPlace &place) {
  constexpr int64_t any = ShapedType::kDynamic;
  return addArgument(
      RankedTensorType::get({any, any, any, place.columns}, place.element),
      describe(place, /*hasColumns=*/true));
}

Value FunctionBuilder::buildScale() {
  Value scale;
  for (Value scalar : placed.scalars) {
    RaisedArgument same;
    same.kind = RaisedArgument::Same;
    same.from = cast<BlockArgument>(scalar).getArgNumber();
    Value argument = addArgument(b.getF32Type(), same);
    scale = scale ? Value(arith::MulFOp::create(b, scale, argument)) : argument;
  }
  // log2(e) in f32 times ln 2 is 1 but for less than an f32's last place.
  if (scale && std::fabs(placed.scale - 1) < 1e-7)
    return scale;
  Value factor = arith::ConstantOp::create(
      b, b.getF32FloatAttr(static_cast<float>(placed.scale)));
  return scale ? Value(arith::MulFOp::create(b, scale, factor)) : factor;
}

void FunctionBuilder::findCaptures(const Number &number) {
  for (auto &[inside, outside] : groupByPlace(numbers, number, placed)) {
    if (outside.constant())
      continue;
    bool isKnown = llvm::any_of(
        captures, [&](const auto &known) { return known.first == outside; });
    if (!isKnown)
      captures.push_back({outside, Value()});
  }
}

Value FunctionBuilder::capture(const Number &number) {
  if (std::optional<int64_t> constant = number.constant())
    return arith::ConstantIndexOp::create(b, *constant);
  for (auto &[known, value] : captures)
    if (known == number)
      return value;
  return {};
}

Value FunctionBuilder::buildNumber(const Number &number) {
  Value sum;
  for (auto &[inside, outside] : groupByPlace(numbers, number, placed)) {
    Value product;
    for (unsigned n : inside)
      product = product ? Value(arith::MulIOp::create(b, product, places[n]))
                        : places[n];
    if (!product)
      product = capture(outside);
    else if (outside != Number(1))
      product = arith::MulIOp::create(b, product, capture(outside));
    sum = sum ? Value(arith::AddIOp::create(b, sum, product)) : product;
  }
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

Value FunctionBuilder::buildCondition(const Condition &condition) {
  if (condition.kind == Condition::AtLeastZero) {
    // The key on one side.
    Number key = numbers.place(kKeyNumber);
    std::optional<Number> factor =
        condition.number.coefficientOf(*key.variable());
    std::optional<int64_t> c = factor ? factor->constant() : std::nullopt;
    using enum arith::CmpIPredicate;
    if (c == -1)
      return arith::CmpIOp::create(b, sle, places[*key.variable()],
                                   buildNumber(condition.number + key));
    if (c == 1)
      return arith::CmpIOp::create(b, sge, places[*key.variable()],
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

bool FunctionBuilder::buildMask(tile::AttentionOp attention) {
  if (placed.mask.empty())
    return true;
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&attention.getMask());
  SmallVector<Value> coordinates;
  for (unsigned n = 0; n < 4; ++n)
    coordinates.push_back(block->addArgument(b.getIndexType(), b.getLoc()));
  for (auto &[number, value] : captures)
    value = block->addArgument(b.getIndexType(), b.getLoc());
  if (placed.batch)
    places[*placed.batch] = coordinates[0];
  if (placed.head)
    places[*placed.head] = coordinates[1];
  places[*numbers.place(kQueryNumber).variable()] = coordinates[2];
  places[*numbers.place(kKeyNumber).variable()] = coordinates[3];
  Condition all{Condition::All, {}, placed.mask};
  tile::YieldOp::create(b, buildCondition(all));
  return true;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

static std::string printCondition(const LaunchNumbers &numbers,
                                  const Condition &condition) {
  if (condition.kind == Condition::AtLeastZero)
    return numbers.print(condition.number) + " >= 0";
  std::string text;
  for (const Condition &part : condition.parts)
    text += (text.empty()                       ? ""
             : condition.kind == Condition::All ? " and "
                                                : " or ") +
            printCondition(numbers, part);
  return "(" + text + ")";
}

void FunctionBuilder::report() {
  auto add = [&](const Twine &line) { raised.report.push_back(line.str()); };
  auto nameOf = [&](const TensorPlace &place) {
    return "argument " + std::to_string(place.argument);
  };
  std::string element;
  llvm::raw_string_ostream(element) << placed.q.element;
  add("Q " + nameOf(placed.q) + ", K " + nameOf(placed.k) + ", V " +
      nameOf(placed.v) + ", output " + nameOf(placed.output) +
      (placed.lse ? ", log-sum-exp " + nameOf(*placed.lse) +
                        (placed.lseBase == 1 ? "" : ", base 2")
                  : std::string()) +
      ": " + element + ", " + std::to_string(placed.q.columns) + " columns");
  add("state: " + placed.form);
  std::string scale;
  for (Value scalar : placed.scalars)
    scale += (scale.empty() ? "argument " : " * argument ") +
             std::to_string(cast<BlockArgument>(scalar).getArgNumber());
  if (scale.empty() || std::fabs(placed.scale - 1) >= 1e-7) {
    llvm::raw_string_ostream out(scale);
    out << (scale.empty() ? "" : " * ") << llvm::format("%.7g", placed.scale);
  }
  add("scale: " + scale);
  std::string mask;
  for (const Condition &condition : placed.mask)
    mask += (mask.empty() ? "" : " and ") + printCondition(numbers, condition);
  add("mask: " + (mask.empty() ? "none" : mask));
  add("queries: " + numbers.print(placed.q.sizes[2]) +
      "; keys: " + numbers.print(placed.k.sizes[2]) +
      "; heads: " + numbers.print(placed.q.sizes[1]) +
      (placed.q.sizes[1] == placed.k.sizes[1]
           ? ""
           : ", of keys " + numbers.print(placed.k.sizes[1])) +
      "; batches: " + numbers.print(placed.q.sizes[0]));
  for (const LaunchCondition &condition : raised.conditions)
    add("if " + condition.text);
  for (unsigned n : raised.positiveArguments)
    add("if argument " + Twine(n) + " is above 0");
  if (placed.finiteMask) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", *placed.finiteMask);
    add("assumes finite masks: a score of " + text +
        " or less is taken for none");
  }
  if (placed.isWide)
    add("probabilities are not rounded");
  if (placed.isTf32)
    add("dots may round to tf32");
}

std::optional<RaisedAttention> FunctionBuilder::build() {
  b.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect,
                    tensor::TensorDialect, tile::TileDialect>();
  raised.module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToStart(raised.module->getBody());
  raised.function =
      func::FuncOp::create(b, kernel.getName(), b.getFunctionType({}, {}));
  body = raised.function.addEntryBlock();
  b.setInsertionPointToStart(body);
  Value q = addTensor(placed.q), k = addTensor(placed.k),
        v = addTensor(placed.v);
  Value scale = buildScale();
  for (const Condition &condition : placed.mask) {
    Condition copy = condition;
    copy.forEachNumber([&](Number &number) {
      // As the comparison will have it.
      Number key = numbers.place(kKeyNumber);
      std::optional<Number> factor = number.coefficientOf(*key.variable());
      findCaptures(factor && factor->constant() == 1 ? key - number : number);
    });
  }
  SmallVector<Value> captured;
  for (auto &[number, value] : captures) {
    RaisedArgument index;
    index.kind = RaisedArgument::Index;
    index.offset = toAffine(number);
    if (!index.offset) {
      refusal = {kernel, "its mask depends on what a launch does not know: " +
                             numbers.print(number)};
      return std::nullopt;
    }
    captured.push_back(addArgument(b.getIndexType(), index));
  }
  constexpr int64_t any = ShapedType::kDynamic;
  auto outputType = RankedTensorType::get({any, any, any, placed.v.columns},
                                          placed.output.element);
  Type lseType = placed.lse
                     ? RankedTensorType::get({any, any, any}, b.getF32Type())
                     : RankedTensorType();
  auto attention = tile::AttentionOp::create(
      b, outputType, lseType, q, k, v, scale, Value(), Value(), Value(),
      Value(), captured, FloatAttr(), placed.isWide,
      placed.isTf32 ? tile::DotPrecision::Tf32 : tile::DotPrecision::Ieee);
  if (!buildMask(attention))
    return std::nullopt;
  raised.arguments.push_back(describe(placed.output, /*hasColumns=*/true));
  SmallVector<Value> results = {attention.getOutput()};
  if (placed.lse) {
    raised.arguments.push_back(describe(*placed.lse, /*hasColumns=*/false));
    Value lse = attention.getLse();
    if (placed.lseBase != 1) {
      SmallVector<Value> sizes;
      for (int64_t d = 0; d < 3; ++d)
        sizes.push_back(tensor::DimOp::create(b, q, d));
      Value factor = arith::ConstantOp::create(
          b, b.getF32FloatAttr(static_cast<float>(1 / placed.lseBase)));
      lse = arith::MulFOp::create(
          b, lse, tile::BroadcastOp::create(b, lseType, factor, sizes));
    }
    results.push_back(lse);
  }
  func::ReturnOp::create(b, results);
  raised.function.setFunctionType(b.getFunctionType(
      body->getArgumentTypes(), ValueRange(results).getTypes()));
  for (const Precondition &needed : placed.preconditions) {
    AffineExpr expression = toAffine(needed.number);
    if (!expression) {
      refusal = {kernel, "it needs what a launch cannot tell: " + needed.text};
      return std::nullopt;
    }
    raised.conditions.push_back({expression, needed.isZero, needed.text});
  }
  raised.positiveArguments = placed.positiveArguments;
  report();
  return std::move(raised);
}

std::optional<RaisedAttention>
fa::raise::buildRaised(const PlacedAttention &placed, LaunchNumbers &numbers,
                       tile::KernelOp kernel, Refusal &refusal) {
  return FunctionBuilder(placed, numbers, kernel, refusal).build();
}

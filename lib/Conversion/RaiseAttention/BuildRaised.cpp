//===- BuildRaised.cpp - a function of one attention ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildRaised.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
                  ExponentialSums &sums, tile::KernelOp kernel,
                  Refusal &refusal)
      : placed(placed), numbers(numbers), sums(sums), kernel(kernel),
        refusal(refusal), b(kernel.getLoc(), kernel.getContext()),
        numArguments(kernel.getNumArguments() - 1) {}

  std::optional<RaisedAttention> build();

private:
  /// A launch's expression; if there is none, the function is not built.
  AffineExpr toAffine(const Number &number);
  Value addArgument(Type type, RaisedArgument argument);
  Value addTensor(const TensorPlace &place);
  RaisedArgument describe(const TensorPlace &place, bool hasColumns);
  Value buildScale();
  //===--- Regions ---===//
  /// Begins a region with `leading` arguments of its own.
  void openRegion(ArrayRef<Type> leading);
  /// The argument of the open region that is what `key` names: a new argument
  /// of the function where it is not yet one.
  Value capture(const std::string &key, Type type, RaisedArgument argument);
  Value captureNumber(const Number &number);
  Value captureElement(const ElementPlace &place);
  Value buildNumber(const Number &number);
  Value buildCondition(const Condition &condition);
  Value buildSum(const Sum &sum);
  Value buildFactor(unsigned number);
  void buildMask();
  void buildScore();
  void report();

  const PlacedAttention &placed;
  LaunchNumbers &numbers;
  ExponentialSums &sums;
  tile::KernelOp kernel;
  Refusal &refusal;
  ImplicitLocOpBuilder b;
  unsigned numArguments;
  RaisedAttention raised;
  Block *body = nullptr;
  /// What regions read from outside: the same in both, arguments of the
  /// function.
  struct Capture {
    std::string key;
    Type type;
    RaisedArgument argument;
  };
  std::vector<Capture> captures;
  std::unique_ptr<Block> score, mask; ///< null: none
  Block *region = nullptr;            ///< that is open
  unsigned numLeading = 0;
  std::map<unsigned, Value> places; ///< b, h, i, j by variable
  Value coordinates[4], product;
  bool hasFailed = false;
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

AffineExpr FunctionBuilder::toAffine(const Number &number) {
  AffineExpr expression =
      numbers.toAffine(number, numArguments, b.getContext());
  if (!expression && !hasFailed) {
    hasFailed = true;
    refusal = {kernel, "it depends on what a launch does not know: " +
                           numbers.print(number)};
  }
  return expression;
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
  // Those that divide come last.
  auto scalars = placed.scores.scalars;
  llvm::sort(scalars, [](auto x, auto y) {
    return std::pair(-x.second, x.first) < std::pair(-y.second, y.first);
  });
  Value scale;
  auto constant = [&](double value) {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  };
  double factor = placed.scores.factor;
  // log2(e) in f32 times ln 2 is 1 but for less than an f32's last place.
  bool isOne = std::fabs(factor - 1) < 1e-7;
  if (scalars.empty() || scalars.front().second < 0)
    scale = constant(factor);
  for (auto [number, power] : scalars) {
    Value scalar = sums.valueOf(sums.factor(number));
    RaisedArgument same;
    same.kind = RaisedArgument::Same;
    same.from = cast<BlockArgument>(scalar).getArgNumber();
    Value argument = addArgument(b.getF32Type(), same);
    for (int n = 0; n < std::abs(power); ++n)
      scale = power < 0 ? Value(arith::DivFOp::create(b, scale, argument))
              : scale   ? Value(arith::MulFOp::create(b, scale, argument))
                        : argument;
  }
  bool hasFactor = scalars.empty() || scalars.front().second < 0;
  return hasFactor || isOne
             ? scale
             : Value(arith::MulFOp::create(b, scale, constant(factor)));
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void FunctionBuilder::openRegion(ArrayRef<Type> leading) {
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

Value FunctionBuilder::capture(const std::string &key, Type type,
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

Value FunctionBuilder::captureNumber(const Number &number) {
  if (std::optional<int64_t> constant = number.constant())
    return arith::ConstantIndexOp::create(b, *constant);
  RaisedArgument index;
  index.kind = RaisedArgument::Index;
  index.offset = toAffine(number);
  return capture("number " + numbers.print(number), b.getIndexType(), index);
}

Value FunctionBuilder::captureElement(const ElementPlace &place) {
  RaisedArgument tensor;
  tensor.from = place.argument;
  tensor.offset = toAffine(place.offset);
  SmallVector<Value> at;
  std::string key = "element " + std::to_string(place.argument) + " " +
                    numbers.print(place.offset);
  for (auto [n, coordinate] : llvm::enumerate(place.coordinates)) {
    tensor.sizes.push_back(toAffine(place.sizes[n]));
    tensor.strides.push_back(toAffine(place.strides[n]));
    key += " " + std::to_string(coordinate) + " " +
           numbers.print(place.strides[n]);
    at.push_back(coordinates[coordinate]);
  }
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(at.size(), ShapedType::kDynamic), place.element);
  Value element = tensor::ExtractOp::create(b, capture(key, type, tensor), at);
  return place.element.isF32()
             ? element
             : Value(arith::ExtFOp::create(b, b.getF32Type(), element));
}

Value FunctionBuilder::buildNumber(const Number &number) {
  Value sum;
  for (auto &[inside, outside] : groupByPlace(numbers, number, placed)) {
    Value product;
    for (unsigned n : inside)
      product = product ? Value(arith::MulIOp::create(b, product, places[n]))
                        : places[n];
    if (!product)
      product = captureNumber(outside);
    else if (outside != Number(1))
      product = arith::MulIOp::create(b, product, captureNumber(outside));
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
      return arith::CmpIOp::create(b, sle, coordinates[3],
                                   buildNumber(condition.number + key));
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

void FunctionBuilder::buildMask() {
  if (placed.mask.empty())
    return;
  mask = std::make_unique<Block>();
  region = mask.get();
  openRegion(SmallVector<Type>(4, b.getIndexType()));
  Condition all{Condition::All, {}, placed.mask};
  tile::YieldOp::create(b, buildCondition(all));
}

Value FunctionBuilder::buildFactor(unsigned number) {
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

Value FunctionBuilder::buildSum(const Sum &sum) {
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

void FunctionBuilder::buildScore() {
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
  for (auto [number, power] : placed.scores.scalars) {
    Value scalar = sums.valueOf(sums.factor(number));
    scale += (scale.empty() ? "argument " : " * argument ") +
             std::to_string(cast<BlockArgument>(scalar).getArgNumber()) +
             (power == 1 ? "" : "^" + std::to_string(power));
  }
  if (scale.empty() || std::fabs(placed.scores.factor - 1) >= 1e-7) {
    llvm::raw_string_ostream out(scale);
    out << (scale.empty() ? "" : " * ")
        << llvm::format("%.7g", placed.scores.factor);
  }
  add("scale: " + scale);
  if (!placed.scores.change.empty())
    add("score: " + sums.print(placed.scores.change));
  if (placed.sink)
    add("sink: argument " + Twine(placed.sink->argument));
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
  for (const std::string &message : placed.unchecked)
    add("does not check: " + message);
  if (placed.isWide)
    add("probabilities are not rounded");
  if (placed.isTf32)
    add("dots may round to tf32");
}

std::optional<RaisedAttention> FunctionBuilder::build() {
  b.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
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
  {
    OpBuilder::InsertionGuard guard(b);
    buildScore();
    buildMask();
  }
  if (hasFailed)
    return std::nullopt;
  SmallVector<Value> captured;
  for (const Capture &capture : captures) {
    captured.push_back(addArgument(capture.type, capture.argument));
    for (auto [block, leading] :
         {std::pair(score.get(), 5u), std::pair(mask.get(), 4u)})
      if (block && block->getNumArguments() < leading + captured.size())
        block->addArgument(capture.type, b.getLoc());
  }
  Value sink;
  if (placed.sink) {
    RaisedArgument tensor;
    tensor.from = placed.sink->argument;
    tensor.offset = toAffine(placed.sink->offset);
    tensor.sizes = {toAffine(placed.sink->sizes[0])};
    tensor.strides = {toAffine(placed.sink->strides[0])};
    sink = addArgument(
        RankedTensorType::get({ShapedType::kDynamic}, b.getF32Type()), tensor);
  }
  constexpr int64_t any = ShapedType::kDynamic;
  auto outputType = RankedTensorType::get({any, any, any, placed.v.columns},
                                          placed.output.element);
  Type lseType = placed.lse
                     ? RankedTensorType::get({any, any, any}, b.getF32Type())
                     : RankedTensorType();
  auto attention = tile::AttentionOp::create(
      b, outputType, lseType, q, k, v, scale, Value(), Value(), sink, Value(),
      captured, FloatAttr(), placed.isWide,
      placed.isTf32 ? tile::DotPrecision::Tf32 : tile::DotPrecision::Ieee);
  if (score)
    attention.getScore().push_back(score.release());
  if (mask)
    attention.getMask().push_back(mask.release());
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
    raised.conditions.push_back({expression, needed.isZero, needed.text});
  }
  if (hasFailed)
    return std::nullopt;
  raised.positiveArguments = placed.positiveArguments;
  report();
  return std::move(raised);
}

std::optional<RaisedAttention>
fa::raise::buildRaised(const PlacedAttention &placed, LaunchNumbers &numbers,
                       ExponentialSums &sums, tile::KernelOp kernel,
                       Refusal &refusal) {
  return FunctionBuilder(placed, numbers, sums, kernel, refusal).build();
}

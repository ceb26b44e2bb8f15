//===- BuildRaised.cpp - a function of one attention ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildRaised.h"

#include "RegionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

namespace {

class FunctionBuilder {
public:
  FunctionBuilder(const PlacedAttention &placed, LaunchNumbers &numbers,
                  ExponentialSums &sums, tile::KernelOp kernel,
                  Refusal &refusal)
      : placed(placed), sums(sums), kernel(kernel),
        b(kernel.getLoc(), kernel.getContext()),
        expressions(numbers, kernel, refusal), numbers(numbers),
        regions(placed, numbers, sums, expressions, b) {}

  std::optional<RaisedAttention> build();

private:
  Value addArgument(Type type, RaisedArgument argument);
  Value addTensor(const TensorPlace &place);
  void findPages(ArrayRef<Value> captured, Value &k, Value &v);
  RaisedArgument describe(const TensorPlace &place, bool hasColumns);
  Value buildScale();

  const PlacedAttention &placed;
  ExponentialSums &sums;
  tile::KernelOp kernel;
  ImplicitLocOpBuilder b;
  LaunchExpressions expressions;
  const LaunchNumbers &numbers;
  RegionBuilder regions;
  RaisedAttention raised;
  Block *body = nullptr;
};

} // namespace

RaisedArgument FunctionBuilder::describe(const TensorPlace &place,
                                         bool hasColumns) {
  RaisedArgument argument;
  argument.from = place.argument;
  argument.offset = expressions.get(place.offset);
  for (unsigned d = 0; d < (hasColumns ? 4 : 3); ++d) {
    argument.sizes.push_back(expressions.get(place.sizes[d]));
    argument.strides.push_back(expressions.get(place.strides[d]));
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

/// Of pages those rows that the table names for each batch, as many as the
/// mask, which has captured the lengths, lets pass.
void FunctionBuilder::findPages(ArrayRef<Value> captured, Value &k, Value &v) {
  const ElementPlace &lengths =
      placed.sequenceNumbers.at(*placed.keyLengths->variable());
  std::string key = RegionBuilder::keyOf(lengths, numbers);
  auto known =
      llvm::find_if(regions.captures, [&](const RegionBuilder::Capture &c) {
        return c.key == key;
      });
  constexpr int64_t any = ShapedType::kDynamic;
  Value table = addArgument(RankedTensorType::get({any, any}, b.getI32Type()),
                            regions.describe(placed.table->rows));
  for (Value *pages : {&k, &v})
    *pages = tile::PagedOp::create(b, pages->getType(), *pages, table,
                                   captured[known - regions.captures.begin()]);
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
    regions.buildScore();
    regions.buildMask();
  }
  if (expressions.haveFailed())
    return std::nullopt;
  SmallVector<Value> captured;
  for (const RegionBuilder::Capture &capture : regions.captures) {
    captured.push_back(addArgument(capture.type, capture.argument));
    regions.addArguments(captured.size());
  }
  if (placed.table)
    findPages(captured, k, v);
  Value sink;
  if (placed.sink)
    sink = addArgument(
        RankedTensorType::get({ShapedType::kDynamic}, b.getF32Type()),
        regions.describe(*placed.sink));
  constexpr int64_t any = ShapedType::kDynamic;
  auto outputType = RankedTensorType::get({any, any, any, placed.v.columns},
                                          placed.output.element);
  Type lseType = placed.lse
                     ? RankedTensorType::get({any, any, any}, b.getF32Type())
                     : RankedTensorType();
  auto attention = tile::AttentionOp::create(
      b, outputType, lseType, q, k, v, scale, ValueRange(), Value(), sink,
      Value(), captured, FloatAttr(), placed.isWide,
      placed.isTf32 ? tile::DotPrecision::Tf32 : tile::DotPrecision::Ieee,
      /*scale_keys=*/IntegerAttr());
  if (regions.score)
    attention.getScore().push_back(regions.score.release());
  if (regions.mask)
    attention.getMask().push_back(regions.mask.release());
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
    AffineExpr expression = expressions.get(needed.number);
    raised.conditions.push_back({expression, needed.isZero, needed.text});
  }
  if (expressions.haveFailed())
    return std::nullopt;
  raised.positiveArguments = placed.positiveArguments;
  raised.report = reportRaised(placed, raised, numbers, sums);
  return std::move(raised);
}

std::optional<RaisedAttention>
fa::raise::buildRaised(const PlacedAttention &placed, LaunchNumbers &numbers,
                       ExponentialSums &sums, tile::KernelOp kernel,
                       Refusal &refusal) {
  return FunctionBuilder(placed, numbers, sums, kernel, refusal).build();
}

//===- Derivatives.cpp - derivatives of elementwise operations ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Derivatives.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;
using namespace fa;

Value fa::constantLike(ImplicitLocOpBuilder &b, Value like, double value) {
  FloatAttr number =
      b.getFloatAttr(getElementTypeOrSelf(like.getType()), value);
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type)
    return arith::ConstantOp::create(b, number);
  if (type.hasStaticShape())
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(tensor::DimOp::create(b, like, d));
  Value scalar = arith::ConstantOp::create(b, number);
  return tile::BroadcastOp::create(b, type, scalar, sizes);
}

namespace {

/// The rules, one for each operation: what it is, and its adjoint's factor or
/// the whole.
class Rules {
public:
  Rules(ImplicitLocOpBuilder &b, Operation *op, unsigned number, Value adjoint)
      : b(b), op(op), number(number), adjoint(adjoint), y(op->getResult(0)) {}

  FailureOr<Value> apply() {
    using Result = FailureOr<Value>;
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](arith::AddFOp) { return adjoint; })
        .Case([&](arith::SubFOp) { return isFirst() ? adjoint : neg(adjoint); })
        .Case([&](arith::NegFOp) { return neg(adjoint); })
        .Case([&](arith::MulFOp) { return times(operand(1 - number)); })
        .Case([&](arith::DivFOp) {
          Value quotient = div(adjoint, operand(1));
          return isFirst() ? quotient : neg(mul(quotient, y));
        })
        .Case([&](math::FmaOp) {
          return number == 2 ? adjoint : times(operand(1 - number));
        })
        .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return cast(); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>(
            [&](auto) { return extreme(arith::CmpFPredicate::OGT); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>(
            [&](auto) { return extreme(arith::CmpFPredicate::OLT); })
        .Case([&](arith::SelectOp) {
          Value zero = constantLike(b, adjoint, 0.0);
          return number == 1 ? select(operand(0), adjoint, zero)
                             : select(operand(0), zero, adjoint);
        })
        .Case<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
              math::TruncOp>([&](auto) { return Value(); })
        .Default([&](Operation *) { return applyMath(); });
  }

private:
  FailureOr<Value> applyMath() {
    using Result = FailureOr<Value>;
    Value x = op->getNumOperands() ? operand(0) : Value();
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](math::ExpOp) { return times(y); })
        .Case([&](math::Exp2Op) { return times(scaled(y, std::numbers::ln2)); })
        .Case([&](math::ExpM1Op) { return times(plus(y, 1.0)); })
        .Case([&](math::LogOp) { return div(adjoint, x); })
        .Case([&](math::Log2Op) {
          return div(adjoint, scaled(x, std::numbers::ln2));
        })
        .Case([&](math::Log1pOp) { return div(adjoint, plus(x, 1.0)); })
        .Case([&](math::SqrtOp) { return div(scaled(adjoint, 0.5), y); })
        .Case([&](math::RsqrtOp) {
          return mul(scaled(adjoint, -0.5), div(y, x));
        })
        .Case([&](math::TanhOp) { return times(minusSquare(y)); })
        .Case([&](math::SinOp) { return times(math::CosOp::create(b, x)); })
        .Case(
            [&](math::CosOp) { return neg(times(math::SinOp::create(b, x))); })
        .Case([&](math::SinhOp) { return times(math::CoshOp::create(b, x)); })
        .Case([&](math::CoshOp) { return times(math::SinhOp::create(b, x)); })
        .Case([&](math::AtanOp) { return div(adjoint, plus(mul(x, x), 1.0)); })
        .Case([&](math::ErfOp) {
          Value bell = math::ExpOp::create(b, neg(mul(x, x)));
          return times(scaled(bell, 2.0 * std::numbers::inv_sqrtpi));
        })
        .Case([&](math::AbsFOp) {
          Value zero = constantLike(b, x, 0.0);
          Value below = compare(arith::CmpFPredicate::OLT, x, zero);
          Value there = compare(arith::CmpFPredicate::OEQ, x, zero);
          return select(there, zero, select(below, neg(adjoint), adjoint));
        })
        .Case([&](math::PowFOp) {
          Value exponent = operand(1);
          if (!isFirst())
            return times(mul(y, math::LogOp::create(b, x)));
          Value lower = math::PowFOp::create(b, x, plus(exponent, -1.0));
          return times(mul(exponent, lower));
        })
        .Default([](Operation *) { return failure(); });
  }

  bool isFirst() const { return number == 0; }
  Value operand(unsigned n) { return op->getOperand(n); }
  Value mul(Value lhs, Value rhs) {
    return b.createOrFold<arith::MulFOp>(lhs, rhs);
  }
  Value div(Value lhs, Value rhs) {
    return b.createOrFold<arith::DivFOp>(lhs, rhs);
  }
  Value neg(Value value) { return b.createOrFold<arith::NegFOp>(value); }
  Value times(Value factor) { return mul(adjoint, factor); }
  Value scaled(Value value, double factor) {
    return mul(value, constantLike(b, value, factor));
  }
  Value plus(Value value, double addend) {
    return b.createOrFold<arith::AddFOp>(value, constantLike(b, value, addend));
  }
  /// 1 - value².
  Value minusSquare(Value value) {
    return b.createOrFold<arith::SubFOp>(constantLike(b, value, 1.0),
                                         mul(value, value));
  }
  Value compare(arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return b.createOrFold<arith::SelectOp>(condition, yes, no);
  }

  /// The adjoint in the operand's type.
  Value cast() {
    Type type = operand(0).getType();
    unsigned from = getElementTypeOrSelf(adjoint.getType())
                        .getIntOrFloatBitWidth(),
             to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (to > from)
      return b.createOrFold<arith::ExtFOp>(type, adjoint);
    return b.createOrFold<arith::TruncFOp>(type, adjoint);
  }

  /// Of a maximum or minimum: all where the operand is it alone, half where
  /// both are.
  Value extreme(arith::CmpFPredicate wins) {
    Value mine = operand(number), other = operand(1 - number);
    Value tied = compare(arith::CmpFPredicate::OEQ, mine, other);
    Value zero = constantLike(b, adjoint, 0.0);
    Value clear = select(compare(wins, mine, other), adjoint, zero);
    return select(tied, scaled(adjoint, 0.5), clear);
  }

  ImplicitLocOpBuilder &b;
  Operation *op;
  unsigned number;
  Value adjoint, y;
};

} // namespace

bool fa::hidesDerivative(Operation *op) {
  return isa<arith::BitcastOp, tensor::BitcastOp>(op);
}

FailureOr<Value> fa::pullBack(ImplicitLocOpBuilder &b, Operation *op,
                              unsigned number, Value adjoint) {
  return Rules(b, op, number, adjoint).apply();
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// What of `block` depends on `of`.
static llvm::DenseSet<Value> findActive(Block &block, Value of) {
  llvm::DenseSet<Value> active = {of};
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return active.contains(v); }))
      active.insert(op.result_begin(), op.result_end());
  return active;
}

static LogicalResult refuse(Operation *op) {
  return op->emitError("expected an operation with a known derivative in the "
                       "scores of an attention whose gradients are wanted, "
                       "found '")
         << op->getName() << "'";
}

LogicalResult fa::differentiateScore(Region &score, Value of,
                                     Region &derivative) {
  IRMapping mapping;
  score.cloneInto(&derivative, mapping);
  Block &block = derivative.front();
  of = mapping.lookup(of);
  Operation *yield = block.getTerminator();
  SmallVector<Operation *> forward = llvm::map_to_vector(
      block.without_terminator(), [](Operation &op) { return &op; });
  llvm::DenseSet<Value> active = findActive(block, of);
  ImplicitLocOpBuilder b(yield->getLoc(), yield);
  llvm::DenseMap<Value, Value> adjoints;
  Value result = yield->getOperand(0);
  adjoints[result] = constantLike(b, result, 1.0);
  for (Operation *op : llvm::reverse(forward)) {
    if (hidesDerivative(op) && active.contains(op->getOperand(0)))
      return refuse(op);
    if (op->getNumResults() == 0 || op->getResult(0) == of ||
        !isFloat(op->getResult(0)))
      continue;
    bool isOne = op->getNumResults() == 1 && op->getNumRegions() == 0;
    Value adjoint = adjoints.lookup(op->getResult(0));
    if (isOne && !adjoint)
      continue;
    b.setLoc(op->getLoc());
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      if (!active.contains(operand) || !isFloat(operand))
        continue;
      FailureOr<Value> share = failure();
      if (isOne)
        share = pullBack(b, op, number, adjoint);
      if (failed(share))
        return refuse(op);
      if (!*share)
        continue;
      Value &sum = adjoints[operand];
      sum = sum ? b.createOrFold<arith::AddFOp>(sum, *share) : *share;
    }
  }
  Value slope = adjoints.lookup(of);
  if (!slope)
    slope = constantLike(b, result, 0.0);
  if (slope.getType() != result.getType())
    slope = b.createOrFold<arith::ExtFOp>(result.getType(), slope);
  yield->setOperand(0, slope);
  // What only the score needed goes; what is left is computed beside it.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

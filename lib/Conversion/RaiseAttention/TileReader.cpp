//===- TileReader.cpp - tiles of a kernel as sums of exponentials ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileReader.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

std::optional<double> fa::raise::findConstant(Value value) {
  value = TileReader::strip(value);
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  return std::nullopt;
}

Value TileReader::strip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a sum is one to go on with: finite but for a constant of −inf, and
/// no longer than what a loop of attention has.
static bool isGood(const Sum &sum) {
  constexpr size_t kMaxProducts = 32;
  return sum.size() <= kMaxProducts && llvm::all_of(sum, [](const auto &term) {
           bool isConstant = term.first == Product();
           return std::isfinite(term.second) ||
                  (isConstant && term.second == -INFINITY);
         });
}

Sum TileReader::read(Value value, ArrayRef<int> axes, int depth) {
  // Sums within this one depend on how many are around it.
  std::vector<int> place(axes.begin(), axes.end());
  place.push_back(depth);
  std::pair<void *, std::vector<int>> key = {value.getAsOpaquePointer(), place};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  // A dimension of one element has no axis.
  SmallVector<int> moving(axes);
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (auto [axis, size] : llvm::zip_equal(moving, type.getShape()))
      axis = size == 1 ? int(kOne) : axis;
  Sum result;
  Operation *op = value.getDefiningOp();
  if (op && !whole.contains(value))
    result = readOp(op, value, moving, depth);
  else
    result = sums.tile(value, moving);
  if (!isGood(result))
    result = sums.tile(value, moving);
  return known[key] = result;
}

/// −inf stays that where it is multiplied by what is above 0.
Sum TileReader::multiply(const Sum &x, const Sum &y) {
  auto isFinite = [&](const auto &term) {
    return !term.first.exponent && term.first.factors.size() == 1 &&
           finiteMasks.contains(term.first.factors[0].first);
  };
  auto isLarge = [](const Sum &factor) {
    return factor.size() == 1 && factor.begin()->first == Product() &&
           factor.begin()->second >= 0.5;
  };
  foundScaledFinite |= (llvm::any_of(x, isFinite) && !isLarge(y)) ||
                       (llvm::any_of(y, isFinite) && !isLarge(x));
  Sum result;
  for (auto &[product, c] : sums.multiply(x, y)) {
    Product kept = product;
    auto isMask = [&](auto power) {
      return sums.factor(power.first).kind == Factor::Mask;
    };
    auto isScalar = [&](auto power) {
      const Factor &f = sums.factor(power.first);
      return f.kind == Factor::Tile && f.axes.empty();
    };
    bool isMasked = product.factors.size() > 1 && c > 0 && !product.exponent &&
                    llvm::count_if(product.factors, isMask) == 1 &&
                    llvm::all_of(product.factors, [&](auto power) {
                      return isMask(power) || isScalar(power);
                    });
    if (isMasked) {
      for (auto power : product.factors)
        if (isScalar(power))
          foundPositives.insert(sums.valueOf(sums.factor(power.first)));
      llvm::erase_if(kept.factors, isScalar);
    }
    result = sums.add(result, {{kept, c}});
  }
  return result;
}

Sum TileReader::readDot(Operation *op, ArrayRef<int> axes, int depth) {
  auto dot = cast<tile::DotOp>(op);
  auto type = cast<RankedTensorType>(dot.getA().getType());
  int summed = kSummed + depth;
  SmallVector<int> a = {axes[0], summed}, b = {summed, axes[1]};
  if (dot.getTransposeB())
    std::swap(b[0], b[1]);
  Sum product =
      multiply(read(dot.getA(), a, depth + 1), read(dot.getB(), b, depth + 1));
  Sum result = sums.total(product, summed, type.getDimSize(1));
  return dot.getAcc() ? sums.add(read(dot.getAcc(), axes, depth), result)
                      : result;
}

/// select(x = c, d, y), or the same by another comparison: y, but where x is c.
std::optional<Sum> TileReader::readGuard(Operation *op, ArrayRef<int> axes,
                                         int depth) {
  auto select = cast<arith::SelectOp>(op);
  auto compare =
      TileReader::strip(select.getCondition()).getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  std::optional<double> number = findConstant(compare.getRhs());
  if (!number || (*number != -INFINITY && *number != 0))
    return std::nullopt;
  using enum arith::CmpFPredicate;
  bool isGuarded; // of the two operands the first stands for the number
  switch (compare.getPredicate()) {
  case OEQ:
  case UEQ:
    isGuarded = true;
    break;
  case ONE:
  case UNE:
  case OGT:
  case UGT:
    isGuarded = false;
    break;
  default:
    return std::nullopt;
  }
  foundGuards.push_back({op, strip(compare.getLhs()), *number});
  return read(isGuarded ? select.getFalseValue() : select.getTrueValue(), axes,
              depth);
}

std::optional<Sum> TileReader::readChoice(Operation *op, ArrayRef<int> axes,
                                          int depth) {
  auto select = cast<arith::SelectOp>(op);
  bool isTrue = findConstant(select.getFalseValue()).has_value();
  if (!ofStored || isTrue == findConstant(select.getTrueValue()).has_value())
    return std::nullopt;
  Value condition = select.getCondition();
  SmallVector<int> where(axes);
  if (!isa<RankedTensorType>(condition.getType()))
    where.clear();
  foundChoices.push_back({op, condition, where, !isTrue});
  return read(isTrue ? select.getTrueValue() : select.getFalseValue(), axes,
              depth);
}

Sum TileReader::readSelect(Operation *op, ArrayRef<int> axes, int depth) {
  auto select = cast<arith::SelectOp>(op);
  Value result = select.getResult(), condition = select.getCondition();
  if (std::optional<Sum> guarded = readGuard(op, axes, depth))
    return *guarded;
  if (std::optional<Sum> chosen = readChoice(op, axes, depth))
    return *chosen;
  std::optional<double> x = findConstant(select.getTrueValue()),
                        y = findConstant(select.getFalseValue());
  SmallVector<int> where(axes);
  if (!isa<RankedTensorType>(condition.getType()))
    where.clear();
  // −inf, or what stands for it, is a term of an exponent.
  if ((y && *y <= kFiniteMask) || (x && *x <= kFiniteMask)) {
    bool negated = !y || *y > kFiniteMask;
    double masked = negated ? *x : *y;
    Sum mask = sums.mask(condition, where, negated);
    if (std::isfinite(masked)) {
      foundFinite = foundFinite ? std::max(*foundFinite, masked) : masked;
      finiteMasks.insert(*sums.single(mask));
    }
    return sums.add(
        read(negated ? select.getFalseValue() : select.getTrueValue(), axes,
             depth),
        mask);
  }
  // What becomes 0 is multiplied by exp of that.
  if ((y && *y == 0) || (x && *x == 0)) {
    bool negated = !(y && *y == 0);
    return multiply(
        read(negated ? select.getFalseValue() : select.getTrueValue(), axes,
             depth),
        sums.exponential(sums.mask(condition, where, negated)));
  }
  return sums.tile(result, axes);
}

/// (exp(u) − exp(−u)) / (exp(u) + exp(−u)) · c, with x above and y below.
std::optional<Sum> TileReader::readTanh(const Sum &x, const Sum &y) {
  if (y.size() != 2 || x.size() != 2)
    return std::nullopt;
  auto one = [&](unsigned exponent) -> Sum {
    Product product;
    product.exponent = exponent;
    return {{product, 1.0}};
  };
  for (const auto &[first, c] : y) {
    const Sum &u = sums.sum(first.exponent);
    Sum up = one(first.exponent), down = one(sums.number(sums.scale(u, -1)));
    if (u.empty() || !sums.areEqual(sums.add(up, down), y))
      continue;
    for (const auto &[product, d] : x) {
      if (product.exponent != first.exponent)
        continue;
      Product rest = product;
      rest.exponent = 0;
      Sum front = {{rest, d}};
      if (sums.areEqual(sums.multiply(front, sums.add(up, down, -1)), x))
        return multiply(front,
                        sums.function(math::TanhOp::getOperationName(), u));
    }
  }
  return std::nullopt;
}

Sum TileReader::readOp(Operation *op, Value value, ArrayRef<int> axes,
                       int depth) {
  auto operand = [&](unsigned n) {
    return read(op->getOperand(n), axes, depth);
  };
  if (std::optional<double> number = findConstant(value))
    return sums.constant(*number);
  if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return sums.tile(value, axes);
  using namespace std::numbers;
  return llvm::TypeSwitch<Operation *, Sum>(op)
      .Case([&](tile::BroadcastOp op) {
        auto from = dyn_cast<RankedTensorType>(op.getInput().getType());
        return read(op.getInput(), from ? axes : ArrayRef<int>(), depth);
      })
      .Case([&](tile::ExpandDimsOp op) {
        SmallVector<int> inner(axes);
        inner.erase(inner.begin() + op.getDim());
        return read(op.getInput(), inner, depth);
      })
      .Case([&](tile::TransposeOp op) {
        SmallVector<int> inner(axes.size());
        for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
          inner[from] = axes[dim];
        return read(op.getInput(), inner, depth);
      })
      .Case([&](tile::DotOp) { return readDot(op, axes, depth); })
      .Case([&](tile::ReduceOp reduce) {
        if (reduce.getKind() != tile::ReduceKind::Add)
          return sums.tile(value, axes);
        auto type = cast<RankedTensorType>(reduce.getInput().getType());
        SmallVector<int> inner(axes);
        int summed = kSummed + depth;
        inner.insert(inner.begin() + reduce.getDim(), summed);
        return sums.total(read(reduce.getInput(), inner, depth + 1), summed,
                          type.getDimSize(reduce.getDim()));
      })
      .Case([&](arith::SelectOp) { return readSelect(op, axes, depth); })
      // Roundings are what attention has in other places, or has not.
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return operand(0); })
      .Case([&](arith::AddFOp) { return sums.add(operand(0), operand(1)); })
      .Case([&](arith::SubFOp) { return sums.add(operand(0), operand(1), -1); })
      .Case([&](arith::NegFOp) { return sums.scale(operand(0), -1); })
      .Case([&](arith::MulFOp) { return multiply(operand(0), operand(1)); })
      .Case([&](arith::DivFOp) {
        if (std::optional<Sum> tanh = readTanh(operand(0), operand(1)))
          return *tanh;
        std::optional<Sum> inverse = sums.invert(operand(1));
        return inverse ? multiply(operand(0), *inverse)
                       : sums.tile(value, axes);
      })
      .Case([&](math::FmaOp) {
        return sums.add(multiply(operand(0), operand(1)), operand(2));
      })
      .Case([&](math::ExpOp) { return sums.exponential(operand(0)); })
      .Case([&](math::Exp2Op) {
        return sums.exponential(sums.scale(operand(0), ln2));
      })
      .Case([&](math::LogOp) { return sums.logarithm(operand(0)); })
      .Case([&](math::Log2Op) {
        return sums.scale(sums.logarithm(operand(0)), log2e);
      })
      .Case<math::TanhOp, math::AbsFOp>([&](auto op) {
        return sums.function(op->getName().getStringRef(), operand(0));
      })
      .Default([&](Operation *) { return sums.tile(value, axes); });
}

//===- GradientAlgebra.cpp - gradients of a softmax, written out ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientAlgebra.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Places of the powers of a product.
enum { E, D, L, R, M };

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

static Polynomial add(const Polynomial &x, const Polynomial &y, double factor) {
  Polynomial sum = x;
  for (auto [powers, number] : y)
    if ((sum[powers] += factor * number) == 0)
      sum.erase(powers);
  return sum;
}

static Polynomial multiply(const Polynomial &x, const Polynomial &y) {
  Polynomial product;
  for (auto [powers, number] : x)
    for (auto [others, other] : y) {
      auto all = powers;
      for (size_t n = 0; n < all.size(); ++n)
        all[n] += others[n];
      product = add(product, {{all, 1.0}}, number * other);
    }
  return product;
}

/// 1 / x of a product.
static std::optional<Polynomial> invert(const Polynomial &x) {
  if (x.size() != 1)
    return std::nullopt;
  Powers powers = x.begin()->first;
  for (int &power : powers)
    power = -power;
  return Polynomial{{powers, 1 / x.begin()->second}};
}

std::optional<double> GradientAlgebra::asGradient(const Polynomial &value,
                                                  bool &isMasked) {
  for (int power : {0, 1}) {
    auto first = value.find({1, 1, -1, 0, power}),
         second = value.find({1, 0, -2, 1, power});
    if (value.size() != 2 || first == value.end() || second == value.end() ||
        first->second != -second->second)
      continue;
    isMasked = power;
    return first->second;
  }
  return std::nullopt;
}

bool GradientAlgebra::isProbabilities(const Polynomial &value) {
  return value == Polynomial{{{1, 0, -1, 0, 0}, 1.0}};
}

//===----------------------------------------------------------------------===//
// Names of dimensions
//===----------------------------------------------------------------------===//

int GradientAlgebra::find(int name) const {
  auto found = met.find(name);
  return found == met.end() ? name : find(found->second);
}

bool GradientAlgebra::unite(int &x, int y) {
  x = find(x);
  y = find(y);
  if (x == y || y == kAnyDim)
    return true;
  if (x == kAnyDim) {
    x = y;
    return true;
  }
  if (x == kNoDim || y == kNoDim)
    return false;
  if (x < kFirstOfGradient && y < kFirstOfGradient)
    return false;
  // No two dimensions of D are one of the scores.
  int own = std::max(x, y), other = std::min(x, y);
  for (auto [name, became] : met)
    if (find(became) == other)
      return false;
  met[own] = other;
  x = other;
  return true;
}

bool GradientAlgebra::unite(DimNames &x, ArrayRef<int> y) {
  return x.size() == y.size() &&
         llvm::all_of(llvm::seq(x.size()),
                      [&](size_t n) { return unite(x[n], y[n]); });
}

/// For each dimension of `wide` that is not 1, the one of `tight` that it is;
/// nothing if one of `tight` is several.
static std::optional<SmallVector<int64_t>>
matchDims(RankedTensorType wide, RankedTensorType tight,
          ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> from(wide.getRank(), -1);
  for (auto [d, group] : llvm::enumerate(groups)) {
    int64_t several = 0;
    for (int64_t n : group)
      if (wide.getDimSize(n) != 1) {
        from[n] = d;
        ++several;
      }
    if (several > 1)
      return std::nullopt;
  }
  return from;
}

/// For each dimension of a view's result, the one of its source, or -1.
static std::optional<SmallVector<int64_t>> sourceDims(Operation *op) {
  using Dims = std::optional<SmallVector<int64_t>>;
  return llvm::TypeSwitch<Operation *, Dims>(op)
      .Case([](TransposeOp transpose) -> Dims {
        return llvm::to_vector(transpose.getPermutation());
      })
      .Case([](ExpandDimsOp expand) -> Dims {
        SmallVector<int64_t> from;
        for (int64_t d = 0; d < typeOf(expand.getInput()).getRank(); ++d)
          from.push_back(d);
        from.insert(from.begin() + expand.getDim(), -1);
        return from;
      })
      .Case([](tensor::ExpandShapeOp expand) -> Dims {
        return matchDims(expand.getResultType(), expand.getSrcType(),
                         expand.getReassociationIndices());
      })
      .Case([](tensor::CollapseShapeOp collapse) -> Dims {
        auto wide = collapse.getSrcType();
        auto to = matchDims(wide, collapse.getResultType(),
                            collapse.getReassociationIndices());
        if (!to)
          return std::nullopt;
        SmallVector<int64_t> from(collapse.getResultType().getRank(), -1);
        for (auto [n, d] : llvm::enumerate(*to))
          if (d >= 0)
            from[d] = n;
        return from;
      })
      .Default([](Operation *) { return Dims(); });
}

std::optional<DimNames> fa::namesBefore(Operation *op, ArrayRef<int> dims) {
  auto from = sourceDims(op);
  if (!from)
    return std::nullopt;
  DimNames names(typeOf(op->getOperand(0)).getRank(), kNoDim);
  for (auto [name, d] : llvm::zip(dims, *from))
    if (d >= 0)
      names[d] = name;
  return names;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

GradientAlgebra::GradientAlgebra(Value scores, Value probabilities)
    : scores(scores), probabilities(probabilities) {}

DimNames GradientAlgebra::scoreDims() const {
  DimNames dims;
  for (auto [n, size] : llvm::enumerate(typeOf(scores).getShape()))
    dims.push_back(size == 1 ? kNoDim : n);
  return dims;
}

/// Whether `value` is the same for all of a line of the last dimension.
static bool isOfRow(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return static_cast<bool>(getUniform(value));
  auto input = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
  return !input || input.getShape().back() == 1;
}

bool GradientAlgebra::isExponential(Value value) const {
  auto exp = value.getDefiningOp<math::ExpOp>();
  auto shifted =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  return shifted && shifted.getLhs() == scores && isOfRow(shifted.getRhs());
}

std::optional<Algebraic> GradientAlgebra::evaluate(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto result = compute(value);
  known[value] = result;
  return result;
}

std::optional<Algebraic> GradientAlgebra::sumRow(Algebraic value, int64_t dim) {
  int name = find(value.dims[dim]);
  value.dims.erase(value.dims.begin() + dim);
  if (name == kNoDim)
    return value;
  // A dimension of D that was not met before it is summed over may be any.
  if (name != typeOf(scores).getRank() - 1)
    return std::nullopt;
  Polynomial sum;
  for (auto [powers, number] : value.value) {
    auto rest = powers;
    rest[E] = rest[D] = 0;
    if (powers[M])
      return std::nullopt; // a sum of some
    if (powers[E] == 1 && powers[D] == 1)
      ++rest[R];
    else if (powers[E] == 1 && powers[D] == 0)
      ++rest[L];
    else
      return std::nullopt;
    sum = add(sum, {{rest, 1.0}}, number);
  }
  return Algebraic{sum, value.dims};
}

/// `select` of something and 0, in the dimensions of the scores.
std::optional<Algebraic> GradientAlgebra::maskOut(arith::SelectOp select) {
  std::optional<double> other = getDouble(select.getFalseValue());
  if (!other || *other != 0 || (mask && mask != select.getCondition()))
    return std::nullopt;
  mask = select.getCondition();
  auto inner = evaluate(select.getTrueValue());
  if (!inner || !unite(inner->dims, scoreDims()))
    return std::nullopt;
  return Algebraic{multiply(inner->value, {{{0, 0, 0, 0, 1}, 1.0}}),
                   inner->dims};
}

/// What does not take two tensors.
std::optional<Algebraic> GradientAlgebra::compute(Value value) {
  if (value == probabilities)
    return atom({1, 0, -1, 0, 0}, scoreDims());
  if (isExponential(value))
    return atom({1, 0, 0, 0, 0}, scoreDims());
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  if (std::optional<double> number = getDouble(value)) {
    DimNames dims;
    for (int64_t size : type.getShape())
      dims.push_back(size == 1 ? kNoDim : kAnyDim);
    if (*number == 0)
      return std::nullopt;
    return Algebraic{{{{0, 0, 0, 0, 0}, *number}}, dims};
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<DotOp>(op)) {
    if (gradient && gradient != value)
      return std::nullopt;
    gradient = value;
    DimNames dims;
    for (auto [n, size] : llvm::enumerate(type.getShape()))
      dims.push_back(size == 1 ? kNoDim : kFirstOfGradient + n);
    return atom({0, 1, 0, 0, 0}, dims);
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return evaluate(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return maskOut(select);
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto input = reduce.getKind() == ReduceKind::Add
                     ? evaluate(reduce.getInput())
                     : std::nullopt;
    return input ? sumRow(*input, reduce.getDim()) : std::nullopt;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    auto input = evaluate(broadcast.getInput());
    if (!input)
      return std::nullopt;
    for (auto [name, size] : llvm::zip(input->dims, type.getShape()))
      if (name == kNoDim && size != 1)
        name = kAnyDim;
    return input;
  }
  if (auto from = sourceDims(op)) {
    auto input = evaluate(op->getOperand(0));
    if (!input)
      return std::nullopt;
    DimNames dims;
    for (int64_t d : *from)
      dims.push_back(d < 0 ? kNoDim : input->dims[d]);
    return Algebraic{input->value, dims};
  }
  return combine(op);
}

std::optional<Algebraic> GradientAlgebra::combine(Operation *op) {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
           arith::NegFOp>(op))
    return std::nullopt;
  auto x = evaluate(op->getOperand(0));
  if (!x)
    return std::nullopt;
  if (isa<arith::NegFOp>(op))
    return Algebraic{add({}, x->value, -1), x->dims};
  auto y = evaluate(op->getOperand(1));
  if (!y || !unite(x->dims, y->dims))
    return std::nullopt;
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return Algebraic{add(x->value, y->value, isa<arith::SubFOp>(op) ? -1 : 1),
                     x->dims};
  if (isa<arith::MulFOp>(op))
    return Algebraic{multiply(x->value, y->value), x->dims};
  auto inverse = invert(y->value);
  if (!inverse)
    return std::nullopt;
  return Algebraic{multiply(x->value, *inverse), x->dims};
}

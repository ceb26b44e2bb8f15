//===- LaunchNumbers.cpp - sums of products of a launch's numbers ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchNumbers.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

void Number::addTerm(const Monomial &monomial, int64_t coefficient) {
  // Of unsigned numbers: a text may have any constants.
  auto [at, isNew] = parts.try_emplace(monomial, 0);
  at->second = static_cast<int64_t>(static_cast<uint64_t>(at->second) +
                                    static_cast<uint64_t>(coefficient));
  if (at->second == 0)
    parts.erase(at);
}

std::optional<int64_t> Number::constant() const {
  if (parts.empty())
    return 0;
  if (parts.size() == 1 && parts.begin()->first.empty())
    return parts.begin()->second;
  return std::nullopt;
}

std::optional<unsigned> Number::variable() const {
  if (parts.size() == 1 && parts.begin()->first.size() == 1 &&
      parts.begin()->second == 1)
    return parts.begin()->first[0];
  return std::nullopt;
}

bool Number::contains(unsigned variable) const {
  return llvm::any_of(parts, [&](const auto &term) {
    return llvm::is_contained(term.first, variable);
  });
}

std::optional<Number> Number::coefficientOf(unsigned variable) const {
  Number result;
  for (const auto &[monomial, coefficient] : parts) {
    int64_t count = llvm::count(monomial, variable);
    if (count > 1)
      return std::nullopt;
    if (count == 0)
      continue;
    Monomial rest = monomial;
    llvm::erase(rest, variable);
    result.addTerm(rest, coefficient);
  }
  return result;
}

Number Number::replace(unsigned variable, const Number &value) const {
  Number result;
  for (const auto &[monomial, coefficient] : parts) {
    Monomial rest = monomial;
    int64_t count = llvm::count(monomial, variable);
    llvm::erase(rest, variable);
    Number term;
    term.addTerm(rest, coefficient);
    for (int64_t n = 0; n < count; ++n)
      term = term * value;
    result = result + term;
  }
  return result;
}

std::optional<Number> Number::divideBy(int64_t divisor) const {
  if (divisor <= 0)
    return std::nullopt;
  Number result;
  for (const auto &[monomial, coefficient] : parts) {
    if (coefficient % divisor)
      return std::nullopt;
    result.addTerm(monomial, coefficient / divisor);
  }
  return result;
}

Number Number::operator+(const Number &other) const {
  Number result = *this;
  for (const auto &[monomial, coefficient] : other.parts)
    result.addTerm(monomial, coefficient);
  return result;
}

Number Number::operator-(const Number &other) const {
  return *this + other * Number(-1);
}

Number Number::operator*(const Number &other) const {
  Number result;
  for (const auto &[x, p] : parts)
    for (const auto &[y, q] : other.parts) {
      Monomial both = x;
      llvm::append_range(both, y);
      llvm::sort(both);
      result.addTerm(both, static_cast<int64_t>(static_cast<uint64_t>(p) *
                                                static_cast<uint64_t>(q)));
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

unsigned LaunchNumbers::intern(Variable variable) {
  auto [at, isNew] = numbers.try_emplace(variable, variables.size());
  if (isNew)
    variables.push_back(std::move(variable));
  return at->second;
}

Number LaunchNumbers::of(Variable variable) {
  return variableAsNumber(intern(std::move(variable)));
}

Number LaunchNumbers::counter(scf::ForOp loop) {
  return of({Variable::Counter,
             identify(loop.getOperation()),
             {read(loop.getLowerBound())}});
}

bool LaunchNumbers::isNeverNegative(const Number &number) const {
  auto isNatural = [&](unsigned n) {
    const Variable &v = variables[n];
    switch (v.kind) {
    case Variable::Program:
    case Variable::Grid:
    case Variable::Place:
      return true;
    case Variable::Counter:
      return isNeverNegative(v.operands[0]);
    case Variable::Quotient:
    case Variable::Remainder:
    case Variable::Least:
      return isNeverNegative(v.operands[0]) && isNeverNegative(v.operands[1]);
    case Variable::Greatest:
      return isNeverNegative(v.operands[0]) || isNeverNegative(v.operands[1]);
    default:
      return false;
    }
  };
  return llvm::all_of(number.terms(), [&](const auto &term) {
    return term.second > 0 && llvm::all_of(term.first, isNatural);
  });
}

Number LaunchNumbers::divide(const Number &x, const Number &y,
                             Variable::Kind kind) {
  bool isQuotient = kind == Variable::Quotient;
  if (std::optional<int64_t> divisor = y.constant(); divisor && *divisor > 0) {
    if (std::optional<int64_t> c = x.constant())
      return isQuotient ? *c / *divisor : *c % *divisor;
    if (std::optional<Number> quotient = x.divideBy(*divisor))
      return isQuotient ? *quotient : Number();
  }
  return of({kind, 0, {x, y}});
}

Number LaunchNumbers::choose(const Number &x, const Number &y,
                             Variable::Kind kind) {
  bool least = kind == Variable::Least;
  std::optional<int64_t> difference = (x - y).constant();
  if (isNeverNegative(x - y) || (difference && *difference >= 0))
    return least ? y : x;
  if (isNeverNegative(y - x) || (difference && *difference < 0))
    return least ? x : y;
  return of({kind, 0, {std::min(x, y), std::max(x, y)}});
}

void LaunchNumbers::findRemainders(const Number &number, unsigned whole) {
  std::optional<Number> factor = number.coefficientOf(whole);
  if (!factor || factor->isZero())
    return;
  for (unsigned n = 0; n < variables.size(); ++n) {
    const Variable v = variables[n];
    if (v.kind != Variable::Quotient || v.operands[0].variable() != whole)
      continue;
    std::optional<Number> ofQuotient = number.coefficientOf(n);
    Number taken = *factor * v.operands[1];
    bool isTaken =
        ofQuotient && llvm::all_of(taken.terms(), [&](const auto &term) {
          auto found = ofQuotient->terms().find(term.first);
          return found != ofQuotient->terms().end() &&
                 found->second == -term.second;
        });
    if (isTaken)
      intern({Variable::Remainder, 0, v.operands});
  }
}

Number LaunchNumbers::split(const Number &number, unsigned whole) {
  if (!number.contains(whole))
    return number;
  for (unsigned n = 0; n < variables.size(); ++n) {
    // A copy: more variables may come.
    Variable v = variables[n];
    if (v.kind == Variable::Remainder && v.operands[0].variable() == whole)
      return number.replace(
          whole, v.operands[1] * of({Variable::Quotient, 0, v.operands}) +
                     of({Variable::Remainder, 0, v.operands}));
  }
  return number;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A number that a loop carries and that grows by the same in each step is one
/// of the counter.
Number LaunchNumbers::readCarried(BlockArgument argument, scf::ForOp loop) {
  if (auto found = carried.find(argument); found != carried.end())
    return found->second;
  Number itself = unknown(argument);
  carried[argument] = itself;
  Number step = read(loop.getTiedLoopYieldedValue(argument)->get()) - itself;
  std::optional<int64_t> size = read(loop.getStep()).constant();
  std::optional<Number> each =
      size && *size > 0 ? step.divideBy(*size) : std::nullopt;
  bool follows = each && llvm::all_of(each->terms(), [&](const auto &term) {
                   return llvm::all_of(term.first, [&](unsigned n) {
                     const Variable &v = variables[n];
                     return v.kind == Variable::Scalar ||
                            v.kind == Variable::Program ||
                            v.kind == Variable::Grid;
                   });
                 });
  // What was read meanwhile is of the unknown number.
  known.clear();
  if (!follows)
    return itself;
  Number first = read(loop.getTiedLoopInit(argument)->get());
  Number result = first + *each * (counter(loop) - read(loop.getLowerBound()));
  carried[argument] = result;
  return result;
}

Number LaunchNumbers::read(Value value, ArrayRef<int> axes) {
  std::pair<void *, std::vector<int>> key = {value.getAsOpaquePointer(),
                                             {axes.begin(), axes.end()}};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Number result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!axes.empty())
      return unknown(value, axes);
    if (loop)
      return argument == loop.getInductionVar() ? counter(loop)
                                                : readCarried(argument, loop);
    return isa<tile::KernelOp>(parent)
               ? of({Variable::Scalar, argument.getArgNumber(), {}})
               : unknown(value);
  }
  result = readOp(value.getDefiningOp(), value, axes);
  // No kernel has such addresses, but a text may have.
  constexpr size_t kMaxTerms = 64, kMaxDegree = 8;
  if (result.terms().size() > kMaxTerms ||
      llvm::any_of(result.terms(), [](const auto &term) {
        return term.first.size() > kMaxDegree;
      }))
    result = unknown(value, axes);
  return known[key] = result;
}

static std::vector<int> without(ArrayRef<int> axes, int64_t dim) {
  std::vector<int> result(axes.begin(), axes.end());
  result.erase(result.begin() + dim);
  return result;
}

Number LaunchNumbers::readOp(Operation *op, Value value, ArrayRef<int> axes) {
  auto both = [&](auto combine) {
    return combine(read(op->getOperand(0), axes),
                   read(op->getOperand(1), axes));
  };
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](tile::ProgramIdOp op) {
        return of({Variable::Program, static_cast<int64_t>(op.getAxis()), {}});
      })
      .Case([&](tile::NumProgramsOp op) {
        return of({Variable::Grid, static_cast<int64_t>(op.getAxis()), {}});
      })
      .Case([&](tile::IotaOp op) {
        int axis = axes[op.getDim()];
        return axis < 0 ? Number() : place(axis);
      })
      .Case([&](tile::BroadcastOp op) {
        auto from = dyn_cast<RankedTensorType>(op.getInput().getType());
        if (!from)
          return read(op.getInput());
        std::vector<int> inner(axes.begin(), axes.end());
        for (auto [dim, size] : llvm::enumerate(from.getShape()))
          if (size == 1)
            inner[dim] = -1;
        return read(op.getInput(), inner);
      })
      .Case([&](tile::ExpandDimsOp op) {
        return read(op.getInput(), without(axes, op.getDim()));
      })
      .Case([&](tile::TransposeOp op) {
        std::vector<int> inner(axes.size());
        for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
          inner[from] = axes[dim];
        return read(op.getInput(), inner);
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>(
          [&](auto op) { return read(op.getIn(), axes); })
      .Case([&](arith::AddIOp) { return both(std::plus<>()); })
      .Case([&](arith::SubIOp) { return both(std::minus<>()); })
      .Case([&](arith::MulIOp) { return both(std::multiplies<>()); })
      .Case([&](arith::DivSIOp) {
        return both([&](Number x, Number y) {
          return divide(x, y, Variable::Quotient);
        });
      })
      .Case([&](arith::RemSIOp) {
        return both([&](Number x, Number y) {
          return divide(x, y, Variable::Remainder);
        });
      })
      .Case([&](arith::MinSIOp) {
        return both(
            [&](Number x, Number y) { return choose(x, y, Variable::Least); });
      })
      .Case([&](arith::MaxSIOp) {
        return both([&](Number x, Number y) {
          return choose(x, y, Variable::Greatest);
        });
      })
      .Case([&](arith::SelectOp op) { return readSelected(op, axes); })
      .Case<memref::LoadOp, tile::LoadOp, tile::GatherOp>(
          [&](auto) { return readElement(op, value, axes); })
      .Default([&](Operation *) { return unknown(value, axes); });
}

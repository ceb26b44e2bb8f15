//===- FindGradients.cpp - gradients of one softmax -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxGradients.h"
#include "Uniform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

DotOp SoftmaxGradients::firstOf(bool withOutput) const {
  DotOp first;
  for (const GradientUse &use : uses)
    if ((withOutput || use.kind != GradientUse::Output) &&
        (!first || use.dot->isBeforeInBlock(first)))
      first = use.dot;
  return first;
}

namespace {

/// A dot one of whose operands is a gradient of the scores.
struct GradientDot {
  DotOp dot;
  bool isLeft; ///< that operand is
  NamedTensor operand;
  double factor; ///< of the gradient
};

class GradientFinder : public SoftmaxGradients {
public:
  using SoftmaxGradients::SoftmaxGradients;

  bool find(std::string &reason) {
    if (!softmax.getResult().getType().hasStaticShape() ||
        softmax.getNormalizedDim() != rank - 1 || softmax.getSink() ||
        !typeOf(softmax.getInput()).getElementType().isF32())
      return false;
    auto dots = llvm::to_vector(function.getBody().getOps<DotOp>());
    for (DotOp dot : dots)
      addGradient(dot);
    if (gradients.empty())
      return false;
    if (!findScores()) {
      reason =
          "the scores are not a dot of queries and keys, times a constant, "
          "masked, with a bias";
      return true;
    }
    if (!findOperands()) {
      reason = "what their gradient is computed from is not a dot of the "
               "output's gradient and V";
      return true;
    }
    for (const GradientDot &found : gradients)
      addUse(found);
    for (DotOp dot : dots)
      addProbabilities(dot);
    if (!firstOf(/*withOutput=*/false) || !areOnly())
      reason = "something else is computed from the probabilities, or from "
               "their gradient";
    return true;
  }

private:
  /// The names of the other operand of a dot and of its result, where one
  /// operand, the left one or not, has the names `dims`; its own last dimension
  /// is called `own`. Nothing if several of the left operand's batches share
  /// one of the right one's.
  static std::optional<std::pair<DimNames, DimNames>>
  namesBeside(DotOp dot, bool isLeft, ArrayRef<int> dims, int own) {
    RankedTensorType a = typeOf(dot.getA()), c = typeOf(dot.getB());
    int64_t rank = a.getRank();
    DimNames other, result(dims.begin(), dims.end() - 2);
    for (int64_t d = 0; d < rank - 2; ++d) {
      // The right operand is the same for all that it does not have.
      bool isSame = a.getDimSize(d) == c.getDimSize(d);
      if (!isSame && (!isLeft || c.getDimSize(d) != 1))
        return std::nullopt;
      other.push_back(isSame ? dims[d] : kNoDim);
    }
    int64_t summed = isLeft || dot.getTransposeB() ? rank - 1 : rank - 2;
    int64_t kept = summed == rank - 1 ? rank - 2 : rank - 1;
    int contracted = dims[summed], free = dims[kept];
    bool isTurned = isLeft && !dot.getTransposeB();
    other.append(isTurned ? DimNames{contracted, own}
                          : DimNames{own, contracted});
    result.append(isLeft ? DimNames{free, own} : DimNames{own, free});
    return std::pair(other, result);
  }

  void addGradient(DotOp dot) {
    if (dot.getAcc())
      return;
    for (bool isLeft : {true, false}) {
      GradientAlgebra algebra(softmax.getInput(), softmax.getResult());
      auto found = algebra.evaluate(isLeft ? dot.getA() : dot.getB());
      bool isMasked = false;
      auto factor =
          found ? algebra.asGradient(found->value, isMasked) : std::nullopt;
      if (!factor || !algebra.gradient)
        continue;
      for (int &name : found->dims)
        name = algebra.find(name);
      // All of them are computed from one gradient of P, with one mask.
      DimNames dims;
      for (auto [n, size] :
           llvm::enumerate(typeOf(algebra.gradient).getShape()))
        dims.push_back(size == 1 ? kNoDim : algebra.find(kFirstOfGradient + n));
      if (!gradient.value) {
        gradient = {algebra.gradient, dims};
        mask = isMasked ? algebra.mask : Value();
      }
      if (gradient != NamedTensor{algebra.gradient, dims} ||
          mask != (isMasked ? algebra.mask : Value()))
        continue;
      Value operand = isLeft ? dot.getA() : dot.getB();
      gradients.push_back({dot, isLeft, {operand, found->dims}, *factor});
      return;
    }
  }

  /// Walks from the scores to their dot.
  bool findScores() {
    Value value = softmax.getInput();
    while (!value.getDefiningOp<DotOp>()) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return false;
      scores.ops.push_back(op);
      if (isa<arith::MulFOp, arith::DivFOp>(op)) {
        bool isSecond = getDouble(op->getOperand(1)).has_value();
        auto number = getDouble(op->getOperand(isSecond ? 1 : 0));
        if (!number || (!isSecond && isa<arith::DivFOp>(op)))
          return false;
        scores.factor = isa<arith::DivFOp>(op) ? scores.factor / *number
                                               : scores.factor * *number;
        value = op->getOperand(isSecond ? 0 : 1);
      } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
        auto number = getDouble(select.getFalseValue());
        if (!number || scores.mask)
          return false;
        scores.mask = select.getCondition();
        scores.other = *number;
        value = select.getTrueValue();
      } else if (isa<arith::AddFOp>(op)) {
        bool first = isOfDot(op->getOperand(0)),
             second = isOfDot(op->getOperand(1));
        if (first == second)
          return false;
        value = op->getOperand(first ? 0 : 1);
      } else {
        return false;
      }
    }
    scores.dot = value.getDefiningOp<DotOp>();
    // A masked score does not matter where it is −inf: its P is 0.
    bool isMinusInfinity = scores.mask && std::isinf(scores.other);
    return scores.dot.getType() == softmax.getInput().getType() &&
           !scores.dot.getAcc() && scores.dot.getTransposeB() &&
           (mask == scores.mask || (!mask && isMinusInfinity));
  }

  static bool isOfDot(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (isa<DotOp>(op))
        return true;
      if (!isa<arith::MulFOp, arith::DivFOp>(op))
        return false;
      value = op->getOperand(getDouble(op->getOperand(0)) ? 1 : 0);
    }
    return false;
  }

  /// Q, K, V and the output's gradient.
  bool findOperands() {
    DimNames scoreDims;
    for (auto [n, size] :
         llvm::enumerate(typeOf(softmax.getInput()).getShape()))
      scoreDims.push_back(size == 1 ? kNoDim : n);
    auto beside =
        [&](DotOp dot, ArrayRef<int> result,
            int own) -> std::optional<std::pair<NamedTensor, NamedTensor>> {
      RankedTensorType a = typeOf(dot.getA()), c = typeOf(dot.getB());
      DimNames left(result.begin(), result.end() - 1),
          right(result.begin(), result.end() - 2);
      for (auto [d, name] : llvm::enumerate(right))
        if (a.getDimSize(d) != c.getDimSize(d))
          return std::nullopt;
      left.push_back(own);
      if (dot.getTransposeB())
        right.append({result.back(), own});
      else
        right.append({own, result.back()});
      return std::pair(NamedTensor{dot.getA(), left},
                       NamedTensor{dot.getB(), right});
    };
    auto ofScores = beside(scores.dot, scoreDims, feature());
    auto ofGradient = beside(gradient.value.getDefiningOp<DotOp>(),
                             gradient.dims, valueFeature());
    if (!ofScores || !ofGradient)
      return false;
    q = ofScores->first;
    k = ofScores->second;
    bool isTurned = gradient.dims.back() == queryDim();
    dout = isTurned ? ofGradient->second : ofGradient->first;
    v = isTurned ? ofGradient->first : ofGradient->second;
    // Each dimension of a score is one of the gradient's.
    auto isSame = [&](const NamedTensor &x, int own) {
      return llvm::count(x.dims, own) == 1;
    };
    return typeOf(q.value).getShape().back() > 1 &&
           typeOf(v.value).getNumElements() > 1 && isSame(dout, queryDim()) &&
           isSame(v, keyDim()) && isSame(q, queryDim()) &&
           isSame(k, keyDim()) && llvm::all_of(scoreDims, [&](int name) {
             return name == kNoDim || llvm::count(gradient.dims, name) == 1;
           });
  }

  /// Adds the dot if it is one with the keys or queries of the scores.
  void addUse(const GradientDot &found) {
    auto names =
        namesBeside(found.dot, found.isLeft, found.operand.dims, feature());
    if (!names)
      return;
    DotOp dot = found.dot;
    NamedTensor other =
        findBase({found.isLeft ? dot.getB() : dot.getA(), names->first});
    if (other == findBase(k))
      uses.push_back(
          {GradientUse::OfQueries, dot, names->second, found.factor});
    else if (other == findBase(q))
      uses.push_back({GradientUse::OfKeys, dot, names->second, found.factor});
  }

  void addProbabilities(DotOp dot) {
    if (dot.getAcc())
      return;
    for (bool isLeft : {true, false}) {
      GradientAlgebra algebra(softmax.getInput(), softmax.getResult());
      auto found = algebra.evaluate(isLeft ? dot.getA() : dot.getB());
      if (!found || !algebra.isProbabilities(found->value))
        continue;
      auto names = namesBeside(dot, isLeft, found->dims, valueFeature());
      if (!names)
        return;
      NamedTensor other =
          findBase({isLeft ? dot.getB() : dot.getA(), names->first});
      if (other == findBase(v))
        uses.push_back({GradientUse::Output, dot, names->second});
      else if (other == findBase(dout))
        uses.push_back({GradientUse::OfValues, dot, names->second});
      return;
    }
  }

  /// Whether nothing is left of the softmax once the uses are replaced.
  bool areOnly() {
    llvm::DenseSet<Operation *> seen;
    SmallVector<Operation *> next = {softmax};
    for (Operation *user : softmax.getInput().getUsers())
      next.push_back(user);
    while (!next.empty()) {
      Operation *op = next.pop_back_val();
      if (!seen.insert(op).second ||
          llvm::any_of(uses, [&](GradientUse &use) { return use.dot == op; }))
        continue;
      if (op->hasTrait<OpTrait::IsTerminator>() || !isPure(op))
        return false;
      next.append(op->user_begin(), op->user_end());
    }
    return true;
  }

  NamedTensor gradient; ///< of P
  Value mask;           ///< of the gradient of the scores
  std::vector<GradientDot> gradients;
};

} // namespace

std::optional<SoftmaxGradients> fa::findGradients(SoftmaxOp softmax,
                                                  func::FuncOp function,
                                                  std::string &reason) {
  GradientFinder finder(softmax, function);
  if (!finder.find(reason))
    return std::nullopt;
  return finder;
}

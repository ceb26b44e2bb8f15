//===- RaiseGradients.cpp - tile-raise-gradients --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionPart.h"
#include "GradientAlgebra.h"
#include "NamedTensor.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILERAISEGRADIENTS
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

//===----------------------------------------------------------------------===//
// One softmax
//===----------------------------------------------------------------------===//

namespace {

/// What the scores of a softmax are: factor · dot, masked or not, and sums with
/// what does not depend on the dot.
struct Scores {
  DotOp dot;
  double factor = 1;
  Value mask;                   ///< null: there is none
  double other = 0;             ///< where the mask is false
  SmallVector<Operation *> ops; ///< behind the dot, the last one first
};

/// A dot one of whose operands is a gradient of the scores.
struct GradientDot {
  DotOp dot;
  bool isLeft; ///< that operand is
  NamedTensor operand;
  double factor; ///< of the gradient
};

/// A dot that gives what an attention or its gradients give.
struct Use {
  enum Kind { Output, OfValues, OfQueries, OfKeys } kind;
  DotOp dot;
  DimNames dims;     ///< of its result
  double factor = 1; ///< of the gradient
};

/// Finds the gradients that are computed from one softmax, and replaces them.
class GradientRaiser {
public:
  GradientRaiser(SoftmaxOp softmax, func::FuncOp function)
      : softmax(softmax), function(function),
        rank(typeOf(softmax.getInput()).getRank()) {}

  /// Whether gradients are computed from this softmax, of which the reason says
  /// what keeps them from being those of one attention, if something does.
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

  /// Puts an attention and its gradients in the place of what was found. False
  /// if it is no attention that is fused.
  bool replace(llvm::function_ref<LogicalResult(ModuleOp)> runPasses);

private:
  using Function = std::pair<func::FuncOp, SmallVector<Value>>;

  int queryDim() const { return rank - 2; }
  int keyDim() const { return rank - 1; }
  int feature() const { return rank; } ///< of Q and K
  int valueFeature() const { return rank + 1; }

  //===--- Dots ---===//

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
      uses.push_back({Use::OfQueries, dot, names->second, found.factor});
    else if (other == findBase(q))
      uses.push_back({Use::OfKeys, dot, names->second, found.factor});
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
        uses.push_back({Use::Output, dot, names->second});
      else if (other == findBase(dout))
        uses.push_back({Use::OfValues, dot, names->second});
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
          llvm::any_of(uses, [&](Use &use) { return use.dot == op; }))
        continue;
      if (op->hasTrait<OpTrait::IsTerminator>() || !isPure(op))
        return false;
      next.append(op->user_begin(), op->user_end());
    }
    return true;
  }

  //===--- The attention ---===//

  /// The names of rows of batches, with `row` and `feature` behind them.
  DimNames rowsOf(int row, int feature) {
    DimNames dims;
    ArrayRef<int64_t> sizes = tile::typeOf(softmax.getInput()).getShape();
    for (auto [n, size] : llvm::enumerate(sizes.drop_back(2)))
      dims.push_back(size == 1 ? kNoDim : n);
    dims.append({row, feature});
    return dims;
  }

  /// A tensor like the scores' batches, of `rows` rows of values.
  RankedTensorType typeOfRows(int64_t rows) {
    SmallVector<int64_t> sizes(
        tile::typeOf(softmax.getInput()).getShape().drop_back(2));
    NamedTensor base = findBase(v);
    int64_t at = llvm::find(base.dims, valueFeature()) - base.dims.begin();
    sizes.append({rows, tile::typeOf(base.value).getDimSize(at)});
    return tile::typeOf(base.value).clone(sizes);
  }

  /// A function of q, k, v and what the scores read that gives the output and
  /// the log-sum-exp, and what it is given.
  Function buildForward(Value values) {
    llvm::DenseSet<Value> handed = {q.value, k.value, values};
    FunctionPart part(function, "forward", softmax.getLoc(), handed);
    for (Value value : {q.value, k.value, values})
      part.import(value);
    part.add(scores.dot);
    for (Operation *op : llvm::reverse(scores.ops))
      part.add(op);
    part.add(softmax);
    ImplicitLocOpBuilder b(softmax.getLoc(), part.getBuilder());
    Value s = part.import(softmax.getInput()),
          p = part.import(softmax.getResult());
    RankedTensorType scoreType = tile::typeOf(s);
    Value output =
        DotOp::create(b, typeOfRows(scoreType.getDimSize(queryDim())), p,
                      part.import(values), Value(), /*transpose_b=*/false);
    Value lse = LogSumExpOp::create(
        b, scoreType.clone(scoreType.getShape().drop_back()), s);
    part.finishWith({output, lse});
    return {part.function, llvm::to_vector(part.getInputs())};
  }

  /// Copies the body of `from`, given `operands`, and gives its results.
  static SmallVector<Value> inlineAt(OpBuilder &b, func::FuncOp from,
                                     ArrayRef<Value> operands) {
    IRMapping mapping;
    mapping.map(from.getArguments(), operands);
    Block &body = from.getBody().front();
    for (Operation &op : body.without_terminator())
      b.clone(op, mapping);
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookup(value); });
  }

  /// The first of the uses, or of those that are gradients.
  DotOp firstOf(bool withOutput) {
    DotOp first;
    for (Use &use : uses)
      if ((withOutput || use.kind != Use::Output) &&
          (!first || use.dot->isBeforeInBlock(first)))
        first = use.dot;
    return first;
  }

  bool wants(Use::Kind kind) const {
    return llvm::any_of(uses, [&](const Use &use) { return use.kind == kind; });
  }

  /// Puts `made`, whose dimensions are `dims`, in the place of uses of `kind`.
  void put(ImplicitLocOpBuilder &b, Use::Kind kind, Value made,
           const DimNames &dims) {
    for (Use &use : uses) {
      if (use.kind != kind)
        continue;
      RankedTensorType type = use.dot.getType();
      Value value = rearrange(b, {made, dims}, use.dims, type);
      bool isOfScores = kind == Use::OfQueries || kind == Use::OfKeys;
      if (isOfScores && use.factor != scores.factor)
        value = arith::MulFOp::create(
            b, value,
            arith::ConstantOp::create(
                b, DenseElementsAttr::get(
                       type, b.getF32FloatAttr(use.factor / scores.factor))));
      use.dot.getResult().replaceAllUsesWith(value);
    }
  }

  SoftmaxOp softmax;
  func::FuncOp function;
  int rank;
  Scores scores;
  NamedTensor gradient; ///< of P
  Value mask;           ///< of the gradient of the scores
  NamedTensor q, k, v, dout;
  std::vector<GradientDot> gradients;
  std::vector<Use> uses;
};

} // namespace

bool GradientRaiser::replace(
    llvm::function_ref<LogicalResult(ModuleOp)> runPasses) {
  // What is given for the output may be computed from it.
  DotOp first = firstOf(/*withOutput=*/true),
        firstGradient = firstOf(/*withOutput=*/false);
  ImplicitLocOpBuilder b(softmax.getLoc(), first),
      behind(softmax.getLoc(), firstGradient);
  NamedTensor vBase = findBase(v), doutBase = findBase(dout);
  auto isBefore = [](Value value, DotOp dot) {
    Operation *op = value.getDefiningOp();
    return !op || op->isBeforeInBlock(dot);
  };
  auto isUse = [&](Value value) {
    return llvm::any_of(uses,
                        [&](Use &use) { return use.dot.getResult() == value; });
  };
  if (!isBefore(vBase.value, first) || isUse(doutBase.value) ||
      !isBefore(doutBase.value, firstGradient))
    return false;
  ArrayRef<int64_t> sizes = typeOf(softmax.getInput()).getShape();
  DimNames ofKeys = rowsOf(keyDim(), valueFeature()),
           ofQueries = rowsOf(queryDim(), valueFeature());
  Value values = rearrange(b, vBase, ofKeys, typeOfRows(sizes[keyDim()]));
  auto [forward, inputs] = buildForward(values);
  // Fused and differentiated apart: until that is done nothing is replaced.
  auto module = function->getParentOfType<ModuleOp>();
  auto nested = ModuleOp::create(softmax.getLoc());
  module.push_back(nested);
  forward->moveBefore(nested.getBody(), nested.getBody()->end());
  auto backward = cast<func::FuncOp>(forward->clone());
  backward.setSymName("backward");
  nested.push_back(backward);
  constexpr Use::Kind kinds[] = {Use::OfQueries, Use::OfKeys, Use::OfValues};
  SmallVector<int64_t> wrt;
  for (auto [n, kind] : llvm::enumerate(kinds))
    if (wants(kind))
      wrt.push_back(n);
  backward->setAttr(TileDialect::vjpWrtAttrName, b.getDenseI64ArrayAttr(wrt));
  backward->setAttr(TileDialect::vjpOfAttrName, b.getDenseI64ArrayAttr({0}));
  auto count = [](func::FuncOp function, auto kind) {
    return llvm::range_size(function.getBody().getOps<decltype(kind)>());
  };
  bool isGood =
      succeeded(runPasses(nested)) &&
      llvm::all_of(inputs,
                   [&](Value value) { return isBefore(value, first); }) &&
      count(forward, AttentionOp()) == 1 && count(forward, SoftmaxOp()) == 0 &&
      count(backward, AttentionBackwardOp()) == 1 &&
      count(backward, AttentionOp()) == 0;
  if (isGood) {
    SmallVector<Value> results = inlineAt(b, forward, inputs), given = inputs;
    put(b, Use::Output, results[0], ofQueries);
    given.append({results[0], results[1],
                  rearrange(behind, doutBase, ofQueries,
                            typeOfRows(sizes[queryDim()]))});
    SmallVector<Value> gradients = inlineAt(behind, backward, given);
    const DimNames *dims[] = {&q.dims, &k.dims, &ofKeys};
    for (auto [n, gradient] : llvm::zip(wrt, gradients))
      put(behind, kinds[n], gradient, *dims[n]);
  }
  nested.erase();
  return isGood;
}

namespace {

struct TileRaiseGradients final
    : fa::impl::TileRaiseGradientsBase<TileRaiseGradients> {
  using TileRaiseGradientsBase::TileRaiseGradientsBase;

  LogicalResult initialize(MLIRContext *) override {
    passes.clear();
    TileFuseAttentionOptions options;
    options.assumeNoEmptyRows = assumeNoEmptyRows;
    passes.addNestedPass<func::FuncOp>(createTileFuseAttention(options));
    passes.addPass(createTileDifferentiate());
    return success();
  }

  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function.isDeclaration() && function.getBody().hasOneBlock())
        raise(function);
  }

private:
  void raise(func::FuncOp function) {
    for (auto softmax :
         llvm::to_vector(function.getBody().getOps<SoftmaxOp>())) {
      GradientRaiser raiser(softmax, function);
      std::string reason;
      if (!raiser.find(reason))
        continue;
      if (reason.empty() && !raiser.replace([&](ModuleOp nested) {
            // What was not fused so is looked at again as it is.
            ScopedDiagnosticHandler quiet(
                &getContext(), [](Diagnostic &) { return success(); });
            return runPipeline(passes, nested);
          }))
        reason = "the attention is not fused, or not differentiated";
      if (!reason.empty())
        emitRemark(softmax.getLoc())
            << "gradients are computed as they are written: " << reason;
    }
    eraseDead(function);
  }

  static void eraseDead(func::FuncOp function) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  OpPassManager passes{ModuleOp::getOperationName()};
};

} // namespace

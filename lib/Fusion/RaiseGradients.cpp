//===- RaiseGradients.cpp - tile-raise-gradients --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionPart.h"
#include "SoftmaxGradients.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

namespace {

/// Replaces the gradients that are computed from one softmax.
class GradientReplacer : SoftmaxGradients {
public:
  explicit GradientReplacer(const SoftmaxGradients &found)
      : SoftmaxGradients(found) {}

  /// Puts an attention and its gradients in the place of what was found. False
  /// if it is no attention that is fused.
  bool replace(llvm::function_ref<LogicalResult(ModuleOp)> runPasses);

private:
  using Function = std::pair<func::FuncOp, SmallVector<Value>>;

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

  bool wants(GradientUse::Kind kind) const {
    return llvm::any_of(
        uses, [&](const GradientUse &use) { return use.kind == kind; });
  }

  /// Puts `made`, whose dimensions are `dims`, in the place of uses of `kind`.
  void put(ImplicitLocOpBuilder &b, GradientUse::Kind kind, Value made,
           const DimNames &dims) {
    for (GradientUse &use : uses) {
      if (use.kind != kind)
        continue;
      RankedTensorType type = use.dot.getType();
      Value value = rearrange(b, {made, dims}, use.dims, type);
      bool isOfScores =
          kind == GradientUse::OfQueries || kind == GradientUse::OfKeys;
      if (isOfScores && use.factor != scores.factor)
        value = arith::MulFOp::create(
            b, value,
            arith::ConstantOp::create(
                b, DenseElementsAttr::get(
                       type, b.getF32FloatAttr(use.factor / scores.factor))));
      use.dot.getResult().replaceAllUsesWith(value);
    }
  }
};

} // namespace

bool GradientReplacer::replace(
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
    return llvm::any_of(
        uses, [&](GradientUse &use) { return use.dot.getResult() == value; });
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
  constexpr GradientUse::Kind kinds[] = {
      GradientUse::OfQueries, GradientUse::OfKeys, GradientUse::OfValues};
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
    put(b, GradientUse::Output, results[0], ofQueries);
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
      std::string reason;
      auto found = findGradients(softmax, function, reason);
      if (!found)
        continue;
      if (reason.empty() &&
          !GradientReplacer(*found).replace([&](ModuleOp nested) {
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

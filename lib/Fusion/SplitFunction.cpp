//===- SplitFunction.cpp - tile-split-function ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionFunction.h"
#include "BackwardFunction.h"
#include "FunctionPart.h"
#include "UnfusedKernel.h"

#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILESPLITFUNCTION
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

/// Why `function` is not one attention, or the gradients of one, on views of
/// its arguments; empty: it is.
static std::string findObstacle(func::FuncOp function) {
  std::string reason;
  if (function.getBody().getOps<AttentionBackwardOp>().empty())
    matchFunction(function, reason);
  else
    matchBackward(function, reason);
  return reason;
}

/// Whether dimensions that `view` joins lie behind each other in a tensor of
/// `type` without gaps.
static bool hasNoGaps(const ArgumentView &view, RankedTensorType type) {
  return llvm::all_of(view.collapsed, [&](CollapsedDims dims) {
    return dims.outer < dims.inner &&
           llvm::all_of(
               llvm::seq(dims.outer + 1, dims.inner),
               [&](int64_t d) { return type.getDimSize(d) == 1; });
  });
}

namespace {

/// An attention, or its gradients, with what becomes of its results.
struct Unit {
  Operation *op;
  SmallVector<Operation *> ops; ///< `op` and what belongs to it behind it
  SmallVector<Value> results;   ///< what others read
  std::unique_ptr<FunctionPart> part;
  int64_t level = 0;
};

/// Splits one function.
class Splitter {
public:
  Splitter(func::FuncOp function,
           llvm::function_ref<std::string(const Twine &)> unusedName)
      : function(function), body(&function.getBody().front()),
        unusedName(unusedName) {}

  /// False if no attention has a part of its own: then nothing is changed.
  bool split() {
    for (Operation &op : *body)
      if (isa<OnlineAttentionOp, AttentionBackwardOp>(op))
        if (!addUnit(&op) && isa<AttentionBackwardOp>(op))
          return abandon();
    if (units.empty())
      return abandon();
    findLevels();
    buildRests();
    if (!canHandOver())
      return abandon();
    rewrite();
    return true;
  }

private:
  //===--- Attentions ---===//

  /// The tensor that `value`, an operand of `op`, is a view of. A view that a
  /// kernel cannot have is a tensor of its own.
  Value findMemory(Operation *op, Value value) {
    Value base = value;
    while (isMemoryView(base.getDefiningOp()))
      base = base.getDefiningOp()->getOperand(0);
    llvm::DenseSet<Value> bases = {base};
    FunctionPart trial(function, unusedName("trial"), value.getLoc(), bases);
    Value imported = trial.import(value);
    FailureOr<ArgumentView> view = ArgumentView::ofOperand(imported);
    auto attention = dyn_cast<OnlineAttentionOp>(op);
    bool takesParts =
        attention &&
        llvm::is_contained(
            {attention.getQ(), attention.getK(), attention.getV()}, value) &&
        llvm::all_of(op->getOperandTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return !tensor || tensor.hasStaticShape();
        });
    bool isGood = succeeded(view) && (takesParts || !view->isPart) &&
                  hasNoGaps(*view, cast<RankedTensorType>(base.getType()));
    trial.function.erase();
    return isGood ? base : value;
  }

  /// Adds a result, with what follows it where its kernel does that, too: what
  /// leads to a result of the function, or, of an attention's, a conversion.
  void addResult(Unit &unit, Value value) {
    bool isOutput = isa<OnlineAttentionOp>(unit.op);
    if (isOutput && value.hasOneUse())
      if (auto truncate = dyn_cast<arith::TruncFOp>(*value.user_begin())) {
        unit.ops.push_back(truncate);
        value = truncate.getResult();
      }
    SmallVector<Operation *> epilogue;
    if (succeeded(ArgumentView::ofResult(value, epilogue)) &&
        (isOutput || epilogue.empty()))
      while (!isa<func::ReturnOp>(*value.user_begin())) {
        unit.ops.push_back(*value.user_begin());
        value = unit.ops.back()->getResult(0);
      }
    unit.results.push_back(value);
  }

  /// Adds all that others read; false if that is not what a kernel gives.
  bool addResults(Unit &unit) {
    unit.ops.push_back(unit.op);
    auto attention = dyn_cast<OnlineAttentionOp>(unit.op);
    if (!attention) {
      for (Value result : unit.op->getResults())
        addResult(unit, result);
      return true;
    }
    Value state = attention.getAccOut();
    auto finalize = state.hasOneUse()
                        ? dyn_cast<OnlineFinalizeOp>(*state.user_begin())
                        : OnlineFinalizeOp();
    if (!finalize || finalize.getMaxOut())
      return false;
    unit.ops.push_back(finalize);
    for (Value result : finalize.getResults())
      if (!result.use_empty())
        addResult(unit, result);
    return !unit.results.empty();
  }

  bool addUnit(Operation *op) {
    Unit unit;
    unit.op = op;
    if (!addResults(unit))
      return false;
    llvm::DenseSet<Value> own;
    for (Value value : op->getOperands())
      if (isa<RankedTensorType>(value.getType()) && !isState(op, value))
        own.insert(findMemory(op, value));
    unit.part = std::make_unique<FunctionPart>(
        function, unusedName(function.getSymName() + "_attention"),
        op->getLoc(), own);
    for (Operation *each : unit.ops)
      unit.part->add(each);
    unit.part->finish(unit.results);
    std::string reason = findObstacle(unit.part->function);
    // The unit is called where its attention stands.
    for (Value value : unit.part->getInputs())
      if (Operation *source = value.getDefiningOp();
          source && !source->isBeforeInBlock(op))
        reason = "its result is combined with what is computed behind it";
    if (!reason.empty()) {
      emitRemark(op->getLoc())
          << "this attention is no kernel of its own: " << reason;
      unit.part->function.erase();
      return false;
    }
    for (Value value : unit.part->getInputs())
      if (value.getDefiningOp())
        handed.insert(value);
    for (Operation *each : unit.ops)
      unitOf[each] = units.size();
    units.push_back(std::move(unit));
    return true;
  }

  static bool isState(Operation *op, Value value) {
    auto attention = dyn_cast<OnlineAttentionOp>(op);
    return attention &&
           llvm::is_contained(
               {attention.getAcc(), attention.getMax(), attention.getSum()},
               value);
  }

  //===--- What is around them ---===//

  /// Attentions of level n read what was computed with the results of those
  /// before; what is around them is computed as late as it can be.
  void findLevels() {
    llvm::DenseMap<Operation *, int64_t> first;
    auto levelOf = [&](Value value) {
      return first.lookup(value.getDefiningOp());
    };
    for (Operation &op : *body) {
      auto found = unitOf.find(&op);
      SmallVector<Value> reads = readsOf(&op);
      if (found != unitOf.end() && units[found->second].op == &op)
        reads = llvm::to_vector(units[found->second].part->getInputs());
      int64_t level = 0;
      if (found == unitOf.end() || units[found->second].op == &op)
        for (Value value : reads)
          level = std::max(level, levelOf(value));
      if (found == unitOf.end()) {
        first[&op] = level;
        continue;
      }
      Unit &unit = units[found->second];
      if (unit.op == &op)
        unit.level = level;
      first[&op] = unit.level + 1;
      last = std::max(last, unit.level + 1);
    }
    for (Operation &op : llvm::reverse(*body)) {
      int64_t level = levels.try_emplace(&op, last).first->second;
      SmallVector<Value> reads = readsOf(&op);
      if (auto found = unitOf.find(&op); found != unitOf.end()) {
        Unit &unit = units[found->second];
        if (unit.op != &op)
          continue;
        level = unit.level;
        reads = llvm::to_vector(unit.part->getInputs());
      }
      for (Value value : reads)
        if (Operation *source = value.getDefiningOp()) {
          int64_t &at = levels.try_emplace(source, last).first->second;
          at = std::min(at, level);
        }
    }
  }

  /// Whether a part around attentions computes `op`, for itself or others.
  bool isOwned(Operation *op) const {
    if (unitOf.contains(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        (op->use_empty() && isPure(op)))
      return false;
    return !isCheap(op) || llvm::any_of(op->getResults(), [&](Value value) {
      return handed.contains(value);
    });
  }

  /// Whether a unit gives the function's result `value` itself.
  bool isOfUnit(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && unitOf.contains(op) && value.hasOneUse();
  }

  void buildRests() {
    Operation *end = body->getTerminator();
    for (int64_t level = 0; level <= last; ++level) {
      auto part = std::make_unique<FunctionPart>(
          function, unusedName(function.getSymName() + "_rest"),
          function.getLoc(), handed);
      for (Operation &op : *body)
        if (isOwned(&op) && levels.lookup(&op) == level)
          part->add(&op);
      rests.push_back(std::move(part));
    }
    SmallVector<Value> returned;
    for (Value value : end->getOperands())
      if (!isOfUnit(value)) {
        rests[last]->import(value);
        returned.push_back(value);
      }
    llvm::DenseSet<Value> wanted;
    for (const Unit &unit : units)
      wanted.insert_range(unit.part->getInputs());
    for (const auto &part : rests)
      wanted.insert_range(part->getInputs());
    for (auto [level, part] : llvm::enumerate(rests)) {
      SmallVector<Value> results;
      for (Operation &op : *body)
        if (isOwned(&op) && levels.lookup(&op) == int64_t(level))
          for (Value value : op.getResults())
            if (wanted.contains(value))
              results.push_back(value);
      if (int64_t(level) == last)
        results.append(returned);
      part->finish(results);
    }
  }

  /// Whether the memory of all that parts hand over can be had: tensors whose
  /// sizes follow from those of the arguments.
  bool canHandOver() {
    llvm::SetVector<Value> between;
    auto addOf = [&](const FunctionPart &part) {
      for (Value value : part.getInputs())
        if (value.getDefiningOp())
          between.insert(value);
    };
    for (const auto &part : rests)
      addOf(*part);
    for (const Unit &unit : units)
      addOf(*unit.part);
    return function.getNumArguments() + function.getNumResults() +
                   between.size() + units.size() * kMostOfOwn <=
               kMostArguments &&
           canBeHanded(function, between.getArrayRef());
  }

  bool abandon() {
    for (Unit &unit : units)
      unit.part->function.erase();
    for (auto &part : rests)
      part->function.erase();
    return false;
  }

  /// The function's body becomes calls of its parts.
  void rewrite() {
    Operation *end = body->getTerminator();
    OpBuilder b(end);
    IRMapping made;
    SmallVector<Value> returned;
    auto call = [&](FunctionPart &part) {
      SmallVector<Value> operands;
      for (Value value : part.getInputs())
        operands.push_back(made.lookupOrDefault(value));
      return func::CallOp::create(b, part.function.getLoc(), part.function,
                                  operands);
    };
    for (auto [level, part] : llvm::enumerate(rests)) {
      if (part->getResults().empty()) {
        part->function.erase();
      } else {
        auto results = call(*part).getResults();
        size_t handed = results.size();
        if (int64_t(level) == last) {
          handed -= llvm::count_if(end->getOperands(), [&](Value value) {
            return !isOfUnit(value);
          });
          llvm::append_range(returned, results.drop_front(handed));
        }
        for (size_t n = 0; n < handed; ++n)
          made.map(part->getResults()[n], results[n]);
      }
      for (Unit &unit : units)
        if (unit.level == int64_t(level))
          made.map(unit.results, call(*unit.part).getResults());
    }
    auto next = returned.begin();
    SmallVector<Value> results;
    for (Value value : end->getOperands())
      results.push_back(isOfUnit(value) ? made.lookup(value) : *next++);
    end->setOperands(results);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (!isa<func::CallOp, func::ReturnOp>(op))
        op.erase();
  }

  func::FuncOp function;
  Block *body;
  llvm::function_ref<std::string(const Twine &)> unusedName;
  std::vector<Unit> units;
  llvm::DenseMap<Operation *, size_t> unitOf;
  /// Tensors that are in memory between two parts, cheap as they may be.
  llvm::DenseSet<Value> handed;
  llvm::DenseMap<Operation *, int64_t> levels;
  int64_t last = 0; ///< the level behind all attentions
  std::vector<std::unique_ptr<FunctionPart>> rests;
};

struct TileSplitFunction final
    : fa::impl::TileSplitFunctionBase<TileSplitFunction> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock() ||
          (function.getBody().getOps<OnlineAttentionOp>().empty() &&
           function.getBody().getOps<AttentionBackwardOp>().empty()))
        continue;
      std::string reason = findObstacle(function);
      if (reason.empty())
        continue;
      auto unusedName = [&](const Twine &name) {
        return unusedSymbol(module, name);
      };
      if (Splitter(function, unusedName).split())
        emitRemark(function.getLoc())
            << "becomes several kernels, one for each attention: " << reason;
    }
  }
};

} // namespace

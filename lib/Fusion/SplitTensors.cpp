//===- SplitTensors.cpp - tile-split-tensors ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallerKernels.h"
#include "DeadOps.h"
#include "FunctionPart.h"
#include "TensorPart.h"

#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILESPLITTENSORS
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

/// Operations of a function that become one of their own.
struct Group {
  SmallVector<Operation *> ops;
  /// What is computed by one kernel of tiles; else it is on whole tensors.
  bool isTiles = true;
  SmallVector<Value> returned; ///< results of the function
  std::unique_ptr<FunctionPart> part;
};

/// Splits one function that other functions call.
class TensorSplitter {
public:
  using Namer = llvm::function_ref<std::string(const Twine &)>;

  TensorSplitter(func::FuncOp function, Namer unusedName)
      : function(function), body(&function.getBody().front()),
        unusedName(unusedName) {}

  /// Replaces `call`, the one of the function, by calls of its parts; false if
  /// it stays as it is.
  bool split(func::CallOp call) {
    eraseDeadOps(function);
    findPrologues();
    for (Operation &op : body->without_terminator())
      place(&op);
    Operation *end = body->getTerminator();
    for (Value value : end->getOperands())
      groupOfResult(value).returned.push_back(value);
    if (groups.size() < 2)
      return false;
    for (Group &group : groups)
      build(group);
    finish();
    if (!isInOrder() || !canHandOver(call->getParentOfType<func::FuncOp>())) {
      for (Group &group : groups)
        group.part->function.erase();
      return false;
    }
    rewrite(call);
    return true;
  }

private:
  //===--- Groups ---===//

  /// A conversion of what a dot reads, and what is computed element by element
  /// for one reduction, go with it.
  void findPrologues() {
    for (Operation &op : llvm::reverse(body->without_terminator()))
      if (isTileElementwise(&op) && !isCheap(&op) && goesWithSums(&op))
        prologues.insert(&op);
  }

  /// All that reads `op`, but for views.
  static void findReaders(Operation *op,
                          llvm::SmallSetVector<Operation *, 4> &readers) {
    for (Operation *user : op->getUsers()) {
      if (isMemoryView(user) || isa<BroadcastOp>(user))
        findReaders(user, readers);
      else
        readers.insert(user);
    }
  }

  bool goesWithSums(Operation *op) const {
    llvm::SmallSetVector<Operation *, 4> readers;
    findReaders(op, readers);
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) && !readers.empty() &&
        llvm::all_of(readers, llvm::IsaPred<DotOp>))
      return true;
    return readers.size() == 1 &&
           (isa<ReduceOp>(readers[0]) ||
            (prologues.contains(readers[0]) && isOfReduction(readers[0])));
  }
  bool isOfReduction(Operation *op) const {
    llvm::SmallSetVector<Operation *, 4> readers;
    findReaders(op, readers);
    return llvm::all_of(readers,
                        [](Operation *reader) { return !isa<DotOp>(reader); });
  }

  /// The operation whose elements `value` has, but for views; `isPart` if not
  /// all of them or some several times.
  static Operation *sourceOf(Value value, bool &isPart) {
    Operation *op = value.getDefiningOp();
    while (op && (isMemoryView(op) || isa<BroadcastOp>(op))) {
      isPart |= isa<BroadcastOp, tensor::ExtractSliceOp>(op);
      op = op->getOperand(0).getDefiningOp();
    }
    return op;
  }

  /// The number of the last group that `op` reads, -1 if there is none, and
  /// whether it can be in that: it reads each of its elements at one place.
  std::pair<int64_t, bool> lastRead(Operation *op) const {
    int64_t last = -1;
    bool isWhole = true;
    llvm::DenseSet<Operation *> sources;
    for (Value value : readsOf(op)) {
      bool isPart = false;
      Operation *source = sourceOf(value, isPart);
      auto found = groupOf.find(source);
      if (!source || found == groupOf.end())
        continue;
      if (int64_t(found->second) > last) {
        last = found->second;
        isWhole = true;
      }
      if (int64_t(found->second) == last)
        isWhole &= !isPart && sources.insert(source).second;
    }
    return {last, isWhole};
  }

  void place(Operation *op) {
    if (isCheap(op) || prologues.contains(op))
      return;
    auto [last, isWhole] = lastRead(op);
    bool isElementwise = isTileElementwise(op);
    bool isSum = isa<DotOp, ReduceOp>(op);
    if (isElementwise && last >= 0 && isWhole && groups[last].isTiles)
      return add(op, last);
    // What is on whole tensors is one after the other anyway.
    if (!isElementwise && !isSum && !groups.empty() && !groups.back().isTiles)
      return add(op, groups.size() - 1);
    groups.emplace_back();
    groups.back().isTiles = isElementwise || isSum;
    add(op, groups.size() - 1);
  }

  void add(Operation *op, size_t number) {
    groups[number].ops.push_back(op);
    groupOf[op] = number;
  }

  Group &groupOfResult(Value value) {
    bool isPart = false;
    auto found = groupOf.find(sourceOf(value, isPart));
    if (found != groupOf.end() && (!isPart || !groups[found->second].isTiles))
      return groups[found->second];
    // A copy of what was there before.
    groups.emplace_back();
    return groups.back();
  }

  //===--- Functions ---===//

  void addTo(FunctionPart &part, Operation *op,
             llvm::DenseSet<Operation *> &added) {
    // What goes with `op` stands before it, and views of that behind.
    std::function<void(Value)> addPrologue = [&](Value value) {
      bool isPart = false;
      Operation *source = sourceOf(value, isPart);
      if (source && prologues.contains(source) && added.insert(source).second)
        addTo(part, source, added);
    };
    for (Value value : readsOf(op))
      addPrologue(value);
    part.add(op);
  }

  static StringRef suffixOf(const Group &group) {
    if (!group.isTiles)
      return "";
    if (llvm::any_of(group.ops, llvm::IsaPred<DotOp>))
      return "_dot";
    return llvm::any_of(group.ops, llvm::IsaPred<ReduceOp>) ? "_sum" : "_map";
  }

  void build(Group &group) {
    group.part = std::make_unique<FunctionPart>(
        function, unusedName(function.getSymName() + suffixOf(group)),
        function.getLoc(), llvm::DenseSet<Value>());
    llvm::DenseSet<Operation *> added;
    for (Operation *op : group.ops)
      addTo(*group.part, op, added);
    for (Value value : group.returned)
      group.part->import(value);
  }

  void finish() {
    llvm::DenseSet<Value> wanted;
    for (const Group &group : groups)
      wanted.insert_range(group.part->getInputs());
    for (Group &group : groups) {
      SmallVector<Value> results;
      for (Operation *op : group.ops)
        for (Value value : op->getResults())
          if (wanted.contains(value))
            results.push_back(value);
      results.append(group.returned);
      group.part->finish(results);
    }
  }

  /// Whether groups read what those before them give. The size of a tensor
  /// counts: an operation may ask for that of one that is computed later.
  bool isInOrder() const {
    for (auto [number, group] : llvm::enumerate(groups))
      for (Value value : group.part->getInputs())
        if (Operation *source = value.getDefiningOp();
            source && groupOf.lookup(source) >= number)
          return false;
    return true;
  }

  /// Whether the memory of what groups hand over can be had, by a caller that
  /// has other parts.
  bool canHandOver(func::FuncOp caller) {
    llvm::SetVector<Value> between;
    for (const Group &group : groups)
      for (Value value : group.part->getInputs())
        if (value.getDefiningOp())
          between.insert(value);
    return canBeHanded(function, between.getArrayRef()) &&
           countArguments(caller) + between.size() <= kMostArguments;
  }

  static size_t countArguments(func::FuncOp caller) {
    size_t count = caller.getNumArguments();
    for (auto call : caller.getBody().getOps<func::CallOp>())
      count += call.getNumResults();
    for (Operation &op : caller.getBody().front())
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr());
        if (callee && !isOfTensors(callee))
          count += kMostOfOwn;
      }
    return count;
  }

  void rewrite(func::CallOp call) {
    OpBuilder b(call);
    IRMapping made;
    made.map(function.getArguments(), call.getOperands());
    llvm::DenseMap<Value, Value> returned;
    for (Group &group : groups) {
      SmallVector<Value> operands;
      for (Value value : group.part->getInputs())
        operands.push_back(made.lookup(value));
      auto part = func::CallOp::create(b, call.getLoc(), group.part->function,
                                       operands);
      size_t handed = part.getNumResults() - group.returned.size();
      for (auto [n, value] : llvm::enumerate(group.part->getResults()))
        if (n < handed)
          made.map(value, part.getResult(n));
      for (auto [n, value] : llvm::enumerate(group.returned))
        results.push_back({value, part.getResult(handed + n)});
    }
    for (auto [old, value] :
         llvm::zip(call.getResults(), body->getTerminator()->getOperands())) {
      auto *found = llvm::find_if(
          results, [&](const auto &each) { return each.first == value; });
      old.replaceAllUsesWith(found->second);
      results.erase(found); // a value may be returned two times
    }
    call.erase();
    function.erase();
  }

  func::FuncOp function;
  Block *body;
  Namer unusedName;
  std::vector<Group> groups;
  llvm::DenseMap<Operation *, size_t> groupOf;
  llvm::DenseSet<Operation *> prologues;
  SmallVector<std::pair<Value, Value>> results;
};

struct TileSplitTensors final
    : fa::impl::TileSplitTensorsBase<TileSplitTensors> {
  /// Says why a part around attentions is no kernel of tiles.
  static void explain(func::FuncOp part) {
    std::string reason;
    if (part && !part.isDeclaration() && isOfTensors(part) &&
        failed(matchTensorPart(part, reason)))
      emitRemark(part.getLoc())
          << "a part around attentions runs unfused, on whole tensors: "
          << reason;
  }

  /// Whether all that `function` calls is kernels of tiles.
  bool callsKernelsAlone(func::FuncOp function) {
    auto calls = function.getBody().getOps<func::CallOp>();
    return llvm::all_of(calls, [&](func::CallOp call) {
      std::string reason;
      auto part = getOperation().lookupSymbol<func::FuncOp>(call.getCallee());
      return succeeded(matchTensorPart(part, reason));
    });
  }

  /// A function without any attention calls such kernels if they are all of it;
  /// else it stays one program on whole tensors.
  void splitWhole(func::FuncOp function, TensorSplitter::Namer unusedName) {
    OpBuilder b(function);
    std::string name = function.getSymName().str();
    function.setSymName(unusedName(name + "_whole"));
    auto caller = function.cloneWithoutRegions();
    auto part = function.clone();
    caller.setSymName(name);
    b.insert(caller);
    part.setSymName(unusedName(name + "_part"));
    part.setPrivate();
    b.insert(part);
    Block *body = caller.addEntryBlock();
    b.setInsertionPointToStart(body);
    auto call =
        func::CallOp::create(b, function.getLoc(), part, body->getArguments());
    func::ReturnOp::create(b, function.getLoc(), call.getResults());
    TensorSplitter(part, unusedName).split(call);
    if (callsKernelsAlone(caller))
      return function.erase();
    for (auto each : caller.getBody().getOps<func::CallOp>())
      getOperation().lookupSymbol(each.getCallee())->erase();
    caller.erase();
    function.setSymName(name);
  }

  static bool isWhole(func::FuncOp function) {
    return !function.isDeclaration() && !function.isPrivate() &&
           llvm::hasSingleElement(function.getBody()) &&
           !callsParts(function) && isOfTensors(function) &&
           llvm::any_of(function.getBody().front(), [](Operation &op) {
             return isTileElementwise(&op) || isa<DotOp, ReduceOp>(op);
           });
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto unusedName = [&](const Twine &name) {
      return unusedSymbol(module, name);
    };
    for (func::FuncOp function : llvm::to_vector(
             llvm::make_filter_range(module.getOps<func::FuncOp>(), isWhole)))
      splitWhole(function, unusedName);
    SmallVector<func::CallOp> calls;
    for (auto function : module.getOps<func::FuncOp>())
      if (callsParts(function))
        llvm::append_range(calls, function.getBody().getOps<func::CallOp>());
    for (func::CallOp call : calls) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && !callee.isDeclaration() && isOfTensors(callee))
        TensorSplitter(callee, unusedName).split(call);
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (callsParts(function))
        for (auto call : function.getBody().getOps<func::CallOp>())
          explain(module.lookupSymbol<func::FuncOp>(call.getCallee()));
  }
};

} // namespace

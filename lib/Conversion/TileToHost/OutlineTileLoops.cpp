//===- OutlineTileLoops.cpp - outline-tile-loops --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"
#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fa {
#define GEN_PASS_DEF_OUTLINETILELOOPS
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// Of the host kernel ABI: what a kernel's arguments are read from.
static constexpr unsigned kWords = 3;

/// Whether `op` gives in another function what it gives in `function`: nobody
/// writes to the words of its arguments.
static bool isRepeatable(Operation &op, func::FuncOp function) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    Value address = load.getAddr();
    while (auto element = address.getDefiningOp<LLVM::GEPOp>())
      address = element.getBase();
    return address == function.getArgument(kWords);
  }
  return op.getNumRegions() == 0 && isPure(&op);
}

namespace {

/// What a loop reads of what lies before it.
struct Captured {
  func::FuncOp function;
  llvm::SetVector<Operation *> repeated; ///< in the order of their uses
  llvm::SetVector<Value> passed;

  void add(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op && llvm::is_contained(function.getArguments(), value))
      return;
    if (!op || !isRepeatable(*op, function)) {
      passed.insert(value);
      return;
    }
    if (repeated.contains(op))
      return;
    for (Value operand : op->getOperands())
      add(operand);
    repeated.insert(op);
  }

  bool canBePassed() const {
    return llvm::all_of(passed, [](Value value) {
      return value.getType().isIntOrIndexOrFloat();
    });
  }
};

struct OutlineTileLoops final
    : fa::impl::OutlineTileLoopsBase<OutlineTileLoops> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      SmallVector<scf::ForOp> loops;
      function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
        if (!loop->hasAttr(fa::kTileLoop))
          return WalkResult::advance();
        loops.push_back(loop);
        return WalkResult::skip();
      });
      Operation *last = function;
      for (auto [n, loop] : llvm::enumerate(loops)) {
        loop->removeAttr(fa::kTileLoop);
        std::string name = (function.getName() + ".loop" + Twine(n + 1)).str();
        if (loops.size() > 1)
          last = outline(function, loop, name, last);
      }
    }
  }

private:
  /// Returns the function, which is behind `last`; `last` if values that are
  /// not scalars would have to be passed.
  static Operation *outline(func::FuncOp function, scf::ForOp loop,
                            StringRef name, Operation *last) {
    Captured captured{function, {}, {}};
    llvm::SetVector<Value> used(llvm::from_range, loop->getOperands());
    getUsedValuesDefinedAbove(loop->getRegions(), used);
    for (Value value : used)
      captured.add(value);
    if (!captured.canBePassed())
      return last;

    OpBuilder b(function);
    SmallVector<Value> operands(function.getArguments());
    llvm::append_range(operands, captured.passed);
    b.setInsertionPointAfter(last);
    auto outlined = func::FuncOp::create(
        b, loop.getLoc(), name,
        b.getFunctionType(ValueRange(operands).getTypes(), {}));
    outlined.setPrivate();
    for (unsigned n = 0; n < function.getNumArguments(); ++n)
      for (NamedAttribute attribute :
           FunctionOpInterface(function).getArgAttrs(n))
        outlined.setArgAttr(n, attribute.getName(), attribute.getValue());
    b.setInsertionPointToStart(outlined.addEntryBlock());
    IRMapping mapping;
    mapping.map(operands, outlined.getArguments());
    for (Operation *op : captured.repeated)
      b.clone(*op, mapping);
    b.clone(*loop, mapping);
    func::ReturnOp::create(b, loop.getLoc());
    b.setInsertionPoint(loop);
    Value some =
        arith::CmpIOp::create(b, loop.getLoc(), arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(b, loop.getLoc(), some,
                                    /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    func::CallOp::create(b, loop.getLoc(), outlined, operands);
    loop.erase();
    return outlined;
  }
};

} // namespace

//===- FunctionPart.cpp - a part of a function as one of its own ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionPart.h"
#include "FindSource.h"
#include "UnfusedKernel.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

bool fa::isMemoryView(Operation *op) {
  return isa_and_nonnull<TransposeOp, ExpandDimsOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp, tensor::ExtractSliceOp>(op);
}

/// Whether `op` makes a tensor of constants or indices, or reads no tensor.
static bool isMadeOfNothing(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return !isa<ElementsAttr>(constant.getValue()) ||
           isa<SplatElementsAttr>(constant.getValue());
  return isa<IotaOp, tensor::EmptyOp>(op) ||
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

/// Whether `op` is elementwise, or has other views of what it reads.
static bool keepsElements(Operation *op) {
  return isMemoryView(op) || isa<BroadcastOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(op);
}

bool fa::isCheap(Operation *op) {
  if (!isPure(op) || op->getNumRegions() != 0)
    return false;
  if (isMadeOfNothing(op) || isMemoryView(op) || isa<BroadcastOp>(op))
    return true;
  auto isOther = [](Value value) {
    Operation *source = value.getDefiningOp();
    return isa<TensorType>(value.getType()) &&
           (!source || !isPure(source) || source->getNumRegions() != 0 ||
            (!isMadeOfNothing(source) && !keepsElements(source)));
  };
  return OpTrait::hasElementwiseMappableTraits(op) &&
         !findSource(op->getResult(0), isOther, keepsElements);
}

/// The most dimensions of a tensor between two parts: an argument of a kernel
/// has at most 8, and in workspace one of them is the number of splits.
static constexpr int64_t kMaxHandedRank = 7;

/// Whether a kernel's argument may have such elements
/// (fa/Launch/ElementType.h).
static bool isArgumentElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         type.isIndex() || type.isInteger(1) || type.isInteger(32) ||
         type.isInteger(64);
}

bool fa::canBeHanded(func::FuncOp function, ArrayRef<Value> values) {
  ArgumentSizes sizes;
  {
    // What fails is said of the function as it is.
    ScopedDiagnosticHandler quiet(function.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(collectSizeRules(function, &sizes)))
      return false;
  }
  return llvm::all_of(values, [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() > kMaxHandedRank ||
        !isArgumentElement(type.getElementType()))
      return false;
    return llvm::all_of(llvm::seq(type.getRank()), [&](int64_t d) {
      return !type.isDynamicDim(d) || sizes.contains({value, d});
    });
  });
}

std::string fa::unusedSymbol(ModuleOp module, const Twine &wanted) {
  unsigned number = 0;
  std::string name = wanted.str();
  auto isUsed = [&](StringRef each) { return module.lookupSymbol(each); };
  return isUsed(name)
             ? SymbolTable::generateSymbolName<32>(name, isUsed, number)
                   .str()
                   .str()
             : name;
}

SmallVector<Value> fa::readsOf(Operation *op) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), reads);
  return reads.takeVector();
}

FunctionPart::FunctionPart(func::FuncOp source, StringRef name, Location loc,
                           llvm::DenseSet<Value> handed)
    : handed(std::move(handed)), b(source) {
  function = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  function.setPrivate();
  b.setInsertionPointToStart(function.addEntryBlock());
}

Value FunctionPart::import(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || handed.contains(value) || !isCheap(op)) {
    inputs.insert(value);
    Value argument =
        function.getBody().front().addArgument(value.getType(), value.getLoc());
    mapping.map(value, argument);
    return argument;
  }
  add(op);
  return mapping.lookup(value);
}

void FunctionPart::add(Operation *op) {
  for (Value value : readsOf(op))
    import(value);
  b.clone(*op, mapping);
}

void FunctionPart::finish(ArrayRef<Value> values) {
  results.assign(values.begin(), values.end());
  auto returned =
      llvm::map_to_vector(values, [&](Value value) { return import(value); });
  finishWith(returned);
}

void FunctionPart::finishWith(ValueRange returned) {
  func::ReturnOp::create(b, function.getLoc(), returned);
  function.setFunctionType(b.getFunctionType(
      function.getBody().front().getArgumentTypes(), TypeRange(returned)));
}

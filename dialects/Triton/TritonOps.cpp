//===- TritonOps.cpp - what the operations ask of their operands ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Triton/Triton.h"
#include "TritonSyntax.h"

using namespace mlir;
using namespace fa::triton;

#define GET_OP_CLASSES
#include "Triton/TritonOps.cpp.inc"

#define GET_OP_CLASSES
#include "Triton/TritonGPUOps.cpp.inc"

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LogicalResult MakeRangeOp::verify() {
  int64_t start = static_cast<int32_t>(getStart());
  int64_t end = static_cast<int32_t>(getEnd());
  int64_t size = shapeOf(getResult())[0];
  if (end - start == size)
    return success();
  return emitOpError("expects as many integers as its result has elements, "
                     "found ")
         << size << " elements, and " << start << " to before " << end;
}

LogicalResult SplatOp::verify() {
  Type element = getElementTypeOrSelf(getResult().getType());
  if (getSrc().getType() == element)
    return success();
  return emitOpError("expects a tile of its operand's type, found ")
         << getSrc().getType() << " and " << getResult().getType();
}

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getSrc()));
  int64_t axis = static_cast<int32_t>(getAxis());
  if (axis < 0 || axis > static_cast<int64_t>(expected.size()))
    return emitOpError("expects an axis from 0 to ")
           << expected.size() << ", found " << axis;
  expected.insert(expected.begin() + axis, 1);
  if (shapeOf(getResult()) == ArrayRef(expected))
    return success();
  return emitOpError("expects a dimension of 1 at axis ")
         << axis << ", found " << getSrc().getType() << " and "
         << getResult().getType();
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getSrc()), to = shapeOf(getResult());
  bool fits = from.size() == to.size() &&
              llvm::all_of(llvm::zip_equal(from, to), [](auto sizes) {
                auto [f, t] = sizes;
                return f == t || f == 1;
              });
  if (fits)
    return success();
  return emitOpError("expects dimensions of 1 or of the result's size, found ")
         << getSrc().getType() << " and " << getResult().getType();
}

LogicalResult ReshapeOp::verify() {
  if (ShapedType::getNumElements(shapeOf(getSrc())) ==
      ShapedType::getNumElements(shapeOf(getResult())))
    return success();
  return emitOpError("expects as many elements as before, found ")
         << getSrc().getType() << " and " << getResult().getType();
}

LogicalResult TransOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getSrc()), to = shapeOf(getResult());
  ArrayRef<int32_t> order = getOrder();
  SmallVector<int64_t> expected;
  SmallVector<bool> seen(from.size());
  for (int32_t dim : order)
    if (dim >= 0 && dim < static_cast<int64_t>(from.size()) && !seen[dim]) {
      seen[dim] = true;
      expected.push_back(from[dim]);
    }
  if (order.size() == from.size() && to == ArrayRef(expected))
    return success();
  return emitOpError("expects an order of all dimensions and their sizes in "
                     "it, found ")
         << getSrc().getType() << " and " << getResult().getType();
}

LogicalResult ReduceOp::verify() {
  int64_t axis = static_cast<int32_t>(getAxis());
  for (Value src : getSrcs())
    if (axis < 0 || axis >= static_cast<int64_t>(shapeOf(src).size()))
      return emitOpError("expects a dimension of its operands as axis, found ")
             << axis << " and " << src.getType();
  if (getSrcs().empty() || getNumResults() != getSrcs().size())
    return emitOpError("expects a result for each operand, found ")
           << getSrcs().size() << " operands and " << getNumResults()
           << " results";
  Block &block = getCombineOp().front();
  if (block.getNumArguments() == 2 * getSrcs().size())
    return success();
  return emitOpError("expects two arguments of its region for each operand, "
                     "found ")
         << block.getNumArguments();
}

LogicalResult AddPtrOp::verify() {
  auto pointers = dyn_cast<RankedTensorType>(getPtr().getType());
  auto offsets = dyn_cast<RankedTensorType>(getOffset().getType());
  bool fits = !pointers ? !offsets
                        : offsets && pointers.getShape() == offsets.getShape();
  if (fits)
    return success();
  return emitOpError("expects an offset for each address, found ")
         << getPtr().getType() << " and " << getOffset().getType();
}

LogicalResult ReturnOp::verify() {
  auto func = cast<FuncOp>((*this)->getParentOp());
  if (func.getResultTypes() == getSrcs().getTypes())
    return success();
  return emitOpError("expects the types of the function's results, found ")
         << getSrcs().getTypes() << " for " << func.getFunctionType();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto func = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!func)
    return emitOpError("expects a function of this text, found none named ")
           << getCalleeAttr();
  if (func.getArgumentTypes() == getOperandTypes() &&
      func.getResultTypes() == getResultTypes())
    return success();
  return emitOpError("expects operands and results of ")
         << func.getFunctionType();
}

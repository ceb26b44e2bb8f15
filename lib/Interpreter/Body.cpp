//===- Body.cpp - the body of a loop nest ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Evaluator.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

unsigned Body::numberOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, rows.size());
  if (!isNew)
    return entry->second;
  Tensor &row = rows.emplace_back(kRowLength, isFloat(value.getType()));
  auto scalar = uniform.find(value);
  if (scalar == uniform.end())
    return entry->second;
  if (row.isFloat)
    row.floats.assign(kRowLength, scalar->second.floats[0]);
  else
    row.ints.assign(kRowLength, scalar->second.ints[0]);
  return entry->second;
}

llvm::Error Body::addInstruction(Operation *op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  auto isTensor = [](Type type) { return isa<ShapedType>(type); };
  std::optional<Elementwise> function;
  if (!extract && op->getNumResults() == 1 &&
      llvm::none_of(op->getOperandTypes(), isTensor))
    function = findElementwise(op);
  if (!extract && !function)
    return located(op, notEvaluated(op));
  Instruction instruction;
  instruction.op = op;
  instruction.function = function.value_or(Elementwise());
  if (extract)
    instruction.source = &uniform.find(extract.getTensor())->second;
  for (Value operand : extract ? extract.getIndices() : op->getOperands())
    instruction.operands.push_back(numberOf(operand));
  instruction.result = numberOf(op->getResult(0));
  instruction.rounding = roundingOf(op->getResult(0).getType(), precision);
  instructions.push_back(std::move(instruction));
  return llvm::Error::success();
}

llvm::Error Body::add(Block &block) {
  for (Operation &op : block.without_terminator()) {
    bool isUniform = op.getNumResults() && uniform.contains(op.getResult(0));
    if (isUniform || isa<linalg::IndexOp>(op)) // an input
      continue;
    if (llvm::Error error = addInstruction(&op))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Body::run(int64_t count) {
  for (const Instruction &instruction : instructions) {
    SmallVector<ConstRow, 3> operands;
    for (unsigned number : instruction.operands)
      operands.push_back(rows[number]);
    Tensor &result = rows[instruction.result];
    if (!instruction.source) {
      instruction.function.apply(operands, result, count);
    } else if (llvm::Error error =
                   gather(*instruction.source, operands, result, count)) {
      return located(instruction.op, std::move(error));
    }
    if (result.isFloat)
      roundAll(MutableArrayRef(result.floats).take_front(count),
               instruction.rounding);
  }
  return llvm::Error::success();
}

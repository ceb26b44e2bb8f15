//===- Call.cpp - a function's arguments and results ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "mlir/Support/DebugStringHelper.h"

#include <cstring>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

static Tensor importTensor(const HostTensor &tensor, bool isFloat) {
  Tensor result(tensor.sizes(), isFloat);
  size_t n = 0;
  tensor.forEach([&](char *p) {
    double x = loadElement(p, tensor.type());
    if (isFloat)
      result.floats[n++] = x;
    else if (tensor.type() == ElementType::I64) // a double holds not all
      std::memcpy(&result.ints[n++], p, sizeof(int64_t));
    else
      result.ints[n++] = static_cast<int64_t>(x);
  });
  return result;
}

static Tensor importScalar(double value, bool isFloat) {
  Tensor result(ArrayRef<int64_t>{}, isFloat);
  if (isFloat)
    result.floats[0] = value;
  else
    result.ints[0] = static_cast<int64_t>(value);
  return result;
}

static llvm::Error checkArgument(BlockArgument argument,
                                 const InterpreterValue &value) {
  Type type = argument.getType();
  const auto *tensor = std::get_if<HostTensor>(&value);
  ArrayRef<int64_t> sizes = tensor ? tensor->sizes() : ArrayRef<int64_t>();
  if (isa<RankedTensorType>(type) == (tensor != nullptr) &&
      hasType(sizes, type))
    return llvm::Error::success();
  return llvm::createStringError(
      "argument " + llvm::Twine(argument.getArgNumber()) + ": expected " +
      debugString(type) + ", found " +
      (tensor ? "a tensor of " + formatSizes(sizes) : "a number"));
}

llvm::Error interp::checkArguments(func::FuncOp function,
                                   ArrayRef<InterpreterValue> arguments) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError("@" + function.getSymName() + ": " + what);
  };
  if (arguments.size() != function.getNumArguments())
    return fail("expected " + llvm::Twine(function.getNumArguments()) +
                " arguments, found " + llvm::Twine(arguments.size()));
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
    if (llvm::Error error = checkArgument(argument, value))
      return fail(toString(std::move(error)));
  return llvm::Error::success();
}

void Evaluator::import(BlockArgument argument, const InterpreterValue &value) {
  bool isFloat = interp::isFloat(argument.getType());
  const auto *tensor = std::get_if<HostTensor>(&value);
  values[argument] = tensor ? importTensor(*tensor, isFloat)
                            : importScalar(std::get<double>(value), isFloat);
}

static llvm::Expected<HostTensor> exportTensor(const Tensor &tensor) {
  auto result = HostTensor::create(ElementType::F64, tensor.sizes);
  if (!result)
    return result;
  auto *data = static_cast<double *>(result->data());
  for (int64_t n = 0, e = tensor.count(); n < e; ++n)
    data[n] =
        tensor.isFloat ? tensor.floats[n] : static_cast<double>(tensor.ints[n]);
  return result;
}

llvm::Expected<std::vector<HostTensor>>
Evaluator::run(func::FuncOp function, ArrayRef<InterpreterValue> arguments) {
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
    import(argument, value);
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (llvm::Error error = evaluate(&op))
      return error;
    releaseOperands(&op);
  }
  std::vector<HostTensor> results;
  for (Value result : body.getTerminator()->getOperands()) {
    auto exported = exportTensor(get(result));
    if (!exported)
      return exported.takeError();
    results.push_back(*exported);
  }
  return results;
}

/// Forgets what nothing after `op` reads: scores are large.
void Evaluator::releaseOperands(Operation *op) {
  for (Value operand : op->getOperands())
    if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
          Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
          return here && (here == op || here->isBeforeInBlock(op));
        }))
      values.erase(operand);
}

//===- SiteCalls.cpp - calls of the emulator in a kernel ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SiteCalls.h"

using namespace mlir;
using namespace fa;

static constexpr int64_t kSlotBytes = 8;

/// The file and place at the bottom of `location`; of a program that was not
/// read from a file, `otherwise`.
static std::string formatLocation(Location location, std::string otherwise) {
  std::string text = std::move(otherwise);
  location->walk([&](Location at) {
    auto file = dyn_cast<FileLineColLoc>(at);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

LLVM::LLVMFuncOp SiteCalls::declare(StringRef name, Type type) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(b, name, type);
}

Value SiteCalls::slot(int64_t number) {
  if (!number)
    return thread;
  return LLVM::GEPOp::create(
      b, thread.getType(), b.getI8Type(), thread,
      ArrayRef<LLVM::GEPArg>{int32_t(number * kSlotBytes)});
}

/// Slots are where no long vector would begin by itself; 0: as the type has it.
static unsigned alignmentOf(Type type) {
  return isa<VectorType>(type) ? kSlotBytes : 0;
}

/// Each operand begins in a slot of its own.
void SiteCalls::storeOperands(ValueRange operands) {
  int64_t next = 0;
  for (Value operand : operands) {
    if (operand.getType().isInteger(1))
      operand = LLVM::ZExtOp::create(b, b.getI32Type(), operand);
    int64_t bytes = isa<LLVM::LLVMPointerType>(operand.getType())
                        ? kSlotBytes
                        : layout.getTypeSize(operand.getType()).getFixedValue();
    LLVM::StoreOp::create(b, operand, slot(next),
                          alignmentOf(operand.getType()));
    next += llvm::divideCeil(bytes, kSlotBytes);
  }
}

/// What the emulator left in the slots: the fields of a struct one a slot,
/// anything else from the first on.
Value SiteCalls::loadResult(Type type) {
  if (auto fields = dyn_cast<LLVM::LLVMStructType>(type)) {
    Value result = LLVM::PoisonOp::create(b, type);
    for (auto [n, field] : llvm::enumerate(fields.getBody())) {
      Value loaded = LLVM::LoadOp::create(b, field, slot(n));
      result = LLVM::InsertValueOp::create(b, result, loaded, n);
    }
    return result;
  }
  if (!type.isInteger(1))
    return LLVM::LoadOp::create(b, type, slot(0), alignmentOf(type));
  Value word = LLVM::LoadOp::create(b, b.getI32Type(), slot(0));
  return LLVM::TruncOp::create(b, type, word);
}

/// The number of a new entry for `op`.
Value SiteCalls::addSite(Operation *op, StringRef name,
                         ArrayRef<int64_t> attributes) {
  auto number = b.getI32IntegerAttr(int32_t(sites.size()));
  std::string place = formatLocation(
      op->getLoc(),
      ("@" + kernel.getSymName() + ", operation " + Twine(sites.size())).str());
  SmallVector<Attribute> numbers;
  for (int64_t attribute : attributes)
    numbers.push_back(b.getI64IntegerAttr(attribute));
  sites.push_back(b.getArrayAttr(
      {b.getStringAttr(name.empty() ? op->getName().getStringRef() : name),
       b.getStringAttr(place), b.getArrayAttr(numbers)}));
  return LLVM::ConstantOp::create(b, b.getI32Type(), number);
}

void SiteCalls::insertCall(Operation *op, StringRef function,
                           ValueRange operands, ArrayRef<int64_t> attributes,
                           StringRef name) {
  storeOperands(operands);
  Value site = addSite(op, name, attributes);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  {thread.getType(), b.getI32Type()});
  LLVM::CallOp::create(b, declare(function, type), ValueRange{thread, site});
}

LogicalResult SiteCalls::call(Operation *op, StringRef function,
                              ValueRange operands,
                              ArrayRef<int64_t> attributes) {
  insertCall(op, function, operands, attributes);
  if (op->getNumResults() == 1)
    op->getResult(0).replaceAllUsesWith(loadResult(op->getResult(0).getType()));
  else
    for (auto [n, result] : llvm::enumerate(op->getResults()))
      result.replaceAllUsesWith(
          LLVM::LoadOp::create(b, result.getType(), slot(int64_t(n))));
  op->erase();
  return success();
}

LogicalResult SiteCalls::callNamed(Operation *op, StringRef name,
                                   StringRef function, ValueRange operands,
                                   ArrayRef<int64_t> attributes) {
  insertCall(op, function, operands, attributes, name);
  op->erase();
  return success();
}

LogicalResult SiteCalls::callPure(Operation *op, StringRef function) {
  Type result = op->getResult(0).getType();
  // Pairs of 16 bits travel as words.
  bool isPair = isa<VectorType>(result);
  auto type = LLVM::LLVMFunctionType::get(
      isPair ? b.getI32Type() : result, llvm::to_vector(op->getOperandTypes()));
  Value value =
      LLVM::CallOp::create(b, declare(function, type), op->getOperands())
          .getResult();
  if (isPair)
    value = LLVM::BitcastOp::create(b, result, value);
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

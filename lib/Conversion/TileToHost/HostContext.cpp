//===- HostContext.cpp - loops, numbers and types of lowerings ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostContext.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

HostContext::HostContext(tile::KernelOp kernel, const VectorShape &shape)
    : kernel(kernel), shape(shape), b(kernel.getLoc(), kernel.getContext()) {}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void HostContext::forRowBlocks(int64_t rows,
                               llvm::function_ref<void(Value, int64_t)> body,
                               Value end) {
  int64_t total = paddedRows(rows) / lanes();
  // Blocks of nearly equal width: one of a single vector would load as much of
  // the other operand as a wide one. Tiles are multiplied two vectors at a
  // time.
  int64_t blocksWanted = llvm::divideCeil(total, shape.maxVectors);
  int64_t even = llvm::divideCeil(total, blocksWanted);
  int64_t vectors =
      std::min<int64_t>(total, llvm::alignTo(even, tiles ? 2 : 1));
  int64_t blocks = total / vectors, rest = total % vectors;
  if (blocks == 1) {
    body(constantIndex(0), vectors);
  } else {
    Value all = constantIndex(blocks * vectors * lanes());
    auto loop =
        scf::ForOp::create(b, constantIndex(0),
                           end ? b.createOrFold<arith::MinSIOp>(all, end) : all,
                           constantIndex(vectors * lanes()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), vectors);
  }
  if (rest)
    body(constantIndex(blocks * vectors * lanes()), rest);
}

void HostContext::forLiveRows(int64_t rows, int64_t step,
                              llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, constantIndex(0),
                                 liveRows ? liveRows : constantIndex(rows),
                                 constantIndex(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value> HostContext::forVectors(
    int64_t columns, ValueRange carried,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(columns),
                                 constantIndex(lanes()), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!next.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Numbers and types
//===----------------------------------------------------------------------===//

Value HostContext::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value HostContext::constantVector(double value) {
  VectorType type = vectorType(b.getF32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

Value HostContext::addIndex(Value base, int64_t offset) {
  if (offset == 0)
    return base;
  return arith::AddIOp::create(b, base, constantIndex(offset));
}

VectorType HostContext::vectorType(Type element) {
  return VectorType::get({lanes()}, element);
}

Type HostContext::computeType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Type(b.getF32Type()) : element;
}

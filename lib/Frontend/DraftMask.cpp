//===- DraftMask.cpp - which keys of a draft each query sees --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last keys are the draft's, as many as there are queries; whether query i
// sees the n-th of them is bit n mod 32 of word n / 32 of its row. That all
// keys before them are seen is a bound, so that loops over keys look at bits
// in their last tiles alone.
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/ModifyAttention.h"

#include "OneAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;

namespace {

/// Builds the mask of one element in front of the region's terminator.
class DraftMaskBuilder {
public:
  DraftMaskBuilder(tile::AttentionOp op, const AttentionProblem &p)
      : op(op), p(p), function(op->getParentOfType<func::FuncOp>()),
        outside(op.getLoc(), op), b(op.getLoc(), op.getContext()),
        block(openRegion(op, op.getMask(), /*takesScore=*/false)) {}

  void build() {
    b.setInsertionPoint(block.getTerminator());
    Value batch = block.getArgument(0), query = block.getArgument(2),
          key = block.getArgument(3);
    Value before =
        arith::SubIOp::create(b, countKeys(batch), countQueries(batch));
    Value isBefore =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, before);
    Value isDrafted =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, before);
    Value number = arith::SubIOp::create(b, key, before);
    number = arith::MaxSIOp::create(b, number, index(0));
    Value word =
        read(batch, query, arith::DivUIOp::create(b, number, index(32)));
    Value bit = arith::IndexCastOp::create(
        b, b.getI32Type(), arith::RemUIOp::create(b, number, index(32)));
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    word = arith::AndIOp::create(b, word, arith::ShLIOp::create(b, one, bit));
    Value isSet =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, zero);
    isSet = arith::AndIOp::create(b, isDrafted, isSet);
    Value sees = arith::OrIOp::create(b, isBefore, isSet);
    Operation *yield = block.getTerminator();
    yield->setOperand(0, arith::AndIOp::create(b, yield->getOperand(0), sees));
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// Argument `fromEnd` of the function, counted from the last one, which is
  /// the scale.
  Value argument(unsigned fromEnd) {
    return function.getArgument(function.getNumArguments() - 1 - fromEnd);
  }
  /// `value` of the function, in the region.
  Value capture(Value value) {
    unsigned leading = block.getNumArguments() - op.getCaptures().size();
    for (auto [n, known] : llvm::enumerate(op.getCaptures()))
      if (known == value)
        return block.getArgument(leading + n);
    op.getCapturesMutable().append(value);
    for (Region *region : {&op.getScore(), &op.getMask()})
      if (!region->empty())
        region->addArgument(value.getType(), value.getLoc());
    return block.getArguments().back();
  }
  Value element(Value tensor, ValueRange at) {
    Value read = tensor::ExtractOp::create(b, capture(tensor), at);
    return arith::IndexCastOp::create(b, b.getIndexType(), read);
  }
  Value sizeOf(Value tensor, int64_t dim) {
    return capture(tensor::DimOp::create(outside, tensor, dim));
  }

  //===--- Arguments: words are behind scales, these behind the table ---===//
  unsigned tableNumber() const {
    return 2 + 2 * p.hasScales + p.hasQueryScales;
  }
  Value keyOffsets() { return argument(tableNumber() + (p.page != 0)); }
  Value offsets() {
    return argument(tableNumber() + (p.page != 0) + p.hasKeyOffsets);
  }
  Value lengths() {
    unsigned behind = (p.dropout != 0) + p.sink + 2 * p.documents;
    return argument(tableNumber() + (p.page != 0) + p.hasKeyOffsets +
                    p.hasOffsets + behind);
  }

  Value countOf(Value offsets, Value batch) {
    Value next = arith::AddIOp::create(b, batch, index(1));
    Value end = element(offsets, next), first = element(offsets, batch);
    return arith::SubIOp::create(b, end, first);
  }
  Value countQueries(Value batch) {
    return p.hasOffsets ? countOf(offsets(), batch) : sizeOf(op.getQ(), 2);
  }
  /// As a causal mask has it: of pages each sequence's own.
  Value countKeys(Value batch) {
    if (p.hasKeyOffsets)
      return countOf(keyOffsets(), batch);
    return p.page ? element(lengths(), batch) : sizeOf(op.getK(), 2);
  }

  Value read(Value batch, Value query, Value word) {
    Value words = capture(argument(1));
    SmallVector<Value> at = {batch, query, word};
    if (p.hasOffsets)
      at = {arith::AddIOp::create(b, element(offsets(), batch), query), word};
    return tensor::ExtractOp::create(b, words, at);
  }

  tile::AttentionOp op;
  const AttentionProblem &p;
  func::FuncOp function;
  ImplicitLocOpBuilder outside, b; ///< in front of the attention, in its mask
  Block &block;
};

} // namespace

llvm::Error fa::addDraftMask(ModuleOp module, const AttentionProblem &problem) {
  auto op = findAttention(module);
  if (!op)
    return op.takeError();
  DraftMaskBuilder(*op, problem).build();
  return llvm::Error::success();
}

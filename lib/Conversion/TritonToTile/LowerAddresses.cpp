//===- LowerAddresses.cpp - pointers, block pointers, descriptors ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

using namespace mlir;
using namespace fa;

FailureOr<Addresses> TritonLowering::findAddresses(Operation *user,
                                                   Value source) {
  auto known = addresses.find(source);
  if (known != addresses.end())
    return known->second;
  return refuse(user, "its addresses do not come from an argument by steps "
                      "that are known");
}

FailureOr<TensorBlock> TritonLowering::findBlock(Operation *user,
                                                 Value source) {
  auto known = blocks.find(source);
  if (known != blocks.end())
    return known->second;
  return refuse(user, "it is not known which block of which argument it means");
}

LogicalResult TritonLowering::lowerAddPtr(triton::AddPtrOp op) {
  FailureOr<Addresses> from = findAddresses(op, op.getPtr());
  if (failed(from))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  std::optional<AffineTile> offsets = findAffine(op.getOffset());
  if (!offsets && !isa<RankedTensorType>(op.getOffset().getType())) {
    FailureOr<Value> index = getIndex(op, op.getOffset());
    if (failed(index))
      return failure();
    offsets = AffineTile{*index, {}};
  }
  if (offsets && !from->unordered) {
    addresses[op] = {from->memory, math.add(from->offsets, *offsets), {}};
    return success();
  }
  // Offsets that follow no steps.
  auto type = RankedTensorType::get(shape, b.getIndexType());
  Value before = from->unordered
                     ? from->unordered
                     : materialize(from->offsets, shape, b.getIndexType());
  Value further;
  if (offsets) {
    further = materialize(*offsets, shape, b.getIndexType());
  } else {
    FailureOr<Value> tile = get(op, op.getOffset());
    if (failed(tile))
      return failure();
    further = arith::IndexCastOp::create(b, type, *tile);
  }
  addresses[op] = {from->memory, {}, arith::AddIOp::create(b, before, further)};
  return success();
}

LogicalResult TritonLowering::lowerMakeTensorPtr(triton::MakeTensorPtrOp op) {
  FailureOr<Addresses> base = findAddresses(op, op.getBase());
  if (failed(base))
    return failure();
  TensorBlock block = {base->memory, base->offsets.base, {}, {}, {}, false};
  auto append = [&](ValueRange from, SmallVector<Value> &to) {
    for (Value value : from) {
      FailureOr<Value> index = getIndex(op, value);
      if (failed(index))
        return false;
      to.push_back(*index);
    }
    return true;
  };
  if (!append(op.getShape(), block.sizes) ||
      !append(op.getStrides(), block.strides) ||
      !append(op.getOffsets(), block.offsets))
    return failure();
  auto type = dyn_cast<RankedTensorType>(op.getType().getPointeeType());
  if (!type || type.getRank() != static_cast<int64_t>(block.sizes.size()))
    return refuse(op, "expected a block with a dimension for each of ")
           << block.sizes.size() << " sizes, found "
           << op.getType().getPointeeType();
  blocks[op] = block;
  return success();
}

LogicalResult TritonLowering::lowerAdvance(triton::AdvanceOp op) {
  FailureOr<TensorBlock> block = findBlock(op, op.getPtr());
  if (failed(block))
    return failure();
  if (block->offsets.size() != op.getOffsets().size())
    return refuse(op, "expected a step for each of ")
           << block->offsets.size() << " dimensions of the block, found "
           << op.getOffsets().size();
  for (auto [at, step] : llvm::zip_equal(block->offsets, op.getOffsets())) {
    FailureOr<Value> index = getIndex(op, step);
    if (failed(index))
      return failure();
    at = math.add(at, *index);
  }
  blocks[op] = *block;
  return success();
}

LogicalResult TritonLowering::lowerMakeDescriptor(triton::MakeTensorDescOp op) {
  FailureOr<Addresses> base = findAddresses(op, op.getBase());
  if (failed(base))
    return failure();
  TensorBlock block = {base->memory, base->offsets.base, {}, {}, {}, false};
  block.padsWithNan = op.getPadding() == 2;
  for (auto [size, stride] : llvm::zip_equal(op.getShape(), op.getStrides())) {
    FailureOr<Value> s = getIndex(op, size), t = getIndex(op, stride);
    if (failed(s) || failed(t))
      return failure();
    block.sizes.push_back(*s);
    block.strides.push_back(*t);
  }
  if (block.sizes.size() !=
      static_cast<size_t>(op.getType().getBlock().getRank()))
    return refuse(op, "expected a block with a dimension for each of ")
           << block.sizes.size() << " sizes, found " << op.getType();
  blocks[op] = block;
  return success();
}

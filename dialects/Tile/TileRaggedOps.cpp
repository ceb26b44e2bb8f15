//===- TileRaggedOps.cpp - sequences packed into one tensor ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa::tile;

/// How many sequences `offsets` bound; dynamic if that is not known.
static int64_t countSequences(Value offsets) {
  int64_t count = cast<RankedTensorType>(offsets.getType()).getDimSize(0);
  return ShapedType::isDynamic(count) ? count : count - 1;
}

/// Checks that there is an offset at least, and that `packed` has heads and
/// rows.
static LogicalResult verifyPacking(Operation *op, Value offsets,
                                   RankedTensorType packed) {
  if (cast<RankedTensorType>(offsets.getType()).getDimSize(0) == 0)
    return op->emitOpError("expects one offset more than there are sequences, "
                           "found ")
           << offsets.getType();
  if (packed.getRank() < 2)
    return op->emitOpError("expects packed rows of rank 2 or more, [heads, "
                           "rows, ..], found ")
           << packed;
  return success();
}

LogicalResult RaggedOp::verify() {
  auto rows = cast<RankedTensorType>(getRows().getType());
  if (failed(verifyPacking(*this, getOffsets(), rows)))
    return failure();
  auto sizes = llvm::to_vector(rows.getShape());
  sizes.insert(sizes.begin(), countSequences(getOffsets()));
  return verifyResult(*this, getType(), sizes, rows.getElementType());
}

LogicalResult PackOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyPacking(*this, getOffsets(), getType())))
    return failure();
  int64_t count = countSequences(getOffsets());
  if (input.getRank() != getType().getRank() + 1 ||
      !sameSize(input.getDimSize(0), count))
    return emitOpError("expects a batch of as many sequences as ")
           << getOffsets().getType() << " bounds, of one dimension more than "
           << getType() << ", found " << input;
  return verifyResult(*this, getType(), input.getShape().drop_front(),
                      input.getElementType());
}

std::pair<Value, Value> SequenceOfOp::search(ImplicitLocOpBuilder &b,
                                             Value slot, Value offsets,
                                             int64_t rows) {
  constexpr int64_t kStride = 32;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto firstOf = [&](Value sequence) -> Value {
    Value offset = memref::LoadOp::create(b, offsets, sequence);
    offset = arith::IndexCastOp::create(b, b.getIndexType(), offset);
    Value tiles = arith::DivUIOp::create(b, offset, index(rows));
    return arith::AddIOp::create(b, tiles, sequence);
  };
  // The last sequence that has begun of every `step`-th one from `begin` on,
  // else `known`; behind each its first slot.
  auto search = [&](Value begin, Value end, int64_t step,
                    ValueRange known) -> ValueRange {
    auto loop = scf::ForOp::create(b, begin, end, index(step), known);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sequence = loop.getInductionVar(), first = firstOf(sequence);
    Value isBegun =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ule, first, slot);
    auto before = loop.getRegionIterArgs();
    Value last = arith::SelectOp::create(b, isBegun, sequence, before[0]);
    Value itsFirst = arith::SelectOp::create(b, isBegun, first, before[1]);
    scf::YieldOp::create(b, ValueRange{last, itsFirst});
    return loop.getResults();
  };
  // Loads of two loops do not wait for each other, as those of a binary search
  // would.
  Value zero = index(0);
  Value count =
      arith::SubIOp::create(b, memref::DimOp::create(b, offsets, 0), index(1));
  ValueRange coarse =
      search(index(kStride), count, kStride, {zero, firstOf(zero)});
  Value next = arith::AddIOp::create(b, coarse[0], index(1));
  Value end = arith::AddIOp::create(b, coarse[0], index(kStride));
  end = arith::MinSIOp::create(b, end, count);
  ValueRange found = search(next, end, /*step=*/1, coarse);
  return {found[0], found[1]};
}

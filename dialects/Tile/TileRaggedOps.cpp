//===- TileRaggedOps.cpp - sequences packed into one tensor ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

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

//===- TileVerify.cpp - checks that several verifiers share ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "Tile/Dropout.h"

using namespace mlir;

LogicalResult fa::tile::verifyDim(Operation *op, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError("expects a dimension between 0 and ")
         << rank - 1 << ", found " << dim;
}

LogicalResult fa::tile::verifyResult(Operation *op, RankedTensorType found,
                                     ArrayRef<int64_t> sizes,
                                     Type elementType) {
  bool fits = found.getElementType() == elementType &&
              found.getRank() == static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; fits && d < found.getRank(); ++d)
    fits = sameSize(found.getDimSize(d), sizes[d]);
  if (fits)
    return success();
  return op->emitOpError("expects a result of type ")
         << RankedTensorType::get(sizes, elementType) << ", found " << found;
}

LogicalResult fa::tile::verifySizeOperands(Operation *op, RankedTensorType type,
                                           ValueRange sizes) {
  if (type.getNumDynamicDims() == sizes.size())
    return success();
  return op->emitOpError("expects a size for each of the ")
         << type.getNumDynamicDims() << " dynamic dimensions of " << type
         << ", found " << sizes.size();
}

LogicalResult fa::tile::verifyDropout(Operation *op, Value rng,
                                      FloatAttr probability) {
  if (!rng && !probability)
    return success();
  if (!rng || !probability)
    return op->emitOpError("expects 'rng' and 'probability' together");
  auto expected =
      RankedTensorType::get({2}, IntegerType::get(op->getContext(), 64));
  if (rng.getType() != expected)
    return op->emitOpError("expects a seed and an offset of type ")
           << expected << ", found " << rng.getType();
  double value = probability.getValueAsDouble();
  int64_t threshold =
      value >= 0 && value <= 1 ? dropoutThreshold(probability) : 0;
  if (threshold < 1 || threshold > 65535)
    return op->emitOpError("expects a probability of dropout from 1 to 65535 "
                           "of 65536, rounded, found ")
           << value;
  return success();
}

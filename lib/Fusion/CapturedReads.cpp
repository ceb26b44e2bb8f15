//===- CapturedReads.cpp - how regions read captured tensors --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CapturedReads.h"
#include "ElementReads.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Whether the view is the whole argument as it is.
static bool isWhole(const ArgumentView &view, const RankedTensorType &type) {
  if (int64_t(view.dims.size()) != type.getRank())
    return false;
  return llvm::all_of(llvm::enumerate(view.dims), [](auto entry) {
    return entry.value().unitDim == int64_t(entry.index());
  });
}

/// Whether a tile of scores reads a tile of what `extract` reads.
static bool readsTile(tensor::ExtractOp extract) {
  auto indices = extract.getIndices();
  auto of = [&](int64_t coordinate) {
    return llvm::count_if(indices, [&](Value index) {
      return getCoordinate(index) == coordinate;
    });
  };
  Type element = extract.getType();
  bool isKnown = element.isF16() || element.isBF16() || element.isF32() ||
                 element.isInteger(1);
  return isKnown && readsInBounds(extract) && of(2) == 1 && of(3) == 1 &&
         getCoordinate(indices.back()) == 3;
}

/// Whether `extract` reads a number for each query or for each key.
static bool readsNumber(tensor::ExtractOp extract) {
  int64_t coordinate = extract.getIndices().size() == 1
                           ? getCoordinate(extract.getIndices().front())
                           : -1;
  return (coordinate == 2 || coordinate == 3) &&
         (extract.getType().isInteger(32) || extract.getType().isInteger(64));
}

/// The captured tensors that the score or mask region reads so.
static SmallVector<const ArgumentView *>
findCaptures(const AttentionFunction &source,
             llvm::function_ref<bool(tensor::ExtractOp)> reads) {
  OnlineAttentionOp attention = source.attention;
  SmallVector<const ArgumentView *> found;
  for (Region *region : {&attention.getScore(), &attention.getMask()})
    region->walk([&](tensor::ExtractOp extract) {
      unsigned leading =
          region->getNumArguments() - attention.getCaptures().size();
      unsigned number =
          cast<BlockArgument>(extract.getTensor()).getArgNumber() - leading;
      auto captures = attention.getCaptures().take_front(number);
      const ArgumentView *view =
          &source.captures[llvm::count_if(captures, [](Value capture) {
            return isa<TensorType>(capture.getType());
          })];
      if (reads(extract) && !llvm::is_contained(found, view) &&
          isWhole(*view, extract.getTensor().getType()))
        found.push_back(view);
    });
  return found;
}

SmallVector<const ArgumentView *>
fa::scoreTiles(const AttentionFunction &source) {
  return findCaptures(source, readsTile);
}

SmallVector<const ArgumentView *>
fa::rowNumbers(const AttentionFunction &source) {
  return findCaptures(source, readsNumber);
}

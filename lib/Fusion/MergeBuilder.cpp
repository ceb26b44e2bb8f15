//===- MergeBuilder.cpp - the kernel that merges splits of the keys -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program owns a few rows and a few columns of the output. It goes through
// the splits in order, so that the bits of the result depend on their number
// alone, and on a GPU asks for several splits' numbers before it merges the
// first: what takes time is the way to memory.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "WorkspaceSignature.h"

#include "fa/Support/LaunchLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Rows of a program's tile where it merges whole ones.
static constexpr int64_t kWideRows = 16;

static int64_t outputColumns(const AttentionFunction &source) {
  OnlineAttentionOp attention = source.attention;
  return cast<RankedTensorType>(attention.getAccOut().getType()).getDimSize(3);
}

namespace {

class MergeBuilder : ProgramBuilder {
public:
  using ProgramBuilder::ProgramBuilder;

  KernelOp build(StringRef name, StringRef entry) {
    beginKernel(name, entry);
    inBounds = shape.rows == 1 && outputColumns(source) % shape.columns == 0;
    Value id = ProgramIdOp::create(b, 0);
    Value tiles = index(countColumnTiles(source, shape));
    Value columnTile = arith::RemUIOp::create(b, id, tiles);
    column = arith::MulIOp::create(b, columnTile, index(shape.columns));
    findRows(arith::DivUIOp::create(b, id, tiles));
    Value splits = countSplits(), first = index(0);
    SmallVector<Value> state = initialState(shape.columns, /*withSink=*/true);
    if (!shape.wideMerge) {
      for (int64_t step = shape.mergeAhead; step > 1; step /= 2) {
        Value whole = arith::MulIOp::create(
            b, arith::DivUIOp::create(b, splits, index(step)), index(step));
        state = mergeSplits(first, whole, step, state);
        first = whole;
      }
    }
    state = mergeSplits(first, splits, 1, state);
    auto finalize = OnlineFinalizeOp::create(
        b, TypeRange{state[0].getType(), state[1].getType()}, state[0],
        state[1], state[2]);
    storeResults(finalize, column);
    tile::ReturnOp::create(b);
    return kernel;
  }

private:
  /// What one split left of this program's rows.
  struct Partial {
    Value output, max, logSum;
  };

  Partial load(Value split) {
    auto rows = tile({shape.rows}, b.getF32Type());
    auto block = tile({shape.rows, shape.columns}, b.getF32Type());
    auto load = [&](unsigned number, RankedTensorType type, ValueRange at) {
      return LoadOp::create(b, type, partialView(number, split), at, inBounds);
    };
    return {load(0, block, {tileStart, column}), load(1, rows, tileStart),
            load(2, rows, tileStart)};
  }

  /// Splits `begin` to `end`, `step` in an iteration.
  SmallVector<Value> mergeSplits(Value begin, Value end, int64_t step,
                                 ValueRange state) {
    auto loop = scf::ForOp::create(b, begin, end, index(step), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Partial> partials;
    for (int64_t n = 0; n < step; ++n)
      partials.push_back(
          load(arith::AddIOp::create(b, loop.getInductionVar(), index(n))));
    SmallVector<Value> merged(loop.getRegionIterArgs());
    for (const Partial &partial : partials) {
      auto merge = OnlineMergeOp::create(
          b, TypeRange(ValueRange(merged)), merged[0], merged[1], merged[2],
          partial.output, partial.max, partial.logSum);
      merged.assign(merge->result_begin(), merge->result_end());
    }
    scf::YieldOp::create(b, merged);
    return SmallVector<Value>(loop.getResults());
  }

  Value column;          ///< of the output where the tile begins
  bool inBounds = false; ///< no tile reaches beyond the output
};

} // namespace

KernelOp fa::buildMergeKernel(OpBuilder &b, AttentionFunction source,
                              const KernelShape &of, StringRef name,
                              KernelOp first) {
  OpBuilder::InsertionGuard guard(b);
  KernelShape shape = of;
  shape.part = KernelShape::Merge;
  // What splits leave lies by heads and queries, however tiles had them.
  if (shape.pack == KernelShape::Queries)
    shape.pack = KernelShape::OneHead;
  shape.parts = 1;
  shape.fewPrograms = 0;
  shape.fewerRows = shape.halfRows = false;
  shape.price.reset();
  int64_t columns = outputColumns(source);
  shape.rows = shape.wideMerge ? kWideRows : 1;
  shape.columns =
      shape.wideMerge
          ? columns
          : std::min<int64_t>(llvm::PowerOf2Ceil(columns), kMergeColumns);
  KernelOp merge =
      MergeBuilder(b, source, shape).build(name, first.getEntryName());
  // Of a decode it pays where a row is all of a warp's columns.
  bool isOneTile = columns <= kMergeColumns && shape.columns == kMergeColumns;
  if (of.pack == KernelShape::OneHead || of.fewerRows ||
      (of.pack == KernelShape::Heads && isOneTile && !of.wideMerge))
    merge->setAttr(KernelOp::warpRowsAttrName, b.getUnitAttr());
  merge->setAttr(KernelOp::followsAttrName,
                 FlatSymbolRefAttr::get(first.getSymNameAttr()));
  return merge;
}

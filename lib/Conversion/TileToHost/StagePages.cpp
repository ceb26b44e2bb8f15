//===- StagePages.cpp - rows in pages, side by side -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

namespace {

/// Replaces one load from a paged view.
class PageStager {
public:
  PageStager(tile::LoadOp load, tile::PagedViewOp view)
      : load(load), view(view), b(load.getLoc(), load) {}

  void run() {
    RankedTensorType type = load.getType();
    int64_t columns = cast<MemRefType>(view.getType()).getDimSize(1);
    Value copy = allocate({type.getDimSize(0), columns});
    // Rows below 0 are none of the view's and none of the copy's.
    Value zero = index(0), row = load.getIndices()[0];
    Value first = arith::MaxSIOp::create(b, row, zero);
    Value count = arith::SubIOp::create(b, view.getLength(), first);
    count = arith::MinSIOp::create(b, count, index(type.getDimSize(0)));
    count = arith::MaxSIOp::create(b, count, zero);
    copyPages(first, arith::AddIOp::create(b, first, count), copy);
    if (!load.getInBounds())
      copy = memref::SubViewOp::create(b, copy,
                                       {b.getIndexAttr(0), b.getIndexAttr(0)},
                                       {count, b.getIndexAttr(columns)},
                                       {b.getIndexAttr(1), b.getIndexAttr(1)});
    Value from = arith::MinSIOp::create(b, row, zero);
    load.getSourceMutable().assign(copy);
    load.getIndicesMutable().slice(0, 1).assign(from);
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Value allocate(ArrayRef<int64_t> sizes) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &load->getParentOfType<tile::KernelOp>().getBody().front());
    return memref::AllocaOp::create(
        b, MemRefType::get(sizes, load.getType().getElementType()));
  }

  /// Row `offsets` of `memref`, which is its last dimension.
  Value rowOf(Value memref, ArrayRef<OpFoldResult> offsets) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<OpFoldResult> sizes(offsets.size(), b.getIndexAttr(1)),
        strides(sizes);
    sizes.back() = b.getIndexAttr(type.getShape().back());
    auto row = memref::SubViewOp::inferRankReducedResultType(
        {type.getShape().back()}, type, offsets, sizes, strides);
    return memref::SubViewOp::create(b, row, memref, offsets, sizes, strides);
  }

  /// Copies rows `first` to `end` of the view, page by page.
  void copyPages(Value first, Value end, Value copy) {
    OpBuilder::InsertionGuard guard(b);
    // Of pages without rows there is none to copy, but a division is made.
    Value page = memref::DimOp::create(b, view.getPages(), 2);
    page = arith::MaxUIOp::create(b, page, index(1));
    auto overPages =
        scf::ForOp::create(b, arith::DivUIOp::create(b, first, page),
                           arith::CeilDivUIOp::create(b, end, page), index(1));
    b.setInsertionPointToStart(overPages.getBody());
    Value place = overPages.getInductionVar(), number = findPage(place);
    Value begin = arith::MulIOp::create(b, place, page);
    Value behind = arith::AddIOp::create(b, begin, page);
    auto overRows =
        scf::ForOp::create(b, arith::MaxUIOp::create(b, begin, first),
                           arith::MinUIOp::create(b, behind, end), index(1));
    b.setInsertionPointToStart(overRows.getBody());
    Value row = overRows.getInductionVar();
    Value within = arith::SubIOp::create(b, row, begin);
    Value to = arith::SubIOp::create(b, row, first);
    copyRow(rowOf(view.getPages(),
                  {number, view.getHead(), within, b.getIndexAttr(0)}),
            rowOf(copy, {to, b.getIndexAttr(0)}));
  }

  /// The page that entry `place` of the sequence names. What is no page is the
  /// last one, so that nothing else is read.
  Value findPage(Value place) {
    Value entry = memref::LoadOp::create(b, view.getTable(),
                                         ValueRange{view.getSequence(), place});
    Value number = arith::IndexCastUIOp::create(b, b.getIndexType(), entry);
    Value last = arith::SubIOp::create(
        b, Value(memref::DimOp::create(b, view.getPages(), 0)), index(1));
    return arith::MinUIOp::create(b, number, last);
  }

  void copyRow(Value from, Value to) {
    auto type = cast<MemRefType>(from.getType());
    if (type.getStridesAndOffset().first[0] == 1) {
      memref::CopyOp::create(b, from, to);
      return;
    }
    auto loop =
        scf::ForOp::create(b, index(0), index(type.getDimSize(0)), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    memref::StoreOp::create(b, Value(memref::LoadOp::create(b, from, at)), to,
                            at);
  }

  tile::LoadOp load;
  tile::PagedViewOp view;
  ImplicitLocOpBuilder b;
};

} // namespace

void fa::stagePages(tile::KernelOp kernel) {
  kernel.walk([](tile::LoadOp load) {
    if (auto view = load.getSource().getDefiningOp<tile::PagedViewOp>())
      PageStager(load, view).run();
  });
  kernel.walk([](tile::PagedViewOp view) { view.erase(); });
  kernel.walk([](tile::SlotViewOp view) {
    ImplicitLocOpBuilder b(view.getLoc(), view);
    Value part = view.expand(b, view.getPages(), view.getSlot(),
                             [&](Value next, Value count) -> Value {
                               return arith::MinUIOp::create(b, next, count);
                             });
    view.getResult().replaceAllUsesWith(part);
    view.erase();
  });
}

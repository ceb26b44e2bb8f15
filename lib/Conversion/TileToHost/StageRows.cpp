//===- StageRows.cpp - rows in pages or of 8 bits, side by side -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

namespace {

/// Elements that are widened at a time.
static constexpr int64_t kWidened = 16;

/// The type that elements of `load`, of 8 bits, are widened to by all that
/// reads them; null if it is not such a load.
static Type widenedType(tile::LoadOp load) {
  Type wide;
  if (!tile::isStorageFloat(load.getType()))
    return wide;
  for (Operation *user : load->getUsers()) {
    auto widening = dyn_cast<arith::ExtFOp>(user);
    Type element = widening ? getElementTypeOrSelf(widening.getType()) : Type();
    if (!element || (wide && wide != element))
      return Type();
    wide = element;
  }
  return wide;
}

/// Replaces one load, from a paged view if `view` is not null, whose elements
/// become `element`s.
class RowStager {
public:
  RowStager(tile::LoadOp load, tile::PagedViewOp view, Type element)
      : load(load), view(view), element(element), b(load.getLoc(), load) {}

  void run() {
    RankedTensorType type = load.getType();
    int64_t columns =
        cast<MemRefType>(load.getSource().getType()).getDimSize(1);
    Value copy = allocate({type.getDimSize(0), columns});
    // Rows below 0 are none of the view's and none of the copy's.
    Value zero = index(0), row = load.getIndices()[0];
    Value first = arith::MaxSIOp::create(b, row, zero);
    Value length = view ? view.getLength()
                        : Value(memref::DimOp::create(b, load.getSource(), 0));
    Value count = arith::SubIOp::create(b, length, first);
    count = arith::MinSIOp::create(b, count, index(type.getDimSize(0)));
    count = arith::MaxSIOp::create(b, count, zero);
    Value end = arith::AddIOp::create(b, first, count);
    if (view)
      copyPages(first, end, copy);
    else
      copyRows(first, end, copy);
    if (!load.getInBounds())
      copy = memref::SubViewOp::create(b, copy,
                                       {b.getIndexAttr(0), b.getIndexAttr(0)},
                                       {count, b.getIndexAttr(columns)},
                                       {b.getIndexAttr(1), b.getIndexAttr(1)});
    Value from = arith::MinSIOp::create(b, row, zero);
    load.getSourceMutable().assign(copy);
    load.getIndicesMutable().slice(0, 1).assign(from);
    if (element != type.getElementType())
      dropWidenings(type);
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Value allocate(ArrayRef<int64_t> sizes) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &load->getParentOfType<tile::KernelOp>().getBody().front());
    return memref::AllocaOp::create(b, MemRefType::get(sizes, element));
  }

  /// What was loaded to be widened is loaded so.
  void dropWidenings(RankedTensorType narrow) {
    load.getResult().setType(narrow.clone(element));
    for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
      user->getResult(0).replaceAllUsesWith(load.getResult());
      user->erase();
    }
  }

  /// Copies rows `first` to `end` of the source.
  void copyRows(Value first, Value end, Value copy) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, first, end, index(1));
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    Value to = arith::SubIOp::create(b, row, first);
    OpFoldResult zero = b.getIndexAttr(0);
    copyRow(rowOf(load.getSource(), {row, zero}), rowOf(copy, {to, zero}));
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
    bool isUnit = type.getStridesAndOffset().first[0] == 1;
    if (isUnit && element != type.getElementType())
      return widenRow(from, to);
    if (isUnit) {
      memref::CopyOp::create(b, from, to);
      return;
    }
    auto loop =
        scf::ForOp::create(b, index(0), index(type.getDimSize(0)), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    memref::StoreOp::create(
        b, widened(memref::LoadOp::create(b, from, at), element), to, at);
  }

  Value widened(Value x, Type type) {
    return x.getType() == type ? x : Value(arith::ExtFOp::create(b, type, x));
  }

  /// Columns in vectors, of fewer elements at the end.
  void widenRow(Value from, Value to) {
    auto type = cast<MemRefType>(from.getType());
    int64_t columns = type.getDimSize(0);
    for (int64_t at = 0, count = kWidened; at < columns; at += count) {
      while (count > columns - at)
        count /= 2;
      Value x = vector::LoadOp::create(
          b, VectorType::get({count}, type.getElementType()), from, index(at));
      vector::StoreOp::create(b, widened(x, VectorType::get({count}, element)),
                              to, index(at));
    }
  }

  tile::LoadOp load;
  tile::PagedViewOp view;
  Type element;
  ImplicitLocOpBuilder b;
};

} // namespace

void fa::stageRows(tile::KernelOp kernel) {
  SmallVector<tile::LoadOp> loads;
  kernel.walk([&](tile::LoadOp load) { loads.push_back(load); });
  for (tile::LoadOp load : loads) {
    auto view = load.getSource().getDefiningOp<tile::PagedViewOp>();
    Type wide = widenedType(load);
    if (view || (wide && load.getType().getRank() == 2))
      RowStager(load, view, wide ? wide : load.getType().getElementType())
          .run();
  }
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

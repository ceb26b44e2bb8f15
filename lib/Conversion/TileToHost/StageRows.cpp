//===- StageRows.cpp - rows that lie apart or narrow, side by side --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"

#include "Tile/GroupedRows.h"

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

/// Row `offsets` of `memref`, which is its last dimension.
static Value rowOf(ImplicitLocOpBuilder &b, Value memref,
                   ArrayRef<OpFoldResult> offsets) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<OpFoldResult> sizes(offsets.size(), b.getIndexAttr(1)),
      strides(sizes);
  sizes.back() = b.getIndexAttr(type.getShape().back());
  auto row = memref::SubViewOp::inferRankReducedResultType(
      {type.getShape().back()}, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, row, memref, offsets, sizes, strides);
}

/// A buffer of its own at the start of the kernel.
static Value allocate(ImplicitLocOpBuilder &b, Operation *user,
                      ArrayRef<int64_t> sizes, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(
      &user->getParentOfType<tile::KernelOp>().getBody().front());
  return memref::AllocaOp::create(b, MemRefType::get(sizes, element));
}

/// The first `count` rows of `copy`.
static Value firstRows(ImplicitLocOpBuilder &b, Value copy, Value count) {
  auto type = cast<MemRefType>(copy.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = {count}, strides(type.getRank(), b.getIndexAttr(1));
  for (int64_t size : type.getShape().drop_front())
    sizes.push_back(b.getIndexAttr(size));
  return memref::SubViewOp::create(b, copy, offsets, sizes, strides);
}

/// Rows of a tile of a grouped view without blocks, and where they lie.
class GroupedTile {
public:
  GroupedTile(ImplicitLocOpBuilder &b, tile::GroupedViewOp view, Value first,
              int64_t rows)
      : b(b), first(first),
        places(b, memref::DimOp::create(b, view.getHeads(), 0),
               view.getBlock()) {
    assert(!view.getBlock() && "stageRows refuses them");
    Value queries = memref::DimOp::create(b, view.getHeads(), 1);
    Value left = arith::SubIOp::create(b, places.countRows(b, queries), first);
    left = arith::MaxSIOp::create(b, left, index(0));
    count = arith::MinSIOp::create(b, left, index(rows));
  }

  /// `copy` of each, of its head and query and its number in the tile.
  void forEachRow(llvm::function_ref<void(Value, Value, Value)> copy) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, index(0), count, index(1));
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    auto place = places.find(b, arith::AddIOp::create(b, first, row));
    copy(place.head, place.query, row);
  }

  Value count; ///< rows that there are, the first of the tile

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  ImplicitLocOpBuilder &b;
  Value first;
  tile::GroupedRows places;
};

/// Replaces one load, from a view without strides if `view` is not null, whose
/// elements become `element`s.
class RowStager {
public:
  RowStager(tile::LoadOp load, Type element)
      : load(load), view(load.getSource().getDefiningOp<tile::PagedViewOp>()),
        element(element), b(load.getLoc(), load) {}

  void run() {
    if (auto grouped = load.getSource().getDefiningOp<tile::GroupedViewOp>())
      return copyGroup(grouped);
    RankedTensorType type = load.getType();
    int64_t columns =
        cast<MemRefType>(load.getSource().getType()).getDimSize(1);
    Value copy = allocate(b, load, {type.getDimSize(0), columns}, element);
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
      copy = firstRows(b, copy, count);
    readFrom(copy, arith::MinSIOp::create(b, row, zero));
  }

private:
  /// Makes it a load of `copy` from row `from` on.
  void readFrom(Value copy, Value from) {
    RankedTensorType type = load.getType();
    load.getSourceMutable().assign(copy);
    load.getIndicesMutable().slice(0, 1).assign(from);
    if (element != type.getElementType())
      dropWidenings(type);
  }

  void copyGroup(tile::GroupedViewOp grouped) {
    int64_t rows = load.getType().getDimSize(0);
    int64_t columns =
        cast<MemRefType>(load.getSource().getType()).getDimSize(1);
    Value copy = allocate(b, load, {rows, columns}, element);
    GroupedTile tile(b, grouped, load.getIndices()[0], rows);
    OpFoldResult zero = b.getIndexAttr(0);
    tile.forEachRow([&](Value head, Value query, Value row) {
      copyRow(rowOf(b, grouped.getHeads(), {head, query, zero}),
              rowOf(b, copy, {row, zero}));
    });
    readFrom(firstRows(b, copy, tile.count), index(0));
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
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
    copyRow(rowOf(b, load.getSource(), {row, zero}),
            rowOf(b, copy, {to, zero}));
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
    copyRow(rowOf(b, view.getPages(),
                  {number, view.getHead(), within, b.getIndexAttr(0)}),
            rowOf(b, copy, {to, b.getIndexAttr(0)}));
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

/// Replaces one store to a grouped view by one to a buffer, whose rows are
/// copied to where they belong.
static void stageStore(tile::StoreOp store, tile::GroupedViewOp view) {
  ImplicitLocOpBuilder b(store.getLoc(), store);
  auto type = tile::typeOf(store.getValue());
  auto memory = cast<MemRefType>(store.getDest().getType());
  SmallVector<int64_t> sizes = {type.getDimSize(0)};
  llvm::append_range(sizes, memory.getShape().drop_front());
  Value copy = allocate(b, store, sizes, type.getElementType());
  SmallVector<Value> indices(store.getIndices());
  GroupedTile tile(b, view, indices[0], sizes[0]);
  indices[0] = arith::ConstantIndexOp::create(b, 0);
  tile::StoreOp::create(b, store.getValue(), firstRows(b, copy, tile.count),
                        indices);
  OpFoldResult zero = b.getIndexAttr(0);
  tile.forEachRow([&](Value head, Value query, Value row) {
    if (sizes.size() == 2) {
      memref::CopyOp::create(b, rowOf(b, copy, {row, zero}),
                             rowOf(b, view.getHeads(), {head, query, zero}));
      return;
    }
    Value number = memref::LoadOp::create(b, copy, row);
    memref::StoreOp::create(b, number, view.getHeads(),
                            ValueRange{head, query});
  });
  store.erase();
}

LogicalResult fa::stageRows(tile::KernelOp kernel) {
  // The rows that a tile has of a block need not be its first.
  WalkResult blocks = kernel.walk([](tile::GroupedViewOp view) -> WalkResult {
    if (!view.getBlock())
      return WalkResult::advance();
    return view.emitOpError("expects rows without blocks on a CPU, found "
                            "blocks of ")
           << *view.getBlock();
  });
  if (blocks.wasInterrupted())
    return failure();
  SmallVector<tile::LoadOp> loads;
  kernel.walk([&](tile::LoadOp load) { loads.push_back(load); });
  for (tile::LoadOp load : loads) {
    bool hasStrides = !isa_and_nonnull<tile::PagedViewOp, tile::GroupedViewOp>(
        load.getSource().getDefiningOp());
    Type wide = widenedType(load);
    if (!hasStrides || (wide && load.getType().getRank() == 2))
      RowStager(load, wide ? wide : load.getType().getElementType()).run();
  }
  kernel.walk([](tile::StoreOp store) {
    if (auto view = store.getDest().getDefiningOp<tile::GroupedViewOp>())
      stageStore(store, view);
  });
  kernel.walk([](tile::PagedViewOp view) { view.erase(); });
  kernel.walk([](tile::GroupedViewOp view) { view.erase(); });
  kernel.walk([](tile::SlotViewOp view) {
    ImplicitLocOpBuilder b(view.getLoc(), view);
    Value part = view.expand(b, view.getPages(), view.getSlot(),
                             [&](Value next, Value count) -> Value {
                               return arith::MinUIOp::create(b, next, count);
                             });
    view.getResult().replaceAllUsesWith(part);
    view.erase();
  });
  return success();
}

//===- PartitionColumns.cpp - columns dealt to warpgroups -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of 64 rows by 512 columns has more registers than a warpgroup's threads
// (FlashMLA's kernels for head dimensions 576 and 512 deal them, too). Each
// consumer computes all scores, which costs a dot more but no exchange.
//
//===----------------------------------------------------------------------===//

#include "PartitionColumns.h"

#include "PartitionRows.h"
#include "TileWalk.h"

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

/// Columns of a warpgroup's dot (PTX ISA, "wgmma.mma_async").
static constexpr int64_t kMostColumns = 256;

/// How many consumers share a kernel's rows, of which there are those of one,
/// and deal the columns of dots that have more than a warpgroup's; 1: no dot
/// has so many, or there are rows for several.
static int64_t countColumnParts(KernelOp kernel, int64_t rows) {
  int64_t columns = 0;
  bool isOneGroup = true;
  kernel.walk([&](DotOp dot) {
    isOneGroup &= typeOf(dot.getResult()).getDimSize(0) == rows;
    columns = std::max(columns, typeOf(dot.getResult()).getDimSize(1));
  });
  return isOneGroup ? llvm::divideCeil(columns, kMostColumns) : 1;
}

//===----------------------------------------------------------------------===//
// Values in keys
//===----------------------------------------------------------------------===//

/// `part` without the part of another view that it is, where that leaves out
/// columns alone.
static Value peelColumns(Value view) {
  auto part = view.getDefiningOp<memref::SubViewOp>();
  if (!part || !part.hasUnitStride() || part.getDroppedDims().any() ||
      !llvm::all_of(part.getMixedOffsets(), [](OpFoldResult offset) {
        return isConstantIntValue(offset, 0);
      }))
    return view;
  for (auto [dim, size] :
       llvm::enumerate(ArrayRef(part.getMixedSizes()).drop_back())) {
    auto query = dyn_cast<Value>(size)
                     ? cast<Value>(size).getDefiningOp<memref::DimOp>()
                     : memref::DimOp();
    bool isWhole = query ? query.getSource() == part.getSource() &&
                               query.getConstantIndex() == int64_t(dim)
                         : getConstantIntValue(size) ==
                               part.getSourceType().getDimSize(dim);
    if (!isWhole)
      return view;
  }
  return part.getSource();
}

/// Whether a row of `narrow` is the first columns of the same row of `wide`.
static bool areFirstColumns(Value narrow, Value wide) {
  if (narrow == wide)
    return true;
  if (Value peeled = peelColumns(narrow); peeled != narrow)
    return areFirstColumns(peeled, wide);
  if (auto cast = narrow.getDefiningOp<memref::CastOp>())
    return areFirstColumns(cast.getSource(), wide);
  if (auto cast = wide.getDefiningOp<memref::CastOp>())
    return areFirstColumns(narrow, cast.getSource());
  if (auto pages = narrow.getDefiningOp<PagedViewOp>()) {
    auto others = wide.getDefiningOp<PagedViewOp>();
    return others &&
           pages->getOperands().drop_front() ==
               others->getOperands().drop_front() &&
           areFirstColumns(pages.getPages(), others.getPages());
  }
  auto part = narrow.getDefiningOp<memref::SubViewOp>(),
       other = wide.getDefiningOp<memref::SubViewOp>();
  return part && other && part.hasUnitStride() && other.hasUnitStride() &&
         part.getDroppedDims() == other.getDroppedDims() &&
         part.getMixedOffsets() == other.getMixedOffsets() &&
         ArrayRef(part.getMixedSizes()).drop_back() ==
             ArrayRef(other.getMixedSizes()).drop_back() &&
         areFirstColumns(part.getSource(), other.getSource());
}

/// A load beside `values` of the same rows that has its columns, too, or null.
static LoadOp findKeys(LoadOp values) {
  for (auto load : values->getBlock()->getOps<LoadOp>())
    if (load != values && load->isBeforeInBlock(values) &&
        load.getIndices() == values.getIndices() &&
        load.getInBounds() == values.getInBounds() &&
        typeOf(load).getRank() == 2 &&
        typeOf(load).getElementType() == typeOf(values).getElementType() &&
        typeOf(load).getDimSize(0) == typeOf(values).getDimSize(0) &&
        typeOf(load).getDimSize(1) >= typeOf(values).getDimSize(1) &&
        areFirstColumns(values.getSource(), load.getSource()))
      return load;
  return {};
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

namespace {

class ColumnPartitioner final : TileWalk {
public:
  ColumnPartitioner(KernelOp kernel, int64_t parts)
      : kernel(kernel), parts(parts), b(kernel.getLoc(), kernel.getContext()) {}

  std::string run() {
    kernel.walk([&](DotOp dot) {
      if (typeOf(dot.getResult()).getDimSize(1) > kMostColumns)
        addDot(dot);
    });
    walk();
    if (reason.empty())
      checkColumns();
    if (reason.empty())
      rewrite();
    return reason;
  }

private:
  void addDot(DotOp dot) {
    auto right = dot.getB().getDefiningOp<LoadOp>();
    if (dot.getTransposeB() || !right || right->getBlock() != dot->getBlock())
      return refuse(dot, "has more columns than a warpgroup's dots, and its "
                         "right operand is no load beside it");
    dots.push_back(dot);
    add(dot.getResult());
  }

  /// What has the same columns.
  void addOperands(OpResult value) override {
    Operation *op = value.getOwner();
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (!llvm::is_contained(dots, dot))
        return refuse(op, "makes some of the columns alone");
      return add(dot.getAcc());
    }
    if (auto end = dyn_cast<OnlineFinalizeOp>(op))
      return add(end.getAcc());
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      Value input = broadcast.getInput();
      return isTile(input) && typeOf(input).getDimSize(1) != 1
                 ? refuse(op, "makes columns of others")
                 : void();
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue())
                 ? void()
                 : refuse(op, "has different elements");
    if (!OpTrait::hasElementwiseMappableTraits(op))
      return refuse(op, "makes columns of others");
    llvm::for_each(op->getOperands(), [&](Value operand) { add(operand); });
  }

  void addUser(OpOperand &use) override {
    Operation *op = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(op))
      return &use == &dot.getBMutable() || use.get() == dot.getA()
                 ? refuse(op, "multiplies with columns that are dealt")
                 : add(dot.getResult());
    if (isa<StoreOp>(op))
      return;
    if (auto end = dyn_cast<OnlineFinalizeOp>(op))
      return add(end.getOutput());
    if (!OpTrait::hasElementwiseMappableTraits(op))
      return refuse(op, "makes other columns of columns");
    add(op->getResult(0));
  }

  void checkColumns() {
    columns = typeOf(dots.front().getResult()).getDimSize(1);
    for (Value value : tiles)
      if (int64_t found = typeOf(value).getDimSize(1); found != columns)
        reason = "tiles have " + std::to_string(columns) + " and " +
                 std::to_string(found) + " columns";
    // A slot has blocks of 128 bytes of each row.
    int64_t block = 1024 / typeOf(dots.front().getB()).getElementTypeBitWidth();
    if (reason.empty() && columns % (parts * block))
      reason = "tiles have " + std::to_string(columns) +
               " columns, where a multiple of " +
               std::to_string(parts * block) + " was expected";
  }

  void rewrite() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    id = ConsumerIdOp::create(b, b.getIndexType());
    first = arith::MulIOp::create(
        b, id, arith::ConstantIndexOp::create(b, columns / parts));
    kernel->setAttr(TileGPUDialect::consumersAttrName,
                    b.getI64IntegerAttr(parts));
    for (DotOp dot : dots)
      takeColumns(dot);
    for (Value value : tiles)
      narrow(value);
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) { stores.push_back(store); });
    for (StoreOp store : stores)
      tiles.contains(store.getValue()) ? shift(store) : storeOnce(store);
  }

  /// Of its right operand, as it is loaded for all consumers.
  void takeColumns(DotOp dot) {
    auto load = dot.getB().getDefiningOp<LoadOp>();
    if (LoadOp keys = findKeys(load)) {
      // Rows of values that are not there have to be 0.
      if (!load->hasAttr(TileDialect::anyEndAttrName))
        keys->removeAttr(TileDialect::anyEndAttrName);
      dot.getBMutable().assign(keys.getResult());
      if (load.use_empty())
        load.erase();
      load = keys;
    }
    int64_t shape[] = {typeOf(load).getDimSize(0), columns / parts};
    b.setInsertionPoint(dot);
    dot.getBMutable().assign(ColumnsOp::create(b, dot.getLoc(),
                                               typeOf(load).clone(shape),
                                               load.getResult(), first)
                                 .getResult());
  }

  void narrow(Value value) {
    int64_t shape[] = {typeOf(value).getDimSize(0), columns / parts};
    value.setType(typeOf(value).clone(shape));
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue())
              .resizeSplat(cast<ShapedType>(value.getType())));
  }

  void shift(StoreOp store) {
    b.setInsertionPoint(store);
    OpOperand &column = store.getIndicesMutable()[1];
    column.set(arith::AddIOp::create(b, store.getLoc(), column.get(), first));
  }

  void storeOnce(StoreOp store) {
    b.setInsertionPoint(store);
    b.setLoc(store.getLoc());
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, id,
                                          arith::ConstantIndexOp::create(b, 0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    store->moveBefore(branch.thenYield());
  }

  KernelOp kernel;
  int64_t parts, columns = 0;
  ImplicitLocOpBuilder b;
  SmallVector<DotOp> dots; ///< whose columns are dealt
  Value id, first;         ///< the consumer's number and first column
};

} // namespace

std::string fa::partitionTiles(KernelOp kernel, int64_t rows) {
  int64_t parts = countColumnParts(kernel, rows);
  return parts > 1 ? ColumnPartitioner(kernel, parts).run()
                   : partitionRows(kernel, rows);
}

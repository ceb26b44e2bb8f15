//===- PartitionRows.cpp - rows dealt to warpgroups -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionRows.h"

#include "FetchedTiles.h"
#include "TileWalk.h"

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// What is transposed for the dots that read it as their left operand, which
/// consumers exchange.
static TransposeOp exchangeOf(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  bool isForDots = op && llvm::all_of(op->getUses(), [](OpOperand &use) {
                     auto dot = dyn_cast<DotOp>(use.getOwner());
                     return dot && &use == &dot.getAMutable();
                   });
  if (!isForDots || op.getPermutation() != ArrayRef<int64_t>{1, 0} ||
      tileType(value).getElementTypeBitWidth() != 16)
    return {};
  return op;
}

namespace {

/// Finds the values whose dimension 0 is the rows of the kernel's dots, and
/// deals those rows to consumers.
class RowPartitioner final : TileWalk {
public:
  RowPartitioner(KernelOp kernel, int64_t consumerRows)
      : kernel(kernel), consumerRows(consumerRows),
        b(kernel.getLoc(), kernel.getContext()) {}

  /// Why it cannot be done; empty: it was.
  std::string run() {
    kernel.walk([&](DotOp dot) { addDot(dot); });
    walk();
    if (reason.empty())
      checkRows();
    if (reason.empty())
      rewrite();
    return reason;
  }

private:
  /// As many rows of a square tile's transpose are dealt as of the tile. Of one
  /// that a warpgroup computes as a whole, a dot's columns are.
  bool dealsColumns(TransposeOp exchange) const {
    RankedTensorType type = exchange.getInput().getType();
    return type.getDimSize(1) == consumerRows &&
           type.getDimSize(0) != consumerRows;
  }

  void addDot(DotOp dot) {
    TransposeOp exchange = exchangeOf(dot.getA());
    if (!exchange || !dealsColumns(exchange)) {
      add(dot.getResult());
      return add(dot.getA());
    }
    add(exchange.getInput());
    auto right = dot.getB().getDefiningOp<LoadOp>();
    bool isStored = llvm::all_of(dot->getUsers(), llvm::IsaPred<StoreOp>);
    if (!right || right->getBlock() != &kernel.getBody().front() ||
        dot.getAcc() || !isStored)
      return refuse(dot, "whose columns would be dealt multiplies with no load "
                         "of the kernel, or its result is not only stored");
    columnDots.push_back(dot);
  }

  bool isShared(TransposeOp exchange) const {
    RankedTensorType type = exchange.getInput().getType();
    return type.getDimSize(0) == type.getDimSize(1);
  }

  /// What is row by row of the same rows.
  void addOperands(OpResult value) override {
    Operation *op = value.getOwner();
    if (auto dot = dyn_cast<DotOp>(op)) {
      add(dot.getA());
      return dot.getAcc() ? add(dot.getAcc()) : void();
    }
    if (isa<LoadOp, IotaOp, tile::RampOp, arith::ConstantOp>(op) ||
        findTurnedLoad(value)) // whose columns these rows are
      return;
    if (TransposeOp exchange = exchangeOf(value);
        exchange && isShared(exchange))
      return add(exchange.getInput());
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      RankedTensorType input = tileType(broadcast.getInput());
      return input && input.getDimSize(0) != 1 ? add(broadcast.getInput())
                                               : void();
    }
    if (isRowByRow(op)) {
      for (Value operand : op->getOperands())
        add(operand);
      return;
    }
    refuse(op, "makes rows of other rows");
  }

  static bool isRowByRow(Operation *op) {
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      return expand.getDim() == 1;
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getDim() == 1;
    return isa<OnlineSoftmaxOp, OnlineFinalizeOp, GatherOp>(op) ||
           OpTrait::hasElementwiseMappableTraits(op);
  }

  void addUser(OpOperand &use) override {
    Operation *op = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (&use == &dot.getBMutable()) {
        // All of them, loaded once more.
        if (!use.get().getDefiningOp<LoadOp>())
          refuse(op, "has the kernel's rows as its right operand");
        return;
      }
      return add(dot.getResult());
    }
    if (isa<TransposeOp>(op))
      if (TransposeOp exchange = exchangeOf(op->getResult(0))) {
        if (isShared(exchange))
          return add(exchange.getResult());
        if (dealsColumns(exchange))
          return;
      }
    if (isa<StoreOp>(op))
      return;
    if (!isRowByRow(op) && !isa<BroadcastOp>(op))
      return refuse(op, "makes other rows of rows");
    for (Value result : op->getResults())
      add(result);
  }

  void checkRows() {
    for (Value value : tiles) {
      int64_t found = tileType(value).getDimSize(0);
      rows = rows ? rows : found;
      auto constant = value.getDefiningOp<arith::ConstantOp>();
      if (constant && !isa<SplatElementsAttr>(constant.getValue()))
        reason = "a constant has different elements";
      else if (found != rows)
        reason = "tiles have " + std::to_string(rows) + " and " +
                 std::to_string(found) + " rows";
    }
    if (reason.empty() && (rows == 0 || rows % consumerRows))
      reason = "tiles have " + std::to_string(rows) +
               " rows, where a multiple of " + std::to_string(consumerRows) +
               " was expected";
    for (DotOp dot : columnDots)
      if (reason.empty() &&
          typeOf(dot.getResult()).getDimSize(1) * consumerRows % (8 * rows))
        refuse(dot, "has no columns in steps of 8 for each consumer");
  }

  void rewrite() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    id = ConsumerIdOp::create(b, b.getIndexType());
    first = arith::MulIOp::create(
        b, id, arith::ConstantIndexOp::create(b, consumerRows));
    kernel->setAttr(TileGPUDialect::consumersAttrName,
                    b.getI64IntegerAttr(rows / consumerRows));
    for (DotOp dot : columnDots)
      dealColumns(dot);
    for (Value value : tiles)
      if (auto load = value.getDefiningOp<LoadOp>())
        loadWhole(load);
    for (Value value : tiles)
      shrink(value);
    kernel.walk([&](StoreOp store) {
      if (tiles.contains(store.getValue()))
        shift(store, store.getIndicesMutable()[0]);
    });
    kernel.walk([&](TransposeOp transpose) {
      if (tiles.contains(transpose.getInput()))
        exchange(transpose);
    });
  }

  /// Of the right operand and the result, to each consumer as many.
  void dealColumns(DotOp dot) {
    RankedTensorType type = typeOf(dot.getResult());
    int64_t columns = type.getDimSize(1) * consumerRows / rows;
    unsigned dim = dot.getTransposeB() ? 0 : 1;
    b.setInsertionPointAfterValue(first);
    Value from = arith::MulIOp::create(
        b, id, arith::ConstantIndexOp::create(b, columns));
    auto shift = [&](Operation *op, OpOperand &index) {
      b.setInsertionPoint(op);
      index.set(arith::AddIOp::create(b, op->getLoc(), index.get(), from));
    };
    auto deal = [&](Value value, unsigned dim) {
      SmallVector<int64_t> shape(tileType(value).getShape());
      shape[dim] = columns;
      value.setType(tileType(value).clone(shape));
    };
    auto whole = dot.getB().getDefiningOp<LoadOp>();
    b.setInsertionPointAfter(whole);
    auto right = cast<LoadOp>(b.clone(*whole));
    shift(right, right.getIndicesMutable()[dim]);
    deal(right.getResult(), dim);
    dot.getBMutable().assign(right.getResult());
    deal(dot.getResult(), 1);
    for (Operation *user : dot->getUsers())
      shift(user, cast<StoreOp>(user).getIndicesMutable()[1]);
  }

  /// Right operands are the rows of all consumers.
  void loadWhole(LoadOp load) {
    auto isRight = [](OpOperand &use) {
      auto dot = dyn_cast<DotOp>(use.getOwner());
      return dot && &use == &dot.getBMutable();
    };
    if (llvm::none_of(load->getUses(), isRight))
      return;
    b.setInsertionPointAfter(load);
    auto whole = cast<LoadOp>(b.clone(*load));
    load.getResult().replaceUsesWithIf(whole.getResult(), isRight);
  }

  void exchange(TransposeOp transpose) {
    b.setInsertionPoint(transpose);
    b.setLoc(transpose.getLoc());
    auto exchange = ExchangeOp::create(b, transpose.getResult().getType(),
                                       transpose.getInput(), Value(), Value());
    transpose.getResult().replaceAllUsesWith(exchange.getResult());
    transpose.erase();
  }

  void shift(Operation *op, OpOperand &index) {
    b.setInsertionPoint(op);
    index.set(arith::AddIOp::create(b, op->getLoc(), index.get(), first));
  }

  void shrink(Value value) {
    RankedTensorType type = tileType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = consumerRows;
    value.setType(type.clone(shape));
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast_or_null<LoadOp>(op))
      return shift(load, load.getIndicesMutable()[0]);
    if (LoadOp turned = findTurnedLoad(value)) {
      RankedTensorType loaded = turned.getType();
      turned.getResult().setType(
          loaded.clone({loaded.getDimSize(0), consumerRows}));
      return shift(turned, turned.getIndicesMutable()[1]);
    }
    if (auto ramp = dyn_cast_or_null<tile::RampOp>(op))
      return shift(ramp, ramp.getRowMutable());
    if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      constant.setValueAttr(
          splat.resizeSplat(cast<ShapedType>(value.getType())));
    }
    if (auto iota = dyn_cast_or_null<IotaOp>(op); iota && iota.getDim() == 0)
      shiftIota(iota);
  }

  void shiftIota(IotaOp iota) {
    b.setInsertionPointAfter(iota);
    Type element = iota.getType().getElementType();
    Value start = first;
    if (!isa<IndexType>(element))
      start = arith::IndexCastOp::create(b, element, first);
    Value spread = BroadcastOp::create(b, iota.getType(), start, ValueRange{});
    Value sum = arith::AddIOp::create(b, iota, spread);
    iota.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }

  KernelOp kernel;
  int64_t consumerRows, rows = 0;
  ImplicitLocOpBuilder b;
  SmallVector<DotOp> columnDots; ///< whose columns are dealt
  Value id, first; ///< the consumer's number and first row in the kernel's tile
};

} // namespace

std::string fa::partitionRows(KernelOp kernel, int64_t rows) {
  return RowPartitioner(kernel, rows).run();
}

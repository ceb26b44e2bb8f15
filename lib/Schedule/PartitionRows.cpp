//===- PartitionRows.cpp - rows dealt to warpgroups -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionRows.h"

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

namespace {

/// Finds the values whose dimension 0 is the rows of the kernel's dots, and
/// deals those rows to consumers.
class RowPartitioner {
public:
  RowPartitioner(KernelOp kernel, int64_t consumerRows)
      : kernel(kernel), consumerRows(consumerRows),
        b(kernel.getLoc(), kernel.getContext()) {}

  /// Why it cannot be done; empty: it was.
  std::string run() {
    kernel.walk([&](DotOp dot) {
      add(dot.getResult());
      add(dot.getA());
    });
    while (reason.empty() && !pending.empty())
      propagate(pending.pop_back_val());
    if (reason.empty())
      checkRows();
    if (reason.empty())
      rewrite();
    return reason;
  }

private:
  void add(Value value) {
    if (tileType(value) && rowTiles.insert(value))
      pending.push_back(value);
  }

  void refuse(Operation *op, const Twine &why) {
    if (reason.empty())
      reason = ("'" + op->getName().getStringRef() + "' " + why).str();
  }

  /// What is row by row of the same rows as `value`.
  void propagate(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        addCarried(loop, argument.getArgNumber() - 1);
    } else {
      addOperands(cast<OpResult>(value));
    }
    for (OpOperand &use : value.getUses())
      addUser(use);
  }

  void addCarried(scf::ForOp loop, unsigned n) {
    add(loop.getInitArgs()[n]);
    add(loop.getRegionIterArgs()[n]);
    add(loop.getResult(n));
    add(loop.getBody()->getTerminator()->getOperand(n));
  }

  void addOperands(OpResult value) {
    Operation *op = value.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return addCarried(loop, value.getResultNumber());
    if (auto dot = dyn_cast<DotOp>(op)) {
      add(dot.getA());
      return dot.getAcc() ? add(dot.getAcc()) : void();
    }
    if (isa<LoadOp, IotaOp, tile::RampOp, arith::ConstantOp>(op))
      return;
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

  void addUser(OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (use.get() == dot.getB())
        refuse(op, "has the kernel's rows as its right operand");
      return add(dot.getResult());
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return addCarried(loop,
                        use.getOperandNumber() - loop.getNumControlOperands());
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
        loop && isa<scf::YieldOp>(op))
      return addCarried(loop, use.getOperandNumber());
    if (isa<StoreOp>(op))
      return;
    if (!isRowByRow(op) && !isa<BroadcastOp>(op))
      return refuse(op, "makes other rows of rows");
    for (Value result : op->getResults())
      add(result);
  }

  void checkRows() {
    for (Value value : rowTiles) {
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
  }

  void rewrite() {
    b.setInsertionPointToStart(&kernel.getBody().front());
    Value id = ConsumerIdOp::create(b, b.getIndexType());
    first = arith::MulIOp::create(
        b, id, arith::ConstantIndexOp::create(b, consumerRows));
    kernel->setAttr(TileGPUDialect::consumersAttrName,
                    b.getI64IntegerAttr(rows / consumerRows));
    for (Value value : rowTiles)
      shrink(value);
    kernel.walk([&](StoreOp store) {
      if (rowTiles.contains(store.getValue()))
        shift(store, store.getIndicesMutable()[0]);
    });
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
  SetVector<Value> rowTiles;
  SmallVector<Value> pending;
  std::string reason;
  Value first; ///< the consumer's first row in the kernel's tile
};

} // namespace

std::string fa::partitionRows(KernelOp kernel, int64_t rows) {
  return RowPartitioner(kernel, rows).run();
}

//===- LowerShapes.cpp - operations that move no element ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;

static void lowerIota(SimtContext &ctx, tile::IotaOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getResult());
  Type element = op.getType().getElementType();
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Value at = ctx.coordinate(layout, reg, op.getDim());
    elements.push_back(isa<IndexType>(element)
                           ? at
                           : Value(arith::IndexCastOp::create(b, element, at)));
  }
  ctx.setElements(op.getResult(), elements);
}

static LogicalResult lowerBroadcast(SimtContext &ctx, tile::BroadcastOp op) {
  TileLayout layout = layoutOf(op.getResult());
  if (!isTile(op.getInput())) {
    ctx.setElements(
        op.getResult(),
        SmallVector<Value>(layout.numRegisters(), ctx.mapped(op.getInput())));
    return success();
  }
  TileLayout source = layoutOf(op.getInput());
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    dims.push_back(source.size(dim) == 1 ? -1 : int64_t(dim));
  if (!inSameThreads(source, layout, dims))
    return op.emitOpError("expects its rows and columns in the threads that "
                          "have the result's");
  std::map<Coord, unsigned> table = registerTable(source);
  SmallVector<Value> from(ctx.elementsOf(op.getInput())), elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Coord at = coordOf(layout, reg);
    for (unsigned dim = 0; dim < layout.rank(); ++dim)
      if (source.size(dim) == 1)
        at[dim] = 0;
    auto it = table.find(at);
    if (it == table.end())
      return op.emitOpError("expects its rows and columns in the threads that "
                            "have the result's");
    elements.push_back(from[it->second]);
  }
  ctx.setElements(op.getResult(), elements);
  return success();
}

static LogicalResult lowerExpandDims(SimtContext &ctx, tile::ExpandDimsOp op) {
  TileLayout from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, from.rank()));
  dims.insert(dims.begin() + op.getDim(), -1);
  bool stays =
      inSameThreads(from, to, dims) && from.numRegisters() == to.numRegisters();
  for (int64_t reg = 0; stays && reg < to.numRegisters(); ++reg) {
    Coord at = coordOf(to, reg);
    at.erase(at.begin() + op.getDim());
    stays = at == coordOf(from, reg);
  }
  if (!stays)
    return op.emitOpError("expects its elements in the threads and "
                          "registers that have the result's");
  ctx.setElements(op.getResult(),
                  SmallVector<Value>(ctx.elementsOf(op.getInput())));
  return success();
}

static void lowerTranspose(SimtContext &ctx, tile::TransposeOp op) {
  ctx.setElements(op.getResult(),
                  SmallVector<Value>(ctx.elementsOf(op.getInput())));
}

static LogicalResult lowerConvert(SimtContext &ctx, ConvertOp op) {
  TileLayout from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  auto plan = planConversion(from.base, to.base);
  if (!plan || plan->kind > ConversionPlan::Registers ||
      from.repeat != to.repeat)
    return op.emitOpError("expects a conversion inside each thread");
  if (plan->kind == ConversionPlan::Identity) {
    ctx.tiles[op.getResult()] = ctx.tiles[op.getInput()];
    return success();
  }
  SmallVector<Value> source(ctx.elementsOf(op.getInput())), elements;
  int64_t base = to.base.count(Axis::Register);
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    Place place = plan->sourceOf(Place::registers(reg % base, 0, 0));
    elements.push_back(source[reg / base * base + place[Axis::Register]]);
  }
  ctx.setElements(op.getResult(), elements);
  return success();
}

/// All rows are this thread's block's.
static void lowerOwnRows(SimtContext &ctx, tile::OwnRowsOp op) {
  ctx.mapping.map(op.getOffset(), ctx.index(0));
  ctx.mapping.map(op.getCount(), ctx.index(op.getRows()));
}

/// The only element of a tile, which is the same in all threads.
static LogicalResult lowerExtract(SimtContext &ctx, tensor::ExtractOp op) {
  RankedTensorType type = tile::typeOf(op.getTensor());
  if (type.getNumElements() != 1)
    return op.emitOpError("has a lowering for a GPU of a tile of one element, "
                          "found ")
           << type;
  ctx.mapping.map(op.getResult(), ctx.elementsOf(op.getTensor()).front());
  return success();
}

void fa::addShapesLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerIota);
  ctx.registry.add(ctx, lowerBroadcast);
  ctx.registry.add(ctx, lowerExpandDims);
  ctx.registry.add(ctx, lowerTranspose);
  ctx.registry.add(ctx, lowerConvert);
  ctx.registry.add(ctx, lowerExtract);
  ctx.registry.add(ctx, lowerOwnRows);
}

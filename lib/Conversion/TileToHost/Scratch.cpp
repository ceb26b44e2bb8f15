//===- Scratch.cpp - memory of tile values that are kept ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "Pieces.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

TileBuffer HostContext::allocate(RankedTensorType type, TileForm form) {
  bool natural = form == TileForm::NaturalPairs;
  Type element =
      natural ? Type(b.getBF16Type()) : computeType(type.getElementType());
  SmallVector<int64_t> sizes(type.getShape());
  bool lanesFirst = form == TileForm::Lanes || form == TileForm::LanePairs;
  if (lanesFirst && sizes.size() == 2)
    std::swap(sizes[0], sizes[1]);
  bool rightPairs = form == TileForm::ColumnPairs;
  if (rightPairs)
    std::swap(sizes[0], sizes[1]);
  bool words =
      form == TileForm::LanePairs || form == TileForm::RowPairs || rightPairs;
  if (words) {
    int64_t &paired = sizes[rightPairs ? 1 : 0];
    paired = llvm::divideCeil(paired, 2);
    element = b.getI32Type();
  }
  if (!sizes.empty())
    sizes.back() = paddedRows(sizes.back());
  if (tiles && sizes.size() == 2) {
    // Whole tiles. Rows that are a power of two bytes apart would share few
    // sets of the first cache, and a tile has sixteen of them.
    sizes[0] = llvm::alignTo(sizes[0], kTileRows);
    if (natural)
      sizes[1] = llvm::alignTo(sizes[1], kTileDepth);
    else if (lanesFirst || rightPairs)
      sizes[1] += lanes();
  }
  int64_t pieces = words || natural ? countPieces(type.getElementType()) : 1;
  if (pieces > 1)
    sizes[0] *= pieces;
  return {allocate(MemRefType::get(sizes, element)), form, pieces};
}

TileBuffer HostContext::allocateRows(int64_t count, RankedTensorType type) {
  int64_t columns =
      llvm::alignTo(type.getDimSize(1), tiles ? kTileDepth : lanes());
  return {allocate(MemRefType::get({count, columns}, type.getElementType())),
          TileForm::Natural};
}

Value HostContext::allocate(MemRefType memref) {
  Type element = memref.getElementType();
  int64_t width = isa<IndexType>(element)
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  Value view = memref::ViewOp::create(b, memref, scratch,
                                      constantIndex(scratchTop), ValueRange{});
  // One line more than needed: buffers of a power of two bytes would otherwise
  // begin at the same set of the first cache.
  scratchTop += llvm::alignTo(memref.getNumElements() * width, 64) + 64;
  scratchBytes = std::max(scratchBytes, scratchTop);
  return view;
}

/// Whether `value`, directly or through lazy operations, is read after `op`.
bool HostContext::isReadAfter(Value value, Operation *op) {
  llvm::SetVector<Value> values; // each once: paths to a value may be many
  values.insert(value);
  for (size_t n = 0; n < values.size(); ++n)
    for (Operation *user : values[n].getUsers()) {
      Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      if (!here || isa<scf::YieldOp>(here))
        return true;
      if (op->isBeforeInBlock(here))
        return true;
      if (here == user && isLazy(user) && !buffers.count(user->getResult(0)))
        values.insert(user->getResult(0));
    }
  return false;
}

/// Whether `value` depends on `carried` through lazy operations.
static bool dependsOn(Value value, Value carried) {
  BackwardSliceOptions options;
  options.filter = [](Operation *op) {
    return !isa<tile::DotOp, tile::OnlineSoftmaxOp, scf::ForOp>(op);
  };
  options.inclusive = true;
  options.omitBlockArguments = true;
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(value, &slice, options);
  auto reads = [&](Operation *op) {
    return llvm::is_contained(op->getOperands(), carried);
  };
  return value == carried || llvm::any_of(slice, reads);
}

TileBuffer HostContext::bufferForResult(Value result) {
  Operation *op = result.getDefiningOp();
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  auto type = cast<RankedTensorType>(result.getType());
  if (loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [arg, value] :
         llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
      if (value != result || isReadAfter(arg, op))
        continue;
      // A dot reads its accumulator element by element, its operands not.
      if (auto dot = dyn_cast<tile::DotOp>(op);
          dot && (dependsOn(dot.getA(), arg) || dependsOn(dot.getB(), arg)))
        continue;
      return carriedBuffers.lookup(arg);
    }
  }
  return allocate(type, tileForm());
}

void HostContext::copyInto(Value value, TileBuffer buffer) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1) {
    forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = addIndex(row, v * lanes());
        vector::StoreOp::create(b, evaluateVector(value, {{at, true}}),
                                buffer.memref, at);
      }
    });
    return;
  }
  if (alongRows) {
    auto rows =
        scf::ForOp::create(b, constantIndex(0),
                           constantIndex(type.getDimSize(0)), constantIndex(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value row = rows.getInductionVar();
    forVectors(paddedRows(type.getDimSize(1)), {},
               [&](Value column, ValueRange) -> SmallVector<Value> {
                 vector::StoreOp::create(
                     b, evaluateVector(value, {{row}, {column, true}}),
                     buffer.memref, ValueRange{row, column});
                 return {};
               });
    return;
  }
  auto columns = scf::ForOp::create(
      b, constantIndex(0), constantIndex(type.getDimSize(1)), constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(columns.getBody());
  Value col = columns.getInductionVar();
  forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = addIndex(row, v * lanes());
      vector::StoreOp::create(b, evaluateVector(value, {{at, true}, {col}}),
                              buffer.memref, ValueRange{col, at});
    }
  });
}

TileBuffer HostContext::materialize(Value value, TileForm form) {
  if (auto it = buffers.find(value);
      it != buffers.end() && it->second.form == form)
    return it->second;
  if (auto load = value.getDefiningOp<tile::LoadOp>())
    return loadTile(*this, load, form);
  TileBuffer buffer = allocate(cast<RankedTensorType>(value.getType()), form);
  copyInto(value, buffer);
  return buffer;
}

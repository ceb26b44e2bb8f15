//===- AttentionBuilder.cpp - what is the same for all keys ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Which batch, head, rows and split this program computes.
void AttentionBuilder::buildCoordinates() {
  Value id = ProgramIdOp::create(b, 0);
  if (shape.part == KernelShape::Split) {
    numSplits = countSplits();
    split = arith::RemUIOp::create(b, id, numSplits);
    id = arith::DivUIOp::create(b, id, numSplits);
  }
  // Later queries of a causal mask see more keys: the longest work first.
  bool grows = rule.growsWithQuery() && shape.pack == KernelShape::OneHead;
  bool fromEnd = grows && shape.endMultiple && !split;
  if (grows && !fromEnd) {
    Value count = NumProgramsOp::create(b, 0);
    if (split)
      count = arith::DivUIOp::create(b, count, numSplits);
    Value last = arith::SubIOp::create(b, count, index(1));
    id = arith::SubIOp::create(b, last, id);
  }
  findRows(id, fromEnd);
  if (shape.pack == KernelShape::Heads) {
    firstRow = lastRow = index(0);
    return;
  }
  if (shape.pack == KernelShape::Queries) {
    packed = findPacked();
    GroupedRows rows = groupedRows();
    firstRow = rows.findFirst(b, tileStart).query;
    Value end = rows.endOfQueries(
        b, arith::AddIOp::create(b, tileStart, index(shape.rows)));
    end = arith::MinSIOp::create(b, end, numQueries);
    lastRow = arith::SubIOp::create(b, end, index(1));
    return;
  }
  firstRow = tileStart;
  if (fromEnd)
    firstRow = arith::MaxSIOp::create(b, firstRow, index(0));
  Value end = arith::AddIOp::create(b, tileStart, index(shape.rows));
  end = arith::MinSIOp::create(b, end, numQueries);
  lastRow = arith::SubIOp::create(b, end, index(1));
}

void AttentionBuilder::buildRamp() {
  if (!shape.ramp)
    return;
  Value factor =
      bias->factor
          ? materialize(bias->factor, Value(), /*more=*/1)
          : Value(arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f)));
  ramp.emplace(b, *bias, factor, evaluate(bias->distance, /*more=*/1),
               tileStart, scale);
}

Value AttentionBuilder::keyView(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (table)
    return PagedViewOp::create(b, PagedViewOp::typeOf(type), memref, kvHead,
                               table, batch, length);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t dim = type.getShape().back();
  if (source.k.offsets)
    return view(memref, {kvHead, keys.first, zero},
                {one, length, b.getIndexAttr(dim)},
                {ShapedType::kDynamic, dim});
  return view(memref, {batch, kvHead, zero, zero},
              {one, one, length, b.getIndexAttr(dim)},
              {ShapedType::kDynamic, dim});
}

void AttentionBuilder::buildEpilogue(ValueRange state) {
  Type output = state[0].getType(), rows = state[1].getType();
  auto finalize = OnlineFinalizeOp::create(
      b, output, rows, split ? rows : Type(), state[0], state[1], state[2]);
  if (split) {
    SmallVector<Value> row = {tileStart}, element = {tileStart, index(0)};
    StoreOp::create(b, finalize.getOutput(), partialView(0, split), element);
    StoreOp::create(b, finalize.getMaxOut(), partialView(1, split), row);
    StoreOp::create(b, finalize.getLse(), partialView(2, split), row);
  } else {
    storeResults(finalize);
  }
  // Behind what it could keep from being computed once.
  if (shape.hasCounter && isIdle)
    IdleOp::create(b, isIdle);
  tile::ReturnOp::create(b);
}

KernelOp AttentionBuilder::build(StringRef name, StringRef entry) {
  SmallVector<Value> varying;
  if (shape.pack != KernelShape::OneHead && !attention.getMask().empty())
    varying.push_back(attention.getMask().getArgument(1));
  rule = analyzeMask(attention.getMask(), varying);
  bias = findLinearBias(attention);
  beginKernel(name, entry);
  scale = getScalar(attention.getScale());
  mapCaptures(attention.getCaptures(), source.captures);
  openDropout(attention.getProbabilityAttr(), source.rng,
              memref::DimOp::create(b, qMemory, source.q.offsets ? 0 : 1),
              shape);
  buildCoordinates();
  takeKeyScales();
  if (shape.foldsMagnitude)
    takeSign();
  length = countKeys(rule, numKeys);
  buildRamp();
  Value queries = queryView(qMemory);
  auto queryType = cast<MemRefType>(queries.getType());
  q = LoadOp::create(b,
                     tile({shape.rows, tileDim(queryType.getDimSize(1))},
                          queryType.getElementType()),
                     queries, ValueRange{tileStart, index(0)},
                     /*in_bounds=*/false);
  if (source.q.offsets)
    q.getDefiningOp()->setAttr(TileDialect::anyEndAttrName, b.getUnitAttr());
  q = widened(q, getElementTypeOrSelf(attention.getQ()));
  k = keyView(kMemory);
  v = keyView(vMemory);
  buildEpilogue(buildLoops());
  return kernel;
}

KernelOp fa::buildKernel(OpBuilder &b, AttentionFunction source,
                         const KernelShape &shape, StringRef name,
                         StringRef entry) {
  OpBuilder::InsertionGuard guard(b);
  return AttentionBuilder(b, source, shape).build(name, entry);
}

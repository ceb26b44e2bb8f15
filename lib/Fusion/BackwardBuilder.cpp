//===- BackwardBuilder.cpp - what programs of gradients own ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"
#include "BackwardSignature.h"

#include "fa/Fusion/QueryRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Views and tiles
//===----------------------------------------------------------------------===//

Value BackwardBuilder::memoryOf(const ArgumentView &view) {
  return view.build(b, kernel.getArgument(view.number));
}

Value BackwardBuilder::rowsOf(Value memory, Value number,
                              const Sequence &rows) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {batch, number, zero};
  SmallVector<OpFoldResult> sizes = {one, one, rows.count};
  if (rows.first) {
    offsets = {number, rows.first};
    sizes.erase(sizes.begin());
  }
  SmallVector<int64_t> kept = {ShapedType::kDynamic};
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() > int64_t(offsets.size())) {
    offsets.push_back(zero);
    sizes.push_back(b.getIndexAttr(type.getShape().back()));
    kept.push_back(type.getShape().back());
  }
  return view(memory, offsets, sizes, kept);
}

/// A multiple of 16 bytes, before which there is room for all sequences before.
Value BackwardBuilder::firstStatistic() {
  Value together = index(kNumbersTogether);
  Value before = arith::DivUIOp::create(b, queryRows.first, together);
  return arith::MulIOp::create(b, arith::AddIOp::create(b, before, batch),
                               together);
}

Value BackwardBuilder::statistics(unsigned number) {
  Value memory = kernel.getArgument(source.firstOfWorkspace() + number);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  if (queryRows.first)
    return view(memory, {zero, zero, head, firstStatistic()},
                {one, one, one, queryRows.count}, {ShapedType::kDynamic});
  // To the end of the row, whose numbers behind the queries are those of rows
  // of zeros: what ends with its argument can be fetched.
  Value length = memref::DimOp::create(b, memory, 3);
  return view(memory, {zero, batch, head, zero}, {one, one, one, length},
              {ShapedType::kDynamic});
}

/// Loads of one form: what is summed and what is loaded may lie apart.
Value BackwardBuilder::loadDelta(int64_t rows, Value first) {
  Value delta = load(statistics(0), rows, first);
  if (!source.dlse)
    return delta;
  Value dlse = rowsOf(memoryOf(*source.dlse), head, queryRows);
  return arith::SubFOp::create(b, delta, load(dlse, rows, first));
}

int64_t BackwardBuilder::columnsOf(Value memory) {
  int64_t size = cast<MemRefType>(memory.getType()).getShape().back();
  return llvm::alignTo(size, shape.dimMultiple);
}

Value BackwardBuilder::load(Value view, int64_t rows, Value first,
                            bool inBounds) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> sizes = {rows};
  SmallVector<Value> at = {first};
  if (type.getRank() == 2) {
    sizes.push_back(columnsOf(view));
    at.push_back(index(0));
    inBounds &= sizes[1] == type.getDimSize(1);
  }
  return LoadOp::create(b, tile(sizes, type.getElementType()), view, at,
                        inBounds);
}

Value BackwardBuilder::zeros(int64_t rows, Value memory) {
  auto type = tile({rows, columnsOf(memory)}, b.getF32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF32FloatAttr(0.0f)));
}

Value BackwardBuilder::scaled(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return arith::MulFOp::create(b, value, broadcast(scale, type));
}

void BackwardBuilder::store(Value sum, const ArgumentView &of, Value headNumber,
                            const Sequence &rows) {
  Value memory = of.build(b, kernel.getArgument(source.argumentOf(of)));
  auto type = cast<RankedTensorType>(sum.getType());
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  if (element != type.getElementType())
    sum = arith::TruncFOp::create(b, type.clone(element), sum);
  StoreOp::create(b, sum, rowsOf(memory, headNumber, rows),
                  ValueRange{tileStart, index(0)});
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void BackwardBuilder::openArguments() {
  qMemory = memoryOf(source.q);
  kMemory = memoryOf(source.k);
  vMemory = memoryOf(source.v);
  doutMemory = memoryOf(source.dout);
  int64_t ofQueries = source.q.offsets ? 0 : 1,
          ofKeys = source.k.offsets ? 0 : 1;
  queryRows.count = memref::DimOp::create(b, qMemory, ofQueries + 1);
  keyRows.count = memref::DimOp::create(b, kMemory, ofKeys + 1);
  Value numHeads = memref::DimOp::create(b, qMemory, ofQueries);
  Value numKvHeads = memref::DimOp::create(b, kMemory, ofKeys);
  group = arith::DivUIOp::create(b, numHeads, numKvHeads);
  scale = getScalar(op.getScale());
  mapCaptures(op.getCaptures(), source.captures);
  openDropout(op.getProbabilityAttr(), source.rng, numHeads, shape);
}

void BackwardBuilder::findSequences() {
  if (source.q.offsets)
    queryRows = findSequence(source.q, qMemory);
  if (source.k.offsets)
    keyRows = findSequence(source.k, kMemory);
}

void BackwardBuilder::findProgram() {
  const ArgumentView &view = ownsKeys() ? source.k : source.q;
  Value id = ProgramIdOp::create(b, 0), axis1 = ProgramIdOp::create(b, 1);
  if (!view.offsets)
    batch = ProgramIdOp::create(b, 2);
  // Later queries of a causal mask see more keys: the longest work first, which
  // for keys is that of the first ones.
  if (rule.growsWithQuery() && !ownsKeys()) {
    Value last =
        arith::SubIOp::create(b, NumProgramsOp::create(b, 0), index(1));
    id = arith::SubIOp::create(b, last, id);
  }
  if (view.offsets)
    id = findTile(view, id, shape.rows);
  findSequences();
  tileStart = arith::MulIOp::create(b, id, index(shape.rows));
  if (view.offsets) { // a slot without rows walks none
    Sequence &owned = ownsKeys() ? keyRows : queryRows,
             &walked = ownsKeys() ? queryRows : keyRows;
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                          tileStart, owned.count);
    tileStart = arith::SelectOp::create(b, isEmpty, owned.count, tileStart);
    walked.count = arith::SelectOp::create(b, isEmpty, index(0), walked.count);
  }
  if (ownsKeys()) {
    kvHead = axis1;
    return;
  }
  head = axis1;
  kvHead = arith::DivUIOp::create(b, head, group);
}

/// The rows' sums of dO · O and the log-sum-exp in base 2, which of a row
/// without keys is +inf, so that its P are 0, and NaN where it is +inf or NaN.
void BackwardBuilder::buildStatistics() {
  auto rows = tile({shape.rows}, b.getF32Type());
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(rows, b.getF32FloatAttr(value)));
  };
  auto wide = [&](Value memory) -> Value {
    Value tile = load(rowsOf(memory, head, queryRows), shape.rows, tileStart);
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getElementType().isF32())
      return tile;
    return arith::ExtFOp::create(b, type.clone(b.getF32Type()), tile);
  };
  Value product =
      arith::MulFOp::create(b, wide(memoryOf(source.output)), wide(doutMemory));
  auto vectorOf = [&](const ArgumentView &view) {
    return load(rowsOf(memoryOf(view), head, queryRows), shape.rows, tileStart);
  };
  Value delta = ReduceOp::create(b, rows, ReduceKind::Add, product, 1);
  Value lse = vectorOf(source.lse);
  double infinity = std::numeric_limits<double>::infinity();
  auto equals = [&](double value) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse,
                                 constant(value));
  };
  Value base2 = arith::MulFOp::create(b, lse, constant(std::numbers::log2e));
  base2 =
      arith::SelectOp::create(b, equals(-infinity), constant(infinity), base2);
  Value nan = constant(std::numeric_limits<double>::quiet_NaN());
  base2 = arith::SelectOp::create(b, equals(infinity), nan, base2);
  StoreOp::create(b, delta, statistics(0), ValueRange{tileStart});
  StoreOp::create(b, base2, statistics(1), ValueRange{tileStart});
}

void BackwardBuilder::buildQueryGradients() {
  length = countKeys(rule, keyRows.count);
  auto ofQueries = [&](Value view) {
    return load(view, shape.rows, tileStart);
  };
  Tiles owned;
  owned.q = ofQueries(rowsOf(qMemory, head, queryRows));
  owned.dout = ofQueries(rowsOf(doutMemory, head, queryRows));
  owned.delta = loadDelta(shape.rows, tileStart);
  owned.lse = ofQueries(statistics(1));
  Values initial;
  if (source.dq)
    initial.push_back(zeros(shape.rows, qMemory));
  auto rows = tile({shape.rows}, b.getF32Type());
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(rows, b.getF32FloatAttr(0.0f)));
  initial.append(source.numRowSums(), zero);
  Values sums = walkKeys(owned, initial);
  if (source.dq)
    store(scaled(sums.front()), *source.dq, head, queryRows);
  ArrayRef<Value> rowSums = sums;
  for (auto [n, sum] : llvm::enumerate(rowSums.take_back(source.numRowSums())))
    StoreOp::create(b, sum, statistics(2 + n), ValueRange{tileStart});
}

void BackwardBuilder::buildKeyGradients() {
  Sequence rows = keyRows;
  if (part == BackwardPart::Whole) // no others are in sums over keys
    rows.count = length;
  auto ofKeys = [&](Value memory) {
    return load(rowsOf(memory, kvHead, rows), shape.rows, tileStart);
  };
  Tiles owned;
  owned.k = ofKeys(kMemory);
  owned.v = ofKeys(vMemory);
  if (part == BackwardPart::Whole)
    owned.turnedK = loadTurned(rowsOf(kMemory, kvHead, rows), shape.rows);
  Values initial;
  if (dk)
    initial.push_back(zeros(shape.rows, kMemory));
  if (dv)
    initial.push_back(zeros(shape.rows, vMemory));
  Values sums = walkQueries(owned, initial);
  if (dk)
    store(scaled(sums.front()), *dk, kvHead, keyRows);
  if (dv)
    store(sums.back(), *dv, kvHead, keyRows);
}

KernelOp BackwardBuilder::build(StringRef name, StringRef entry) {
  rule =
      ownsKeys() ? analyzeMaskOfKeys(op.getMask()) : analyzeMask(op.getMask());
  kernel = createBackwardKernel(b, source, part, ownsHeads, captured, shape,
                                name, entry);
  openArguments();
  if (part == BackwardPart::Rows || part == BackwardPart::Queries ||
      part == BackwardPart::Keys)
    findProgram();
  switch (part) {
  case BackwardPart::Whole:
    buildWhole();
    break;
  case BackwardPart::Rows:
    buildStatistics();
    break;
  case BackwardPart::Queries:
    buildQueryGradients();
    break;
  case BackwardPart::Keys:
    buildKeyGradients();
    break;
  case BackwardPart::Capture:
    buildCaptureGradient();
    break;
  case BackwardPart::Table:
    buildTableGradient();
    break;
  case BackwardPart::Heads:
    buildHeadsGradient();
    break;
  }
  tile::ReturnOp::create(b);
  return kernel;
}

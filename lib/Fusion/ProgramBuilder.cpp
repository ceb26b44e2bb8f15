//===- ProgramBuilder.cpp - what programs of an attention share -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "KernelSignature.h"
#include "WorkspaceSignature.h"

#include "fa/Support/ShortCap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Whether `scale` is an f32 that is above 0, or an argument that can be.
static bool mayBePositive(Value scale) {
  APFloat constant(0.0f);
  bool known = matchPattern(scale, m_ConstantFloat(&constant)) &&
               constant.isFiniteNonZero() && !constant.isNegative();
  return scale.getType().isF32() && (known || isa<BlockArgument>(scale));
}

bool fa::hasFoldableScale(OnlineAttentionOp attention) {
  return attention.getKeyScales().empty() &&
         mayBePositive(attention.getScale());
}

bool fa::hasFoldableMagnitude(OnlineAttentionOp attention) {
  return !attention.getKeyScales().empty() && !attention.getScaleKeys() &&
         mayBePositive(attention.getScale());
}

bool fa::hasShortCap(OnlineAttentionOp attention) {
  if (attention.getScore().empty())
    return false;
  Block &block = attention.getScore().front();
  auto product =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  APFloat cap(0.0f);
  return product && product.getLhs().getDefiningOp<math::TanhOp>() &&
         matchPattern(product.getRhs(), m_ConstantFloat(&cap)) &&
         cap.convertToDouble() >= kLeastShortCap &&
         llvm::all_of(block.without_terminator(), [&](Operation &op) {
           return op.getResult(0) == product.getLhs() ||
                  isa<arith::ConstantOp, arith::MulFOp, arith::DivFOp>(op);
         });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void ProgramBuilder::beginKernel(StringRef name, StringRef entry) {
  kernel = createKernel(b, source, shape, name, entry);
  qMemory = source.q.build(b, kernel.getArgument(source.q.number));
  kMemory = source.k.build(b, kernel.getArgument(source.k.number));
  vMemory = source.v.build(b, kernel.getArgument(source.v.number));
  if (source.table)
    table = source.table->build(b, kernel.getArgument(source.table->number));
}

/// How many rows `memory` has for each batch and head; of pages as many as the
/// table's rows have room for, none if there are no pages.
Value ProgramBuilder::countRows(Value memory) {
  Value rows = memref::DimOp::create(b, memory, 2);
  if (!table || memory == qMemory)
    return rows;
  Value pages = memref::DimOp::create(b, kMemory, 0);
  Value width = memref::DimOp::create(b, table, 1);
  Value hasPages = arith::MinUIOp::create(b, pages, index(1));
  return arith::MulIOp::create(b, arith::MulIOp::create(b, width, rows),
                               hasPages);
}

Value ProgramBuilder::loadScale(const ArgumentView &scales) {
  Value memory = scales.build(b, kernel.getArgument(scales.number));
  return memref::LoadOp::create(b, memory, ValueRange{batch, kvHead});
}

bool ProgramBuilder::raisesWeights() const {
  tile::OnlineAttentionOp op = attention;
  return !op.getWideP() && getElementTypeOrSelf(op.getQ().getType()).isF16();
}

void ProgramBuilder::findRows(Value tileNumber, bool fromEnd) {
  Value axis1 = ProgramIdOp::create(b, 1);
  if (source.q.offsets)
    tileNumber = findTile(source.q, tileNumber, shape.rows);
  else
    batch = ProgramIdOp::create(b, 2);
  auto count = [&](const ArgumentView &view, Value memory,
                   Sequence &sequence) -> Value {
    if (!view.offsets)
      return countRows(memory);
    sequence = findSequence(view, memory);
    return sequence.count;
  };
  numQueries = count(source.q, qMemory, queries);
  numKeys = count(source.k, kMemory, keys);
  auto countHeads = [&](const ArgumentView &view, Value memory) -> Value {
    return memref::DimOp::create(b, memory, view.offsets ? 0 : 1);
  };
  Value numHeads = countHeads(source.q, qMemory);
  Value numKvHeads = countHeads(source.k, kMemory);
  group = arith::DivUIOp::create(b, numHeads, numKvHeads);
  tileStart = arith::MulIOp::create(b, tileNumber, index(shape.rows));
  if (source.q.offsets) { // a slot without rows sees no keys
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                          tileStart, numQueries);
    tileStart = arith::SelectOp::create(b, isEmpty, numQueries, tileStart);
    numKeys = arith::SelectOp::create(b, isEmpty, index(0), numKeys);
    isIdle = isEmpty;
  }
  if (fromEnd) {
    Value part = index(shape.endMultiple);
    Value end = arith::MulIOp::create(
        b, arith::CeilDivUIOp::create(b, numQueries, part), part);
    tileStart = arith::SubIOp::create(
        b, arith::SubIOp::create(b, end, tileStart), index(shape.rows));
  }
  if (shape.pack != KernelShape::OneHead) {
    kvHead = axis1;
    head = arith::MulIOp::create(b, kvHead, group);
    return;
  }
  head = axis1;
  kvHead = arith::DivUIOp::create(b, head, group);
}

Value ProgramBuilder::rowsOf(Value memref, ArrayRef<OpFoldResult> leading) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets(leading), sizes(leading.size() + 1, one);
  if (source.q.offsets) {
    assert(leading.empty() && shape.pack == KernelShape::OneHead &&
           "plans of packed sequences have no such kernels");
    offsets.append({head, queries.first});
    sizes.push_back(numQueries);
    return rowsAt(memref, offsets, sizes);
  }
  offsets.push_back(batch);
  switch (shape.pack) {
  case KernelShape::OneHead:
    offsets.append({head, zero});
    sizes.append({one, numQueries});
    break;
  case KernelShape::Heads:
    offsets.append({head, zero});
    sizes.append({group, one});
    break;
  case KernelShape::Queries:
    offsets.append({head, zero});
    sizes.append({group, numQueries});
    Value heads = rowsAt(memref, offsets, sizes, /*dims=*/2);
    auto type = GroupedViewOp::typeOf(cast<MemRefType>(heads.getType()));
    return GroupedViewOp::create(
        b, type, heads,
        shape.boxRows ? b.getI64IntegerAttr(shape.boxRows) : IntegerAttr());
  }
  return rowsAt(memref, offsets, sizes);
}

Value ProgramBuilder::rowsAt(Value memref, SmallVector<OpFoldResult> offsets,
                             SmallVector<OpFoldResult> sizes, unsigned dims) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> kept(dims, ShapedType::kDynamic);
  if (type.getRank() > int64_t(offsets.size())) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(type.getShape().back()));
    kept.push_back(type.getShape().back());
  }
  return view(memref, offsets, sizes, kept);
}

Value ProgramBuilder::queryView(Value memref) { return rowsOf(memref, {}); }

Value ProgramBuilder::countSplits() {
  return memref::DimOp::create(b, kernel.getArgument(firstOfWorkspace(source)),
                               0);
}

Value ProgramBuilder::partialView(unsigned number, Value split) {
  unsigned first = firstOfWorkspace(source);
  return rowsOf(kernel.getArgument(first + number), {split});
}

GroupedRows ProgramBuilder::groupedRows() {
  return {b, group,
          shape.boxRows ? std::optional(shape.boxRows) : std::nullopt};
}

ProgramBuilder::PackedRows ProgramBuilder::findPacked() {
  auto type = tile({shape.rows}, b.getIndexType());
  Value row = IotaOp::create(b, type, 0, ValueRange{});
  row = arith::AddIOp::create(b, row, broadcast(tileStart, type));
  auto place = groupedRows().find(b, row);
  return {arith::AddIOp::create(b, place.head, broadcast(head, type)),
          place.query};
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

SmallVector<Value> ProgramBuilder::initialState(int64_t columns,
                                                bool withSink) {
  auto splat = [&](ArrayRef<int64_t> sizes, float value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(tile(sizes, b.getF32Type()),
                                  b.getF32FloatAttr(value)));
  };
  Value acc = splat({shape.rows, columns}, 0.0f);
  if (!source.sink || !withSink)
    return {acc, splat({shape.rows}, -std::numeric_limits<float>::infinity()),
            splat({shape.rows}, 0.0f)};
  Value memory = source.sink->build(b, kernel.getArgument(source.sink->number));
  auto rows = tile({shape.rows}, b.getF32Type());
  Value max;
  if (shape.pack == KernelShape::Heads) {
    Value heads = view(memory, {head}, {group}, {ShapedType::kDynamic});
    max = LoadOp::create(b, rows, heads, ValueRange{tileStart},
                         /*in_bounds=*/false);
  } else if (shape.pack == KernelShape::Queries) {
    max = GatherOp::create(b, rows, memory, ValueRange{findPacked().heads});
  } else {
    Value sink = memref::LoadOp::create(b, memory, head);
    max = broadcast(sink, rows);
  }
  if (shape.parts == 1)
    return {acc, max, splat({shape.rows}, 1.0f)};
  // Once: of the first part.
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                        PartIdOp::create(b), index(0));
  Value one = arith::SelectOp::create(b, isFirst, constant(1), constant(0));
  return {acc, max, broadcast(one, rows)};
}

Value ProgramBuilder::resultMemory(const AttentionFunction::Result &result) {
  func::FuncOp function = source.function;
  unsigned number = function.getNumArguments() + result.view.number;
  return result.view.build(b, kernel.getArgument(number));
}

Value ProgramBuilder::applyEpilogue(ArrayRef<Operation *> epilogue,
                                    Value value) {
  for (Operation *op : epilogue) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    RankedTensorType type =
        tile(cast<RankedTensorType>(value.getType()).getShape(), element);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto wide = tile(type.getShape(), getElementTypeOrSelf(operand));
      auto uniform = operand.getDefiningOp<BroadcastOp>();
      auto constant = operand.getDefiningOp<arith::ConstantOp>();
      if (constant) {
        auto splat = cast<SplatElementsAttr>(constant.getValue());
        operands.push_back(
            arith::ConstantOp::create(b, splat.resizeSplat(wide)));
      } else if (uniform && !isa<TensorType>(uniform.getInput().getType())) {
        operands.push_back(broadcast(getScalar(uniform.getInput()), wide));
      } else {
        operands.push_back(value);
      }
    }
    OperationState state(op->getLoc(), op->getName(), operands, {type},
                         op->getAttrs());
    value = b.create(state)->getResult(0);
  }
  return value;
}

void ProgramBuilder::storeResults(OnlineFinalizeOp finalize, Value column) {
  Value zero = index(0), output = finalize.getOutput();
  Value factor;
  if (source.valueScales && !isOfKeys(*source.valueScales))
    factor = loadScale(*source.valueScales);
  else if (source.valueScales && raisesWeights())
    factor =
        arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f / kRaisedWeights));
  if (factor)
    output = arith::MulFOp::create(
        b, output, broadcast(factor, cast<RankedTensorType>(output.getType())));
  for (const AttentionFunction::Result &result : source.results) {
    Value dest = queryView(resultMemory(result));
    Value value = applyEpilogue(result.epilogue,
                                result.isLse ? finalize.getLse() : output);
    SmallVector<Value> at = {tileStart};
    if (!result.isLse) {
      at.push_back(column ? column : zero);
    } else if (column) {
      // Programs of the first columns alone: others drop it, outside of `dest`.
      Value isFirst =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, zero);
      Value outside = memref::DimOp::create(b, dest, 0);
      at = {arith::SelectOp::create(b, isFirst, tileStart, outside)};
    }
    StoreOp::create(b, value, dest, at);
  }
}

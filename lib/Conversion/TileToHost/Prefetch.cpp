//===- Prefetch.cpp - the next tile's rows, asked for early ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a program has few rows (decode), a step of the loop over keys does less
// arithmetic than its K and V take to arrive. Each dot of the loop then asks
// for the tile that is loaded next, the one that follows the dot in the body
// or, after the last, the first of the next step: where it reads a line of a
// row, it asks for the same line. So requests leave one by one: a core has few
// under way at once, and reads of what is there already wait behind them.
//
// An address in a page that the core has not read from lately takes one more
// way through memory. So each dot first asks for a line of each page of its own
// operand two steps on, if these are few: with more, all was slower.
//
// With many rows only the product with V does, where V is read in place: its
// blocks walk down columns, from one row of memory to the next. Q K^T reads
// along rows, which a CPU follows by itself; requests for it were not faster.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

/// Bytes that come at once; a smaller line only makes one request do for two.
static constexpr int64_t kLineBytes = 64;
/// A page of memory, of which there are larger ones, too.
static constexpr int64_t kPageBytes = 4096;
/// Of what a dot multiplies with in a step, for requests two steps on.
static constexpr int64_t kMostPages = 2;
/// Of memref.prefetch: into the second cache, which has more requests under way
/// at once than the first.
static constexpr int32_t kLocality = 2;

/// A load of whole rows at the steps of `loop`.
static bool walksRows(tile::LoadOp load, scf::ForOp loop) {
  Value source = load.getSource();
  auto type = cast<MemRefType>(source.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  return type.getRank() == 2 && strides[1] == 1 &&
         load.getIndices()[0] == loop.getInductionVar() &&
         isConstantIntValue(load.getIndices()[1], 0) &&
         loop.isDefinedOutsideOfLoop(source);
}

/// The first of `ops` that loads the rows of a step of `loop`.
template <typename Range>
static tile::LoadOp findRowLoad(Range &&ops, scf::ForOp loop) {
  for (Operation &op : ops)
    if (auto load = dyn_cast<tile::LoadOp>(op); load && walksRows(load, loop))
      return load;
  return {};
}

int64_t fa::elementsOfLine(tile::DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getB().getType());
  return kLineBytes * 8 / type.getElementTypeBitWidth();
}

/// What the induction variable of `loop` is `steps` later; behind the last step
/// what it is now.
static Value emitLaterStep(HostContext &ctx, scf::ForOp loop, int64_t steps) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value row = ctx.mapped(loop.getInductionVar()), later = row;
  if (!steps)
    return row;
  for (int64_t n = 0; n < steps; ++n)
    later = arith::AddIOp::create(b, later, ctx.mapped(loop.getStep()));
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, later,
                                     ctx.mapped(loop.getUpperBound()));
  return arith::SelectOp::create(b, more, later, row);
}

void fa::prefetchNextKeys(HostContext &ctx, tile::DotOp dot, Value key,
                          int64_t keys, Value col, int64_t columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!loop || !load || dot.getTransposeB() || isPairDot(ctx, dot) ||
      !walksRows(load, loop))
    return;
  Value source = ctx.mapped(load.getSource()), row = key;
  if (auto held = ctx.buffers.find(dot.getB()); held == ctx.buffers.end()) {
    row = arith::AddIOp::create(b, ctx.mapped(loop.getInductionVar()), key);
  } else {
    // A view of rows where they lie or, at the end of all, their copy: then
    // what is asked for is of no use, and of no harm.
    source = held->second.memref;
    if (cast<MemRefType>(source.getType()).hasStaticShape())
      return;
  }
  // Blocks that read the same line ask for those of different keys.
  int64_t sharing = std::clamp<int64_t>(elementsOfLine(dot) / columns, 1, keys);
  Value share = arith::RemUIOp::create(
      b, arith::DivUIOp::create(b, col, ctx.constantIndex(columns)),
      ctx.constantIndex(sharing));
  // A view that begins at the next step, so that a request has the index of a
  // read and the view's address is known before the loop.
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(b, b.getLoc(), source);
  Value next = memref::SubViewOp::create(
      b, source,
      {OpFoldResult(
           Value(arith::AddIOp::create(b, ctx.mapped(loop.getStep()), share))),
       b.getIndexAttr(0)},
      sizes, {b.getIndexAttr(1), b.getIndexAttr(1)});
  for (int64_t n = 0; n < keys; n += sharing)
    memref::PrefetchOp::create(b, next, ValueRange{ctx.addIndex(row, n), col},
                               /*isWrite=*/false, kLocality,
                               /*isDataCache=*/true);
}

void fa::prefetchBeside(HostContext &ctx, tile::DotOp dot, Value row,
                        Value column) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop)
    return;
  Value at = ctx.mapped(loop.getInductionVar());
  Block &body = *loop.getBody();
  tile::LoadOp load = findRowLoad(
      llvm::make_range(std::next(dot->getIterator()), body.end()), loop);
  if (!load) {
    load = findRowLoad(body, loop);
    at = arith::AddIOp::create(b, at, ctx.mapped(loop.getStep()));
  }
  if (!load)
    return;
  int64_t columns = cast<RankedTensorType>(dot.getB().getType()).getDimSize(1);
  // K may be wider than V.
  for (int64_t next = 0; next < load.getType().getDimSize(1); next += columns)
    memref::PrefetchOp::create(b, ctx.mapped(load.getSource()),
                               ValueRange{arith::AddIOp::create(b, at, row),
                                          ctx.addIndex(column, next)},
                               /*isWrite=*/false, kLocality,
                               /*isDataCache=*/true);
}

void fa::prefetchPages(HostContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!loop || !load || !walksRows(load, loop))
    return;
  auto type = load.getType();
  int64_t rows = type.getDimSize(0);
  int64_t rowBytes = type.getDimSize(1) * kLineBytes / elementsOfLine(dot);
  if (rows * rowBytes > kMostPages * kPageBytes)
    return;
  Value row = emitLaterStep(ctx, loop, 2);
  for (int64_t r = 0; r < rows;
       r += std::max<int64_t>(1, kPageBytes / rowBytes))
    memref::PrefetchOp::create(
        b, ctx.mapped(load.getSource()),
        ValueRange{ctx.addIndex(row, r), ctx.constantIndex(0)},
        /*isWrite=*/false, kLocality,
        /*isDataCache=*/true);
}

void fa::prefetchAt(HostContext &ctx, Value view, ValueRange indices, Value row,
                    Value column, bool isWrite) {
  ImplicitLocOpBuilder &b = ctx.b;
  memref::PrefetchOp::create(
      b, ctx.mapped(view),
      ValueRange{arith::AddIOp::create(b, ctx.mapped(indices[0]), row),
                 arith::AddIOp::create(b, ctx.mapped(indices[1]), column)},
      isWrite, kLocality, /*isDataCache=*/true);
}

void fa::prefetchBeside(HostContext &ctx, tile::DotOp dot, bool later,
                        const Trip &trip) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!loop || !load || load->getParentOp() != loop || !walksRows(load, loop))
    return;
  auto type = cast<RankedTensorType>(load.getType());
  // A block asks for some spans of rows, or some columns of one, and a trip for
  // one row of each: its address is one addition away from the trip's before.
  int64_t spans = llvm::divideCeil(type.getDimSize(0), trip.count);
  int64_t spansOfBlock = llvm::divideCeil(spans, trip.blocks);
  int64_t blocksOfSpan = llvm::divideCeil(trip.blocks, spans);
  int64_t width = elementsOfLine(dot);
  int64_t lines = llvm::divideCeil(llvm::divideCeil(type.getDimSize(1), width),
                                   blocksOfSpan);
  auto times = [&](Value x, int64_t y) -> Value {
    return arith::MulIOp::create(b, x, ctx.constantIndex(y));
  };
  Value split = ctx.constantIndex(blocksOfSpan);
  Value span = arith::DivUIOp::create(b, trip.block, split);
  Value column =
      times(arith::RemUIOp::create(b, trip.block, split), lines * width);
  Value row = emitLaterStep(ctx, loop, later ? 1 : 0);
  row = arith::AddIOp::create(b, row, times(span, spansOfBlock * trip.count));
  row = arith::AddIOp::create(b, row, trip.index);
  for (int64_t s = 0; s < spansOfBlock; ++s)
    for (int64_t n = 0; n < lines; ++n)
      memref::PrefetchOp::create(b, ctx.mapped(load.getSource()),
                                 ValueRange{ctx.addIndex(row, s * trip.count),
                                            ctx.addIndex(column, n * width)},
                                 /*isWrite=*/false, kLocality,
                                 /*isDataCache=*/true);
}

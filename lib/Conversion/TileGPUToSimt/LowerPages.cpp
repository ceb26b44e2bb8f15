//===- LowerPages.cpp - rows that are found through a table of pages ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread looks up the page of each row that it reads. Nobody writes to the
// table while a kernel runs, so that loads of an entry are one.
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

GlobalView::Pages fa::openTable(SimtContext &ctx, const GlobalView &pages,
                                Value table, Value sequence) {
  ImplicitLocOpBuilder &b = ctx.b;
  GlobalView view = openView(ctx, table);
  auto narrow = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getI32Type(), x);
  };
  Value last = arith::SubIOp::create(b, pages.sizes[0], ctx.index(1));
  // Of pages without rows nothing is read, but the division is made.
  Value rows = arith::MaxUIOp::create(b, narrow(pages.sizes[2]), ctx.i32(1));
  return {addressOf(ctx, view, {ctx.mapped(sequence), ctx.index(0)}),
          view.strides[1],
          pages.strides[0],
          rows,
          arith::DivUIOp::create(b, ctx.i32(-1), rows),
          narrow(last)};
}

/// Opens a view of pages where it is made.
static void openPages(SimtContext &ctx, tile::PagedViewOp op) {
  GlobalView pages = openView(ctx, op.getPages());
  Value zero = ctx.index(0);
  GlobalView view;
  view.type = inRegisters(cast<MemRefType>(op.getType()));
  view.base =
      addressOf(ctx, pages, {zero, ctx.mapped(op.getHead()), zero, zero});
  view.sizes = {ctx.mapped(op.getLength()), pages.sizes[3]};
  view.strides = {pages.strides[2], pages.strides[3]};
  view.pages = openTable(ctx, pages, op.getTable(), op.getSequence());
  ctx.views[op.getResult()] = view;
}

/// The quotient of `row` and a page's rows, and the remainder. Both numbers are
/// below 2^31, so that the product with the reciprocal is less than 1 too small
/// before it is rounded down, and the quotient 1 at most.
static std::pair<Value, Value>
divideByPage(SimtContext &ctx, const GlobalView::Pages &pages, Value row) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto product = arith::MulUIExtendedOp::create(b, row, pages.reciprocal);
  Value quotient = product.getHigh();
  Value rest = arith::SubIOp::create(
      b, row, Value(arith::MulIOp::create(b, quotient, pages.rows)));
  Value isMore =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, rest, pages.rows);
  Value one = arith::ExtUIOp::create(b, b.getI32Type(), isMore);
  Value less = arith::SubIOp::create(b, rest, pages.rows);
  return {arith::AddIOp::create(b, quotient, one),
          arith::SelectOp::create(b, isMore, less, rest)};
}

std::pair<Value, Value> fa::findPage(SimtContext &ctx,
                                     const GlobalView::Pages &pages, Value row,
                                     Value isInside) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto [place, within] = divideByPage(ctx, pages, row);
  Value step = arith::MulIOp::create(
      b, arith::IndexCastUIOp::create(b, b.getIndexType(), place),
      pages.entryStep);
  Value page = loadOrZero(ctx, stepFrom(ctx, pages.table, b.getI32Type(), step),
                          b.getI32Type(), isInside, /*isConstant=*/true);
  // What is no page is the last one, so that nothing else is read.
  auto known = LLVM::UMinOp::create(b, page, pages.last);
  known->setAttr(TileGPUDialect::pageAttrName, b.getUnitAttr());
  return {known, within};
}

Value fa::findPagedRow(SimtContext &ctx, const GlobalView &view, Value row,
                       bool isCertain) {
  ImplicitLocOpBuilder &b = ctx.b;
  const GlobalView::Pages &pages = *view.pages;
  Type word = b.getI32Type();
  auto widen = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), x);
  };
  // A length is an i32: so are the rows before it.
  Value number = arith::IndexCastUIOp::create(b, word, row);
  Value isInside =
      isCertain ? Value() : fa::isInside(ctx, view, {row}, {/*certain=*/false});
  auto [page, within] = findPage(ctx, pages, number, isInside);
  Value offset = arith::AddIOp::create(
      b, Value(arith::MulIOp::create(b, widen(page), pages.pageStep)),
      Value(arith::MulIOp::create(b, widen(within), view.strides[0])));
  return stepFrom(ctx, view.base, view.type.getElementType(), offset);
}

/// Makes a view of a slot a part of the pages.
static void openSlotView(SimtContext &ctx, tile::SlotViewOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto bits = [&](Value x) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), x);
  };
  auto bound = [&](Value next, Value count) -> Value {
    auto known = LLVM::UMinOp::create(b, bits(next), bits(count));
    known->setAttr(TileGPUDialect::slotAttrName, b.getUnitAttr());
    return arith::IndexCastOp::create(b, b.getIndexType(), known);
  };
  ctx.mapping.map(op.getResult(), op.expand(b, ctx.mapped(op.getPages()),
                                            ctx.mapped(op.getSlot()), bound));
}

void fa::lowerSequenceOf(SimtContext &ctx, tile::SequenceOfOp op) {
  auto [sequence, first] =
      tile::SequenceOfOp::search(ctx.b, ctx.mapped(op.getSlot()),
                                 ctx.mapped(op.getOffsets()), op.getRows());
  ctx.mapping.map(op.getSequence(), sequence);
  ctx.mapping.map(op.getFirst(), first);
}

void fa::addPagesLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, openPages);
  ctx.registry.add(ctx, openSlotView);
  ctx.registry.add(ctx, lowerSequenceOf);
}

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

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

SimtLowering::GlobalView::Pages
SimtLowering::openTable(const GlobalView &pages, Value table, Value sequence) {
  GlobalView view = openView(table);
  auto narrow = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getI32Type(), x);
  };
  Value last = arith::SubIOp::create(b, pages.sizes[0], index(1));
  // Of pages without rows nothing is read, but the division is made.
  Value rows = arith::MaxUIOp::create(b, narrow(pages.sizes[2]), i32(1));
  return {addressOf(view, {mapped(sequence), index(0)}),
          view.strides[1],
          pages.strides[0],
          rows,
          arith::DivUIOp::create(b, i32(-1), rows),
          narrow(last)};
}

void SimtLowering::openPages(tile::PagedViewOp op) {
  GlobalView pages = openView(op.getPages());
  Value zero = index(0);
  GlobalView view;
  view.type = inRegisters(cast<MemRefType>(op.getType()));
  view.base = addressOf(pages, {zero, mapped(op.getHead()), zero, zero});
  view.sizes = {mapped(op.getLength()), pages.sizes[3]};
  view.strides = {pages.strides[2], pages.strides[3]};
  view.pages = openTable(pages, op.getTable(), op.getSequence());
  views[op.getResult()] = view;
}

/// The quotient of `row` and a page's rows, and the remainder. Both numbers are
/// below 2^31, so that the product with the reciprocal is less than 1 too small
/// before it is rounded down, and the quotient 1 at most.
std::pair<Value, Value>
SimtLowering::divideByPage(const GlobalView::Pages &pages, Value row) {
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

std::pair<Value, Value> SimtLowering::findPage(const GlobalView::Pages &pages,
                                               Value row, Value isInside) {
  auto [place, within] = divideByPage(pages, row);
  Value step = arith::MulIOp::create(
      b, arith::IndexCastUIOp::create(b, b.getIndexType(), place),
      pages.entryStep);
  Value page = loadOrZero(stepFrom(pages.table, b.getI32Type(), step),
                          b.getI32Type(), isInside, /*isConstant=*/true);
  // What is no page is the last one, so that nothing else is read.
  auto known = LLVM::UMinOp::create(b, page, pages.last);
  known->setAttr(TileGPUDialect::pageAttrName, b.getUnitAttr());
  return {known, within};
}

Value SimtLowering::findPagedRow(const GlobalView &view, Value row,
                                 bool isCertain) {
  const GlobalView::Pages &pages = *view.pages;
  Type word = b.getI32Type();
  auto widen = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), x);
  };
  // A length is an i32: so are the rows before it.
  Value number = arith::IndexCastUIOp::create(b, word, row);
  Value isInside =
      isCertain ? Value() : this->isInside(view, {row}, {/*certain=*/false});
  auto [page, within] = findPage(pages, number, isInside);
  Value offset = arith::AddIOp::create(
      b, Value(arith::MulIOp::create(b, widen(page), pages.pageStep)),
      Value(arith::MulIOp::create(b, widen(within), view.strides[0])));
  return stepFrom(view.base, view.type.getElementType(), offset);
}

void SimtLowering::openSlotView(tile::SlotViewOp op) {
  auto bits = [&](Value x) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), x);
  };
  auto bound = [&](Value next, Value count) -> Value {
    auto known = LLVM::UMinOp::create(b, bits(next), bits(count));
    known->setAttr(TileGPUDialect::slotAttrName, b.getUnitAttr());
    return arith::IndexCastOp::create(b, b.getIndexType(), known);
  };
  mapping.map(op.getResult(),
              op.expand(b, mapped(op.getPages()), mapped(op.getSlot()), bound));
}

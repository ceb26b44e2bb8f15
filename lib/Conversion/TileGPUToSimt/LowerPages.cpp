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

void SimtLowering::openPages(tile::PagedViewOp op) {
  GlobalView pages = openView(op.getPages()), table = openView(op.getTable());
  auto narrow = [&](Value x) -> Value {
    return arith::IndexCastUIOp::create(b, b.getI32Type(), x);
  };
  Value zero = index(0);
  GlobalView view;
  view.type = cast<MemRefType>(op.getType());
  view.base = addressOf(pages, {zero, mapped(op.getHead()), zero, zero});
  view.sizes = {mapped(op.getLength()), pages.sizes[3]};
  view.strides = {pages.strides[2], pages.strides[3]};
  Value last = arith::SubIOp::create(b, pages.sizes[0], index(1));
  view.pages = {addressOf(table, {mapped(op.getSequence()), zero}),
                table.strides[1], pages.strides[0], narrow(pages.sizes[2]),
                narrow(last)};
  views[op.getResult()] = view;
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
  Value place = arith::DivUIOp::create(b, number, pages.rows);
  Value within = arith::RemUIOp::create(b, number, pages.rows);
  Value step = arith::MulIOp::create(b, widen(place), pages.entryStep);
  Value isInside =
      isCertain ? Value() : this->isInside(view, {row}, {/*certain=*/false});
  Value page = loadOrZero(stepFrom(pages.table, word, step), word, isInside,
                          /*isConstant=*/true);
  // What is no page is the last one, so that nothing else is read.
  page = arith::MinUIOp::create(b, page, pages.last);
  Value offset = arith::AddIOp::create(
      b, Value(arith::MulIOp::create(b, widen(page), pages.pageStep)),
      Value(arith::MulIOp::create(b, widen(within), view.strides[0])));
  return stepFrom(view.base, view.type.getElementType(), offset);
}

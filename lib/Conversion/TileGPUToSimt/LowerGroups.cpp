//===- LowerGroups.cpp - rows that are the queries of several heads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Opens a view of several heads where it is made.
static void openGroups(SimtContext &ctx, tile::GroupedViewOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  GlobalView heads = openView(ctx, op.getHeads());
  Value group = heads.sizes[0], queries = heads.sizes[1];
  tile::GroupedRows rows(b, group, op.getBlock());
  GlobalView view;
  view.type = inRegisters(cast<MemRefType>(op.getType()));
  view.base = heads.base;
  view.strides.assign(heads.strides.begin() + 1, heads.strides.end());
  view.sizes.assign(heads.sizes.begin() + 1, heads.sizes.end());
  view.sizes[0] = rows.countRows(b, queries);
  view.groups = GlobalView::Groups{rows, group, queries, heads.strides[0]};
  ctx.views[op.getResult()] = view;
}

Value fa::findGroupedRow(SimtContext &ctx, const GlobalView &view, Value row) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto steps = [&](Value number, Value step) -> Value {
    return arith::MulIOp::create(b, number, step);
  };
  auto place = view.groups->rows.find(b, row);
  Value offset =
      arith::AddIOp::create(b, steps(place.head, view.groups->headStep),
                            steps(place.query, view.strides[0]));
  return stepFrom(ctx, view.base, view.type.getElementType(), offset);
}

Value fa::hasGroupedRow(SimtContext &ctx, const GlobalView &view, Value row) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto isLess = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
  };
  auto place = view.groups->rows.find(b, row);
  Value exists = isLess(place.query, view.groups->queries);
  if (!place.isRow)
    return exists;
  exists =
      arith::AndIOp::create(b, exists, isLess(place.head, view.groups->heads));
  return arith::AndIOp::create(b, exists, place.isRow);
}

void fa::addGroupsLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, openGroups);
}

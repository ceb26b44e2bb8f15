//===- SeenColumns.cpp - columns that no row of a block sees --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a tile at the edge of a causal mask the first rows see few columns, the
// last ones all. Scores, exponentials and the products with V end where the
// last row of a block ends.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;

/// Adds the upper limits that `mask` is a conjunction of.
static void addUpperLimits(Value mask,
                           SmallVectorImpl<tile::ColumnLimit> &limits) {
  if (auto both = mask.getDefiningOp<arith::AndIOp>()) {
    addUpperLimits(both.getLhs(), limits);
    addUpperLimits(both.getRhs(), limits);
  } else if (auto compare = mask.getDefiningOp<arith::CmpIOp>()) {
    auto limit = tile::findColumnLimit(compare);
    if (limit && limit->isUpper && limit->rows.empty())
      limits.push_back(*limit);
  }
}

ColumnLimits fa::findLimits(HostContext &ctx, tile::OnlineSoftmaxOp op) {
  auto select = op.getScores().getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getFalseValue(), m_NegInfFloat()))
    return {};
  Value p = getReadP(op);
  auto dot = p.hasOneUse() ? dyn_cast<tile::DotOp>(*p.getUsers().begin())
                           : tile::DotOp();
  if (!dot || dot.getA() != p || dot->getBlock() != op->getBlock() ||
      isPending(ctx, dot))
    return {};
  ColumnLimits limits;
  addUpperLimits(select.getCondition(), limits);
  return limits;
}

Value fa::emitSeenColumns(HostContext &ctx, const ColumnLimits &limits,
                          Value row, int64_t vectors, int64_t columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t step = seenStep(ctx, vectors);
  if (limits.empty() || columns % step != 0)
    return {};
  Value seen = ctx.constantIndex(columns);
  for (const tile::ColumnLimit &limit : limits) {
    Value end = ctx.constantIndex(limit.constant);
    for (auto [scalar, sign] : limit.scalars)
      end = sign > 0 ? b.createOrFold<arith::AddIOp>(end, ctx.mapped(scalar))
                     : b.createOrFold<arith::SubIOp>(end, ctx.mapped(scalar));
    if (limit.slope > 0)
      end = arith::AddIOp::create(b, end,
                                  ctx.addIndex(row, vectors * ctx.lanes() - 1));
    else if (limit.slope < 0)
      end = arith::SubIOp::create(b, end, row);
    seen = arith::MinSIOp::create(b, seen, end);
  }
  seen = arith::MaxSIOp::create(b, seen, ctx.constantIndex(0));
  seen = arith::DivUIOp::create(b, ctx.addIndex(seen, step - 1),
                                ctx.constantIndex(step));
  return arith::MulIOp::create(b, seen, ctx.constantIndex(step));
}

//===- LowerColumnBits.cpp - columns between two limits -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row's columns from one limit to another, as the mask of a window has them:
// a word whose bits are the thread's columns. An element takes a test of its
// bit and a selection; compared with both limits it takes two of each. Where
// tests and selections alternate along a word, ptxas takes seven bits into
// predicates by one instruction (R2P).
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The comparison of the numbers of columns, i32, with a limit of each row that
/// makes `mask`, by this predicate.
static arith::CmpIOp limitOf(Value mask, arith::CmpIPredicate predicate) {
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  auto iota =
      compare ? compare.getLhs().getDefiningOp<tile::IotaOp>() : tile::IotaOp();
  auto limits = compare ? compare.getRhs().getDefiningOp<tile::BroadcastOp>()
                        : tile::BroadcastOp();
  auto rows = limits ? dyn_cast<RankedTensorType>(limits.getInput().getType())
                     : RankedTensorType();
  bool is = iota && iota.getDim() == 1 && compare.getPredicate() == predicate &&
            iota.getType().getElementType().isInteger(32) && rows &&
            rows.getDimSize(1) == 1;
  return is ? compare : arith::CmpIOp();
}

namespace {

/// The columns of a thread's registers in one row, without the thread's part:
/// `run` neighbours in each `period`.
struct ColumnRuns {
  int64_t period = 0, run = 0, count = 0;
};

} // namespace

/// Nothing if `columns`, ascending, are no such runs.
static std::optional<ColumnRuns> findRuns(ArrayRef<int32_t> columns) {
  ColumnRuns runs;
  runs.count = columns.size();
  while (runs.run < runs.count && columns[runs.run] == runs.run)
    ++runs.run;
  runs.period = runs.run < runs.count ? columns[runs.run] : runs.run;
  for (auto [n, column] : llvm::enumerate(columns))
    if (column != int64_t(n) / runs.run * runs.period + int64_t(n) % runs.run)
      return std::nullopt;
  bool fits = runs.count <= 32 && runs.count % runs.run == 0 &&
              llvm::isPowerOf2_64(runs.period);
  return fits ? std::optional(runs) : std::nullopt;
}

/// Of registers whose columns in a row are `run` neighbours in each `period`: a
/// bit for each, in ascending order, which is set from column `limit` on.
static Value bitsFrom(SimtContext &ctx, Value limit, int64_t period,
                      int64_t run, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value zero = ctx.i32(0);
  limit = arith::MaxSIOp::create(b, limit, zero);
  limit = arith::MinSIOp::create(b, limit, ctx.i32(count / run * period));
  Value whole =
      arith::ShRUIOp::create(b, limit, ctx.i32(llvm::Log2_64(period)));
  Value part = arith::AndIOp::create(b, limit, ctx.i32(period - 1));
  part = arith::MinSIOp::create(b, part, ctx.i32(run));
  Value below = arith::AddIOp::create(
      b, arith::MulIOp::create(b, whole, ctx.i32(run)), part);
  if (count < 32)
    return arith::ShLIOp::create(b, ctx.i32(-1), below);
  // A shift by all 32 bits is none: two by up to half of them.
  Value half = arith::MinSIOp::create(b, below, ctx.i32(16));
  Value bits = arith::ShLIOp::create(b, ctx.i32(-1), half);
  return arith::ShLIOp::create(b, bits, arith::SubIOp::create(b, below, half));
}

static Value testBit(SimtContext &ctx, const WordBit &at) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value one = arith::AndIOp::create(b, at.word, ctx.i32(int32_t(1u << at.bit)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, one, ctx.i32(0));
}

static bool lowerColumnBits(SimtContext &ctx, arith::AndIOp both) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!ctx.testsBits())
    return false;
  auto upper = limitOf(both.getLhs(), arith::CmpIPredicate::slt),
       lower = limitOf(both.getRhs(), arith::CmpIPredicate::sge);
  if (!upper || !lower)
    return false;
  TileLayout layout = layoutOf(both.getResult());
  // Registers of each row, by their columns.
  std::map<int32_t, std::map<int32_t, unsigned>> rows;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Coord at = coordOf(layout, reg);
    if (at[1] & threadBits(layout, 1))
      return false;
    rows[at[0]][at[1]] = reg;
  }
  SmallVector<int32_t> columns(llvm::make_first_range(rows.begin()->second));
  std::optional<ColumnRuns> runs = findRuns(columns);
  bool alike = llvm::all_of(llvm::make_second_range(rows), [&](auto &row) {
    return llvm::equal(llvm::make_first_range(row), columns);
  });
  if (!runs || !alike ||
      int64_t(rows.size() * columns.size()) != layout.numRegisters())
    return false;
  SmallVector<Value> from(ctx.elementsOf(lower.getRhs())),
      to(ctx.elementsOf(upper.getRhs()));
  Value thread = ctx.i32Of(ctx.threadCoord(layout, 1));
  SmallVector<WordBit> bits(layout.numRegisters());
  SmallVector<Value> elements(layout.numRegisters());
  for (auto &[row, registers] : rows) {
    auto bitsOf = [&](Value limit) {
      return bitsFrom(ctx, arith::SubIOp::create(b, limit, thread),
                      runs->period, runs->run, runs->count);
    };
    unsigned first = registers.begin()->second;
    Value word = arith::AndIOp::create(
        b, bitsOf(from[first]),
        arith::XOrIOp::create(b, bitsOf(to[first]), ctx.i32(-1)));
    for (auto [n, reg] : llvm::enumerate(llvm::make_second_range(registers))) {
      bits[reg] = {word, unsigned(n)};
      elements[reg] = testBit(ctx, bits[reg]);
    }
  }
  ctx.setElements(both.getResult(), elements);
  ctx.tiles[both.getResult()].bits = bits;
  return true;
}

/// A selection by such columns.
static bool lowerBitSelect(SimtContext &ctx, arith::SelectOp select) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto mask = ctx.tiles.find(select.getCondition());
  if (mask == ctx.tiles.end() || mask->second.bits.empty())
    return false;
  llvm::MapVector<Value, std::map<unsigned, unsigned>> registers;
  for (auto [reg, at] : llvm::enumerate(mask->second.bits))
    registers[at.word][at.bit] = reg;
  SmallVector<Value> yes(ctx.elementsOf(select.getTrueValue())),
      no(ctx.elementsOf(select.getFalseValue())), elements(yes.size());
  for (auto &[word, ofBits] : registers)
    for (auto [bit, reg] : ofBits)
      elements[reg] = arith::SelectOp::create(b, testBit(ctx, {word, bit}),
                                              yes[reg], no[reg]);
  ctx.setElements(select.getResult(), elements);
  return true;
}

void fa::addColumnBitsLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, lowerColumnBits);
  ctx.registry.addForm(ctx, lowerBitSelect);
}

//===- LowerScan.cpp - what rows have added up to so far ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step for each bit of a coordinate along the row, the lowest first: where
// groups of 2^k neighbours have been scanned, those of the upper half of
// 2^(k+1) lack the total of the lower half. A total is the same for all of its
// group, so that it is where it is wanted: in another register, or in the lane
// that differs in one bit. That goes for every layout whose bits step by powers
// of two, whichever are registers and which are lanes.
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace {
/// The bit of a place that steps along the row.
struct ScanBit {
  Axis axis;
  unsigned bit;
};
} // namespace

/// For each bit of the coordinate along `dim`, the lowest first, who has it.
static FailureOr<SmallVector<ScanBit>>
findBits(tile::ScanOp op, const LinearLayout &layout, unsigned dim) {
  std::map<int32_t, ScanBit> bits;
  for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.bits(axis); ++bit) {
      Coord basis = layout.basis(axis, bit);
      int32_t step = std::exchange(basis[dim], 0);
      if (!step)
        continue;
      bool isApart = llvm::isPowerOf2_32(step) &&
                     llvm::all_of(basis, [](int32_t at) { return at == 0; });
      if (axis == Axis::Warp || !isApart ||
          !bits.try_emplace(step, ScanBit{axis, bit}).second)
        return op.emitOpError("expects a scan inside each warp on a GPU");
    }
  return llvm::map_to_vector(bits, [](auto &entry) { return entry.second; });
}

namespace {
/// What a thread has of a tile that is being scanned.
class Scan {
public:
  Scan(SimtContext &ctx, tile::ScanOp op)
      : elements(ctx.elementsOf(op.getInput())), ctx(ctx), op(op),
        totals(elements) {}

  void step(ScanBit at) {
    shuffled.clear();
    combined.clear();
    if (at.axis == Axis::Register)
      stepRegisters(1u << at.bit);
    else
      stepLanes(1u << at.bit);
  }

  /// Adds to each of `count` registers what copies of the layout before have.
  void stepCopies(size_t count) {
    size_t copies = elements.size() / count;
    SmallVector<Value> before;
    for (size_t n = 0; n < copies; ++n) {
      size_t first = (op.getReverse() ? copies - 1 - n : n) * count;
      for (size_t reg = 0; reg < count; ++reg) {
        Value &element = elements[first + reg];
        if (n)
          element = combine(before[reg], element);
      }
      for (size_t reg = 0; reg < count; ++reg) {
        Value total = totals[first + reg];
        if (n)
          before[reg] = combine(before[reg], total);
        else
          before.push_back(total);
      }
    }
  }

  SmallVector<Value> elements;

private:
  Value combine(Value x, Value y) {
    return tile::combine(ctx.b, op.getKind(), x, y);
  }

  /// Of totals, which several registers have.
  Value combineOnce(Value x, Value y) {
    Value &known = combined[{x.getAsOpaquePointer(), y.getAsOpaquePointer()}];
    return known ? known : known = combine(x, y);
  }

  void stepRegisters(size_t bit) {
    for (size_t reg = 0; reg < elements.size(); ++reg) {
      if (reg & bit)
        continue;
      size_t first = op.getReverse() ? reg | bit : reg, last = first ^ bit;
      elements[last] = combine(totals[first], elements[last]);
      totals[reg] = totals[reg | bit] =
          combineOnce(totals[first], totals[last]);
    }
  }

  void stepLanes(uint32_t bit) {
    ImplicitLocOpBuilder &b = ctx.b;
    Value own = arith::AndIOp::create(b, ctx.thread, ctx.i32(bit));
    Value isLast = arith::CmpIOp::create(
        b,
        op.getReverse() ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
        own, ctx.i32(0));
    for (auto [element, total] : llvm::zip_equal(elements, totals)) {
      Value &other = shuffled[total];
      if (!other)
        other = ctx.shuffleXor(total, bit);
      element =
          arith::SelectOp::create(b, isLast, combine(other, element), element);
      total = combineOnce(total, other);
    }
  }

  SimtContext &ctx;
  tile::ScanOp op;
  SmallVector<Value> totals; ///< of the group that each register is in
  llvm::DenseMap<Value, Value> shuffled; ///< totals of this step's other lane
  std::map<std::pair<void *, void *>, Value> combined;
};
} // namespace

static LogicalResult lowerScan(SimtContext &ctx, tile::ScanOp op) {
  TileLayout layout = layoutOf(op.getResult());
  unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
  if (width != 32 && width != 64)
    return op.emitOpError("has a lowering for a GPU on elements of 32 and 64 "
                          "bits, found ")
           << op.getInput().getType();
  if (!(layoutOf(op.getInput()) == layout))
    return op.emitOpError("expects its elements in the threads and registers "
                          "that have the result's");
  auto bits = findBits(op, layout.base, op.getDim());
  if (failed(bits))
    return failure();
  Scan scan(ctx, op);
  for (ScanBit bit : *bits)
    scan.step(bit);
  if (op.getDim() + 1 == layout.rank())
    scan.stepCopies(layout.base.count(Axis::Register));
  ctx.setElements(op.getResult(), scan.elements);
  return success();
}

void fa::addScanLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerScan);
}

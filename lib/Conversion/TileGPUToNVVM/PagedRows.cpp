//===- PagedRows.cpp - rows in pages, looked up by a warp -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedRows.h"

#include "../TileGPUToSimt/SimtMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;

static constexpr unsigned kLaneBits = 5;

/// The row that each bit of `axis` adds; 0: none.
static SmallVector<int64_t> rowSteps(const LinearLayout &layout, Axis axis) {
  SmallVector<int64_t> steps;
  for (unsigned bit = 0; bit < layout.bits(axis); ++bit)
    steps.push_back(layout.basis(axis, bit)[0]);
  return steps;
}

PagedRows::PagedRows(NvidiaContext &ctx, const GlobalView &view,
                     const TileLayout &threads, Value start, bool isCertain)
    : ctx(ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<uint32_t> numberBits(kLaneBits), rowBits;
  for (auto [bit, step] : llvm::enumerate(rowSteps(threads.base, Axis::Lane)))
    if (step) {
      numberBits[bit] = 1u << laneBits++;
      steps.push_back(step);
    }
  for (int64_t step : rowSteps(threads.base, Axis::Register))
    if (step)
      steps.push_back(step);
  for (unsigned bit = 0; bit < kLaneBits; ++bit)
    rowBits.push_back(bit < steps.size() ? steps[bit] : 0);
  for (int64_t step : rowSteps(threads.base, Axis::Warp))
    rowBits.push_back(step);
  ownNumber = ctx.threadLinear(numberBits);
  Value first = arith::AddIOp::create(
      b, start,
      arith::IndexCastUIOp::create(b, b.getIndexType(),
                                   ctx.threadLinear(rowBits)));
  ArrayRef<int64_t> others =
      ArrayRef(steps).drop_front(std::min<size_t>(steps.size(), kLaneBits));
  for (uint64_t n = 0; n < (uint64_t(1) << others.size()); ++n) {
    int64_t behind = 0;
    for (auto [bit, step] : llvm::enumerate(others))
      behind += (n >> bit & 1) * step;
    Value row = arith::AddIOp::create(b, first, ctx.index(behind));
    Value address = findPagedRow(ctx, view, row, isCertain);
    pointer = address.getType();
    Value bits = LLVM::PtrToIntOp::create(b, b.getI64Type(), address);
    Value high = arith::ShRUIOp::create(
        b, bits, arith::ConstantIntOp::create(b, 32, /*width=*/64));
    known.push_back({arith::TruncIOp::create(b, b.getI32Type(), bits),
                     arith::TruncIOp::create(b, b.getI32Type(), high)});
  }
}

Value PagedRows::find(int64_t inTile) {
  Value &address = found[inTile];
  if (address)
    return address;
  ImplicitLocOpBuilder &b = ctx.b;
  uint32_t number = 0;
  for (auto [bit, step] : llvm::enumerate(ArrayRef(steps).drop_front(laneBits)))
    if (inTile & step)
      number |= 1u << (laneBits + bit);
  uint32_t lane = number & ((1u << kLaneBits) - 1);
  Value from = ownNumber;
  if (lane)
    from = arith::OrIOp::create(b, from, ctx.i32(lane));
  auto take = [&](Value half) -> Value {
    Value word = NVVM::ShflOp::create(b, b.getI32Type(), ctx.i32(-1), half,
                                      from, ctx.i32((1 << kLaneBits) - 1),
                                      NVVM::ShflKind::idx, UnitAttr());
    return arith::ExtUIOp::create(b, b.getI64Type(), word);
  };
  auto [low, high] = known[number >> kLaneBits];
  Value above = arith::ShLIOp::create(
      b, take(high), arith::ConstantIntOp::create(b, 32, /*width=*/64));
  Value bits = arith::OrIOp::create(b, above, take(low));
  address = LLVM::IntToPtrOp::create(b, pointer, bits);
  return address;
}

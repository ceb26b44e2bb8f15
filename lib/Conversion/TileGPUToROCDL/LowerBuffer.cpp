//===- LowerBuffer.cpp - rows by buffer descriptors -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A descriptor covers the rows of one tile that exist; what lies behind its
// num_records reads as 0 and is not written (CDNA3 ISA, 9.1.5 "Buffer
// Addressing", "Range Checking"). There is then neither a test nor a branch for
// an access, and what is loaded is not looked at before it is wanted.
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The last word of a descriptor for raw buffers: NUM_FORMAT float, DATA_FORMAT
/// 32 (CDNA3 ISA, table "Buffer Resource Descriptor").
static constexpr int64_t kRawBuffer = 7 << 12 | 4 << 15;

std::pair<Value, Value> fa::describeRows(AmdContext &ctx,
                                         const GlobalView &view, Value start,
                                         int64_t rows, bool inBounds) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = view.type.getElementTypeBitWidth() / 8;
  Value row = ctx.index(view.type.getDimSize(1) * bytes);
  Value step = arith::MulIOp::create(b, view.strides[0], ctx.index(bytes));
  // The step of a view of one row is never taken, and may be any.
  Value isTaken = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                        view.sizes[0], ctx.index(1));
  step = arith::SelectOp::create(b, isTaken, step, row);
  // A descriptor is in scalar registers: all lanes have the same tile.
  Type i64 = b.getI64Type();
  Value first = ROCDL::ReadfirstlaneOp::create(
      b, i64, arith::IndexCastOp::create(b, i64, start));
  start = arith::IndexCastOp::create(b, b.getIndexType(), first);
  Value count = ctx.index(rows);
  if (!inBounds) {
    // Unsigned: the first tile of a loop that has none may begin before row 0
    // (masks of more queries than keys), and has no row then.
    start = arith::MinUIOp::create(b, start, view.sizes[0]);
    Value left = arith::SubIOp::create(b, view.sizes[0], start);
    count = arith::MinSIOp::create(b, left, count);
  }
  Value records =
      arith::IndexCastOp::create(b, i64, arith::MulIOp::create(b, count, step));
  Value base = stepFrom(ctx, view.base, b.getI8Type(),
                        arith::MulIOp::create(b, start, step));
  Value stride = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  Type type = LLVM::LLVMPointerType::get(b.getContext(), /*buffer=*/8);
  Value descriptor = ROCDL::MakeBufferRsrcOp::create(
      b, type, base, stride, records, ctx.i32(kRawBuffer));
  return {descriptor, ctx.i32Of(step)};
}

/// Calls `access` with the descriptor and the byte of each `width` elements
/// that a thread has of `tile`, and the first register of those.
static void
walkRows(AmdContext &ctx, const GlobalView &view, ValueRange indices,
         Value tile, bool inBounds, int64_t width,
         llvm::function_ref<void(Value descriptor, Value offset, int64_t reg)>
             access) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(tile);
  int64_t bytes = view.type.getElementTypeBitWidth() / 8;
  auto [descriptor, step] = describeRows(
      ctx, view, ctx.mapped(indices[0]),
      cast<RankedTensorType>(tile.getType()).getDimSize(0), inBounds);
  Value column = arith::AddIOp::create(b, ctx.mapped(indices[1]),
                                       ctx.coordinate(layout, 0, 1));
  Value offset = arith::AddIOp::create(
      b,
      arith::MulIOp::create(b, ctx.i32Of(ctx.coordinate(layout, 0, 0)), step),
      ctx.i32Of(arith::MulIOp::create(b, column, ctx.index(bytes))));
  // From offset to offset: one of its own for each would fill the registers.
  Value at = opaqueInLanes(ctx, offset);
  Coord last = coordOf(layout, 0);
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += width) {
    Coord here = coordOf(layout, reg);
    if (int32_t down = here[0] - last[0])
      at = arith::AddIOp::create(b, at,
                                 arith::MulIOp::create(b, step, ctx.i32(down)));
    if (int32_t along = here[1] - last[1])
      at = arith::AddIOp::create(b, at, ctx.i32(along * bytes));
    last = here;
    access(descriptor, at, reg);
  }
}

void fa::lowerBufferLoad(AmdContext &ctx, tile::LoadOp op,
                         const GlobalView &view, int64_t width) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type type = loadedType(width, view.type.getElementType());
  SmallVector<Value> vectors;
  walkRows(ctx, view, op.getIndices(), op.getResult(), op.getInBounds(), width,
           [&](Value descriptor, Value offset, int64_t) {
             Value operands[] = {descriptor, offset, /*soffset=*/ctx.i32(0),
                                 /*aux=*/ctx.i32(0)};
             vectors.push_back(ROCDL::RawPtrBufferLoadOp::create(
                 b, TypeRange(type), operands));
           });
  setVectors(ctx, op.getResult(), vectors);
}

void fa::lowerBufferStore(AmdContext &ctx, tile::StoreOp op,
                          const GlobalView &view, int64_t width) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool inWords = view.type.getElementTypeBitWidth() == 16;
  SmallVector<Value> values(inWords ? ctx.packedOf(op.getValue())
                                    : ctx.elementsOf(op.getValue()));
  int64_t each = inWords ? 2 : 1, count = width / each;
  Type type = vectorOf(count, values.front().getType());
  walkRows(ctx, view, op.getIndices(), op.getValue(), /*inBounds=*/false, width,
           [&](Value descriptor, Value offset, int64_t reg) {
             Value stored = values[reg / each];
             if (count > 1) {
               stored = LLVM::PoisonOp::create(b, type);
               for (int64_t n = 0; n < count; ++n)
                 stored = LLVM::InsertElementOp::create(
                     b, stored, values[reg / each + n], ctx.i32(n));
             }
             Value operands[] = {stored, descriptor, offset,
                                 /*soffset=*/ctx.i32(0),
                                 /*aux=*/ctx.i32(0)};
             ROCDL::RawPtrBufferStoreOp::create(b, TypeRange(), operands);
           });
}

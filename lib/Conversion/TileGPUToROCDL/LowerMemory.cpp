//===- LowerMemory.cpp - vectors from and to both memories ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "fa/Schedule/ViewAlignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The elements of 8 bits in `words`, four in each.
static SmallVector<Value> codesOf(AmdContext &ctx, ArrayRef<Value> words) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> codes;
  for (Value word : words) {
    Value four =
        LLVM::BitcastOp::create(b, VectorType::get({4}, b.getI8Type()), word);
    for (int32_t n = 0; n < 4; ++n)
      codes.push_back(LLVM::ExtractElementOp::create(b, four, ctx.i32(n)));
  }
  return codes;
}

void fa::setVectors(AmdContext &ctx, Value tile, ArrayRef<Value> vectors) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> values;
  Type element = inRegisters(getElementTypeOrSelf(tile));
  for (Value vector : vectors) {
    auto type = dyn_cast<VectorType>(vector.getType());
    if (!type) {
      values.push_back(vector);
      continue;
    }
    for (int64_t n = 0; n < type.getDimSize(0); ++n)
      values.push_back(LLVM::ExtractElementOp::create(b, vector, ctx.i32(n)));
  }
  if (element.isInteger(8) && values.front().getType() != element)
    return ctx.setElements(tile, codesOf(ctx, values));
  // Words that are not elements are pairs of those.
  if (values.front().getType() == element)
    ctx.setElements(tile, values);
  else
    ctx.setPacked(tile, values);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// One vector: `count` elements at `address`, 0 if they are not `inside`.
static Value loadVector(AmdContext &ctx, const GlobalView &view, Value address,
                        Value inside, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type element = view.type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  Type type = loadedType(count, element);
  // The view's first element stands in for what is outside: no branch.
  if (inside)
    address = arith::SelectOp::create(b, inside, address, view.base);
  Value loaded =
      LLVM::LoadOp::create(b, type, address, /*alignment=*/count * bits / 8);
  if (!inside)
    return loaded;
  Value zero =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  return arith::SelectOp::create(b, inside, loaded, zero);
}

/// Whether a descriptor can bound the rows of `tile` there, which are whole.
static bool hasDescriptor(Value view, Value tile, ArrayRef<bool> certain,
                          int64_t width) {
  auto type = cast<RankedTensorType>(tile.getType());
  return hasCloseRows(view, type.getDimSize(0)) && certain[1] &&
         width * type.getElementTypeBitWidth() % 32 == 0;
}

static LogicalResult lowerVectorStore(AmdContext &ctx, tile::StoreOp op) {
  GlobalView view = openView(ctx, op.getDest());
  TileLayout layout = layoutOf(op.getValue());
  auto type = cast<RankedTensorType>(op.getValue().getType());
  auto certain = certainDims(view, op.getIndices(), type.getShape(),
                             /*inBounds=*/false);
  int64_t width = accessWidth(op.getDest(), op.getIndices(), op.getValue());
  bool hasCopies = copyBits(layout.base, Axis::Register) ||
                   copyBits(layout.base, Axis::Lane) ||
                   copyBits(layout.base, Axis::Warp);
  if (hasCopies || !hasDescriptor(op.getDest(), op.getValue(), certain, width))
    return lowerStore(ctx, op);
  lowerBufferStore(ctx, op, view, width);
  return success();
}

/// Whether nothing in the kernel writes to what `view` is a part of.
static bool isReadOnly(Value view) {
  while (auto part = view.getDefiningOp<ViewLikeOpInterface>())
    view = part.getViewSource();
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel =
      argument ? dyn_cast<tile::KernelOp>(argument.getOwner()->getParentOp())
               : tile::KernelOp();
  return !kernel ||
         kernel.getAccess(argument.getArgNumber()) == tile::Access::In;
}

static LogicalResult lowerVectorLoad(AmdContext &ctx, tile::LoadOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  // What stands in for what is outside is another program's.
  if (!isReadOnly(op.getSource()))
    return lowerLoad(ctx, op);
  GlobalView view = openView(ctx, op.getSource());
  TileLayout layout = layoutOf(op.getResult());
  auto certain = certainDims(view, op.getIndices(), op.getType().getShape(),
                             op.getInBounds());
  int64_t width = accessWidth(op.getSource(), op.getIndices(), op.getResult());
  if (hasDescriptor(op.getSource(), op.getResult(), certain, width)) {
    lowerBufferLoad(ctx, op, view, width);
    return success();
  }
  auto loadAll = [&] {
    SmallVector<Value> vectors;
    AddressWalk walk;
    for (int64_t reg = 0; reg < layout.numRegisters(); reg += width) {
      SmallVector<Value> coords;
      for (auto [dim, start] : llvm::enumerate(op.getIndices()))
        coords.push_back(arith::AddIOp::create(
            b, ctx.mapped(start), ctx.coordinate(layout, reg, dim)));
      Value address =
          stepTo(ctx, walk, view, coords, coordOf(layout, reg), certain[0]);
      vectors.push_back(loadVector(
          ctx, view, address, isInside(ctx, view, coords, certain), width));
    }
    return vectors;
  };
  // An empty view has no element 0.
  Value any;
  for (auto [size, sure] : llvm::zip(view.sizes, certain)) {
    if (sure || matchPattern(size, m_Constant()))
      continue;
    Value some =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size, ctx.index(0));
    any = any ? Value(arith::AndIOp::create(b, any, some)) : some;
  }
  if (!any) {
    setVectors(ctx, op.getResult(), loadAll());
    return success();
  }
  SmallVector<Value> loaded;
  auto branch = scf::IfOp::create(
      b, any,
      [&](OpBuilder &, Location) {
        loaded = loadAll();
        scf::YieldOp::create(b, loaded);
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> zeros;
        for (Value vector : loaded)
          zeros.push_back(arith::ConstantOp::create(
              b, cast<TypedAttr>(b.getZeroAttr(vector.getType()))));
        scf::YieldOp::create(b, zeros);
      });
  setVectors(ctx, op.getResult(), SmallVector<Value>(branch.getResults()));
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Registers that are neighbours in shared memory, up to 16 bytes, each run at
/// a multiple of its size in every thread: each register once, in order.
static SmallVector<SmallVector<unsigned>>
findRuns(ArrayRef<uint32_t> offsets, ArrayRef<uint32_t> threadBases,
         uint32_t bytes) {
  uint32_t reached = 0;
  for (uint32_t step : threadBases)
    reached |= step;
  llvm::DenseMap<uint32_t, unsigned> at;
  for (auto [reg, offset] : llvm::enumerate(offsets))
    at.try_emplace(offset, reg);
  uint32_t run = 16;
  auto isRun = [&](uint32_t offset) {
    for (uint32_t step = bytes; step < run; step *= 2)
      if (reached & step)
        return false;
    uint32_t first = offset & ~(run - 1);
    for (uint32_t next = first; next < first + run; next += bytes)
      if (!at.contains(next))
        return false;
    return true;
  };
  while (run > bytes && !llvm::all_of(offsets, isRun))
    run /= 2;
  SmallVector<SmallVector<unsigned>> runs;
  for (auto [reg, offset] : llvm::enumerate(offsets)) {
    if (offset % run || at.lookup(offset) != reg)
      continue;
    auto &members = runs.emplace_back();
    for (uint32_t next = offset; next < offset + run; next += bytes)
      members.push_back(at.lookup(next));
  }
  return runs;
}

namespace {

/// A tile's way from or to a buffer.
struct SharedAccess {
  TileLayout layout;
  Type element;
  int64_t bytes, copyBytes, count;
  SmallVector<uint32_t> threads, offsets;
  SmallVector<SmallVector<unsigned>> runs;

  /// `inMemory`: the type of the buffer's elements there.
  SharedAccess(BufferType type, Type inMemory, const TileLayout &layout)
      : layout(layout), element(inMemory),
        bytes(element.getIntOrFloatBitWidth() / 8),
        count(layout.base.count(Axis::Register)) {
    const LinearLayout &shared = type.getLayout().getLayout().base;
    copyBytes = bytes * shared.size(0) * shared.size(1);
  }
};

} // namespace

static void lowerVectorRead(AmdContext &ctx, ReadOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType type = op.getBuffer().getType();
  if (ctx.info.hasDirectLoads &&
      type.getElementType().getIntOrFloatBitWidth() == 16)
    if (auto plan = planTurnedRead(layoutOf(op.getResult()).base,
                                   type.getLayout().getLayout().base))
      return lowerTurnedRead(ctx, op, *plan);
  SharedAccess access(type, inRegisters(type.getElementType()),
                      layoutOf(op.getResult()));
  std::tie(access.threads, access.offsets) = byteOffsets(
      access.layout.base, op.getBuffer().getType().getLayout().getLayout().base,
      access.bytes);
  access.runs = findRuns(access.offsets, access.threads, access.bytes);
  if (access.runs.front().size() * access.bytes == 16)
    ctx.wideReads[op.getResult()] = access.layout.repeat * access.runs.size();
  Value slot =
      ctx.opaque(slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot())));
  SmallVector<Value> elements(access.layout.numRegisters());
  SmallVector<Value> words(access.layout.numRegisters() / 2);
  bool inWords =
      access.bytes == 2 && llvm::all_of(access.runs, [](auto &run) {
        for (size_t n = 0; n < run.size(); n += 2)
          if (run.size() == 1 || run[n] % 2 || run[n + 1] != run[n] + 1)
            return false;
        return true;
      });
  for (int64_t copy = 0; copy < access.layout.repeat; ++copy)
    for (ArrayRef<unsigned> run : access.runs) {
      Value address =
          swizzledAddress(ctx, offsetBy(ctx, slot, copy * access.copyBytes),
                          access.threads, access.offsets[run.front()]);
      int64_t size = run.size(), first = copy * access.count;
      Type type = inWords ? vectorOf(size / 2, b.getI32Type())
                          : vectorOf(size, access.element);
      auto loaded = LLVM::LoadOp::create(b, type, address,
                                         /*alignment=*/size * access.bytes);
      isBesideCopies(ctx, loaded);
      for (int64_t n = 0; n < size; n += inWords ? 2 : 1) {
        Value part = isa<VectorType>(type)
                         ? Value(LLVM::ExtractElementOp::create(
                               b, loaded, ctx.i32(inWords ? n / 2 : n)))
                         : loaded.getResult();
        (inWords ? words[(first + run[n]) / 2] : elements[first + run[n]]) =
            part;
      }
    }
  if (inWords)
    return ctx.setPacked(op.getResult(), words);
  // Registers that hold copies.
  for (auto [reg, value] : llvm::enumerate(elements))
    if (!value)
      value = elements[reg & ~copyBits(access.layout.base, Axis::Register)];
  ctx.setElements(op.getResult(), elements);
}

static void lowerVectorWrite(AmdContext &ctx, WriteOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  // What is written comes from a load that was asked for long before: it is
  // waited for here, not where its first use could go.
  keepOrder(ctx);
  BufferType type = op.getBuffer().getType();
  SharedAccess access(type, inRegisters(type.getElementType()),
                      layoutOf(op.getValue()));
  std::tie(access.threads, access.offsets) = byteOffsets(
      access.layout.base, op.getBuffer().getType().getLayout().getLayout().base,
      access.bytes);
  access.runs = findRuns(access.offsets, access.threads, access.bytes);
  Value slot =
      ctx.opaque(slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot())));
  SmallVector<Value> elements(ctx.elementsOf(op.getValue()));
  // Threads that hold copies write the same value to the same place.
  for (int64_t copy = 0; copy < access.layout.repeat; ++copy)
    for (ArrayRef<unsigned> run : access.runs) {
      Value address =
          swizzledAddress(ctx, offsetBy(ctx, slot, copy * access.copyBytes),
                          access.threads, access.offsets[run.front()]);
      int64_t size = run.size(), first = copy * access.count;
      Value value = elements[first + run.front()];
      if (size > 1) {
        Value vector =
            LLVM::PoisonOp::create(b, vectorOf(size, access.element));
        for (auto [n, reg] : llvm::enumerate(run))
          vector = LLVM::InsertElementOp::create(
              b, vector, elements[first + reg], ctx.i32(n));
        value = vector;
      }
      LLVM::StoreOp::create(b, value, address,
                            /*alignment=*/size * access.bytes);
    }
}

void fa::addMemoryLowerings(AmdContext &ctx) {
  ctx.registry.add(ctx, lowerVectorLoad);
  ctx.registry.add(ctx, lowerVectorStore);
  ctx.registry.add(ctx, lowerVectorRead);
  ctx.registry.add(ctx, lowerVectorWrite);
}

//===- LowerGlobal.cpp - tiles from and to global memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtMemory.h"

#include "fa/Schedule/ViewAlignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

GlobalView fa::openView(SimtContext &ctx, Value view) {
  ImplicitLocOpBuilder &b = ctx.b;
  GlobalView &known = ctx.views[view];
  if (known.type)
    return known;
  Value memref = ctx.mapped(view);
  // Once, where the view is made: every access in loops finds it there.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(memref);
  GlobalView opened;
  opened.type = inRegisters(cast<MemRefType>(memref.getType()));
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  Value bits = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), /*global=*/1);
  Value start = LLVM::IntToPtrOp::create(b, pointer, bits);
  Value offset =
      arith::IndexCastUIOp::create(b, b.getI64Type(), metadata.getOffset());
  opened.base = LLVM::GEPOp::create(b, pointer, opened.type.getElementType(),
                                    start, ArrayRef<LLVM::GEPArg>{offset});
  auto [strides, ignored] = opened.type.getStridesAndOffset();
  for (int64_t dim = 0; dim < opened.type.getRank(); ++dim) {
    opened.sizes.push_back(opened.type.isDynamicDim(dim)
                               ? metadata.getSizes()[dim]
                               : ctx.index(opened.type.getDimSize(dim)));
    opened.strides.push_back(ShapedType::isDynamic(strides[dim])
                                 ? metadata.getStrides()[dim]
                                 : ctx.index(strides[dim]));
  }
  return ctx.views[view] = opened;
}

Value fa::addressOf(SimtContext &ctx, const GlobalView &view, ValueRange coords,
                    bool isRowCertain) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value offset = ctx.index(0);
  if (!view.hasRowStep()) {
    Value row = view.groups ? findGroupedRow(ctx, view, coords[0])
                            : findPagedRow(ctx, view, coords[0], isRowCertain);
    if (coords.size() == 1)
      return row;
    offset = arith::MulIOp::create(b, coords[1], view.strides[1]);
    return stepFrom(ctx, row, view.type.getElementType(), offset);
  }
  for (auto [coord, stride] : llvm::zip(coords, view.strides))
    offset = arith::AddIOp::create(b, offset,
                                   arith::MulIOp::create(b, coord, stride));
  return stepFrom(ctx, view.base, view.type.getElementType(), offset);
}

Value fa::stepFrom(SimtContext &ctx, Value address, Type element, Value step) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value bits = arith::IndexCastUIOp::create(b, b.getI64Type(), step);
  return LLVM::GEPOp::create(b, address.getType(), element, address,
                             ArrayRef<LLVM::GEPArg>{bits});
}

Value fa::stepTo(SimtContext &ctx, AddressWalk &walk, const GlobalView &view,
                 ValueRange coords, const Coord &inTile, bool isRowCertain) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!view.hasRowStep() && !walk.firstRow) {
    walk.firstRow = coords[0];
    walk.firstInTile = inTile[0];
  }
  if (!view.hasRowStep() && (!walk.address || inTile[0] != walk.last[0])) {
    // From the first row on, for the same reason.
    SmallVector<Value> place(coords);
    place[0] = arith::AddIOp::create(b, walk.firstRow,
                                     ctx.index(inTile[0] - walk.firstInTile));
    walk.address = ctx.opaque(addressOf(ctx, view, place, isRowCertain));
  } else if (!walk.address) {
    walk.address = ctx.opaque(addressOf(ctx, view, coords, isRowCertain));
  } else {
    Value step = ctx.index(0);
    for (auto [dim, stride] : llvm::enumerate(view.strides))
      if (int64_t distance = inTile[dim] - walk.last[dim])
        step = arith::AddIOp::create(
            b, step, arith::MulIOp::create(b, stride, ctx.index(distance)));
    walk.address =
        stepFrom(ctx, walk.address, view.type.getElementType(), step);
  }
  walk.last = inTile;
  return walk.address;
}

SmallVector<bool> fa::certainDims(const GlobalView &view, ValueRange indices,
                                  ArrayRef<int64_t> tile, bool inBounds) {
  SmallVector<bool> certain;
  for (auto [dim, start] : llvm::enumerate(indices)) {
    APInt number;
    bool fits = matchPattern(start, m_ConstantInt(&number)) &&
                !view.type.isDynamicDim(dim) && !number.isNegative() &&
                number.getSExtValue() + tile[dim] <= view.type.getDimSize(dim);
    certain.push_back(inBounds || fits);
  }
  return certain;
}

/// Whether both hold; null holds certainly.
static Value both(SimtContext &ctx, Value one, Value other) {
  if (!one || !other)
    return one ? one : other;
  return arith::AndIOp::create(ctx.b, one, other);
}

Value fa::isInside(SimtContext &ctx, const GlobalView &view, ValueRange coords,
                   ArrayRef<bool> certain) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value inside;
  if (view.groups && !certain[0])
    inside = hasGroupedRow(ctx, view, coords[0]);
  for (auto [coord, size, sure] : llvm::drop_begin(
           llvm::zip(coords, view.sizes, certain), view.groups ? 1 : 0)) {
    if (sure)
      continue;
    // Below 0 is beyond every size without a sign.
    Value one =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, size);
    inside = both(ctx, inside, one);
  }
  return inside;
}

Value fa::loadOrZero(SimtContext &ctx, Value address, Type type,
                     Value condition, bool isConstant) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto load = [&]() -> Value {
    auto loaded = LLVM::LoadOp::create(b, type, address);
    loaded.setInvariant(isConstant);
    return loaded;
  };
  if (!condition)
    return load();
  auto branch = scf::IfOp::create(
      b, condition,
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, load()); },
      [&](OpBuilder &, Location) {
        Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
        scf::YieldOp::create(b, zero);
      });
  return branch.getResult(0);
}

static void storeIf(SimtContext &ctx, Value address, Value value,
                    Value condition) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!condition) {
    LLVM::StoreOp::create(b, value, address);
    return;
  }
  scf::IfOp::create(b, condition, [&](OpBuilder &, Location) {
    LLVM::StoreOp::create(b, value, address);
    scf::YieldOp::create(b);
  });
}

int64_t fa::accessWidth(Value view, ValueRange indices, Value tile) {
  int64_t unit = unitDim(view), width = promisedWidth(view, indices);
  return width == 1
             ? 1
             : std::min(contiguousRegisters(layoutOf(tile).base, unit), width);
}

LogicalResult fa::lowerLoad(SimtContext &ctx, tile::LoadOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  GlobalView view = openView(ctx, op.getSource());
  TileLayout layout = layoutOf(op.getResult());
  auto certain = certainDims(view, op.getIndices(), op.getType().getShape(),
                             op.getInBounds());
  SmallVector<Value> elements;
  Type element = inRegisters(op.getType().getElementType());
  int64_t width = accessWidth(op.getSource(), op.getIndices(), op.getResult());
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += width) {
    SmallVector<Value> coords;
    for (auto [dim, start] : llvm::enumerate(op.getIndices()))
      coords.push_back(arith::AddIOp::create(b, ctx.mapped(start),
                                             ctx.coordinate(layout, reg, dim)));
    Type type = width == 1 ? element : VectorType::get({width}, element);
    Value loaded = loadOrZero(ctx, addressOf(ctx, view, coords, certain[0]),
                              type, isInside(ctx, view, coords, certain));
    for (int64_t n = 0; n < width; ++n)
      elements.push_back(
          width == 1 ? loaded
                     : LLVM::ExtractElementOp::create(b, loaded, ctx.i32(n)));
  }
  ctx.setElements(op.getResult(), elements);
  return success();
}

/// Whether two neighbours of 16 or 32 bits always are both inside, side by side
/// in registers and at a multiple of their bytes.
static bool storesPairs(tile::StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  auto view = cast<MemRefType>(op.getDest().getType());
  APInt start;
  int64_t unit = type.getRank() - 1;
  int64_t bits = type.getElementTypeBitWidth();
  return (bits == 16 || bits == 32) && unitDim(op.getDest()) == unit &&
         contiguousRegisters(layoutOf(type).base, unit) >= 2 &&
         promisedAlignment(op.getDest()) % (2 * bits / 8) == 0 &&
         matchPattern(op.getIndices()[unit], m_ConstantInt(&start)) &&
         start.getSExtValue() % 2 == 0 && !view.isDynamicDim(unit) &&
         view.getDimSize(unit) % 2 == 0;
}

/// The registers of `tile`, a tile at `indices` of `view`, whose elements this
/// thread has and no other one with a copy, every `step`-th: `write` is given
/// the register, where its element is, and whether it is to be written; null:
/// certainly.
static void forOwnElements(
    SimtContext &ctx, const GlobalView &view, TypedValue<TensorType> tile,
    ValueRange indices, int64_t step,
    llvm::function_ref<void(int64_t reg, Value address, Value isWritten)>
        write) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(tile);
  auto certain = certainDims(view, indices, tile.getType().getShape(), false);
  Value first = ctx.isFirstCopy(layout);
  uint32_t registerCopies = copyBits(layout.base, Axis::Register);
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += step) {
    if (reg & registerCopies)
      continue;
    SmallVector<Value> coords;
    for (auto [dim, start] : llvm::enumerate(indices))
      coords.push_back(arith::AddIOp::create(b, ctx.mapped(start),
                                             ctx.coordinate(layout, reg, dim)));
    Value inside = both(ctx, isInside(ctx, view, coords, certain), first);
    write(reg, addressOf(ctx, view, coords), inside);
  }
}

LogicalResult fa::lowerStore(SimtContext &ctx, tile::StoreOp op) {
  GlobalView view = openView(ctx, op.getDest());
  bool inPairs = storesPairs(op);
  int64_t step = inPairs ? 2 : 1;
  SmallVector<Value> elements(inPairs ? ctx.pairsOf(op.getValue())
                                      : ctx.elementsOf(op.getValue()));
  forOwnElements(ctx, view, op.getValue(), op.getIndices(), step,
                 [&](int64_t reg, Value address, Value isWritten) {
                   storeIf(ctx, address, elements[reg / step], isWritten);
                 });
  return success();
}

/// Adds `value` to what is at `address` in one step, if `condition`; null:
/// certainly.
static void addIf(SimtContext &ctx, Value address, Value value,
                  Value condition) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto kind = isa<FloatType>(value.getType()) ? LLVM::AtomicBinOp::fadd
                                              : LLVM::AtomicBinOp::add;
  auto add = [&] {
    LLVM::AtomicRMWOp::create(b, kind, address, value,
                              LLVM::AtomicOrdering::monotonic);
  };
  if (!condition)
    return add();
  scf::IfOp::create(b, condition, [&](OpBuilder &, Location) {
    add();
    scf::YieldOp::create(b);
  });
}

/// One thread adds each element, as one stores it.
static void lowerAtomicAdd(SimtContext &ctx, tile::AtomicAddOp op) {
  GlobalView view = openView(ctx, op.getDest());
  SmallVector<Value> elements(ctx.elementsOf(op.getValue()));
  forOwnElements(ctx, view, op.getValue(), op.getIndices(), /*step=*/1,
                 [&](int64_t reg, Value address, Value isWritten) {
                   addIf(ctx, address, elements[reg], isWritten);
                 });
}

/// Of all elements of the thread at once.
static void lowerAssert(SimtContext &ctx, tile::AssertOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value holds;
  if (tile::isTile(op.getCondition()))
    for (Value element : ctx.elementsOf(op.getCondition()))
      holds = holds ? Value(arith::AndIOp::create(b, holds, element)) : element;
  else
    holds = ctx.mapped(op.getCondition());
  SimtAssertOp::create(b, holds, op.getMessageAttr(), op.getPromiseAttr());
}

/// For each register, the address of the place in `view` that `indices` are,
/// and whether it is meant and there; null: certainly.
static SmallVector<std::pair<Value, Value>>
placesOf(SimtContext &ctx, const GlobalView &view, ValueRange indices,
         Value mask, bool inBounds) {
  SmallVector<SmallVector<Value>> numbers;
  for (Value index : indices)
    numbers.push_back(SmallVector<Value>(ctx.elementsOf(index)));
  SmallVector<Value> meant;
  if (mask)
    meant.assign(ctx.elementsOf(mask));
  SmallVector<bool> certain(numbers.size(), inBounds);
  SmallVector<std::pair<Value, Value>> places;
  for (size_t reg = 0; reg < numbers.front().size(); ++reg) {
    SmallVector<Value> coords;
    for (ArrayRef<Value> index : numbers)
      coords.push_back(index[reg]);
    Value exists = both(ctx, isInside(ctx, view, coords, certain),
                        mask ? meant[reg] : Value());
    places.push_back({addressOf(ctx, view, coords), exists});
  }
  return places;
}

static void lowerGather(SimtContext &ctx, tile::GatherOp op) {
  GlobalView view = openView(ctx, op.getSource());
  Type element =
      inRegisters(cast<RankedTensorType>(op.getType()).getElementType());
  SmallVector<Value> elements;
  for (auto [address, exists] :
       placesOf(ctx, view, op.getIndices(), op.getMask(), op.getInBounds()))
    elements.push_back(loadOrZero(ctx, address, element, exists));
  ctx.setElements(op.getResult(), elements);
}

/// One thread writes or adds each element, as one stores it.
static void lowerScatter(SimtContext &ctx, tile::ScatterOp op) {
  GlobalView view = openView(ctx, op.getDest());
  TileLayout layout = layoutOf(op.getValue());
  Value first = ctx.isFirstCopy(layout);
  uint32_t registerCopies = copyBits(layout.base, Axis::Register);
  SmallVector<Value> elements(ctx.elementsOf(op.getValue()));
  auto places =
      placesOf(ctx, view, op.getIndices(), op.getMask(), op.getInBounds());
  auto write = op.getAdd() ? addIf : storeIf;
  for (auto [reg, place] : llvm::enumerate(places)) {
    if (!(reg & registerCopies))
      write(ctx, place.first, elements[reg], both(ctx, place.second, first));
  }
}

void fa::addGlobalLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerLoad);
  ctx.registry.add(ctx, lowerStore);
  ctx.registry.add(ctx, lowerGather);
  ctx.registry.add(ctx, lowerScatter);
  ctx.registry.add(ctx, lowerAtomicAdd);
  ctx.registry.add(ctx, lowerAssert);
}

//===- LowerCopy.cpp - cp.async and ldmatrix ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"
#include "PagedRows.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Copies from global memory
//===----------------------------------------------------------------------===//

/// Which dimension of `layout` has neighbours at neighbouring offsets.
static unsigned unitDimOf(const LinearLayout &layout) {
  return layout.basis(Axis::Offset, 0)[0] ? 0 : 1;
}

namespace {

/// A tile's way from global memory to a slot of a buffer.
class TileCopy {
public:
  TileCopy(NvidiaContext &ctx, CopyOp op)
      : ctx(ctx), b(ctx.b), op(op), view(openView(ctx, op.getSource())),
        type(op.getBuffer().getType()),
        element(type.getElementType().getIntOrFloatBitWidth() / 8),
        vector(op.getBytes() / element),
        unit(unitDimOf(type.getLayout().getLayout().base)),
        certain(certainDims(view, op.getIndices(), type.getShape(),
                            op.getInBounds())) {
    APInt start;
    beginsInside = matchPattern(op.getIndices()[unit], m_ConstantInt(&start)) &&
                   !start.isNegative();
    slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  }

  void lower() {
    TileLayout shared = type.getLayout().getLayout();
    if (!shared.joined)
      return copyRows(shared.base, shared.repeat, /*begin=*/0, /*column=*/0);
    for (int64_t copy = 0; copy < shared.repeat;) {
      CopyPlace place = placeOfCopy(shared, copy);
      copyRows(place.rows, /*repeat=*/1, place.begin,
               copy * shared.base.size(1));
      copy += place.copies;
    }
  }

private:
  /// The columns from `column` on, which lie as `rows` says, `repeat` times,
  /// behind `begin` elements.
  void copyRows(const LinearLayout &rows, int64_t repeat, int64_t begin,
                int64_t column);
  void copyPart(Value destination, Value from, ValueRange coords);

  NvidiaContext &ctx;
  ImplicitLocOpBuilder &b;
  CopyOp op;
  GlobalView view;
  BufferType type;
  int64_t element; ///< its bytes
  int64_t vector;  ///< elements that a thread copies at once
  unsigned unit;   ///< the dimension along which these are neighbours
  SmallVector<bool> certain;
  bool beginsInside; ///< the tile, along `unit`
  Value slot;
};

} // namespace

void TileCopy::copyRows(const LinearLayout &rows, int64_t repeat, int64_t begin,
                        int64_t column) {
  // Threads side by side along the unit dimension, `vector` elements each.
  int64_t sizes[] = {rows.size(0), rows.size(1)};
  TileLayout threads = blocked(sizes[1 - unit], sizes[unit], vector, ctx.warps);
  if (unit == 0)
    threads.base = threads.base.permuted({1, 0});
  auto [bases, offsets] = byteOffsets(threads.base, rows, element);
  int64_t copyBytes = element * sizes[0] * sizes[1];

  Value first = ctx.isFirstCopy(threads);
  std::optional<PagedRows> paged;
  if (view.pages && unit == 1 && !first && op.getBytes() >= 4)
    paged.emplace(ctx, view, threads, ctx.mapped(op.getIndices()[0]),
                  certain[0]);
  AddressWalk walk;
  auto copyOne = [&](int64_t copy, int64_t reg) {
    Value destination = swizzledAddress(
        ctx, offsetBy(ctx, slot, element * begin + copy * copyBytes), bases,
        offsets[reg]);
    int64_t columnsBefore = column + copy * sizes[1];
    SmallVector<Value> coords;
    for (auto [dim, start] : llvm::enumerate(op.getIndices())) {
      Value at = ctx.coordinate(threads, reg, dim);
      if (dim == 1 && columnsBefore)
        at = arith::AddIOp::create(b, at, ctx.index(columnsBefore));
      coords.push_back(arith::AddIOp::create(b, ctx.mapped(start), at));
    }
    Coord inTile = threads.base.apply(Place::registers(reg, 0, 0));
    inTile[1] += columnsBefore;
    Value from =
        paged
            ? stepFrom(ctx, paged->find(inTile[0]), view.type.getElementType(),
                       arith::MulIOp::create(b, coords[1], view.strides[1]))
            : stepTo(ctx, walk, view, coords, inTile, certain[0]);
    copyPart(destination, from, coords);
  };
  auto copyAll = [&] {
    for (int64_t copy = 0; copy < repeat; ++copy)
      for (int64_t reg = 0; reg < threads.numRegisters(); reg += vector)
        copyOne(copy, reg);
  };
  if (!first)
    return copyAll();
  scf::IfOp::create(b, first, [&](OpBuilder &, Location) {
    copyAll();
    scf::YieldOp::create(b);
  });
}

/// `vector` elements, the first at `coords`.
void TileCopy::copyPart(Value destination, Value from, ValueRange coords) {
  if (op.getBytes() < 4) {
    Value value = loadOrZero(ctx, from, inRegisters(type.getElementType()),
                             isInside(ctx, view, coords, certain));
    LLVM::StoreOp::create(b, value, destination);
    return;
  }
  // What is outside is not read; zeros are written for it.
  Value bytes;
  SmallVector<bool> others(certain);
  others[unit] = true;
  if (Value inside = isInside(ctx, view, coords, others))
    bytes =
        arith::SelectOp::create(b, inside, ctx.i32(op.getBytes()), ctx.i32(0));
  if (!certain[unit]) {
    Value left = arith::SubIOp::create(b, view.sizes[unit], coords[unit]);
    left = arith::MaxSIOp::create(b, left, ctx.index(0));
    if (!beginsInside) // nor is what lies in front
      left = arith::SelectOp::create(
          b,
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, coords[unit],
                                ctx.index(0)),
          ctx.index(0), left);
    left = arith::MinSIOp::create(b, left, ctx.index(vector));
    left = arith::MulIOp::create(b, left, ctx.index(element));
    Value part = arith::IndexCastUIOp::create(b, b.getI32Type(), left);
    bytes = bytes ? Value(arith::MinUIOp::create(b, bytes, part)) : part;
  }
  NVVM::CpAsyncOp::create(b, destination, from, op.getBytes(),
                          op.getBytes() == 16 ? NVVM::LoadCacheModifierKind::CG
                                              : NVVM::LoadCacheModifierKind::CA,
                          bytes);
}

static void lowerCopy(NvidiaContext &ctx, CopyOp op) {
  TileCopy(ctx, op).lower();
}

static void lowerCommit(NvidiaContext &ctx, CommitOp) {
  NVVM::CpAsyncCommitGroupOp::create(ctx.b);
}

static void lowerWait(NvidiaContext &ctx, WaitOp op) {
  NVVM::CpAsyncWaitGroupOp::create(ctx.b, op.getPending());
}

//===----------------------------------------------------------------------===//
// Reads of matrices
//===----------------------------------------------------------------------===//

/// Whether a thread has four neighbours of 16 bits of each row, which lie side
/// by side: words 2 apart, as dots take them beside widened elements.
static bool readsQuads(ReadOp read) {
  const LinearLayout &registers = layoutOf(read.getResult()).base;
  auto map =
      read.getBuffer().getType().getLayout().getLayout().base.composeInverse(
          registers);
  if (!map || read.getResult().getType().getElementTypeBitWidth() != 16 ||
      contiguousRegisters(registers, 1) < 4)
    return false;
  auto isQuad = [](const Place &place) { return place[Axis::Offset] % 4 == 0; };
  return (*map)[static_cast<int>(Axis::Register)][0][Axis::Offset] == 1 &&
         (*map)[static_cast<int>(Axis::Register)][1][Axis::Offset] == 2 &&
         llvm::all_of((*map)[static_cast<int>(Axis::Lane)], isQuad);
}

bool fa::isReadByDot(ReadOp read) {
  if (!read->hasOneUse())
    return false;
  Value operand = read.getResult();
  if (auto wide = dyn_cast<arith::ExtFOp>(*read->getUsers().begin());
      wide && wide->hasOneUse())
    operand = wide.getOut();
  auto dot = dyn_cast<tile::DotOp>(*operand.getUsers().begin());
  if (!dot || dot->getBlock() != read->getBlock() || dot.getAcc() == operand)
    return false;
  TileLayout shared = read.getBuffer().getType().getLayout().getLayout();
  auto type = cast<RankedTensorType>(read.getResult().getType());
  // Widened elements are words of a right operand's layout alone.
  if ((operand != read.getResult()) != (type.getElementTypeBitWidth() == 8) ||
      (type.getElementTypeBitWidth() == 8 && dot.getB() != operand))
    return false;
  if (!type.getElementType().isF32() && !readsQuads(read) &&
      !planMatrixLoad(layoutOf(read.getResult()).base, shared.base,
                      type.getElementTypeBitWidth()))
    return false;
  for (Operation *op = read->getNextNode(); op != dot; op = op->getNextNode())
    if (isa<BarrierOp, CopyOp, WriteOp, scf::ForOp, scf::IfOp>(op))
      return false;
  return true;
}

SmallVector<Value> fa::loadMatrices(NvidiaContext &ctx, Value address,
                                    const MatrixLoad &load) {
  ImplicitLocOpBuilder &b = ctx.b;
  MLIRContext *context = b.getContext();
  Type word = b.getI32Type(), result = word;
  if (load.matrices > 1)
    result = LLVM::LLVMStructType::getLiteral(
        context, SmallVector<Type>(load.matrices, word));
  Value loaded = NVVM::LdMatrixOp::create(
      b, result, address, load.matrices,
      load.transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  if (load.matrices == 1)
    return {loaded};
  SmallVector<Value> words;
  for (unsigned n = 0; n < load.matrices; ++n)
    words.push_back(LLVM::ExtractValueOp::create(b, loaded, n));
  return words;
}

/// The words at `address`, of four elements.
SmallVector<Value> fa::loadQuad(NvidiaContext &ctx, Value address) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value both = LLVM::LoadOp::create(b, VectorType::get({2}, b.getI32Type()),
                                    address, /*alignment=*/8);
  return {LLVM::ExtractElementOp::create(b, both, ctx.i32(0)),
          LLVM::ExtractElementOp::create(b, both, ctx.i32(1))};
}

static void lowerQuadRead(NvidiaContext &ctx, ReadOp op) {
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t count = layout.base.count(Axis::Register);
  Value slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  auto copies = offsetsOfCopies(layout, shared, 2);
  SmallVector<Value> words;
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += 4) {
    const CopyOffsets &copy = copies[reg / count];
    words.append(loadQuad(
        ctx, swizzledAddress(ctx, offsetBy(ctx, slot, copy.begin), copy.threads,
                             copy.registers[reg % count])));
  }
  ctx.setPacked(op.getResult(), words);
}

SmallVector<CopyLoad> fa::planCopyLoads(const TileLayout &registers,
                                        const TileLayout &shared,
                                        int64_t bytes) {
  SmallVector<CopyLoad> loads;
  for (int64_t copy = 0; copy < registers.repeat; ++copy) {
    CopyPlace place = placeOfCopy(shared, copy);
    auto load =
        planMatrixLoad(inRowsOf(place, registers.base), place.rows, 8 * bytes);
    if (!load)
      return {};
    CopyLoad &plan = loads.emplace_back();
    plan.load = *load;
    plan.begin = bytes * place.begin;
    plan.first = bytes * place.column;
    for (uint32_t step : load->laneOffsets)
      plan.threads.push_back(bytes * step);
    for (uint32_t step : load->warpOffsets)
      plan.threads.push_back(bytes * step);
  }
  return loads;
}

/// By ldmatrix, where that can be.
static void lowerMatrixRead(NvidiaContext &ctx, ReadOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isReadByDot(op))
    return;
  if (readsQuads(op))
    return lowerQuadRead(ctx, op);
  BufferType type = op.getBuffer().getType();
  TileLayout layout = layoutOf(op.getResult()),
             shared = type.getLayout().getLayout();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t count = layout.base.count(Axis::Register);
  Value slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  SmallVector<CopyLoad> loads;
  if (bytes == 2 || bytes == 4)
    loads = planCopyLoads(layout, shared, bytes);
  if (loads.empty())
    return fa::lowerRead(ctx, op);
  int64_t ofWord = 4 / bytes;
  SmallVector<Value> words(layout.numRegisters() / ofWord);
  for (auto [copy, plan] : llvm::enumerate(loads)) {
    const MatrixLoad &load = plan.load;
    for (uint32_t group = 0; group < 1u << load.groupOffsets.size(); ++group) {
      uint32_t reg = 0, offset = plan.first;
      for (auto [n, step] : llvm::enumerate(load.groupOffsets))
        if (group >> n & 1) {
          reg |= 1u << step.first;
          offset ^= bytes * step.second;
        }
      Value at = swizzledAddress(ctx, offsetBy(ctx, slot, plan.begin),
                                 plan.threads, offset);
      for (auto [n, word] : llvm::enumerate(loadMatrices(ctx, at, load))) {
        uint32_t target = reg;
        for (auto [m, bit] : llvm::enumerate(load.matrixBits))
          target |= (n >> m & 1) << bit;
        if (bytes == 4)
          word = LLVM::BitcastOp::create(b, type.getElementType(), word);
        words[(copy * count + target) / ofWord] = word;
      }
    }
  }
  if (bytes == 4)
    ctx.setElements(op.getResult(), words);
  else
    ctx.setPacked(op.getResult(), words);
}

void fa::addCopyLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerCopy);
  ctx.registry.add(ctx, lowerCommit);
  ctx.registry.add(ctx, lowerWait);
  ctx.registry.add(ctx, lowerMatrixRead);
}

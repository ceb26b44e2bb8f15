//===- LowerParts.cpp - parts of a block with keys of their own -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Until tgpu.merge_parts a warp is a block of its own: it counts its threads
// from 0, has its own share of the shared memory and waits for nobody else.
// There each leaves its state, registers side by side as the lanes hold them,
// and takes some registers of all states, which are the columns that are its
// own from then on.
//
//===----------------------------------------------------------------------===//

#include "../TileGPUToSimt/SimtSoftmax.h"
#include "NvidiaLowerings.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Registers that are moved at once, and bytes of such for all lanes.
static constexpr int64_t kTogether = 1 << kExchangedBits,
                         kLineBytes = 32 * 4 * kTogether;

static int64_t sharedBytesOfPart(tile::KernelOp kernel) {
  return kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::sharedBytesAttrName)
             .getInt() /
         kernel.getParts();
}

void fa::divideIntoParts(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  assert(ctx.warps == 1 && "a part is a warp");
  ctx.part = takeWarpNumber(ctx);
  ctx.ownShared = arith::MulIOp::create(b, ctx.part,
                                        ctx.i32(sharedBytesOfPart(ctx.kernel)));
  ctx.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        b.getI32IntegerAttr(1));
  ctx.kernel.walk([&](tile::PartIdOp id) {
    Value wide = arith::IndexCastUIOp::create(b, b.getIndexType(), ctx.part);
    ctx.mapping.map(id.getResult(), wide);
  });
}

/// `count` f32 from `address` (i32) + `offset` bytes.
static Value loadWords(ImplicitLocOpBuilder &b, Type pointer, Value address,
                       int64_t offset, int64_t count) {
  Value at = LLVM::IntToPtrOp::create(b, pointer, address);
  at = LLVM::GEPOp::create(b, pointer, b.getI8Type(), at,
                           ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  Type type = b.getF32Type();
  if (count > 1)
    type = VectorType::get({count}, type);
  return LLVM::LoadOp::create(b, type, at, 4 * count);
}

/// Writes what `loadWords` reads.
static void storeWords(ImplicitLocOpBuilder &b, Type pointer, Value address,
                       int64_t offset, ValueRange words) {
  Value at = LLVM::IntToPtrOp::create(b, pointer, address);
  at = LLVM::GEPOp::create(b, pointer, b.getI8Type(), at,
                           ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  auto type = VectorType::get({int64_t(words.size())}, b.getF32Type());
  Value vector = LLVM::PoisonOp::create(b, type);
  for (auto [n, word] : llvm::enumerate(words)) {
    Value number =
        arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(n)));
    vector = LLVM::InsertElementOp::create(b, vector, word, number);
  }
  LLVM::StoreOp::create(b, vector, at, 4 * words.size());
}

/// From here on threads are those of the whole block.
static void joinParts(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::Barrier0Op::create(b);
  ctx.part = ctx.ownShared = Value();
  ctx.thread = ctx.readThread();
  ctx.linears.clear();
  ctx.entryEnd = ctx.thread.getDefiningOp();
}

static LogicalResult lowerMergeParts(NvidiaContext &ctx, MergePartsOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getAcc()), rows = layoutOf(op.getMax());
  TileLayout merged = layoutOf(op.getAccOut());
  // Of each copy of the accumulators' base a part takes an equal share.
  int64_t parts = ctx.kernel.getParts(), count = layout.numRegisters(),
          own = merged.numRegisters(), ofCopy = count / layout.repeat,
          ownOfCopy = own / merged.repeat, shares = ofCopy / ownOfCopy;
  SmallVector<Value> acc(ctx.elementsOf(op.getAcc())),
      words(ctx.elementsOf(op.getMax())), sum(ctx.elementsOf(op.getSum()));
  if (!ctx.part || merged.repeat != layout.repeat || ownOfCopy % kTogether ||
      ofCopy % ownOfCopy || parts % shares || words.size() * 2 != kTogether)
    return op.emitOpError("expects each part to be left with some of the "
                          "columns of its accumulators and two rows of a "
                          "thread, found ")
           << op.getAcc().getType() << " to " << op.getAccOut().getType();
  if (failed(addThreadSums(ctx, op, layout, rows, sum)))
    return failure();
  words.append(sum);

  // What a lane leaves it reads again, of all parts.
  BufferType buffer = op.getBuffer().getType();
  int64_t offset = *op.getBuffer().getDefiningOp<AllocOp>().getOffset(),
          state = buffer.getSlotBytes();
  Value inLine = arith::MulIOp::create(b, ctx.thread, ctx.i32(4 * kTogether));
  Value mine = arith::AddIOp::create(b, sharedBase(ctx, offset), inLine);
  for (int64_t reg = 0; reg < count; reg += kTogether)
    storeWords(b, ctx.sharedPointer(), mine, reg / kTogether * kLineBytes,
               ValueRange(acc).slice(reg, kTogether));
  storeWords(b, ctx.sharedPointer(), mine, state, words);
  Value share =
      shares == parts
          ? ctx.part
          : Value(arith::AndIOp::create(b, ctx.part, ctx.i32(shares - 1)));
  Value skipped = arith::MulIOp::create(
      b, share, ctx.i32(ownOfCopy / kTogether * kLineBytes));
  joinParts(ctx);

  Value all = arith::AddIOp::create(b, sharedBase(ctx, offset), inLine);
  Value columns = arith::AddIOp::create(b, all, skipped);
  int64_t stride = sharedBytesOfPart(ctx.kernel);
  auto load = [&](Value from, int64_t at) {
    Value vector = loadWords(b, ctx.sharedPointer(), from, at, kTogether);
    SmallVector<Value> elements;
    for (int64_t n = 0; n < kTogether; ++n)
      elements.push_back(LLVM::ExtractElementOp::create(b, vector, ctx.i32(n)));
    return elements;
  };
  SmallVector<SmallVector<Value>> states;
  for (int64_t n = 0; n < parts; ++n)
    states.push_back(load(all, n * stride + state));
  size_t numRows = words.size() / 2;
  SmallVector<Value> max, total;
  SmallVector<SmallVector<Value>> alphas(numRows); // of each part
  Exponent exponent =
      exponentOf(ctx, arith::ConstantOp::create(b, b.getF32FloatAttr(kLog2e)));
  for (size_t row = 0; row < numRows; ++row) {
    Value most = states[0][row], added;
    for (ArrayRef<Value> other : ArrayRef(states).drop_front())
      most = LLVM::MaxNumOp::create(b, b.getF32Type(), most, other[row]);
    for (ArrayRef<Value> one : states) {
      Value alpha = rowExponent(ctx, exponent, one[row], most).alpha;
      alphas[row].push_back(alpha);
      Value share = one[numRows + row];
      added = added ? Value(LLVM::FMAOp::create(b, b.getF32Type(), share, alpha,
                                                added))
                    : Value(arith::MulFOp::create(b, share, alpha));
    }
    max.push_back(most);
    total.push_back(added);
  }
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  SmallVector<Value> result(own);
  for (int64_t reg = 0; reg < own; reg += kTogether) {
    int64_t line =
        (reg / ownOfCopy * ofCopy + reg % ownOfCopy) / kTogether * kLineBytes;
    for (int64_t n = 0; n < parts; ++n)
      for (auto [i, element] :
           llvm::enumerate(load(columns, n * stride + line))) {
        Value &sum = result[reg + i];
        Value alpha =
            alphas[rowTable.at(Coord{coordOf(merged, reg + i)[0]})][n];
        sum = sum ? Value(LLVM::FMAOp::create(b, b.getF32Type(), element, alpha,
                                              sum))
                  : Value(arith::MulFOp::create(b, element, alpha));
      }
  }
  ctx.setElements(op.getAccOut(), result);
  ctx.setElements(op.getMaxOut(), max);
  ctx.setElements(op.getSumOut(), total);
  return success();
}

/// Of the threads that run the same: a part is a warp.
static void lowerBarrier(NvidiaContext &ctx, BarrierOp) {
  if (ctx.part)
    NVVM::SyncWarpOp::create(ctx.b, ctx.i32(-1));
  else
    NVVM::Barrier0Op::create(ctx.b);
}

void fa::addPartsLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerMergeParts);
  ctx.registry.add(ctx, lowerBarrier);
}

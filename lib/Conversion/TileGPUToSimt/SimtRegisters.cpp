//===- SimtRegisters.cpp - who holds what, and where ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtContext.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::isTile;
using tile::typeOf;

SimtContext::SimtContext(tile::KernelOp kernel)
    : kernel(kernel), b(kernel.getLoc(), kernel.getContext()) {
  warps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::warpsAttrName)
              .getInt();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void SimtContext::setElements(Value tile, SmallVector<Value> elements) {
  tiles[tile] = {std::move(elements), {}};
}

void SimtContext::setPacked(Value tile, SmallVector<Value> packed) {
  tiles[tile] = {{}, std::move(packed)};
}

ArrayRef<Value> SimtContext::elementsOf(Value tile) {
  TileRegisters &registers = tiles[tile];
  if (registers.elements.empty()) {
    Type pair = VectorType::get({2}, typeOf(tile).getElementType());
    SmallVector<Value> elements;
    for (Value word : registers.packed) {
      Value both = LLVM::BitcastOp::create(b, pair, word);
      for (int64_t n : {0, 1})
        elements.push_back(LLVM::ExtractElementOp::create(b, both, i32(n)));
    }
    // Where these are computed need not dominate a later use.
    scratchElements = elements;
    return scratchElements;
  }
  return registers.elements;
}

static SmallVector<Value> pairUp(SimtContext &ctx, ArrayRef<Value> elements) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> pairs;
  for (size_t n = 0; n < elements.size(); n += 2) {
    Value pair =
        LLVM::PoisonOp::create(b, VectorType::get({2}, elements[n].getType()));
    for (int32_t half : {0, 1})
      pair = LLVM::InsertElementOp::create(b, pair, elements[n + half],
                                           ctx.i32(half));
    pairs.push_back(pair);
  }
  return pairs;
}

SmallVector<Value> SimtContext::pairsOf(Value tile) {
  if (typeOf(tile).getElementTypeBitWidth() == 16)
    return SmallVector<Value>(packedOf(tile));
  return pairUp(*this, elementsOf(tile));
}

ArrayRef<Value> SimtContext::packedOf(Value tile) {
  TileRegisters &registers = tiles[tile];
  if (!registers.packed.empty())
    return registers.packed;
  scratchPacked.clear();
  for (Value pair : pairUp(*this, registers.elements))
    scratchPacked.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
  return scratchPacked;
}

std::map<Coord, unsigned> fa::registerTable(const TileLayout &layout) {
  std::map<Coord, unsigned> table;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
    table.try_emplace(coordOf(layout, reg), reg);
  return table;
}

SmallVector<Value> SimtContext::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (isTile(value))
      llvm::append_range(flat, elementsOf(value));
    else
      flat.push_back(mapped(value));
  }
  return flat;
}

void SimtContext::takeFrom(ValueRange &flat, Value value) {
  size_t count = isTile(value) ? layoutOf(value).numRegisters() : 1;
  if (isTile(value))
    setElements(value, SmallVector<Value>(flat.take_front(count)));
  else
    mapping.map(value, flat.front());
  flat = flat.drop_front(count);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

bool fa::inSameThreads(const TileLayout &source, const TileLayout &result,
                       ArrayRef<int64_t> dims) {
  for (Axis axis : {Axis::Lane, Axis::Warp}) {
    if (source.base.bits(axis) != result.base.bits(axis))
      return false;
    for (unsigned bit = 0; bit < result.base.bits(axis); ++bit)
      for (auto [dim, from] : llvm::enumerate(dims))
        if (from >= 0 && source.base.basis(axis, bit)[from] !=
                             result.base.basis(axis, bit)[dim])
          return false;
  }
  return true;
}

Value SimtContext::shuffleXor(Value value, uint32_t mask) {
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() != 64)
    return shuffleWord(value, mask);
  // The two halves of it.
  Type words = VectorType::get({2}, b.getI32Type());
  Value own = LLVM::BitcastOp::create(b, words, value);
  Value other = LLVM::PoisonOp::create(b, words);
  for (int32_t half : {0, 1}) {
    Value word = LLVM::ExtractElementOp::create(b, own, i32(half));
    other = LLVM::InsertElementOp::create(b, other, shuffleWord(word, mask),
                                          i32(half));
  }
  return LLVM::BitcastOp::create(b, type, other);
}

Value SimtContext::threadLinear(ArrayRef<uint32_t> bases) {
  Value &known = linears[bases.vec()];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(entryEnd);
  Value sum;
  // Runs of bits that step on by powers of two are one mask and one shift.
  for (size_t bit = 0; bit < bases.size();) {
    if (!bases[bit]) {
      ++bit;
      continue;
    }
    size_t end = bit + 1;
    while (end < bases.size() && bases[end] == bases[end - 1] * 2)
      ++end;
    Value bits = arith::ShRUIOp::create(b, thread, i32(bit));
    bits = arith::AndIOp::create(b, bits, i32((1u << (end - bit)) - 1));
    Value term = arith::MulIOp::create(b, bits, i32(bases[bit]));
    sum = sum ? Value(arith::XOrIOp::create(b, sum, term)) : term;
    bit = end;
  }
  known = sum ? sum : i32(0);
  entryEnd = known.getDefiningOp();
  return known;
}

Value SimtContext::threadCoord(const TileLayout &layout, unsigned dim) {
  SmallVector<uint32_t> bases;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      bases.push_back(layout.base.basis(axis, bit)[dim]);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), threadLinear(bases));
}

int32_t fa::threadBits(const TileLayout &layout, unsigned dim) {
  int32_t threads = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      threads |= layout.base.basis(axis, bit)[dim];
  return threads;
}

Value SimtContext::coordinate(const TileLayout &layout, unsigned reg,
                              unsigned dim) {
  int32_t own = coordOf(layout, reg)[dim];
  Value at = threadCoord(layout, dim);
  if (own & threadBits(layout, dim))
    return arith::XOrIOp::create(b, at, index(own));
  return own ? Value(arith::AddIOp::create(b, at, index(own))) : at;
}

Value SimtContext::isFirstCopy(const TileLayout &layout) {
  uint32_t copies =
      copyBits(layout.base, Axis::Lane) | copyBits(layout.base, Axis::Warp)
                                              << layout.base.bits(Axis::Lane);
  if (!copies)
    return {};
  Value bits = arith::AndIOp::create(b, thread, i32(copies));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
}

ThreadAnew::ThreadAnew(SimtContext &ctx)
    : ctx(ctx), thread(ctx.thread), linears(std::move(ctx.linears)),
      entryEnd(ctx.entryEnd) {
  ctx.thread = ctx.readThread();
  ctx.linears.clear();
  ctx.entryEnd = ctx.thread.getDefiningOp();
}

ThreadAnew::~ThreadAnew() {
  ctx.thread = thread;
  ctx.linears = std::move(linears);
  ctx.entryEnd = entryEnd;
}

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

Value SimtContext::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value SimtContext::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Value SimtContext::i32Of(Value value) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(), value);
}

std::pair<Value, Value> SimtContext::divide(Value x, Value y) {
  Value quotient = arith::DivUIOp::create(b, x, y);
  Value product = arith::MulIOp::create(b, quotient, y);
  return {quotient, arith::SubIOp::create(b, x, product)};
}

Type SimtContext::sharedPointer() {
  return LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/3);
}

//===- SimtRegisters.cpp - who holds what, and where ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;
using tile::typeOf;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void SimtLowering::setElements(Value tile, SmallVector<Value> elements) {
  tiles[tile] = {std::move(elements), {}};
}

void SimtLowering::setPacked(Value tile, SmallVector<Value> packed) {
  tiles[tile] = {{}, std::move(packed)};
}

ArrayRef<Value> SimtLowering::elementsOf(Value tile) {
  Registers &registers = tiles[tile];
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

SmallVector<Value> SimtLowering::pairUp(ArrayRef<Value> elements) {
  SmallVector<Value> pairs;
  for (size_t n = 0; n < elements.size(); n += 2) {
    Value pair =
        LLVM::PoisonOp::create(b, VectorType::get({2}, elements[n].getType()));
    for (int32_t half : {0, 1})
      pair =
          LLVM::InsertElementOp::create(b, pair, elements[n + half], i32(half));
    pairs.push_back(pair);
  }
  return pairs;
}

SmallVector<Value> SimtLowering::pairsOf(Value tile) {
  if (typeOf(tile).getElementTypeBitWidth() == 16)
    return SmallVector<Value>(packedOf(tile));
  return pairUp(elementsOf(tile));
}

ArrayRef<Value> SimtLowering::packedOf(Value tile) {
  Registers &registers = tiles[tile];
  if (!registers.packed.empty())
    return registers.packed;
  scratchPacked.clear();
  for (Value pair : pairUp(registers.elements))
    scratchPacked.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
  return scratchPacked;
}

std::map<Coord, unsigned>
SimtLowering::registerTable(const TileLayout &layout) {
  std::map<Coord, unsigned> table;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
    table.try_emplace(coordOf(layout, reg), reg);
  return table;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

bool SimtLowering::inSameThreads(const TileLayout &source,
                                 const TileLayout &result,
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

Value SimtLowering::threadLinear(ArrayRef<uint32_t> bases) {
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

Value SimtLowering::threadCoord(const TileLayout &layout, unsigned dim) {
  SmallVector<uint32_t> bases;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      bases.push_back(layout.base.basis(axis, bit)[dim]);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), threadLinear(bases));
}

int32_t SimtLowering::threadBits(const TileLayout &layout, unsigned dim) {
  int32_t threads = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      threads |= layout.base.basis(axis, bit)[dim];
  return threads;
}

Value SimtLowering::coordinate(const TileLayout &layout, unsigned reg,
                               unsigned dim) {
  int32_t own = coordOf(layout, reg)[dim];
  Value at = threadCoord(layout, dim);
  if (own & threadBits(layout, dim))
    return arith::XOrIOp::create(b, at, index(own));
  return own ? Value(arith::AddIOp::create(b, at, index(own))) : at;
}

Value SimtLowering::isFirstCopy(const TileLayout &layout) {
  uint32_t copies =
      copyBits(layout.base, Axis::Lane) | copyBits(layout.base, Axis::Warp)
                                              << layout.base.bits(Axis::Lane);
  if (!copies)
    return {};
  Value bits = arith::AndIOp::create(b, thread, i32(copies));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
}

SimtLowering::ThreadAnew::ThreadAnew(SimtLowering &lowering)
    : lowering(lowering), thread(lowering.thread),
      linears(std::move(lowering.linears)), entryEnd(lowering.entryEnd) {
  lowering.thread = lowering.readThread();
  lowering.linears.clear();
  lowering.entryEnd = lowering.thread.getDefiningOp();
}

SimtLowering::ThreadAnew::~ThreadAnew() {
  lowering.thread = thread;
  lowering.linears = std::move(linears);
  lowering.entryEnd = entryEnd;
}

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

Value SimtLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value SimtLowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Value SimtLowering::i32Of(Value value) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(), value);
}

std::pair<Value, Value> SimtLowering::divide(Value x, Value y) {
  Value quotient = arith::DivUIOp::create(b, x, y);
  Value product = arith::MulIOp::create(b, quotient, y);
  return {quotient, arith::SubIOp::create(b, x, product)};
}

Type SimtLowering::sharedPointer() {
  return LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/3);
}

//===- LowerDot.cpp - dots by mma.sync ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// An operand of 16-bit elements: packed words by the coordinates of their
/// first element, all there or read as they are asked for.
struct NvidiaLowering::Fragments {
  std::map<Coord, Value> words;
  unsigned pairDim = 1; ///< the dimension that a word's two elements step
  // If read from shared memory:
  ReadOp read;
  TileLayout layout;
  std::optional<MatrixLoad> load;
  Value slot;
};

NvidiaLowering::Fragments NvidiaLowering::fragmentsOf(Value operand) {
  Fragments result;
  result.layout = layoutOf(operand);
  auto read = operand.getDefiningOp<ReadOp>();
  if (read && isReadByDot(read)) {
    result.read = read;
    result.load =
        planMatrixLoad(result.layout.base,
                       read.getBuffer().getType().getLayout().getLayout().base);
    result.slot = slotAddress(read.getBuffer(), mapped(read.getSlot()));
    return result;
  }
  for (auto [n, word] : llvm::enumerate(packedOf(operand)))
    result.words[coordOf(result.layout, 2 * n)] = word;
  return result;
}

/// Reads the matrices that hold (row, column), all that one instruction brings.
Value NvidiaLowering::fragment(Fragments &fragments, int32_t row,
                               int32_t column) {
  Coord wanted = {row, column};
  if (auto it = fragments.words.find(wanted); it != fragments.words.end())
    return it->second;
  const TileLayout &layout = fragments.layout;
  const MatrixLoad &load = *fragments.load;
  int64_t base = layout.base.count(Axis::Register);
  int32_t width = layout.base.size(1);
  unsigned reg = 0;
  Coord inCopy = {row, column % width};
  while (layout.base.apply(Place::registers(reg, 0, 0)) != inCopy)
    ++reg;
  unsigned copy = column / width;
  uint32_t offset = 0;
  for (auto [bit, step] : load.groupOffsets)
    if (reg >> bit & 1)
      offset ^= step;
  for (unsigned bit : load.matrixBits)
    reg &= ~(1u << bit);
  SmallVector<uint32_t> bases;
  for (uint32_t step : load.laneOffsets)
    bases.push_back(2 * step);
  for (uint32_t step : load.warpOffsets)
    bases.push_back(2 * step);
  int64_t copyBytes = 2 * layout.base.size(0) * layout.base.size(1);
  Value slot = offsetBy(fragments.slot, copy * copyBytes);
  auto matrices = loadMatrices(swizzledAddress(slot, bases, 2 * offset), load);
  for (auto [n, word] : llvm::enumerate(matrices)) {
    unsigned at = reg;
    for (auto [m, bit] : llvm::enumerate(load.matrixBits))
      if (n >> m & 1)
        at |= 1u << bit;
    fragments.words[coordOf(layout, copy * base + at)] = word;
  }
  return fragments.words.at(wanted);
}

LogicalResult NvidiaLowering::lowerDot(tile::DotOp dot) {
  auto aType = cast<RankedTensorType>(dot.getA().getType());
  if (aType.getElementType().isF32())
    return lowerFmaDot(dot);
  TileLayout layout = layoutOf(dot.getResult());
  int32_t depth = aType.getDimSize(1), columns = layout.size(1);
  bool isHalf = aType.getElementType().isF16();
  auto types = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Type pair = VectorType::get({2}, b.getF16Type()), f32 = b.getF32Type();
  auto result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  // The rows of a thread's accumulators, 16 apart.
  SmallVector<int32_t> rows;
  for (int32_t row = 0; row < layout.base.size(0); row += 16)
    if (llvm::any_of(llvm::seq(layout.numRegisters()), [&](int64_t reg) {
          return coordOf(layout, reg) == Coord{row, 0};
        }))
      rows.push_back(row);
  std::map<Coord, unsigned> table = registerTable(layout);
  SmallVector<Value> acc;
  if (dot.getAcc()) {
    acc = SmallVector<Value>(elementsOf(dot.getAcc()));
  } else {
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    acc.assign(layout.numRegisters(), zero);
  }
  // mma.sync takes f16 as pairs, bf16 as words.
  auto operand = [&](Value word) -> Value {
    return isHalf ? Value(LLVM::BitcastOp::create(b, pair, word)) : word;
  };
  Fragments left = fragmentsOf(dot.getA()), right = fragmentsOf(dot.getB());
  bool transposed = dot.getTransposeB();
  auto rightWord = [&](int32_t k, int32_t n) {
    return operand(transposed ? fragment(right, n, k) : fragment(right, k, n));
  };
  for (int32_t k = 0; k < depth; k += 16) {
    SmallVector<SmallVector<Value>> a;
    for (int32_t row : rows) {
      SmallVector<Value> words;
      for (auto [dr, dk] : {std::pair(0, 0), {8, 0}, {0, 8}, {8, 8}})
        words.push_back(operand(fragment(left, row + dr, k + dk)));
      a.push_back(words);
    }
    for (int32_t n = 0; n < columns; n += 8) {
      Value pairs[] = {rightWord(k, n), rightWord(k + 8, n)};
      for (auto [row, words] : llvm::zip(rows, a)) {
        unsigned regs[4];
        SmallVector<Value> c;
        for (int i = 0; i < 4; ++i) {
          regs[i] = table.at(Coord{row + (i / 2) * 8, n + i % 2});
          c.push_back(acc[regs[i]]);
        }
        Value sums = NVVM::MmaOp::create(
            b, result, words, pairs, c, ArrayRef<int64_t>{16, 8, 16},
            /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
            std::array{types, types},
            std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
        for (int i = 0; i < 4; ++i)
          acc[regs[i]] = LLVM::ExtractValueOp::create(b, sums, i);
      }
    }
  }
  setElements(dot.getResult(), acc);
  return success();
}

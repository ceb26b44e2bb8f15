//===- LowerDot.cpp - dots by mma.sync ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace {

/// An operand: words, each a pair of 16-bit elements or one of tf32, by the
/// coordinates of their first element, all there or read as they are asked for,
/// and widened then where they have 8 bits.
struct Fragments {
  std::map<Coord, Value> words;
  Type inMemory; ///< an element's type
  int64_t bytes; ///< its bytes
  Type element;  ///< of the dot
  // If read from shared memory:
  ReadOp read;
  TileLayout layout;
  Value slot;
  SmallVector<CopyLoad> loads; ///< of each copy; else word by word
  SmallVector<CopyOffsets> copies;
  bool areAlike; ///< copies, each behind the one before
};

} // namespace

/// An f32, or its bits, as the word that mma.sync takes.
static Value toTf32(NvidiaContext &ctx, Value element) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!element.getType().isF32())
    element = LLVM::BitcastOp::create(b, b.getF32Type(), element);
  return NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), element,
                                            NVVM::FPRoundingMode::RNA);
}

static Fragments fragmentsOf(NvidiaContext &ctx, Value operand) {
  Fragments result;
  result.layout = layoutOf(operand);
  result.element = getElementTypeOrSelf(operand);
  auto read = operand.getDefiningOp<ReadOp>();
  if (auto wide = operand.getDefiningOp<arith::ExtFOp>())
    read = wide.getIn().getDefiningOp<ReadOp>();
  result.inMemory =
      read && isReadByDot(read) ? getElementTypeOrSelf(read) : result.element;
  result.bytes = result.inMemory.getIntOrFloatBitWidth() / 8;
  if (read && isReadByDot(read)) {
    result.read = read;
    const TileLayout shared =
        read.getBuffer().getType().getLayout().getLayout();
    result.loads = planCopyLoads(result.layout, shared, result.bytes);
    result.copies = offsetsOfCopies(result.layout, shared, result.bytes);
    result.areAlike = !shared.joined;
    result.slot =
        slotAddress(ctx, read.getBuffer(), ctx.mapped(read.getSlot()));
    return result;
  }
  if (result.bytes == 2) {
    for (auto [n, word] : llvm::enumerate(ctx.packedOf(operand)))
      result.words[coordOf(result.layout, 2 * n)] = word;
  } else {
    for (auto [n, element] :
         llvm::enumerate(SmallVector<Value>(ctx.elementsOf(operand))))
      result.words[coordOf(result.layout, n)] = toTf32(ctx, element);
  }
  return result;
}

/// Reads the word of register `reg` of a copy of the layout, and what the same
/// instruction brings.
static void loadFragments(NvidiaContext &ctx, Fragments &fragments,
                          unsigned copy, unsigned reg) {
  ImplicitLocOpBuilder &b = ctx.b;
  const TileLayout &layout = fragments.layout;
  int64_t first = copy * layout.base.count(Axis::Register);
  const CopyOffsets &offsets = fragments.copies[copy];
  Value slot = offsetBy(ctx, fragments.slot, offsets.begin);
  if (fragments.loads.empty() && fragments.bytes == 2) {
    reg &= ~3u;
    auto words = loadQuad(ctx, swizzledAddress(ctx, slot, offsets.threads,
                                               offsets.registers[reg]));
    for (auto [n, word] : llvm::enumerate(words))
      fragments.words[coordOf(layout, first + reg + 2 * n)] = word;
    return;
  }
  if (fragments.loads.empty()) {
    Value at =
        swizzledAddress(ctx, slot, offsets.threads, offsets.registers[reg]);
    fragments.words[coordOf(layout, first + reg)] =
        toTf32(ctx, LLVM::LoadOp::create(b, b.getF32Type(), at));
    return;
  }
  const CopyLoad &plan = fragments.loads[copy];
  const MatrixLoad &load = plan.load;
  uint32_t offset = plan.first;
  for (auto [bit, step] : load.groupOffsets)
    if (reg >> bit & 1)
      offset ^= fragments.bytes * step;
  for (unsigned bit : load.matrixBits)
    reg &= ~(1u << bit);
  if (fragments.bytes == 1)
    reg &= ~3u;
  auto matrices =
      loadMatrices(ctx, swizzledAddress(ctx, slot, plan.threads, offset), load);
  for (auto [n, word] : llvm::enumerate(matrices)) {
    unsigned at = reg;
    for (auto [m, bit] : llvm::enumerate(load.matrixBits))
      if (n >> m & 1)
        at |= 1u << bit;
    if (fragments.bytes == 1) {
      auto [one, other] = widenWord(ctx, word, load.transposed,
                                    fragments.inMemory, fragments.element);
      fragments.words[coordOf(layout, first + at)] = one;
      fragments.words[coordOf(layout, first + at + (load.transposed ? 1 : 2))] =
          other;
      continue;
    }
    fragments.words[coordOf(layout, first + at)] =
        fragments.bytes == 2 ? word : toTf32(ctx, word);
  }
}

/// The word whose first element is (row, column), in registers or, if it has
/// not been read yet, from shared memory.
static Value fragment(NvidiaContext &ctx, Fragments &fragments, int32_t row,
                      int32_t column) {
  Coord wanted = {row, column};
  if (auto it = fragments.words.find(wanted); it != fragments.words.end())
    return it->second;
  const LinearLayout &base = fragments.layout.base;
  int32_t width = base.size(1);
  unsigned reg = 0;
  Coord inCopy = {row, column % width};
  while (base.apply(Place::registers(reg, 0, 0)) != inCopy) {
    ++reg;
    assert(reg < base.count(Axis::Register) && "a fragment of lane 0");
  }
  loadFragments(ctx, fragments, column / width, reg);
  return fragments.words.at(wanted);
}

namespace {

/// An instruction mma.sync of 16 rows and 8 columns (PTX ISA, "Matrix Fragments
/// for mma.m16n8k16" and "mma.m16n8k8").
struct Mma {
  int32_t depth;  ///< 16 or, of tf32, 8
  int32_t second; ///< columns from a thread's first word of A to its next
  NVVM::MMATypes type;
};

} // namespace

/// The instruction for a dot whose left operand has `layout`.
static Mma chooseMma(Type element, const TileLayout &layout) {
  if (element.isF16())
    return {16, 8, NVVM::MMATypes::f16};
  if (element.isBF16())
    return {16, 8, NVVM::MMATypes::bf16};
  // The lowest bit of the lane says which columns K indices t and t + 4 are.
  bool pairs = layout.base.basis(Axis::Lane, 0)[1] == 2;
  return {8, pairs ? 1 : 4, NVVM::MMATypes::tf32};
}

/// The rows of a thread's accumulators, 16 apart.
static SmallVector<int32_t> rowsOf(const TileLayout &layout) {
  SmallVector<int32_t> rows;
  for (int32_t row = 0; row < layout.base.size(0); row += 16)
    if (llvm::any_of(llvm::seq(layout.numRegisters()), [&](int64_t reg) {
          return coordOf(layout, reg) == Coord{row, 0};
        }))
      rows.push_back(row);
  return rows;
}

/// Bytes from column 0 of an operand in shared memory to column `step`, where
/// from any other column below `step` to the one so much later it is as far.
static std::optional<int64_t> columnStride(const Fragments &fragments,
                                           int32_t step) {
  const LinearLayout &base = fragments.layout.base;
  if (!fragments.read || !fragments.areAlike || fragments.layout.size(1) % step)
    return std::nullopt;
  if (step == base.size(1))
    return fragments.bytes * base.size(0) * step;
  uint32_t stride = 0, others = 0;
  const CopyOffsets &offsets = fragments.copies.front();
  for (uint32_t offset : offsets.threads)
    others |= offset;
  for (unsigned bit = 1; bit < base.count(Axis::Register); bit *= 2) {
    uint32_t &part = base.apply(Place::registers(bit, 0, 0)) == Coord{0, step}
                         ? stride
                         : others;
    part |= offsets.registers[bit];
  }
  if (!stride || stride & others)
    return std::nullopt;
  return stride;
}

/// Where it pays, a loop over parts of the depth of `dot`, in whose body
/// `left`, `right` and `acc` are those of a part, of `depth` steps; else none.
///
/// A loop over the depth of scores of many rows. In one piece, ptxas loads so
/// many fragments ahead that it keeps in memory what lives across the loop over
/// the keys (docs/spills.md); it does with 64 keys also if there is a loop. Its
/// body is too large to be unrolled.
static scf::ForOp beginDepthLoop(NvidiaContext &ctx, tile::DotOp dot,
                                 Fragments &left, Fragments &right,
                                 int32_t &depth, SmallVector<Value> &acc) {
  ImplicitLocOpBuilder &b = ctx.b;
  constexpr int32_t most = 64, mostKeys = 32;
  TileLayout layout = layoutOf(dot.getResult());
  int32_t step = std::min<int32_t>(most, left.layout.base.size(1));
  auto leftStride = columnStride(left, step),
       rightStride = columnStride(right, step);
  if (!dot.getTransposeB() || dot.getAcc() || depth <= most ||
      layout.size(1) > mostKeys || rowsOf(layout).size() < 2 || !leftStride ||
      !rightStride)
    return {};
  auto loop =
      scf::ForOp::create(b, ctx.i32(0), ctx.i32(depth / step), ctx.i32(1), acc);
  b.setInsertionPointToStart(loop.getBody());
  for (auto [fragments, stride] :
       {std::pair(&left, *leftStride), std::pair(&right, *rightStride)})
    fragments->slot = arith::AddIOp::create(
        b, fragments->slot,
        arith::MulIOp::create(b, loop.getInductionVar(), ctx.i32(stride)));
  acc = SmallVector<Value>(loop.getRegionIterArgs());
  depth = step;
  return loop;
}

static LogicalResult lowerDot(NvidiaContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (dot.isIeeeF32())
    return lowerFmaDot(ctx, dot);
  auto aType = cast<RankedTensorType>(dot.getA().getType());
  TileLayout layout = layoutOf(dot.getResult());
  int32_t depth = aType.getDimSize(1), columns = layout.size(1);
  Mma mma = chooseMma(aType.getElementType(), layoutOf(dot.getA()));
  Type pair = VectorType::get({2}, b.getF16Type()), f32 = b.getF32Type();
  auto result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  SmallVector<int32_t> rows = rowsOf(layout);
  std::map<Coord, unsigned> table = registerTable(layout);
  SmallVector<Value> acc;
  if (dot.getAcc()) {
    acc = SmallVector<Value>(ctx.elementsOf(dot.getAcc()));
  } else {
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    acc.assign(layout.numRegisters(), zero);
  }
  // mma.sync takes f16 as pairs, bf16 and tf32 as words.
  auto operand = [&](Value word) -> Value {
    return mma.type == NVVM::MMATypes::f16
               ? Value(LLVM::BitcastOp::create(b, pair, word))
               : word;
  };
  Fragments left = fragmentsOf(ctx, dot.getA()),
            right = fragmentsOf(ctx, dot.getB());
  bool transposed = dot.getTransposeB();
  // Widened elements are neighbours along the depth, or columns of two
  // instructions (mmaOperandB8).
  bool isWidened = right.bytes == 1;
  if (isWidened && transposed)
    mma.second = 2;
  int32_t inColumns = isWidened && !transposed ? 2 : 1;
  auto rightWord = [&](int32_t k, int32_t n) {
    return operand(transposed ? fragment(ctx, right, n, k)
                              : fragment(ctx, right, k, n));
  };
  OpBuilder::InsertionGuard guard(b);
  scf::ForOp loop = beginDepthLoop(ctx, dot, left, right, depth, acc);
  for (int32_t k = 0; k < depth; k += mma.depth) {
    SmallVector<SmallVector<Value>> a;
    for (int32_t row : rows) {
      SmallVector<Value> words;
      for (int32_t dk : {0, mma.second})
        for (int32_t dr : {0, 8})
          words.push_back(operand(fragment(ctx, left, row + dr, k + dk)));
      a.push_back(words);
    }
    for (int32_t tile = 0; tile < columns; tile += 8) {
      int32_t n = inColumns == 1 ? tile : tile / 16 * 16 + tile / 8 % 2;
      Value pairs[] = {rightWord(k, n), rightWord(k + mma.second, n)};
      for (auto [row, words] : llvm::zip(rows, a)) {
        unsigned regs[4];
        SmallVector<Value> c;
        for (int i = 0; i < 4; ++i) {
          regs[i] = table.at(Coord{row + (i / 2) * 8, n + inColumns * (i % 2)});
          c.push_back(acc[regs[i]]);
        }
        Value sums = NVVM::MmaOp::create(
            b, result, words, pairs, c, ArrayRef<int64_t>{16, 8, mma.depth},
            /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
            std::array{mma.type, mma.type},
            std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
        for (int i = 0; i < 4; ++i)
          acc[regs[i]] = LLVM::ExtractValueOp::create(b, sums, i);
      }
    }
  }
  if (loop) {
    scf::YieldOp::create(b, acc);
    b.setInsertionPointAfter(loop);
    acc = SmallVector<Value>(loop.getResults());
  }
  ctx.setElements(dot.getResult(), acc);
  return success();
}

void fa::addDotLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerDot);
}

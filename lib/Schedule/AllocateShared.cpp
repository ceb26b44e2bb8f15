//===- AllocateShared.cpp - tgpu-allocate-shared --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewOfArgument.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/Passes.h"
#include "fa/Schedule/ViewAlignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUALLOCATESHARED
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// A buffer for a load direct to LDS, if there can be one, that is read in the
/// layout `reader`: rows are as they are in global memory, but for a swizzle of
/// lines of 16 bytes.
static std::optional<TileLayout> directLayout(LoadOp load,
                                              const TileLayout &reader) {
  constexpr int64_t bytes = 2, line = 16 / bytes;
  RankedTensorType type = typeOf(load);
  if (type.getElementTypeBitWidth() != 8 * bytes || !loadsCloseLines(load))
    return std::nullopt;
  int64_t rows = type.getDimSize(0), width = powerOfTwoPart(type.getDimSize(1));
  // A wave writes 1024 bytes at a time.
  if (width < line || rows * width * bytes < 1024)
    return std::nullopt;
  TileLayout layout = cyclicShared(rows, width, bytes);
  if (contiguousRegisters(reader.base, 1) < line) {
    int64_t across = reader.base.basis(Axis::Lane, 4)[1] ? 32 : 16;
    layout = turnedShared(rows, width, bytes, across);
    if (!planTurnedRead(reader.base, layout.base))
      return std::nullopt;
  }
  layout.repeat = type.getDimSize(1) / width;
  return layout;
}

/// Bytes that the rows of a load's tile can be copied in.
static int64_t copyBytes(LoadOp load, int64_t unit) {
  int64_t element = typeOf(load).getElementTypeBitWidth() / 8;
  int64_t aligned = promisedAlignment(load.getSource());
  if (unit < 0 || aligned < 4)
    return element;
  int64_t bytes = std::min<int64_t>(aligned, 16);
  int64_t line = powerOfTwoPart(typeOf(load).getDimSize(unit)) * element;
  Value first = load.getIndices()[unit];
  while (bytes > element &&
         (line % bytes || !isMultipleOf(first, bytes / element)))
    bytes /= 2;
  return bytes >= 4 ? bytes : element;
}

namespace {

class SharedAllocator {
public:
  SharedAllocator(KernelOp kernel, int64_t registers, bool copies, bool direct)
      : kernel(kernel), registers(registers), copies(copies), direct(direct),
        banks(direct ? 64 : 32), b(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult run() {
    SmallVector<ConvertOp> converts;
    kernel.walk([&](ConvertOp convert) { converts.push_back(convert); });
    // A loop waits for copies or holds tiles in registers, not both.
    direct &= llvm::all_of(converts, canBeDirect);
    for (ConvertOp convert : converts)
      if (failed(lower(convert)))
        return failure();
    kernel.walk([&](tile::MergePartsOp merge) { exchange(merge); });
    return success();
  }

private:
  static bool staysInThreads(ConvertOp convert) {
    TileLayout from = layoutOf(convert.getInput()),
               to = layoutOf(convert.getResult());
    auto plan = planConversion(from.base, to.base);
    assert(plan && "a layout holds every element");
    return plan->kind <= ConversionPlan::Registers && from.repeat == to.repeat;
  }

  /// Also of what is not loaded: it does not stand in the way.
  static bool canBeDirect(ConvertOp convert) {
    auto load = convert.getInput().getDefiningOp<LoadOp>();
    return !load || staysInThreads(convert) ||
           (load->hasOneUse() &&
            directLayout(load, layoutOf(convert.getResult())));
  }

  LogicalResult lower(ConvertOp convert) {
    if (staysInThreads(convert))
      return success();
    RankedTensorType type = typeOf(convert);
    if (type.getRank() > 2 || !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() < 8)
      return convert.emitOpError(
                 "expects numbers of 8 bits or more, of at most "
                 "two dimensions, to move them between "
                 "threads, found ")
             << type;
    if (type.getRank() == 1)
      convert = asRow(convert);
    auto load = convert.getInput().getDefiningOp<LoadOp>();
    if ((copies || direct) && load)
      copyLoad(load, convert);
    else if (isWidenedBefore(convert))
      writeWidened(convert);
    else
      throughBuffer(convert);
    convert->erase();
    if (load && load->use_empty()) {
      copied.erase(load);
      load->erase();
    }
    return success();
  }

  /// A vector moves as a tile of one row, which `convert` becomes.
  ConvertOp asRow(ConvertOp convert) {
    b.setLoc(convert.getLoc());
    b.setInsertionPoint(convert);
    auto rowType = [&](Value vector) {
      TileLayout layout = layoutOf(vector);
      layout.base = layout.base.addUnitDim(0);
      RankedTensorType type = typeOf(vector);
      return withLayout(
          RankedTensorType::get({1, type.getDimSize(0)}, type.getElementType()),
          layout);
    };
    Value row = ExpandDimsOp::create(b, rowType(convert.getInput()),
                                     convert.getInput(), 0);
    auto moved = ConvertOp::create(b, rowType(convert.getResult()), row);
    // The sum of one row is that row.
    Value vector =
        ReduceOp::create(b, convert.getType(), ReduceKind::Add, moved, 0);
    convert.getResult().replaceAllUsesWith(vector);
    convert.erase();
    return moved;
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// Of a buffer for tiles of `type`, without gaps along dimension `unit`.
  ///
  /// What a warp copies of a row is one request of the second-level cache for
  /// each line of 128 bytes in shared memory that it comes to, so that copies
  /// of 16 columns one behind the other have four times the requests of one row
  /// of 64 (bench/results/2026-11-30-h200-decode.md). Programs of several warps
  /// have other things to wait for, and dots that go over the depth in a loop,
  /// to which copies have to be alike.
  TileLayout sharedLayout(RankedTensorType type, int64_t unit) const {
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    TileLayout layout = swizzledShared(rows, columns, bytes);
    if (unit == 1 && layout.repeat > 1 && bytes <= 2 &&
        planOf(kernel).warps() == 1)
      layout.joined = bytes;
    if (unit == 0 && powerOfTwoPart(columns) == columns) {
      TileLayout turned = swizzledShared(columns, rows, bytes);
      layout = {turned.base.permuted({1, 0}), 1};
    }
    return layout;
  }

  /// Of a buffer that is written from the layout `writer` and read to `reader`:
  /// its lines are what a lane reads at once.
  TileLayout layoutFor(RankedTensorType type, const TileLayout &writer,
                       const TileLayout &reader) const {
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    unsigned unit = contiguousRegisters(reader.base, 0) > 1 ? 0 : 1;
    int64_t line = bytes * contiguousRegisters(reader.base, unit);
    int64_t least = bytes == 1 ? 4 : 8;
    return {spreadShared(writer.base, reader.base, unit, bytes,
                         line >= 16 ? 16 : std::max(least, line & 8), banks),
            reader.repeat};
  }

  Value allocate(RankedTensorType type, const TileLayout &layout,
                 int64_t slots = 1) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    return AllocOp::create(
        b,
        BufferType::get(b.getContext(), slots, type.getShape(),
                        type.getElementType(),
                        LayoutAttr::get(b.getContext(), layout)),
        IntegerAttr());
  }

  /// A buffer for a load's tile. Loops one after the other share theirs: a loop
  /// ends with a barrier.
  Value bufferFor(LoadOp load, const TileLayout &layout) {
    auto loop = load->getParentOfType<scf::ForOp>();
    if (!loop)
      return allocate(typeOf(load), layout);
    int64_t depth = 0;
    for (auto outer = loop; outer; outer = outer->getParentOfType<scf::ForOp>())
      ++depth;
    int64_t number = loadsInLoop[loop]++;
    for (const LoopBuffer &known : loopBuffers)
      if (known.depth == depth && known.number == number &&
          known.layout == layout && known.type == typeOf(load))
        return known.buffer;
    Value buffer = allocate(typeOf(load), layout);
    loopBuffers.push_back({depth, number, layout, typeOf(load), buffer});
    return buffer;
  }

  void copyLoad(LoadOp load, ConvertOp convert) {
    Value &buffer = copied[load];
    if (!buffer) {
      int64_t unit = unitDim(load.getSource());
      TileLayout layout =
          direct ? *directLayout(load, layoutOf(convert.getResult()))
                 : sharedLayout(typeOf(load), unit);
      buffer = bufferFor(load, layout);
      b.setInsertionPoint(load);
      b.setLoc(load.getLoc());
      CopyOp::create(b, load.getSource(), load.getIndices(), buffer, index(0),
                     copyBytes(load, unit), load.getInBounds());
      CommitOp::create(b);
      WaitOp::create(b, 0);
      BarrierOp::create(b);
      protectFromNextIteration(load);
    }
    setReadPoint(load, convert);
    replaceByRead(convert, buffer);
  }

  /// Whether `convert`, in a loop, is of a tile of 8 bits that was loaded and
  /// widened before: queries.
  static bool isWidenedBefore(ConvertOp convert) {
    auto wide = convert.getInput().getDefiningOp<arith::ExtFOp>();
    return wide && wide->getBlock() != convert->getBlock() &&
           isStorageFloat(wide.getIn().getType()) &&
           wide.getIn().getDefiningOp<LoadOp>();
  }

  /// Such a tile goes to a buffer once, where it is widened.
  void writeWidened(ConvertOp convert) {
    Operation *made = convert.getInput().getDefiningOp();
    Widened &known = widened[made];
    if (!known.buffer) {
      known.buffer =
          allocate(typeOf(convert.getInput()), bufferLayout(convert));
      b.setLoc(made->getLoc());
      b.setInsertionPointAfter(made);
      WriteOp::create(b, convert.getInput(), known.buffer, index(0));
      known.isThere = BarrierOp::create(b);
    }
    setReadPoint(known.isThere, convert);
    replaceByRead(convert, known.buffer);
  }

  /// A tile that many registers hold is read where it is used, else behind
  /// `isThere`.
  void setReadPoint(Operation *isThere, ConvertOp convert) {
    b.setLoc(convert.getLoc());
    b.setInsertionPoint(convert);
    if (isThere->getBlock() == convert->getBlock())
      return;
    // A dot by multiply-adds reads its operands as it goes.
    bool isIeee = llvm::any_of(convert->getUsers(), [](Operation *user) {
      auto dot = dyn_cast<DotOp>(user);
      return dot && dot.isIeeeF32();
    });
    if (!isIeee && registersOf(kernel) <= registers)
      b.setInsertionPointAfter(isThere);
  }

  /// 32-bit registers that the tiles of the largest dot chain take: the results
  /// of dots and the left operands, which live at the same time.
  static int64_t registersOf(KernelOp kernel) {
    llvm::SmallDenseMap<Type, int64_t> tiles;
    kernel.walk([&](DotOp dot) {
      for (Value value : {dot.getA(), dot.getResult()}) {
        int64_t bits = typeOf(value).getElementTypeBitWidth();
        tiles[value.getType()] = layoutOf(value).numRegisters() * bits / 32;
      }
    });
    int64_t sum = 0;
    for (auto [type, count] : tiles)
      sum += count;
    return sum;
  }

  void replaceByRead(ConvertOp convert, Value buffer) {
    Value read = ReadOp::create(b, convert.getType(), buffer, index(0));
    convert.getResult().replaceAllUsesWith(read);
  }

  /// Of a buffer that what `convert` moves goes through.
  TileLayout bufferLayout(ConvertOp convert) const {
    RankedTensorType type = typeOf(convert.getInput());
    return copies ? sharedLayout(type, /*unit=*/1)
                  : layoutFor(type, layoutOf(convert.getInput()),
                              layoutOf(convert.getResult()));
  }

  void throughBuffer(ConvertOp convert) {
    RankedTensorType type = typeOf(convert.getInput());
    auto load = convert.getInput().getDefiningOp<LoadOp>();
    TileLayout layout = bufferLayout(convert);
    Value buffer = load ? bufferFor(load, layout) : allocate(type, layout);
    b.setLoc(convert.getLoc());
    b.setInsertionPoint(convert);
    WriteOp::create(b, convert.getInput(), buffer, index(0));
    BarrierOp::create(b);
    // A dot that reads as it goes has its reads beside it.
    if (convert->hasOneUse())
      if (auto dot = dyn_cast<DotOp>(*convert->getUsers().begin());
          dot && dot->getBlock() == convert->getBlock())
        b.setInsertionPoint(dot);
    replaceByRead(convert, buffer);
    protectFromNextIteration(convert);
  }

  /// Each register of accumulators has a line of a part's buffer, in which
  /// lanes lie side by side, four registers of each together.
  static TileLayout exchangeLayout(const TileLayout &accumulators) {
    const LinearLayout &base = accumulators.base;
    LinearLayout layout({base.size(0), base.size(1)});
    auto add = [&](Axis axis, unsigned begin, unsigned end) {
      for (unsigned bit = begin; bit < end; ++bit)
        layout.add(Axis::Offset, {base.basis(axis, bit)});
    };
    unsigned together = std::min(kExchangedBits, base.bits(Axis::Register));
    add(Axis::Register, 0, together);
    add(Axis::Lane, 0, base.bits(Axis::Lane));
    add(Axis::Register, together, base.bits(Axis::Register));
    return {layout, accumulators.repeat};
  }

  /// The state of parts goes through a buffer of each.
  void exchange(tile::MergePartsOp merge) {
    RankedTensorType type = typeOf(merge.getAcc());
    Value buffer = allocate(type, exchangeLayout(layoutOf(merge.getAcc())), 2);
    b.setLoc(merge.getLoc());
    b.setInsertionPoint(merge);
    // The buffer may lie where others are read from before.
    BarrierOp::create(b);
    auto through =
        tgpu::MergePartsOp::create(b, merge->getResultTypes(), merge.getAcc(),
                                   merge.getMax(), merge.getSum(), buffer);
    through->setDiscardableAttrs(merge->getDiscardableAttrDictionary());
    merge->replaceAllUsesWith(through->getResults());
    merge->erase();
  }

  /// The next iteration writes the buffer that slower threads may still read.
  void protectFromNextIteration(Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    if (!loop || !protectedLoops.insert(loop).second)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getLoopRegions().back()->front().getTerminator());
    BarrierOp::create(b);
  }

  KernelOp kernel;
  int64_t registers;
  bool copies;   ///< loads become asynchronous copies
  bool direct;   ///< they become loads direct to LDS
  int64_t banks; ///< of the LDS, twice as many where it takes such loads
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Operation *, Value> copied; ///< buffers of loads
  struct Widened {
    Value buffer;
    Operation *isThere = nullptr; ///< the barrier behind which it can be read
  };
  llvm::DenseMap<Operation *, Widened> widened;
  /// The buffer of the load `number` of loops that `depth` loops contain.
  struct LoopBuffer {
    int64_t depth, number;
    TileLayout layout;
    Type type;
    Value buffer;
  };
  std::vector<LoopBuffer> loopBuffers;
  llvm::DenseMap<Operation *, int64_t> loadsInLoop;
  llvm::SmallPtrSet<Operation *, 4> protectedLoops;
};

struct TgpuAllocateShared final
    : fa::impl::TgpuAllocateSharedBase<TgpuAllocateShared> {
  using TgpuAllocateSharedBase::TgpuAllocateSharedBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto found = findGpuMachine(machine);
    if (!found)
      return emitError(UnknownLoc::get(context), toString(found.takeError()));
    target = std::move(*found);
    return success();
  }

  void runOnOperation() override {
    for (auto parts : getOperation().getBody().getOps<tile::MergePartsOp>())
      if (!isa_and_present<LayoutAttr>(
              cast<RankedTensorType>(parts.getAcc().getType()).getEncoding())) {
        parts.emitOpError("expected a kernel at stage S4, found a tile without "
                          "a layout");
        return signalPassFailure();
      }
    // Copies that are under way have a second slot.
    bool isDirect = target.isAmd() && target.hasDirectLoads &&
                    planOf(getOperation()).slots.step != 1;
    if (failed(SharedAllocator(getOperation(), registers,
                               /*copies=*/!target.isAmd(), isDirect)
                   .run()))
      signalPassFailure();
  }

  Machine target;
};

} // namespace

//===- AssignLayouts.cpp - tgpu-assign-layouts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Layout/MatrixUnit.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUASSIGNLAYOUTS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `layout` without the registers that hold what another one does.
static TileLayout withoutCopies(const TileLayout &layout) {
  uint32_t copies = copyBits(layout.base, Axis::Register);
  SmallVector<int64_t> sizes;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    sizes.push_back(layout.base.size(dim));
  LinearLayout result(sizes);
  for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      if (axis != Axis::Register || !(copies >> bit & 1))
        result.add(axis, {layout.base.basis(axis, bit)});
  return {result, layout.repeat};
}

namespace {

class LayoutAssigner {
public:
  LayoutAssigner(KernelOp kernel, MatrixUnit unit, int64_t maxWarps)
      : kernel(kernel), unit(unit), warps(countWarps(maxWarps)) {}

  LogicalResult run() {
    Builder b(kernel.getContext());
    kernel->setAttr(TileGPUDialect::warpsAttrName, b.getI64IntegerAttr(warps));
    if (unit.lanes() != 32)
      kernel->setAttr(TileGPUDialect::lanesAttrName,
                      b.getI64IntegerAttr(unit.lanes()));
    if (failed(chooseAll()))
      return failure();
    setTypes();
    // Conversions will come between loads and dots.
    kernel.walk([&](DotOp dot) {
      if (feedsOnlyDots(dot.getA()))
        readForDots.insert(dot);
    });
    kernel.walk([&](Operation *op) { fixOperands(op); });
    return success();
  }

private:
  /// As many as every dot and merge has tiles of rows for; those of a warpgroup
  /// where each computes for itself.
  int64_t countWarps(int64_t most) {
    if (kernel->hasAttr(TileGPUDialect::consumersAttrName))
      return 4;
    int64_t warps = most;
    kernel.walk([&](DotOp dot) {
      warps = std::min(
          warps, std::max<int64_t>(typeOf(dot).getDimSize(0) / unit.side, 1));
    });
    kernel.walk([&](OnlineMergeOp merge) {
      int64_t rows = typeOf(merge.getAcc()).getDimSize(0);
      warps = std::min(warps, std::max<int64_t>(rows / unit.side, 1));
    });
    return llvm::bit_floor(uint64_t(warps));
  }

  LogicalResult chooseAll() {
    WalkResult walk = kernel.walk([&](Block *block) {
      for (Value argument : block->getArguments())
        if (isTile(argument) && failed(choose(argument)))
          return WalkResult::interrupt();
      for (Operation &op : *block)
        for (Value result : op.getResults())
          if (isTile(result) && failed(choose(result)))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult choose(Value value) {
    std::optional<TileLayout> layout = findLayout(value);
    if (!layout)
      return emitError(value.getLoc())
             << "expected a tile with rows that are a power of two, of at most "
                "two dimensions, columns of vectors in steps of 8, found "
             << value.getType();
    layouts[value] = *layout;
    return success();
  }

  std::optional<TileLayout> findLayout(Value value) const {
    ArrayRef<int64_t> sizes = typeOf(value).getShape();
    if (auto layout = vectorLayout(value))
      return layout;
    if (sizes.size() == 1)
      return isColumnVector(value) ? columnsLayout(sizes[0])
                                   : rowsLayout(sizes[0]);
    if (sizes.size() != 2)
      return std::nullopt;
    auto withUnit = [](std::optional<TileLayout> layout, unsigned dim) {
      if (layout)
        layout->base = layout->base.addUnitDim(dim);
      return layout;
    };
    // A dimension of one element comes from expand_dims.
    if (sizes[1] == 1)
      return withUnit(rowsLayout(sizes[0]), 1);
    if (sizes[0] == 1)
      return withUnit(columnsLayout(sizes[1]), 0);
    if (Value turned = transposeOf(value))
      return turnedLayout(turned);
    if (!llvm::isPowerOf2_64(sizes[0]))
      return std::nullopt;
    if (feedsOnlyDots(value))
      return loadLayout(value);
    return tileLayout(sizes[0], sizes[1]);
  }

  /// That of a tile on its way to a dot.
  TileLayout loadLayout(Value value) const {
    RankedTensorType type = typeOf(value);
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    unsigned bits = type.getElementTypeBitWidth();
    int64_t vector = std::max<int64_t>(128 / bits, 1);
    if (unit.kind == MatrixUnit::Mma)
      return blocked(rows, columns, vector, warps);
    // Each lane reads its rows of the left operand itself.
    if (llvm::all_of(value.getUsers(), [&](Operation *user) {
          return cast<DotOp>(user).getA() == value &&
                 cast<DotOp>(user).getB() != value;
        }))
      return unit.left(rows, columns, {.bits = bits, .fromMemory = true},
                       warps);
    // Of a right operand with rows along the depth a thread has neighbours in
    // both directions: it reads along rows and writes along the depth.
    bool turns = llvm::any_of(value.getUsers(), [](Operation *user) {
      return !cast<DotOp>(user).getTransposeB();
    });
    int64_t height = turns ? 4 : 1;
    int64_t ofThread = std::max<int64_t>(
        rows * powerOfTwoPart(columns) / (64 * warps * height), 1);
    return blocked(rows, columns, std::min(vector, ofThread), warps, 64,
                   height);
  }

  /// What a reduction leaves stays where it is, and so does what is made of it.
  std::optional<TileLayout> vectorLayout(Value value) const {
    Operation *op = value.getDefiningOp();
    if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
      return typeOf(reduce.getInput()).getRank() == 2
                 ? without(findLayout(reduce.getInput()), reduce.getDim())
                 : std::nullopt;
    if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
      auto layout = vectorLayout(expand.getInput());
      if (layout)
        layout->base = layout->base.addUnitDim(expand.getDim());
      return layout;
    }
    if (op && OpTrait::hasElementwiseMappableTraits(op))
      for (Value operand : op->getOperands())
        if (isTile(operand))
          if (auto layout = vectorLayout(operand))
            return layout;
    return std::nullopt;
  }

  /// That of a dot's result, where the tile is large enough for one.
  TileLayout tileLayout(int64_t rows, int64_t columns) const {
    return rows >= unit.side * warps && columns % unit.columnStep() == 0
               ? unit.accumulator(rows, columns, warps)
               : blocked(rows, columns, 1, warps, unit.lanes());
  }

  /// A vector over what `tile` has besides dimension `dim`.
  static std::optional<TileLayout> without(std::optional<TileLayout> tile,
                                           unsigned dim) {
    if (!tile)
      return std::nullopt;
    int64_t repeat = dim == 1 ? 1 : tile->repeat;
    return withoutCopies({tile->base.dropDim(dim), repeat});
  }

  /// The tile that `value` is only read to be transposed into.
  static Value transposeOf(Value value) {
    auto transpose = value.hasOneUse()
                         ? dyn_cast<TransposeOp>(*value.getUsers().begin())
                         : TransposeOp();
    return transpose ? transpose.getResult() : Value();
  }

  /// The layout of a tile that transposed has the layout `result`.
  static TileLayout turned(const TileLayout &result, TransposeOp transpose) {
    // Of two dimensions a permutation is its own inverse.
    return {result.base.permuted(transpose.getPermutation()), result.repeat};
  }

  std::optional<TileLayout> turnedLayout(Value result) const {
    std::optional<TileLayout> layout = findLayout(result);
    if (!layout || layout->repeat != 1)
      return std::nullopt;
    return turned(*layout, result.getDefiningOp<TransposeOp>());
  }

  std::optional<TileLayout> rowsLayout(int64_t rows) const {
    if (!llvm::isPowerOf2_64(rows))
      return std::nullopt;
    if (rows < unit.side * warps)
      return TileLayout{
          blocked(rows, 1, 1, warps, unit.lanes()).base.dropDim(1), 1};
    return without(unit.accumulator(rows, unit.columnStep(), warps), 1);
  }

  std::optional<TileLayout> columnsLayout(int64_t columns) const {
    if (columns % unit.columnStep())
      return std::nullopt;
    return without(unit.accumulator(unit.side * warps, columns, warps), 0);
  }

  /// Whether a vector's elements belong to columns: it is expanded above.
  static bool isColumnVector(Value value) {
    if (auto reduce = value.getDefiningOp<ReduceOp>())
      return reduce.getDim() == 0;
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      if (auto expand = dyn_cast<ExpandDimsOp>(user))
        return expand.getDim() == 0;
      return OpTrait::hasElementwiseMappableTraits(user) &&
             isColumnVector(user->getResult(0));
    });
  }

  static bool feedsOnlyDots(Value value) {
    return value.getDefiningOp<LoadOp>() && !value.use_empty() &&
           llvm::all_of(value.getUses(), [](OpOperand &use) {
             auto dot = dyn_cast<DotOp>(use.getOwner());
             return dot && use.get() != dot.getAcc();
           });
  }

  void setTypes() {
    for (const auto &[value, layout] : layouts)
      setType(value, layout);
    kernel.walk([&](DotWaitOp wait) {
      wait.getRunning().setType(
          RunningType::get(wait.getContext(), typeOf(wait.getResult())));
    });
    // A loop's results are its arguments.
    kernel.walk([&](scf::ForOp loop) {
      for (auto [argument, result] :
           llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
        if (isTile(argument))
          result.setType(argument.getType());
    });
  }

  static void setType(Value value, const TileLayout &layout) {
    RankedTensorType type = withLayout(typeOf(value), layout);
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  }

  //===--- Operands that have to be elsewhere ---===//

  void fixOperands(Operation *op) {
    if (isa<ConvertOp>(op))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get()))
        if (auto wanted = wantedLayout(op, operand))
          if (!(layoutOf(operand.get()) == *wanted))
            operand.set(convert(op, operand.get(), *wanted));
  }

  std::optional<TileLayout> wantedLayout(Operation *op, OpOperand &operand) {
    RankedTensorType type = typeOf(operand.get());
    if (auto dot = dyn_cast<DotOp>(op))
      return dotOperandLayout(dot, operand.getOperandNumber());
    if (isa<DotStartOp>(op))
      return mmaAccumulator(type.getDimSize(0), type.getDimSize(1), warps);
    if (isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
      return layoutOf(op->getParentOp()->getResult(operand.getOperandNumber()));
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned first = loop.getNumControlOperands();
      return layoutOf(loop.getResult(operand.getOperandNumber() - first));
    }
    if (OpTrait::hasElementwiseMappableTraits(op) || isa<GatherOp>(op))
      return layoutOf(op->getResult(0));
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return turned(layoutOf(transpose.getResult()), transpose);
    if (isa<OnlineSoftmaxOp, OnlineFinalizeOp, OnlineMergeOp>(op))
      return type.getRank() == 1
                 ? rowsLayout(type.getDimSize(0))
                 : tileLayout(type.getDimSize(0), type.getDimSize(1));
    return std::nullopt; // takes what it gets
  }

  TileLayout dotOperandLayout(DotOp dot, unsigned number) const {
    RankedTensorType type = typeOf(dot->getOperand(number));
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    DotForm form = {type.getElementTypeBitWidth(), dot.isTf32(),
                    dot.getTransposeB(), readForDots.contains(dot)};
    if (number == 0)
      return unit.left(rows, columns, form, warps);
    return number == 1 ? unit.right(rows, columns, form, warps)
                       : unit.accumulator(rows, columns, warps);
  }

  static Value convert(Operation *before, Value value,
                       const TileLayout &layout) {
    OpBuilder b(before);
    RankedTensorType type = withLayout(typeOf(value), layout);
    // What is the same everywhere is made where it is wanted.
    SplatElementsAttr splat;
    if (matchPattern(value, m_Constant(&splat)))
      return arith::ConstantOp::create(b, value.getLoc(),
                                       DenseElementsAttr(splat).reshape(type));
    if (auto uniform = value.getDefiningOp<BroadcastOp>();
        uniform && !isTile(uniform.getInput()))
      return BroadcastOp::create(b, value.getLoc(), type, uniform.getInput(),
                                 ValueRange{});
    return ConvertOp::create(b, value.getLoc(), type, value);
  }

  KernelOp kernel;
  MatrixUnit unit;
  int64_t warps;
  llvm::MapVector<Value, TileLayout> layouts;
  llvm::SmallPtrSet<Operation *, 8>
      readForDots; ///< dots with such left operands
};

/// The shapes that `unit` computes.
LogicalResult verifyDots(KernelOp kernel, const MatrixUnit &unit) {
  int64_t step = unit.columnStep();
  WalkResult walk = kernel.walk([&](DotOp dot) {
    RankedTensorType a = typeOf(dot.getA()), b = typeOf(dot.getB()),
                     r = typeOf(dot.getResult());
    Type element = a.getElementType();
    bool known = element.isF16() || element.isBF16() || element.isF32();
    bool fits = r.getRank() == 2 && r.getDimSize(0) >= 16 &&
                llvm::isPowerOf2_64(r.getDimSize(0)) &&
                llvm::isPowerOf2_64(b.getDimSize(0)) &&
                a.getDimSize(1) % 16 == 0 && r.getDimSize(1) % step == 0;
    if (known && a.getElementType() == b.getElementType() &&
        r.getElementType().isF32() && fits)
      return WalkResult::advance();
    dot.emitOpError(
        "expects f16, bf16 or f32 tiles with f32 results on a GPU, "
        "rows in powers of two from 16, depth in steps of 16, columns "
        "in steps of ")
        << step << "; found " << a << " and " << b << " to " << r;
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Rows of the smallest dot or merge, and what the columns of all are multiples
/// of.
MatrixUnit chooseUnit(KernelOp kernel, bool mfma) {
  int64_t rows = std::numeric_limits<int32_t>::max(), columns = 0;
  kernel.walk([&](DotOp dot) {
    rows = std::min(rows, typeOf(dot).getDimSize(0));
    columns |= typeOf(dot).getDimSize(1);
  });
  kernel.walk([&](OnlineMergeOp merge) {
    rows = std::min(rows, typeOf(merge.getAcc()).getDimSize(0));
    columns |= typeOf(merge.getAcc()).getDimSize(1);
  });
  return MatrixUnit::choose(mfma ? MatrixUnit::Mfma : MatrixUnit::Mma, rows,
                            columns ? columns : 32);
}

struct TgpuAssignLayouts final
    : fa::impl::TgpuAssignLayoutsBase<TgpuAssignLayouts> {
  using TgpuAssignLayoutsBase::TgpuAssignLayoutsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getUnfused()) {
      kernel.emitError("a kernel on whole tensors runs on the host alone");
      return signalPassFailure();
    }
    MatrixUnit unit = chooseUnit(kernel, mfma);
    if (failed(verifyDots(kernel, unit)) ||
        failed(LayoutAssigner(kernel, unit, warps).run()))
      signalPassFailure();
  }
};

} // namespace

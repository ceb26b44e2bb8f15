//===- AssignLayouts.cpp - tgpu-assign-layouts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseLayouts.h"
#include "RowTiles.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUASSIGNLAYOUTS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Of programs that have a warp each and are many: a processor holds 32 blocks
/// at a time, and begins one after the other.
static constexpr int64_t kProgramsOfBlock = 4;

/// Where rows or columns are to be for their threads to repeat them; none:
/// where they are.
static std::optional<TileLayout> repeatedLayout(BroadcastOp broadcast) {
  Value input = broadcast.getInput();
  if (!isTile(input))
    return std::nullopt;
  TileLayout here = layoutOf(input), wanted = layoutOf(broadcast.getResult());
  ArrayRef<int64_t> sizes = typeOf(input).getShape();
  auto isHere = [&](Axis axis) {
    bool same = here.base.bits(axis) == wanted.base.bits(axis);
    for (unsigned bit = 0; same && bit < here.base.bits(axis); ++bit) {
      Coord basis = wanted.base.basis(axis, bit);
      for (auto [dim, size] : llvm::enumerate(sizes))
        if (size == 1)
          basis[dim] = 0;
      same = basis == here.base.basis(axis, bit);
    }
    return same;
  };
  if (isHere(Axis::Lane) && isHere(Axis::Warp))
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size != 1)
      continue;
    wanted.base = wanted.base.dropDim(dim).addUnitDim(dim);
    if (dim + 1 == sizes.size())
      wanted.repeat = 1;
  }
  return withoutCopies(wanted);
}

namespace {

class LayoutAssigner {
public:
  LayoutAssigner(KernelOp kernel, MatrixUnit unit)
      : kernel(kernel), unit(unit), warps(planOf(kernel).warps()),
        chooser(kernel, unit, warps) {}

  LogicalResult run() {
    Builder b(kernel.getContext());
    kernel->setAttr(TileGPUDialect::warpsAttrName, b.getI64IntegerAttr(warps));
    if (runsByWarps(kernel, unit))
      kernel->setAttr(TileGPUDialect::programsAttrName,
                      b.getI64IntegerAttr(kProgramsOfBlock));
    if (unit.lanes() != 32)
      kernel->setAttr(TileGPUDialect::lanesAttrName,
                      b.getI64IntegerAttr(unit.lanes()));
    if (failed(chooseAll()))
      return failure();
    setTypes();
    // Conversions will come between loads and dots.
    kernel.walk([&](DotOp dot) { chooser.noteLeft(dot); });
    kernel.walk([&](Operation *op) { fixOperands(op); });
    return success();
  }

private:
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
    std::optional<TileLayout> layout = chooser.find(value);
    if (!layout)
      return emitError(value.getLoc())
             << "expected a tile with rows that are a power of two, of at most "
                "two dimensions, columns of vectors in steps of 8, found "
             << value.getType();
    layouts[value] = *layout;
    return success();
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
    kernel.walk([&](scf::WhileOp loop) {
      for (auto [argument, result] :
           llvm::zip_equal(loop.getAfterArguments(), loop.getResults()))
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
      return chooser.dotOperandLayout(dot, operand.getOperandNumber());
    if (isa<DotStartOp, ExchangeOp>(op))
      return mmaAccumulator(type.getDimSize(0), type.getDimSize(1), warps);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return layoutOf(loop.getBeforeArguments()[operand.getOperandNumber()]);
    if (auto condition = dyn_cast<scf::ConditionOp>(op))
      return layoutOf(
          op->getParentOp()->getResult(operand.getOperandNumber() - 1));
    if (auto loop = dyn_cast<scf::WhileOp>(op->getParentOp());
        loop && isa<scf::YieldOp>(op))
      return layoutOf(loop.getBeforeArguments()[operand.getOperandNumber()]);
    if (isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
      return layoutOf(op->getParentOp()->getResult(operand.getOperandNumber()));
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned first = loop.getNumControlOperands();
      return layoutOf(loop.getResult(operand.getOperandNumber() - first));
    }
    if (OpTrait::hasElementwiseMappableTraits(op) || isa<GatherOp>(op))
      return layoutOf(op->getResult(0));
    if (auto scan = dyn_cast<ScanOp>(op))
      return layoutOf(scan.getResult());
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return repeatedLayout(broadcast);
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      TileLayout layout = layoutOf(expand.getResult());
      layout.base = layout.base.dropDim(expand.getDim());
      return layout;
    }
    if (auto scatter = dyn_cast<ScatterOp>(op))
      return layoutOf(scatter.getValue());
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return LayoutChooser::turned(layoutOf(transpose.getResult()), transpose);
    if (isa<OnlineSoftmaxOp, OnlineFinalizeOp, OnlineMergeOp,
            tile::MergePartsOp>(op))
      return chooser.stateLayout(op, operand.get());
    return std::nullopt; // takes what it gets
  }

  static Value convert(Operation *before, Value value,
                       const TileLayout &layout) {
    OpBuilder b(before);
    RankedTensorType type = withLayout(typeOf(value), layout);
    // What is known anywhere is made where it is wanted.
    SplatElementsAttr splat;
    if (matchPattern(value, m_Constant(&splat)))
      return arith::ConstantOp::create(b, value.getLoc(),
                                       DenseElementsAttr(splat).reshape(type));
    if (auto uniform = value.getDefiningOp<BroadcastOp>();
        uniform && !isTile(uniform.getInput()))
      return BroadcastOp::create(b, value.getLoc(), type, uniform.getInput(),
                                 ValueRange{});
    // Numbers of rows may be those of columns, too.
    if (auto numbers = value.getDefiningOp<IotaOp>())
      return IotaOp::create(b, value.getLoc(), type, numbers.getDim(),
                            ValueRange{});
    return ConvertOp::create(b, value.getLoc(), type, value);
  }

  KernelOp kernel;
  MatrixUnit unit;
  int64_t warps;
  LayoutChooser chooser;
  llvm::MapVector<Value, TileLayout> layouts;
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

struct TgpuAssignLayouts final
    : fa::impl::TgpuAssignLayoutsBase<TgpuAssignLayouts> {
  using TgpuAssignLayoutsBase::TgpuAssignLayoutsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto found = findGpuMachine(machine);
    if (!found)
      return emitError(UnknownLoc::get(context), toString(found.takeError()));
    target = std::move(*found);
    return success();
  }

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getUnfused()) {
      InFlightDiagnostic error = emitError(
          kernel.getLoc(), "a kernel on whole tensors runs on the host alone");
      if (auto reason =
              kernel->getAttrOfType<StringAttr>(TileDialect::notFusedAttrName))
        error << ": " << reason.getValue();
      return signalPassFailure();
    }
    MatrixUnit unit = chooseUnit(kernel, target);
    if (failed(verifyDots(kernel, unit)) ||
        failed(LayoutAssigner(kernel, unit).run()))
      signalPassFailure();
  }

  Machine target;
};

} // namespace

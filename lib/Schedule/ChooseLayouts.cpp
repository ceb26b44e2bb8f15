//===- ChooseLayouts.cpp - the layout that a tile should have -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseLayouts.h"

#include "FlatVectors.h"
#include "WidenedSums.h"

#include "TileGPU/TileGPU.h"

#include "fa/Layout/NamedLayouts.h"
#include "fa/Layout/Plans.h"
#include "fa/Schedule/ViewAlignment.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

TileLayout fa::withoutCopies(const TileLayout &layout) {
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

/// Whether elements of results are of the same rows or columns as those of
/// operands.
static bool keepsPlaces(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) || isa<GatherOp>(op);
}

/// Whether a vector's elements belong to columns: it is expanded above.
static bool isColumnVector(Value value) {
  if (auto reduce = value.getDefiningOp<ReduceOp>())
    return reduce.getDim() == 0;
  llvm::SetVector<Operation *> users;
  getForwardSlice(value, &users, ForwardSliceOptions(keepsPlaces));
  auto expandsAbove = [](Value vector) {
    return llvm::any_of(vector.getUsers(), [](Operation *user) {
      auto expand = dyn_cast<ExpandDimsOp>(user);
      return expand && expand.getDim() == 0;
    });
  };
  return expandsAbove(value) || llvm::any_of(users, [&](Operation *user) {
           return expandsAbove(user->getResult(0));
         });
}

/// The size of dimension `dim` of the tile that a vector is repeated along;
/// none: of no tile.
static std::optional<int64_t> sizeOfTileWith(Value vector, unsigned dim) {
  llvm::SetVector<Operation *> users;
  getForwardSlice(vector, &users, ForwardSliceOptions([](Operation *op) {
                    return keepsPlaces(op) ||
                           isa<ExpandDimsOp, BroadcastOp>(op);
                  }));
  for (Operation *user : users)
    if (auto tile = dyn_cast<BroadcastOp>(user);
        tile && tile.getType().getRank() == 2 &&
        tile.getType().getDimSize(dim) > 1)
      return tile.getType().getDimSize(dim);
  return std::nullopt;
}

static bool feedsOnlyDots(Value value) {
  return value.getDefiningOp<LoadOp>() && !value.use_empty() &&
         llvm::all_of(readAs(value).getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<DotOp>(use.getOwner());
           return dot && use.get() != dot.getAcc();
         });
}

/// Whether all that reads `value` are dots, on their left.
static bool isLeftAlone(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && dot.getA() == value && dot.getB() != value;
  });
}

/// Whether `op` reduces or scans the rows of a tile.
static bool followsRows(Operation *op) {
  auto isOfRows = [](auto op) {
    return typeOf(op.getInput()).getRank() == 2 && op.getDim() == 1;
  };
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isOfRows(reduce);
  auto scan = dyn_cast<ScanOp>(op);
  return scan && isOfRows(scan);
}

/// Whether a reduction along `dim` of what lies so is one between warps.
static bool crossesWarps(const TileLayout &layout, unsigned dim) {
  auto plan = planReduction(layout.base, dim);
  return !plan || plan->warps;
}

/// How many neighbours are read at once of all tiles that `kernel` reads, if no
/// layout is asked for by a matrix unit or by online softmax.
static int64_t findReadTogether(KernelOp kernel) {
  int64_t width = 0;
  bool isPlain = true;
  kernel.walk([&](Operation *op) {
    // Dots whose warps are specialized are TileGPU's.
    isPlain &= !isa<DotOp, ScanOp, TransposeOp, GatherOp, ScatterOp>(op) &&
               !isa<tgpu::TileGPUDialect>(op->getDialect());
    auto load = dyn_cast<LoadOp>(op);
    if (!load || typeOf(load).getRank() != 2)
      return;
    int64_t own = unitDim(load.getSource()) == 1
                      ? promisedWidth(load.getSource(), load.getIndices())
                      : 1;
    width = width ? std::min(width, own) : own;
  });
  return isPlain && width ? width : 1;
}

LayoutChooser::LayoutChooser(KernelOp kernel, MatrixUnit unit, int64_t warps)
    : unit(unit), warps(warps),
      hasState(kernel
                   .walk([](Operation *op) {
                     return isa<OnlineSoftmaxOp, OnlineFinalizeOp,
                                OnlineMergeOp, tile::MergePartsOp>(op)
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   })
                   .wasInterrupted()),
      reducesRows(kernel
                      .walk([](Operation *op) {
                        return followsRows(op) ? WalkResult::interrupt()
                                               : WalkResult::advance();
                      })
                      .wasInterrupted()),
      mergesRows(kernel
                     .walk([](OnlineMergeOp merge) {
                       return typeOf(merge.getAcc()).getDimSize(0) == 1
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted()),
      readTogether(hasState ? 1 : findReadTogether(kernel)) {
  for (auto op : kernel.getBody().getOps<tile::MergePartsOp>())
    merge = op;
  flat = findFlatVectors(kernel);
  if (unit.kind == MatrixUnit::Mma)
    widenedSums = findWidenedSums(kernel);
}

TileLayout LayoutChooser::resultLayout(Value value) const {
  int64_t rows = typeOf(value).getDimSize(0),
          columns = typeOf(value).getDimSize(1);
  return widenedSums.contains(value)
             ? unit.widenedAccumulator(rows, columns, warps)
             : tileLayout(rows, columns);
}

/// Whether `op` stands behind the merge of the parts, where their warps are
/// those of one block.
bool LayoutChooser::isBehindMerge(Operation *op) const {
  if (!merge || !op)
    return false;
  Operation *here = merge->getBlock()->findAncestorOpInBlock(*op);
  return here && merge->isBeforeInBlock(here);
}

/// `layout` of a part's values, for the warps of all, which have the same rows.
/// Of each copy of the base they have shares of the columns, by the highest
/// bits of a register's number; where there are fewer shares than warps,
/// several have the same.
TileLayout LayoutChooser::dealtToParts(TileLayout layout) const {
  unsigned parts =
      llvm::Log2_64(cast<KernelOp>(merge->getParentOp()).getParts());
  unsigned kept = layout.base.bits(Axis::Register), dealt = 0;
  if (layout.rank() == 2)
    for (; dealt < parts && kept > kExchangedBits &&
           layout.base.basis(Axis::Register, kept - 1)[1];
         ++dealt)
      --kept;
  LinearLayout result = layout.base;
  if (dealt) {
    result = LinearLayout({layout.base.size(0), layout.base.size(1)});
    auto add = [&](Axis to, Axis from, unsigned begin, unsigned end) {
      for (unsigned bit = begin; bit < end; ++bit)
        result.add(to, {layout.base.basis(from, bit)});
    };
    add(Axis::Register, Axis::Register, 0, kept);
    for (Axis axis : {Axis::Lane, Axis::Warp})
      add(axis, axis, 0, layout.base.bits(axis));
    add(Axis::Warp, Axis::Register, kept, kept + dealt);
  }
  result.addCopies(Axis::Warp, parts - dealt);
  return {result, layout.repeat};
}

std::optional<TileLayout> LayoutChooser::find(Value value) {
  auto known = tiles.find(value);
  if (known != tiles.end())
    return known->second;
  std::optional<TileLayout> found = findNew(value);
  Operation *op = value.getDefiningOp();
  if (found && (isBehindMerge(op) || (op && op == merge)))
    found = dealtToParts(*found);
  tiles[value] = found;
  return found;
}

std::optional<TileLayout> LayoutChooser::stateLayout(Operation *op,
                                                     Value operand) const {
  RankedTensorType type = typeOf(operand);
  auto found = type.getRank() == 1 ? rowsLayout(type.getDimSize(0))
                                   : resultLayout(operand);
  return found && isBehindMerge(op) ? dealtToParts(*found) : found;
}

std::optional<TileLayout> LayoutChooser::findNew(Value value) {
  ArrayRef<int64_t> sizes = typeOf(value).getShape();
  if (flat.contains(value))
    return flatLayout(value);
  if (auto layout = vectorLayout(value))
    return layout;
  if (sizes.size() == 1)
    return isColumnVector(value) ? columnsLayout(value) : readRowsLayout(value);
  if (sizes.size() != 2)
    return std::nullopt;
  auto withUnit = [](std::optional<TileLayout> layout, unsigned dim) {
    if (layout)
      layout->base = layout->base.addUnitDim(dim);
    return layout;
  };
  // A dimension of one element comes from expand_dims.
  if (sizes[1] == 1)
    return withUnit(readRowsLayout(value), 1);
  if (sizes[0] == 1 && !mergesRows)
    return withUnit(columnsLayout(value), 0);
  // A scan has its rows in warps, wherever they go.
  if (Value turned = transposeOf(value);
      turned && !value.getDefiningOp<ScanOp>())
    return turnedLayout(turned);
  if (!llvm::isPowerOf2_64(sizes[0]))
    return std::nullopt;
  if (feedsOnlyDots(value))
    return loadLayout(value);
  // A left operand is widened as it is loaded, and moved in Q's type.
  if (arith::ExtFOp wider = widening(value);
      wider && isLeftAlone(value) && feedsOnlyDots(wider.getIn()))
    return loadLayout(wider.getIn());
  if (DotOp dot = dotOfWidened(value)) {
    noteLeft(dot);
    return dotOperandLayout(dot, 1);
  }
  return resultLayout(value);
}

/// Neighbours belong to neighbouring lanes, and every warp has all: a reduction
/// stays inside of it.
TileLayout LayoutChooser::flatLayout(Value value) const {
  RankedTensorType type = typeOf(value);
  TileLayout layout =
      blocked(1, type.getShape().back(), 1, /*warps=*/1, unit.lanes());
  layout.base.addCopies(Axis::Warp, llvm::Log2_64(warps));
  if (type.getRank() == 1)
    layout.base = layout.base.dropDim(0);
  return layout;
}

/// That of a tile on its way to a dot.
TileLayout LayoutChooser::loadLayout(Value value) const {
  RankedTensorType type = typeOf(value);
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  unsigned bits = type.getElementTypeBitWidth();
  int64_t vector = std::max<int64_t>(128 / bits, 1);
  if (unit.kind == MatrixUnit::Mma)
    return blocked(rows, columns, vector, warps);
  // Each lane reads its rows of the left operand itself.
  Value read = readAs(value);
  if (isLeftAlone(read))
    return unit.left(
        rows, columns,
        {.bits = typeOf(read).getElementTypeBitWidth(), .fromMemory = true},
        warps);
  // Of a right operand with rows along the depth a thread has neighbours in
  // both directions: it reads along rows and writes along the depth.
  bool turns = llvm::any_of(readAs(value).getUsers(), [](Operation *user) {
    return !cast<DotOp>(user).getTransposeB();
  });
  int64_t height = turns ? 4 : 1;
  int64_t ofThread = std::max<int64_t>(
      rows * powerOfTwoPart(columns) / (64 * warps * height), 1);
  return blocked(rows, columns, std::min(vector, ofThread), warps, 64, height);
}

/// What a reduction leaves stays where it is, and so does what is made of it.
std::optional<TileLayout> LayoutChooser::vectorLayout(Value value) {
  auto known = vectors.find(value);
  if (known != vectors.end())
    return known->second;
  std::optional<TileLayout> found = findVectorLayout(value);
  vectors[value] = found;
  return found;
}

std::optional<TileLayout> LayoutChooser::findVectorLayout(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
    return typeOf(reduce.getInput()).getRank() == 2
               ? without(find(reduce.getInput()), reduce.getDim())
               : std::nullopt;
  if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
    auto layout = vectorLayout(expand.getInput());
    if (layout)
      layout->base = layout->base.addUnitDim(expand.getDim());
    // What is reduced next moves to where a warp has all of it.
    if (layout && expand.getDim() == 0 && crossesWarps(*layout, 1) &&
        llvm::any_of(expand->getUsers(), followsRows))
      return flatLayout(value);
    return layout;
  }
  if (auto scan = dyn_cast_or_null<ScanOp>(op);
      scan && typeOf(scan).getRank() == 1)
    return flatLayout(value);
  if (op && OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (isTile(operand))
        if (auto layout = vectorLayout(operand))
          return layout;
  return std::nullopt;
}

TileLayout LayoutChooser::tileLayout(int64_t rows, int64_t columns) const {
  // As many rows as fill the warps lie in memory's order.
  if (readTogether > 1 && rows >= unit.side * warps)
    return blockedRows(rows, columns, warps, unit.lanes(), readTogether);
  if (rows >= unit.side * warps && columns % unit.columnStep() == 0)
    return unit.accumulator(rows, columns, warps);
  // A reduction of a row stays inside of a warp.
  return reducesRows ? blockedRows(rows, columns, warps, unit.lanes())
                     : blocked(rows, columns, 1, warps, unit.lanes());
}

TileLayout LayoutChooser::turned(const TileLayout &result,
                                 TransposeOp transpose) {
  // Of two dimensions a permutation is its own inverse.
  return {result.base.permuted(transpose.getPermutation()), result.repeat};
}

std::optional<TileLayout> LayoutChooser::turnedLayout(Value result) {
  std::optional<TileLayout> layout = find(result);
  if (!layout || layout->repeat != 1)
    return std::nullopt;
  return turned(*layout, result.getDefiningOp<TransposeOp>());
}

std::optional<TileLayout> LayoutChooser::rowsLayout(int64_t rows) const {
  if (!llvm::isPowerOf2_64(rows))
    return std::nullopt;
  if (rows < unit.side * warps)
    return TileLayout{blocked(rows, 1, 1, warps, unit.lanes()).base.dropDim(1),
                      1};
  return without(unit.accumulator(rows, unit.columnStep(), warps), 1);
}

std::optional<TileLayout> LayoutChooser::readRowsLayout(Value value) const {
  int64_t rows = typeOf(value).getDimSize(0);
  std::optional<int64_t> columns = sizeOfTileWith(value, 1);
  bool isAccumulators = rows >= unit.side * warps || hasState || !columns;
  if (isAccumulators || !llvm::isPowerOf2_64(rows))
    return rowsLayout(rows);
  return without(tileLayout(rows, *columns), 1);
}

std::optional<TileLayout> LayoutChooser::columnsLayout(Value value) const {
  int64_t columns = typeOf(value).getShape().back();
  std::optional<int64_t> rows = sizeOfTileWith(value, 0);
  bool isOfTile = rows && llvm::isPowerOf2_64(columns);
  if (columns % unit.columnStep() && !isOfTile)
    return columns == 1 ? rowsLayout(1) : std::nullopt;
  return without(tileLayout(rows.value_or(unit.side * warps), columns), 0);
}

void LayoutChooser::noteLeft(DotOp dot) {
  arith::ExtFOp wider = widening(dot.getA());
  if (feedsOnlyDots(wider ? wider.getIn() : dot.getA()))
    readForDots.insert(dot);
}

TileLayout LayoutChooser::dotOperandLayout(DotOp dot, unsigned number) const {
  RankedTensorType type = typeOf(dot->getOperand(number));
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  DotForm form = {type.getElementTypeBitWidth(), dot.isTf32(),
                  dot.getTransposeB(), readForDots.contains(dot),
                  dotOfWidened(dot.getB()) == dot};
  if (number == 0)
    return unit.left(rows, columns, form, warps);
  if (number == 1)
    return unit.right(rows, columns, form, warps);
  return widenedSums.contains(dot.getResult())
             ? unit.widenedAccumulator(rows, columns, warps)
             : unit.accumulator(rows, columns, warps);
}

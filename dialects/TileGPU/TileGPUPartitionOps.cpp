//===- TileGPUPartitionOps.cpp - verifiers of partitions, channels, dots --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The regions that fill and empty the slots of `channel`.
static std::pair<Region *, Region *> endsOf(ChannelOp channel,
                                            WarpSpecializeOp partitions) {
  if (channel.getStored())
    return {&partitions.getConsumer(), &partitions.getStore()};
  if (channel.getNarrow())
    return {&partitions.getProducer(), &partitions.getConvert()};
  if (channel.getWidened())
    return {&partitions.getConvert(), &partitions.getConsumer()};
  return {&partitions.getProducer(), &partitions.getConsumer()};
}

/// What fills and empties the slots of a channel, each in its region.
static LogicalResult verifyChannelUse(Operation *op,
                                      WarpSpecializeOp partitions) {
  Value used = llvm::TypeSwitch<Operation *, Value>(op)
                   .Case<AcquireOp, PutOp, AwaitOp, SendOp, ReleaseOp>(
                       [](auto op) { return op.getChannel(); })
                   .Default(Value());
  auto channel = used ? used.getDefiningOp<ChannelOp>() : ChannelOp();
  if (!channel)
    return success();
  auto [filled, emptied] = endsOf(channel, partitions);
  bool fills = isa<AcquireOp, PutOp>(op);
  if (isa<PutOp, SendOp>(op) && !channel.getStored())
    return op->emitOpError("expects a channel of tiles that are stored");
  if ((fills ? filled : emptied)->isAncestor(op->getParentRegion()))
    return success();
  return op->emitOpError("expects to be where the channel's slots are ")
         << (fills ? "filled" : "emptied");
}

LogicalResult WarpSpecializeOp::verify() {
  if (!isa<tile::KernelOp>((*this)->getParentOp()))
    return emitOpError("expects to be in the body of a tile.kernel");
  Type index = IndexType::get(getContext());
  for (Region *region : getRegions()) {
    if (region->empty())
      continue;
    if (region->getArgumentTypes() != TypeRange{index, index})
      return emitOpError("expects regions of two index arguments, the programs "
                         "and the steps before");
    WalkResult walk = region->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType, RunningType>(operand.getType()) &&
            !region->isAncestor(operand.getParentRegion()) &&
            !matchPattern(operand, m_Constant()))
          return WalkResult(op->emitOpError(
              "expects what crosses into a partition to go through a channel"));
      if (failed(verifyChannelUse(op, *this)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult ChannelOp::verify() {
  if (!isa<tile::KernelOp>((*this)->getParentOp()))
    return emitOpError("expects to be in the body of a tile.kernel");
  if (getStored() && (!getOwn() || getShared()))
    return emitOpError("expects slots that are stored to belong to one "
                       "consumer each");
  if (getStored() + getNarrow() + getWidened() > 1)
    return emitOpError("expects slots of one kind: stored, narrow or widened");
  if (getWidened() && getShared())
    return emitOpError("expects slots that this block alone fills, found "
                       "widened ones that are shared");
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 1024))
    return emitOpError("expects an offset that is a multiple of 1024, found ")
           << *getOffset();
  if (getBarriers() && (*getBarriers() < 0 || *getBarriers() % 8))
    return emitOpError("expects barriers at a multiple of 8, found ")
           << *getBarriers();
  return success();
}

/// Of a box of a kernel's argument, `memory`, that `buffer` holds.
static LogicalResult verifyBox(Operation *op, Value memory, ValueRange indices,
                               ArrayRef<int64_t> dims, BufferType buffer) {
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() != int64_t(indices.size()) ||
      type.getElementType() != buffer.getElementType())
    return op->emitOpError("expects indices of the argument's rank and the "
                           "slots' element type, found ")
           << type << ", " << indices.size() << " indices and " << buffer;
  if (dims.size() != buffer.getShape().size() || dims.size() != 2 ||
      dims[0] < 0 || dims[0] >= dims[1] || dims[1] >= type.getRank())
    return op->emitOpError(
               "expects two dimensions of the argument in order, found ")
           << dims;
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || !isa<tile::KernelOp>(argument.getOwner()->getParentOp()))
    return op->emitOpError("expects a view of global memory that is an "
                           "argument of the kernel");
  return success();
}

LogicalResult FetchOp::verify() {
  if (bool(getHeads()) != bool(getGroup()))
    return emitOpError("expects a dimension of heads and a group together");
  if (getHeads()) {
    int64_t rank = cast<MemRefType>(getSource().getType()).getRank();
    if (int64_t(*getHeads()) >= rank ||
        llvm::is_contained(getDims(), int64_t(*getHeads())))
      return emitOpError("expects heads along a dimension that is neither the "
                         "rows' nor the columns', found ")
             << *getHeads() << " beside " << getDims();
    if (getTable() || getEnd())
      return emitOpError("expects heads of an argument as a whole, found a "
                         "table or an end");
    int64_t rows = getChannel().getType().getBuffer().getShape()[0];
    if (rows > kMostGroupedRows)
      return emitOpError("expects rows of several heads in slots of at most ")
             << kMostGroupedRows << " rows, found " << rows;
  }
  if (bool(getTable()) != bool(getSequence()))
    return emitOpError("expects a table and a sequence together");
  if (getTable()) {
    auto table = cast<MemRefType>(getTable().getType());
    if (table.getRank() != 2 || !table.getElementType().isInteger(32))
      return emitOpError("expects a table of i32 of rank 2, found ") << table;
    if (getDims() != ArrayRef<int64_t>{2, 3})
      return emitOpError("expects pages of rank 4 whose rows are dimension 2, "
                         "found dimensions ")
             << getDims();
  }
  return verifyBox(*this, getSource(), getIndices(), getDims(),
                   getChannel().getType().getBuffer());
}

/// Which consumer it is is taken from the partitions around.
static LogicalResult verifyInConsumer(Operation *op) {
  auto partitions = op->getParentOfType<WarpSpecializeOp>();
  if (partitions && partitions.getConsumer().isAncestor(op->getParentRegion()))
    return success();
  return op->emitOpError(
      "expects to be in the consumer of tgpu.warp_specialize");
}

/// Whether slots of `buffer` have the tile's rows and a part of its columns.
static bool isInSlots(RankedTensorType tile, BufferType buffer) {
  int64_t line = buffer.getLayout().getLayout().base.size(1);
  return tile.getRank() == 2 &&
         tile.getElementType() == buffer.getElementType() &&
         tile.getDimSize(0) == buffer.getShape()[0] &&
         llvm::alignTo(tile.getDimSize(1), line) % buffer.getShape()[1] == 0;
}

LogicalResult PutOp::verify() {
  BufferType buffer = getChannel().getType().getBuffer();
  auto tile = cast<RankedTensorType>(getValue().getType());
  if (!isInSlots(tile, buffer) || tile.getDimSize(1) > buffer.getShape()[1])
    return emitOpError("expects slots of the tile's rows and columns, found ")
           << tile << " and " << buffer;
  return verifyInConsumer(*this);
}

LogicalResult WidenOp::verify() {
  auto from = getFrom().getDefiningOp<ChannelOp>(),
       to = getTo().getDefiningOp<ChannelOp>();
  if (!from || !from.getNarrow() || !to || !to.getWidened())
    return emitOpError("expects a narrow channel and a widened one");
  auto partitions = (*this)->getParentOfType<WarpSpecializeOp>();
  if (!partitions ||
      !partitions.getConvert().isAncestor((*this)->getParentRegion()))
    return emitOpError("expects to be in the region of tgpu.warp_specialize "
                       "that converts");
  BufferType narrow = getFrom().getType().getBuffer(),
             wide = getTo().getType().getBuffer();
  Type element = wide.getElementType();
  if (!tile::isStorageFloat(narrow.getElementType()) ||
      !(element.isF16() || element.isBF16()) || narrow.getShape().size() != 2 ||
      wide.getShape().size() != 2 ||
      narrow.getShape()[0] != wide.getShape()[0] ||
      narrow.getShape()[0] % kWidenedRows ||
      narrow.getShape()[1] < wide.getShape()[1])
    return emitOpError(
               "expects slots of e4m3 or e5m2 and of f16 or bf16, of as "
               "many rows, a multiple of ")
           << kWidenedRows << ", and no more columns, found " << narrow
           << " and " << wide;
  return success();
}

LogicalResult SendOp::verify() {
  return verifyBox(*this, getDest(), getIndices(), getDims(),
                   getChannel().getType().getBuffer());
}

LogicalResult DeliverOp::verify() {
  BufferType buffer = getBuffer().getType();
  auto tile = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyBox(*this, getDest(), getIndices(), getDims(), buffer)))
    return failure();
  int64_t line = buffer.getLayout().getLayout().base.size(1);
  if (!isInSlots(tile, buffer))
    return emitOpError("expects slots of the tile's rows and a part of its "
                       "columns, found ")
           << tile << " and " << buffer;
  // What no thread has written to a slot must not be stored.
  int64_t columns = cast<MemRefType>(getDest().getType()).getShape().back();
  if (tile.getDimSize(1) % line &&
      (ShapedType::isDynamic(columns) || columns > tile.getDimSize(1)))
    return emitOpError("expects a tile of whole lines of ")
           << line << " columns or all columns of the destination, found "
           << tile << " to " << getDest().getType();
  return verifyInConsumer(*this);
}

LogicalResult ReceiveOp::verify() {
  BufferType buffer = getChannel().getType().getBuffer();
  auto tile = cast<RankedTensorType>(getResult().getType());
  // A vector is the row of slots of one.
  SmallVector<int64_t, 2> sizes(tile.getShape());
  if (sizes.size() == 1)
    sizes.insert(sizes.begin(), 1);
  if (sizes.size() != 2 || buffer.getShape().size() != 2 ||
      tile.getElementType() != buffer.getElementType() ||
      sizes[0] != buffer.getShape()[0] || sizes[1] > buffer.getShape()[1])
    return emitOpError("expects a tile of the slots' rows and no more than "
                       "their columns, found ")
           << tile << " and " << buffer;
  return verifyInConsumer(*this);
}

LogicalResult TurnsOp::verify() { return verifyInConsumer(*this); }

/// The kernel's `tgpu.programs`, if it has one.
static ProgramsOp programsOf(Operation *op) {
  auto all =
      op->getParentOfType<tile::KernelOp>().getBody().getOps<ProgramsOp>();
  return all.empty() ? ProgramsOp() : *all.begin();
}

LogicalResult ProgramInOp::verify() {
  if (failed(verifyInConsumer(*this)))
    return failure();
  ProgramsOp programs = programsOf(*this);
  size_t found = programs ? programs.getFound().size() : 0;
  if (getFound().size() != found)
    return emitOpError("expects ")
           << found << " numbers that were found of a program, has "
           << getFound().size();
  return success();
}

LogicalResult ProgramsOp::verify() {
  auto kernel = dyn_cast<tile::KernelOp>((*this)->getParentOp());
  if (!kernel || programsOf(*this) != *this)
    return emitOpError("expects to be in the body of a tile.kernel, once");
  if (!kernel->hasAttr(TileGPUDialect::persistentAttrName) ||
      !kernel->hasAttr(TileGPUDialect::dynamicAttrName))
    return emitOpError("expects a kernel with tgpu.persistent and "
                       "tgpu.dynamic");
  if (!isa<BlockArgument>(getCounter()))
    return emitOpError("expects an argument of the kernel as its counter");
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 16))
    return emitOpError("expects an offset that is a multiple of 16, found ")
           << *getOffset();
  return success();
}

/// Of what asks for programs that are taken in turn.
static LogicalResult verifyTaken(Operation *op) {
  if (failed(verifyInConsumer(op)))
    return failure();
  return programsOf(op)
             ? success()
             : op->emitOpError("expects a kernel with tgpu.programs");
}

LogicalResult HasProgramOp::verify() { return verifyTaken(*this); }

LogicalResult LeaveProgramOp::verify() { return verifyTaken(*this); }

LogicalResult OrderWaitOp::verify() { return verifyInConsumer(*this); }

LogicalResult OrderArriveOp::verify() { return verifyInConsumer(*this); }

int64_t DotStartOp::slotDepth() {
  return getBChannel().getType().getBuffer().getShape()[getTransposeB() ? 1
                                                                        : 0];
}

LogicalResult DotStartOp::verify() {
  if (bool(getA()) == bool(getAChannel()))
    return emitOpError("expects its left operand in registers or in a slot");
  auto shapeOf = [](BufferType buffer) { return buffer.getShape(); };
  ArrayRef<int64_t> a = getA() ? getA().getType().getShape()
                               : shapeOf(getAChannel().getType().getBuffer());
  ArrayRef<int64_t> b = shapeOf(getBChannel().getType().getBuffer());
  RankedTensorType r = getType().getTile();
  if (a.size() != 2 || b.size() != 2 || r.getRank() != 2)
    return emitOpError("expects tiles of two dimensions");
  int64_t columns = r.getDimSize(1);
  // Slots have whole lines, of which no more is read.
  bool hasDepth = getA() ? a[1] == readDepth() : a[1] >= readDepth();
  bool fits = getTransposeB() ? columns == b[0] : columns <= b[1];
  Type right = getBChannel().getType().getBuffer().getElementType();
  Type left = getA() ? getA().getType().getElementType()
                     : getAChannel().getType().getBuffer().getElementType();
  bool isNarrow = tile::isStorageFloat(right);
  if (isNarrow != tile::isStorageFloat(left) || (!isNarrow && left != right))
    return emitOpError("expects operands of one type or both of 8 bits, found ")
           << left << " and " << right;
  if (isNarrow && (getA() || !getTransposeB()))
    return emitOpError("expects operands of 8 bits in slots, along the depth");
  int64_t least = isNarrow ? 32 : 16;
  if (readDepth() > slotDepth() || readDepth() % least)
    return emitOpError("expects a depth that is a multiple of ")
           << least << " up to " << slotDepth() << ", found " << readDepth();
  if (!hasDepth || r.getDimSize(0) != a[0] || !fits)
    return emitOpError("expects a result of ")
           << a[0] << " x " << b[getTransposeB() ? 0 : 1] << " over a depth of "
           << a[1] << ", found " << r << " and a right operand of " << b[0]
           << " x " << b[1];
  if (getBColumn() && getTransposeB())
    return emitOpError("expects a first column where columns are the result's");
  if (getAcc() && getAcc().getType() != r)
    return emitOpError("expects an accumulator of the result's type, found ")
           << getAcc().getType() << " and " << r;
  return success();
}

LogicalResult ColumnsOp::verify() {
  RankedTensorType all = tile::typeOf(getInput()),
                   some = tile::typeOf(getResult());
  bool areColumns = all.getRank() == 2 && some.getRank() == 2 &&
                    all.getElementType() == some.getElementType() &&
                    all.getDimSize(0) == some.getDimSize(0) &&
                    all.getDimSize(1) >= some.getDimSize(1);
  if (!areColumns)
    return emitOpError("expects columns of its tile, found ")
           << some << " of " << all;
  for (OpOperand &use : getResult().getUses())
    if (auto dot = dyn_cast<tile::DotOp>(use.getOwner());
        !dot || &use != &dot.getBMutable())
      return emitOpError("expects only right operands of dots to be it, found ")
             << "'" << use.getOwner()->getName() << "'";
  return success();
}

bool ExchangeOp::getsShare() {
  return tile::typeOf(getResult()).getDimSize(0) !=
         tile::typeOf(getValue()).getDimSize(1);
}

LogicalResult ExchangeOp::verify() {
  RankedTensorType rows = tile::typeOf(getValue()),
                   turned = tile::typeOf(getResult());
  if (rows.getRank() != 2 || turned.getRank() != 2 ||
      rows.getElementType() != turned.getElementType() ||
      rows.getElementTypeBitWidth() != 16 ||
      turned.getDimSize(1) % rows.getDimSize(0))
    return emitOpError("expects rows of a tile of 16-bit elements and rows of "
                       "its transpose, found ")
           << rows << " and " << turned;
  int64_t all = turned.getDimSize(1), consumers = all / rows.getDimSize(0);
  if (getsShare() && turned.getDimSize(0) * consumers != rows.getDimSize(1))
    return emitOpError("expects all rows of the transpose or an equal share of "
                       "them for each of ")
           << consumers << " consumers, found " << rows << " and " << turned;
  for (Operation *user : getResult().getUsers())
    if (auto start = dyn_cast<DotStartOp>(user);
        !isa<tile::DotOp>(user) && !(start && start.getA() == getResult()))
      return emitOpError("expects only left operands of dots to be it, found ")
             << "'" << user->getName() << "'";
  if (bool(getBuffer()) != bool(getStep()))
    return emitOpError("expects a buffer and the step whose slot it is");
  auto partitions = (*this)->getParentOfType<WarpSpecializeOp>();
  if (bool(getBuffer()) != bool(partitions))
    return emitOpError(
        "expects a buffer in tgpu.warp_specialize and none outside");
  if (!partitions)
    return success();
  BufferType buffer = getBuffer().getType();
  int64_t shape[] = {all, rows.getDimSize(1)};
  if (consumers != int64_t(partitions.getConsumers()) ||
      buffer.getShape() != ArrayRef<int64_t>(shape) ||
      buffer.getElementType() != rows.getElementType())
    return emitOpError("expects slots for the rows of all ")
           << partitions.getConsumers() << " consumers, found " << rows
           << " and " << buffer;
  return verifyInConsumer(*this);
}

LogicalResult tgpu::RampOp::verify() {
  BufferType numbers = getNumbers().getType();
  int64_t columns = getType().getDimSize(1);
  // bf16 has every number up to 256.
  if (columns > 256 || numbers.getShape() != ArrayRef<int64_t>{columns, 8} ||
      !numbers.getElementType().isBF16())
    return emitOpError("expects a buffer of 8 bf16 for each of at most 256 "
                       "columns, found ")
           << numbers << " and " << getType();
  return success();
}

LogicalResult DotWaitOp::verify() {
  if (getResult().getType() != getRunning().getType().getTile())
    return emitOpError("expects the running tile's type, found ")
           << getResult().getType() << " of " << getRunning().getType();
  if (getThrough().getTypes() != getPassed().getTypes())
    return emitOpError("expects what passes through to keep its type");
  return success();
}

LogicalResult ExpectedSoftmaxOp::verify() {
  ArrayRef<int64_t> scores = getScores().getType().getShape(),
                    max = getMax().getType().getShape();
  if (scores.size() != 2 || max.size() != 1 || max[0] != scores[0])
    return emitOpError("expects a maximum for each row of the scores, found ")
           << getScores().getType() << " and " << getMax().getType();
  return verifyInConsumer(*this);
}

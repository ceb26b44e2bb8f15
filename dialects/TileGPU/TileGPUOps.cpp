//===- TileGPUOps.cpp - verifiers of the tgpu operations ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "Tile/ClosedRegion.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static ParseResult parsePartitions(OpAsmParser &parser, Region &producer,
                                   Region &consumer, Region &convert,
                                   Region &store) {
  if (parser.parseKeyword("producer") || parseClosedRegion(parser, producer) ||
      parser.parseKeyword("consumer") || parseClosedRegion(parser, consumer))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("convert")) &&
      parseClosedRegion(parser, convert))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("store")) &&
      parseClosedRegion(parser, store))
    return failure();
  return success();
}

static void printPartitions(OpAsmPrinter &printer, Operation *,
                            Region &producer, Region &consumer, Region &convert,
                            Region &store) {
  printer << "producer ";
  printer.printRegion(producer);
  printer << " consumer ";
  printer.printRegion(consumer);
  for (auto [name, region] :
       {std::pair("convert", &convert), std::pair("store", &store)})
    if (!region->empty()) {
      printer << ' ' << name << ' ';
      printer.printRegion(*region);
    }
}

#define GET_OP_CLASSES
#include "TileGPU/TileGPUOps.cpp.inc"

static LayoutAttr layoutAttrOf(Type type) {
  return dyn_cast_if_present<LayoutAttr>(
      cast<RankedTensorType>(type).getEncoding());
}

static LogicalResult verifyHasRegisterLayout(Operation *op, Type type) {
  LayoutAttr layout = layoutAttrOf(type);
  if (!layout || layout.getLayout().base.bits(Axis::Offset))
    return op->emitOpError("expects a tile with a layout of registers, found ")
           << type;
  return success();
}

LogicalResult ConvertOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyHasRegisterLayout(*this, from)) ||
      failed(verifyHasRegisterLayout(*this, to)))
    return failure();
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitOpError("expects to change the layout alone, found ")
           << from << " and " << to;
  return success();
}

LogicalResult AllocOp::verify() {
  if (!isa<tile::KernelOp>((*this)->getParentOp()))
    return emitOpError("expects to be in the body of a tile.kernel");
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 128))
    return emitOpError("expects an offset that is a multiple of 128, found ")
           << *getOffset();
  BufferType buffer = getResult().getType();
  if (buffer.getShape()[0] != buffer.getLayout().getLayout().size(0))
    return emitOpError("expects tiles with all rows of their layout, found ")
           << buffer;
  return success();
}

static LogicalResult verifyTile(Operation *op, RankedTensorType tile,
                                BufferType buffer) {
  if (failed(verifyHasRegisterLayout(op, tile)))
    return failure();
  if (tile.getShape() != buffer.getShape() ||
      tile.getElementType() != buffer.getElementType())
    return op->emitOpError("expects a tile of the buffer's sizes, found ")
           << tile << " and " << buffer;
  return success();
}

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  BufferType buffer = getBuffer().getType();
  if (source.getRank() != int64_t(buffer.getShape().size()) ||
      source.getRank() != int64_t(getIndices().size()) ||
      source.getElementType() != buffer.getElementType())
    return emitOpError("expects a source and indices of the buffer's rank and "
                       "element type, found ")
           << source << ", " << getIndices().size() << " indices and "
           << buffer;
  uint64_t element = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  if (getBytes() != element && getBytes() != 4 && getBytes() != 8 &&
      getBytes() != 16)
    return emitOpError("expects 4, 8 or 16 bytes or one element, found ")
           << getBytes();
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyTile(*this, cast<RankedTensorType>(getResult().getType()),
                    getBuffer().getType());
}

LogicalResult WriteOp::verify() {
  return verifyTile(*this, cast<RankedTensorType>(getValue().getType()),
                    getBuffer().getType());
}

LogicalResult tgpu::MergePartsOp::verify() {
  if (getBuffer().getType().getSlots() != 2)
    return emitOpError("expects a buffer of 2 slots, found ")
           << getBuffer().getType();
  return verifyTile(*this, cast<RankedTensorType>(getAcc().getType()),
                    getBuffer().getType());
}

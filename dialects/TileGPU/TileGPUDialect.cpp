//===- TileGPUDialect.cpp - registration of the tgpu dialect --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

#include "TileGPU/TileGPUDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "TileGPU/TileGPUAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "TileGPU/TileGPUTypes.cpp.inc"

void TileGPUDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "TileGPU/TileGPUAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "TileGPU/TileGPUTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "TileGPU/TileGPUOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ArrayRef<tile::KnownAttribute> TileGPUDialect::getKnownAttributes() {
  static constexpr tile::KnownAttribute table[] = {
#define TGPU_ATTRIBUTE(MEMBER, NAME, PLACES, KIND, DOC)                        \
  {NAME, PLACES, /*isOfArgument=*/false, tile::AttributeKind::KIND, DOC},
#include "TileGPU/TileGPUAttributes.def"
  };
  return table;
}

LogicalResult
TileGPUDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  return tile::verifyKnownAttribute(getKnownAttributes(), op, attribute);
}

LogicalResult TileGPUDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned argument, NamedAttribute attribute) {
  return tile::verifyKnownAttribute(getKnownAttributes(), op, attribute,
                                    argument);
}

LogicalResult TileGPUDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned result, NamedAttribute attribute) {
  return op->emitOpError("result ")
         << result << ": expects no attribute of 'tgpu', found '"
         << attribute.getName().getValue() << "'";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &parser) {
  int64_t slots;
  SmallVector<int64_t> shape;
  Type element;
  Attribute layout;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(slots) ||
      parser.parseKeyword("x") ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  auto known = dyn_cast<LayoutAttr>(layout);
  if (!known) {
    parser.emitError(start, "expected a #tgpu.layout, found ") << layout;
    return {};
  }
  return getChecked([&] { return parser.emitError(start); },
                    parser.getContext(), slots, shape, element, known);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<' << getSlots() << " x ";
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType() << ", " << getLayout() << '>';
}

/// Whether the last rows of a layout, those that a tile of `shape` has not, lie
/// behind all others, so that a slot ends before them.
static bool rowsAreLast(ArrayRef<int64_t> shape, const TileLayout &layout) {
  const LinearLayout &base = layout.base;
  if (shape.size() != 2 || base.rank() != 2 || shape[0] < 1 ||
      shape[0] >= base.size(0) || shape[1] != layout.size(1))
    return false;
  unsigned bits = base.bits(Axis::Offset);
  for (int64_t row = base.size(0) / 2; shape[0] % (2 * row); row /= 2) {
    if (bits == 0)
      return false;
    --bits;
    if (base.basis(Axis::Offset, bits) != Coord{int32_t(row), 0})
      return false;
  }
  return true;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t slots, ArrayRef<int64_t> shape,
                                 Type element, LayoutAttr layout) {
  if (slots < 1)
    return emitError() << "expected at least one slot, found " << slots;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitError() << "expected elements of whole bytes, found " << element;
  const LinearLayout &base = layout.getLayout().base;
  SmallVector<int64_t> sizes(shape);
  if (rowsAreLast(shape, layout.getLayout()))
    sizes[0] = base.size(0);
  if (failed(layout.verifyEncoding(sizes, element, emitError)))
    return failure();
  if (!base.bits(Axis::Offset) || !base.isInjective())
    return emitError() << "expected a layout of offsets, one for each element, "
                          "found "
                       << layout;
  int64_t joined = layout.getLayout().joined;
  if (joined &&
      (sizes[0] != shape[0] || joined * 8 != element.getIntOrFloatBitWidth()))
    return emitError() << "expected elements and rows of " << layout
                       << ", found " << shape << " of " << element;
  return success();
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  BufferType buffer) {
  // What fetches, delivers and exchanges has a box for each copy.
  if (buffer.getLayout().getLayout().joined)
    return emitError() << "expected a layout whose copies lie one behind the "
                          "other, found "
                       << buffer.getLayout();
  return success();
}

Type ChannelType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  auto buffer = dyn_cast_or_null<BufferType>(BufferType::parse(parser));
  return buffer ? getChecked([&] { return parser.emitError(start); },
                             parser.getContext(), buffer)
                : Type();
}

void ChannelType::print(AsmPrinter &printer) const {
  getBuffer().print(printer);
}

int64_t BufferType::getSlotBytes() {
  int64_t bytes = getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t size : getShape())
    bytes *= size;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileLayout fa::tgpu::layoutOf(Type tileType) {
  auto encoding = cast<RankedTensorType>(tileType).getEncoding();
  return cast<LayoutAttr>(encoding).getLayout();
}

Value fa::tgpu::belowMasks(Value scores) {
  while (auto masked = scores.getDefiningOp<arith::SelectOp>()) {
    if (!scores.hasOneUse() ||
        !matchPattern(masked.getFalseValue(), m_NegInfFloat()))
      return {};
    scores = masked.getTrueValue();
  }
  return scores;
}

Value fa::tgpu::signOf(Value product) {
  auto multiply = product.getDefiningOp<arith::MulFOp>();
  auto broadcast = multiply
                       ? multiply.getRhs().getDefiningOp<tile::BroadcastOp>()
                       : tile::BroadcastOp();
  auto choice = broadcast
                    ? broadcast.getInput().getDefiningOp<arith::SelectOp>()
                    : arith::SelectOp();
  APFloat other(0.0f);
  bool isSign = choice && choice.getType().isF32() &&
                matchPattern(choice.getFalseValue(), m_OneFloat()) &&
                matchPattern(choice.getTrueValue(), m_ConstantFloat(&other)) &&
                other.isExactlyValue(-1);
  return isSign ? choice.getResult() : Value();
}

Value fa::tgpu::belowSign(Value scores) {
  return scores && signOf(scores)
             ? scores.getDefiningOp<arith::MulFOp>().getLhs()
             : scores;
}

RankedTensorType fa::tgpu::withLayout(RankedTensorType type,
                                      const TileLayout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

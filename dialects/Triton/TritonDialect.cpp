//===- TritonDialect.cpp - registration and types of the tt dialect -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Triton/Triton.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa::triton;

#include "Triton/TritonDialect.cpp.inc"
#include "Triton/TritonGPUDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Triton/TritonAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Triton/TritonTypes.cpp.inc"

namespace {

/// Functions that are called go where they are called from.
struct TritonInliner final : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  /// A function of several blocks: its returns become branches.
  void handleTerminator(Operation *op, Block *next) const final {
    auto ret = dyn_cast<ReturnOp>(op);
    if (!ret)
      return;
    OpBuilder builder(op);
    cf::BranchOp::create(builder, op->getLoc(), next, ret.getSrcs());
    op->erase();
  }
  void handleTerminator(Operation *op, ValueRange values) const final {
    for (auto [value, src] :
         llvm::zip_equal(values, cast<ReturnOp>(op).getSrcs()))
      value.replaceAllUsesWith(src);
  }
};

} // namespace

void TritonDialect::initialize() {
  addInterfaces<TritonInliner>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Triton/TritonAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Triton/TritonTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Triton/TritonOps.cpp.inc"
      >();
}

void TritonGPUDialect::initialize() { addOperations<BarrierOp>(); }

void fa::triton::registerDialects(DialectRegistry &registry) {
  registry.insert<TritonDialect, TritonGPUDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, ub::UBDialect>();
}

FileLineColLoc fa::triton::sourceLineOf(Location loc) {
  if (auto line = dyn_cast<FileLineColLoc>(loc))
    return line;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return sourceLineOf(call.getCaller());
  if (auto name = dyn_cast<NameLoc>(loc))
    return sourceLineOf(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (auto line = sourceLineOf(part))
        return line;
  return {};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type fa::triton::pointeeTypeOf(Type pointer) {
  if (auto tile = dyn_cast<RankedTensorType>(pointer))
    return tile.clone(pointeeTypeOf(tile.getElementType()));
  if (auto one = dyn_cast<PointerType>(pointer))
    return one.getPointeeType();
  return pointer;
}

Type fa::triton::maskTypeOf(Type type) {
  auto bit = IntegerType::get(type.getContext(), 1);
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type(tile.clone(bit)) : bit;
}

Type fa::triton::elementPointerOf(Type pointer) {
  auto block = dyn_cast<PointerType>(pointer);
  if (!block)
    return pointer;
  return PointerType::get(pointer.getContext(),
                          getElementTypeOrSelf(block.getPointeeType()),
                          block.getAddressSpace());
}

Type TensorDescType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  Type type;
  SMLoc start = parser.getCurrentLocation();
  OptionalParseResult whole = parser.parseOptionalType(type);
  if (!whole.has_value()) {
    SmallVector<int64_t> shape;
    Type element;
    if (parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
        parser.parseType(element))
      return {};
    if (TensorType::isValidElementType(element))
      type = RankedTensorType::get(shape, element);
  } else if (failed(*whole)) {
    return {};
  }
  if (parser.parseGreater())
    return {};
  auto block = dyn_cast_or_null<RankedTensorType>(type);
  if (!block || !block.hasStaticShape()) {
    parser.emitError(start, "expected the type of a block of static size");
    return {};
  }
  return get(parser.getContext(), block);
}

void TensorDescType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getBlock().getShape())
    printer << size << 'x';
  printer << getBlock().getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute CachePolicyAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> keys, values;
  auto parseOne = [&]() -> ParseResult {
    std::string key, value;
    if (parser.parseKeywordOrString(&key) || parser.parseEqual() ||
        parser.parseKeywordOrString(&value))
      return failure();
    keys.push_back(parser.getBuilder().getStringAttr(key));
    values.push_back(parser.getBuilder().getStringAttr(value));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return get(parser.getContext(), keys, values);
}

void CachePolicyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(
      llvm::zip_equal(getKeys(), getValues()), printer, [&](auto pair) {
        printer.printKeywordOrString(std::get<0>(pair).getValue());
        printer << " = ";
        printer.printKeywordOrString(std::get<1>(pair).getValue());
      });
  printer << '>';
}

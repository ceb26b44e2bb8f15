//===- TileDialect.cpp - registration of the tile dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa::tile;

#include "Tile/TileDialect.cpp.inc"
#include "Tile/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Tile/TileAttributes.cpp.inc"

namespace {

/// Functions that are called go where they are called from, whatever they hold.
struct TileInliner final : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

} // namespace

void TileDialect::initialize() {
  addInterfaces<TileInliner>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Tile/TileAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Tile/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ArrayRef<KnownAttribute> TileDialect::getKnownAttributes() {
  static constexpr KnownAttribute table[] = {
#define TILE_ATTRIBUTE(MEMBER, NAME, PLACES, KIND, DOC)                        \
  {NAME, PLACES, /*isOfArgument=*/false, AttributeKind::KIND, DOC},
#define TILE_ARGUMENT_ATTRIBUTE(MEMBER, NAME, KIND, DOC)                       \
  {NAME, "tile.kernel", /*isOfArgument=*/true, AttributeKind::KIND, DOC},
#include "Tile/TileAttributes.def"
  };
  return table;
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  return verifyKnownAttribute(getKnownAttributes(), op, attribute);
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attribute) {
  return verifyKnownAttribute(getKnownAttributes(), op, attribute, argument);
}

LogicalResult TileDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned result, NamedAttribute attribute) {
  return op->emitOpError("result ")
         << result << ": expects no attribute of 'tile', found '"
         << attribute.getName().getValue() << "'";
}

/// Folders may turn a broadcast or transpose of a constant into a constant.
Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===- KnownAttributes.cpp - the attributes that a dialect has ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/KnownAttributes.h"

#include "Tile/Tile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The value of an i64; other integers have signs and widths of their own.
static std::optional<int64_t> numberOf(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number || !number.getType().isSignlessInteger(64))
    return std::nullopt;
  return number.getInt();
}

/// Whether it is a map from symbols alone, to any number of sizes or to one.
static bool isSizeMap(Attribute attribute, bool toOne) {
  auto map = dyn_cast<AffineMapAttr>(attribute);
  return map && map.getValue().getNumDims() == 0 &&
         (!toOne || map.getValue().getNumResults() == 1);
}

static bool holds(AttributeKind kind, Attribute attribute) {
  std::optional<int64_t> number = numberOf(attribute);
  auto array = dyn_cast<DenseI64ArrayAttr>(attribute);
  switch (kind) {
  case AttributeKind::Unit:
    return isa<UnitAttr>(attribute);
  case AttributeKind::Positive:
    return number && *number > 0;
  case AttributeKind::NotNegative:
    return number && *number >= 0;
  case AttributeKind::PowerOfTwo:
    return number && *number > 0 && llvm::isPowerOf2_64(*number);
  case AttributeKind::F32: {
    auto value = dyn_cast<FloatAttr>(attribute);
    return value && value.getType().isF32();
  }
  case AttributeKind::Text:
    return isa<StringAttr>(attribute);
  case AttributeKind::Symbol:
    return isa<FlatSymbolRefAttr>(attribute);
  case AttributeKind::Sizes:
    return array != nullptr;
  case AttributeKind::Triple:
    return array && array.size() == 3;
  case AttributeKind::Map:
  case AttributeKind::SizeMap:
    return isSizeMap(attribute, kind == AttributeKind::SizeMap);
  case AttributeKind::Access:
    return isa<AccessAttr>(attribute);
  case AttributeKind::Plan:
    return attribute.getAbstractAttribute().getName() == "tgpu.plan";
  }
  llvm_unreachable("every kind is handled");
}

StringRef fa::tile::describe(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::Unit:
    return "a unit attribute";
  case AttributeKind::Positive:
    return "an i64 above 0";
  case AttributeKind::NotNegative:
    return "an i64 of at least 0";
  case AttributeKind::PowerOfTwo:
    return "an i64 that is a power of two";
  case AttributeKind::F32:
    return "an f32";
  case AttributeKind::Text:
    return "a string";
  case AttributeKind::Symbol:
    return "the name of a kernel";
  case AttributeKind::Sizes:
    return "an array of i64";
  case AttributeKind::Triple:
    return "an argument, a dimension and a size as an array of i64";
  case AttributeKind::Map:
    return "a map from symbols to sizes";
  case AttributeKind::SizeMap:
    return "a map from symbols to one size";
  case AttributeKind::Access:
    return "a #tile.access";
  case AttributeKind::Plan:
    return "a #tgpu.plan";
  }
  llvm_unreachable("every kind is handled");
}

//===----------------------------------------------------------------------===//
// Names and places
//===----------------------------------------------------------------------===//

static const KnownAttribute *find(ArrayRef<KnownAttribute> table,
                                  StringRef name) {
  const auto *row = llvm::find_if(
      table, [&](const KnownAttribute &known) { return known.name == name; });
  return row == table.end() ? nullptr : row;
}

static StringRef nearest(ArrayRef<KnownAttribute> table, StringRef name) {
  auto distance = [&](const KnownAttribute &known) {
    return name.edit_distance(known.name);
  };
  return llvm::min_element(table,
                           [&](const auto &one, const auto &other) {
                             return distance(one) < distance(other);
                           })
      ->name;
}

LogicalResult fa::tile::verifyKnownAttribute(ArrayRef<KnownAttribute> table,
                                             Operation *op,
                                             NamedAttribute found,
                                             std::optional<unsigned> argument) {
  auto emitError = [&] {
    InFlightDiagnostic diagnostic = op->emitOpError();
    if (argument)
      diagnostic << "argument " << *argument << ": ";
    return diagnostic;
  };
  StringRef name = found.getName();
  const KnownAttribute *known = find(table, name);
  if (!known)
    return emitError() << "expects an attribute that '"
                       << found.getNameDialect()->getNamespace()
                       << "' has, found '" << name << "'; the nearest is '"
                       << nearest(table, name) << "'";
  if (known->isOfArgument != argument.has_value() ||
      !llvm::is_contained(llvm::split(known->places, ", "),
                          op->getName().getStringRef()))
    return emitError() << "expects '" << name << "' on "
                       << (known->isOfArgument ? "an argument of " : "")
                       << known->places << ", found it here";
  if (!holds(known->kind, found.getValue()))
    return emitError() << "expects '" << name << "' to be "
                       << describe(known->kind) << ", found "
                       << found.getValue();
  return success();
}

//===- TileKernelOps.cpp - kernels and their access to memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType =
      [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag, std::string &) -> Type {
    return builder.getFunctionType(args, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

Access KernelOp::getAccess(unsigned index) {
  auto access = getArgAttrOfType<AccessAttr>(index, accessAttrName);
  return access ? access.getValue() : Access::InOut;
}

static LogicalResult verifyArgument(KernelOp kernel, unsigned index) {
  Type type = kernel.getArgumentTypes()[index];
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.isStrided())
      return kernel.emitOpError("expects strided memref arguments, argument ")
             << index << " is " << type;
    auto [strides, offset] = memref.getStridesAndOffset();
    if (offset != 0)
      return kernel.emitOpError("expects memref arguments without an offset "
                                "(the pointer is that of element 0), argument ")
             << index << " is " << type;
    if (!kernel.getArgAttrOfType<AccessAttr>(index, KernelOp::accessAttrName))
      return kernel.emitOpError("expects attribute 'tile.access' on memref "
                                "argument ")
             << index;
    return success();
  }
  if (type.isIntOrIndexOrFloat())
    return success();
  return kernel.emitOpError("expects memref and scalar arguments, argument ")
         << index << " is " << type;
}

/// Checks that each (argument, dimension) pair names a size.
static LogicalResult verifySizeNames(KernelOp kernel, StringRef attribute,
                                     ArrayRef<int64_t> pairs) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  for (size_t s = 0; s < pairs.size(); s += 2) {
    int64_t arg = pairs[s], dim = pairs[s + 1];
    auto memref = arg >= 0 && arg < static_cast<int64_t>(types.size())
                      ? dyn_cast<MemRefType>(types[arg])
                      : MemRefType();
    if (!memref || dim < 0 || dim >= memref.getRank())
      return kernel.emitOpError("'")
             << attribute << "' names dimension " << dim << " of argument "
             << arg << ", which is not a memref with that dimension";
  }
  return success();
}

static LogicalResult verifyGrid(KernelOp kernel) {
  AffineMap grid = kernel.getGrid();
  ArrayRef<int64_t> sizes = kernel.getGridSizes();
  if (grid.getNumDims() != 0 || grid.getNumResults() < 1 ||
      grid.getNumResults() > 3)
    return kernel.emitOpError("expects a grid of 1 to 3 extents over symbols "
                              "alone, found ")
           << AffineMapAttr::get(grid);
  if (sizes.size() != 2 * grid.getNumSymbols())
    return kernel.emitOpError("expects an (argument, dimension) pair in "
                              "'grid_sizes' for each of the ")
           << grid.getNumSymbols() << " symbols of 'grid', found "
           << sizes.size() << " numbers";
  return verifySizeNames(kernel, "grid_sizes", sizes);
}

/// Checks the rules between sizes.
static LogicalResult verifySizeRules(KernelOp kernel) {
  if (!kernel.getRules())
    return success();
  for (auto rule : kernel.getRules()->getAsRange<SizeRuleAttr>()) {
    int64_t names[] = {rule.getArgument(), rule.getDim(), rule.getOther(),
                       rule.getOtherDim()};
    if (failed(verifySizeNames(kernel, "rules", names)))
      return failure();
    if (rule.getFactor() < 1)
      return kernel.emitOpError("expects a factor of at least 1 in 'rules', "
                                "found ")
             << rule.getFactor();
  }
  return success();
}

/// A map from the symbols of the grid to `results` sizes.
static LogicalResult verifySizeMap(KernelOp kernel, StringRef name,
                                   Attribute attribute, size_t results) {
  auto map = dyn_cast<AffineMapAttr>(attribute);
  size_t symbols = kernel.getGridSizes().size() / 2;
  if (map && map.getValue().getNumDims() == 0 &&
      map.getValue().getNumSymbols() == symbols &&
      map.getValue().getNumResults() == results)
    return success();
  return kernel.emitOpError("expects a map from the ")
         << symbols << " symbols of 'grid' to " << results << " sizes in '"
         << name << "', found " << attribute;
}

/// `tile.at_most` speaks of a size of an argument.
static LogicalResult verifyAtMost(KernelOp kernel) {
  auto most =
      kernel->getAttrOfType<DenseI64ArrayAttr>(KernelOp::atMostAttrName);
  return most ? verifySizeNames(kernel, KernelOp::atMostAttrName,
                                most.asArrayRef().take_front(2))
              : success();
}

/// Tensors in workspace are the last arguments.
static LogicalResult verifyWorkspace(KernelOp kernel) {
  bool behind = false;
  for (auto [n, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    Attribute sizes = kernel.getArgAttr(n, KernelOp::workspaceAttrName);
    auto memref = dyn_cast<MemRefType>(type);
    if (!sizes && behind)
      return kernel.emitOpError("expects arguments in workspace behind all "
                                "others, argument ")
             << n << " is none";
    if (!sizes)
      continue;
    behind = true;
    if (!memref || memref.getRank() == 0)
      return kernel.emitOpError("expects workspace to be a memref of splits, "
                                "argument ")
             << n << " is " << type;
    if (failed(verifySizeMap(kernel, KernelOp::workspaceAttrName, sizes,
                             memref.getRank() - 1)))
      return failure();
  }
  for (StringRef name :
       {KernelOp::splitKeysAttrName, KernelOp::leastKeysAttrName,
        KernelOp::packedHeadsAttrName})
    if (Attribute keys = kernel->getAttr(name);
        keys && failed(verifySizeMap(kernel, name, keys, 1)))
      return failure();
  return success();
}

int64_t KernelOp::getParts() {
  auto parts = (*this)->getAttrOfType<IntegerAttr>(partsAttrName);
  return parts ? parts.getInt() : 1;
}

int64_t KernelOp::getAlignment(unsigned index) {
  auto bytes = getArgAttrOfType<IntegerAttr>(index, alignmentAttrName);
  return bytes ? bytes.getInt() : 1;
}

LogicalResult KernelOp::verify() {
  if (!getFunctionType().getResults().empty())
    return emitOpError("expects no results, found ") << getFunctionType();
  if (getBody().empty())
    return emitOpError("expects a body");
  for (unsigned i = 0, e = getArgumentTypes().size(); i < e; ++i)
    if (failed(verifyArgument(*this, i)))
      return failure();
  if (failed(verifySizeRules(*this)))
    return failure();
  if (failed(verifyGrid(*this)))
    return failure();
  if (failed(verifyAtMost(*this)))
    return failure();
  return verifyWorkspace(*this);
}

//===----------------------------------------------------------------------===//
// LoadOp, StoreOp, AtomicAddOp, GatherOp, ScatterOp
//===----------------------------------------------------------------------===//

/// Checks that `tile` can be moved to or from `view` at `numIndices` indices.
static LogicalResult verifyAccess(Operation *op, RankedTensorType tile,
                                  MemRefType view, size_t numIndices) {
  if (tile.getElementType() != view.getElementType())
    return op->emitOpError("expects one element type, found ")
           << tile << " and " << view;
  if (tile.getRank() != view.getRank())
    return op->emitOpError("expects a tile of the view's rank ")
           << view.getRank() << ", found " << tile;
  if (numIndices != static_cast<size_t>(view.getRank()))
    return op->emitOpError("expects ")
           << view.getRank() << " indices, found " << numIndices;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, cast<RankedTensorType>(getType()),
                      cast<MemRefType>(getSource().getType()),
                      getIndices().size());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, cast<RankedTensorType>(getValue().getType()),
                      cast<MemRefType>(getDest().getType()),
                      getIndices().size());
}

/// Checks that elements of `tile` can be added in one step.
static LogicalResult verifySums(Operation *op, RankedTensorType tile) {
  Type element = tile.getElementType();
  if (!element.isF32() && !element.isInteger(32) && !element.isInteger(64))
    return op->emitOpError("expects elements of f32, i32 or i64, found ")
           << tile;
  return success();
}

LogicalResult ScanOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  Type element = type.getElementType();
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return emitOpError("expects floats or integers of 32 or 64 bits, found ")
           << type;
  return verifyDim(*this, getDim(), type.getRank());
}

LogicalResult AtomicAddOp::verify() {
  auto tile = cast<RankedTensorType>(getValue().getType());
  if (failed(verifySums(*this, tile)))
    return failure();
  return verifyAccess(*this, tile, cast<MemRefType>(getDest().getType()),
                      getIndices().size());
}

/// Checks that the elements of `tile` can be moved to or from the places of
/// `view` that `indices` are.
static LogicalResult verifyPlaces(Operation *op, RankedTensorType tile,
                                  MemRefType view, ValueRange indices) {
  if (tile.getElementType() != view.getElementType())
    return op->emitOpError("expects one element type, found ")
           << tile << " and " << view;
  if (indices.size() != static_cast<size_t>(view.getRank()))
    return op->emitOpError("expects ")
           << view.getRank() << " index tiles, found " << indices.size();
  auto expected = tile.clone(IndexType::get(op->getContext()));
  for (Value index : indices)
    if (index.getType() != expected)
      return op->emitOpError("expects index tiles of type ")
             << expected << ", found " << index.getType();
  return success();
}

LogicalResult GatherOp::verify() {
  return verifyPlaces(*this, cast<RankedTensorType>(getType()),
                      cast<MemRefType>(getSource().getType()), getIndices());
}

LogicalResult ScatterOp::verify() {
  auto tile = cast<RankedTensorType>(getValue().getType());
  if (getAdd() && failed(verifySums(*this, tile)))
    return failure();
  return verifyPlaces(*this, tile, cast<MemRefType>(getDest().getType()),
                      getIndices());
}

void ScatterOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getAdd())
    effects.emplace_back(MemoryEffects::Read::get(), &getDestMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable());
}

//===- ExtractKernelInfo.cpp - a kernel as plain data ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtractKernelInfo.h"

#include "fa/Target/KernelAccess.h"

using namespace mlir;
using namespace fa;

static std::optional<ElementType> elementTypeOf(Type type) {
  if (type.isIndex())
    return ElementType::I64;
  // A boolean has a byte of its own in memory.
  if (type.isInteger(8))
    return ElementType::I1;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  // MLIR's names of the two 8-bit formats are longer than ours.
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return ElementType::F8E5M2;
  return parseElementType(text);
}

static int64_t sizeOrDynamic(int64_t size) {
  return ShapedType::isDynamic(size) ? fa::kDynamic : size;
}

Access fa::accessOf(tile::KernelOp kernel, unsigned number) {
  switch (kernel.getAccess(number)) {
  case tile::Access::In:
    return Access::In;
  case tile::Access::Out:
    return Access::Out;
  case tile::Access::InOut:
    return Access::InOut;
  }
  llvm_unreachable("every access is handled");
}

static SizeExpr::Opcode opcodeOf(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::Add:
    return SizeExpr::Add;
  case AffineExprKind::Mul:
    return SizeExpr::Mul;
  case AffineExprKind::FloorDiv:
    return SizeExpr::FloorDiv;
  case AffineExprKind::CeilDiv:
    return SizeExpr::CeilDiv;
  case AffineExprKind::Mod:
    return SizeExpr::Mod;
  default:
    llvm_unreachable("not an operation of two operands");
  }
}

static void appendExpr(AffineExpr expr, ArrayRef<int64_t> sizes,
                       SizeExpr &result) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.steps.push_back({SizeExpr::Const, constant.getValue()});
  } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    size_t at = 2 * symbol.getPosition();
    result.steps.push_back({SizeExpr::Size, sizes[at], sizes[at + 1]});
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    appendExpr(binary.getLHS(), sizes, result);
    appendExpr(binary.getRHS(), sizes, result);
    result.steps.push_back({opcodeOf(expr.getKind())});
  }
}

static SizeRule::Kind kindOf(tile::SizeRuleKind kind) {
  switch (kind) {
  case tile::SizeRuleKind::Equal:
    return SizeRule::Equal;
  case tile::SizeRuleKind::Multiple:
    return SizeRule::Multiple;
  case tile::SizeRuleKind::Divisible:
    return SizeRule::Divisible;
  case tile::SizeRuleKind::Packed:
    return SizeRule::Packed;
  case tile::SizeRuleKind::OneMore:
    return SizeRule::OneMore;
  case tile::SizeRuleKind::AtLeast:
    return SizeRule::AtLeast;
  case tile::SizeRuleKind::Covers:
    return SizeRule::Covers;
  }
  llvm_unreachable("every kind is handled");
}

/// The expressions of a map over the symbols of the grid.
static std::vector<SizeExpr> readMap(tile::KernelOp kernel, AffineMap map) {
  std::vector<SizeExpr> sizes(map.getNumResults());
  for (auto [size, expr] : llvm::zip(sizes, map.getResults()))
    appendExpr(expr, kernel.getGridSizes(), size);
  return sizes;
}

//===----------------------------------------------------------------------===//
// Facts that an attribute says: an overload for each type of them
//===----------------------------------------------------------------------===//

static void readFact(tile::KernelOp kernel, StringRef attribute, bool &flag) {
  flag = kernel->hasAttr(attribute);
}

static void readFact(tile::KernelOp kernel, StringRef attribute,
                     int64_t &number) {
  if (auto found = kernel->getAttrOfType<IntegerAttr>(attribute))
    number = found.getInt();
}

static void readFact(tile::KernelOp kernel, StringRef attribute,
                     std::vector<int64_t> &sizes) {
  if (auto found = kernel->getAttrOfType<DenseI64ArrayAttr>(attribute))
    sizes.assign(found.asArrayRef().begin(), found.asArrayRef().end());
}

static void readFact(tile::KernelOp kernel, StringRef attribute,
                     SizeExpr &size) {
  if (auto found = kernel->getAttrOfType<AffineMapAttr>(attribute))
    size = readMap(kernel, found.getValue()).front();
}

static void readTileFacts(tile::KernelOp kernel, KernelInfo &info) {
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)
#define TILE_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, ATTRIBUTE, KIND,   \
                  DOC)                                                         \
  readFact(kernel, "tile." ATTRIBUTE, info.MEMBER);
#include "fa/Launch/KernelFacts.def"
}

void fa::readGpuFacts(tile::KernelOp kernel, KernelInfo &info) {
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)
#define TGPU_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, ATTRIBUTE, KIND,   \
                  DOC)                                                         \
  readFact(kernel, "tgpu." ATTRIBUTE, info.MEMBER);
#include "fa/Launch/KernelFacts.def"
}

llvm::Expected<KernelInfo> fa::extractKernelInfo(tile::KernelOp kernel) {
  KernelInfo info;
  info.symbol = kernel.getSymName();
  info.entry = kernel.getEntryName();
  info.unfused = kernel.getUnfused();
  for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    ArgumentInfo argument;
    auto element = elementTypeOf(getElementTypeOrSelf(type));
    if (!element)
      return llvm::createStringError("argument " + llvm::Twine(number) +
                                     " of kernel @" + info.symbol +
                                     " has an element type that no buffer has");
    argument.type = *element;
    if (auto memref = dyn_cast<MemRefType>(type)) {
      argument.isMemRef = true;
      auto [strides, offset] = memref.getStridesAndOffset();
      for (auto [size, stride] : llvm::zip(memref.getShape(), strides)) {
        argument.sizes.push_back(sizeOrDynamic(size));
        argument.strides.push_back(sizeOrDynamic(stride));
      }
      argument.access = accessOf(kernel, number);
      argument.alignment = kernel.getAlignment(number);
    } else {
      argument.positive =
          kernel.getArgAttr(number, tile::KernelOp::positiveAttrName) !=
          nullptr;
    }
    info.args.push_back(std::move(argument));
  }
  if (kernel.getRules())
    for (auto rule : kernel.getRules()->getAsRange<tile::SizeRuleAttr>())
      info.rules.push_back({kindOf(rule.getKind()), rule.getArgument(),
                            rule.getDim(), rule.getOther(), rule.getOtherDim(),
                            rule.getFactor()});
  if (auto most = kernel->getAttrOfType<DenseI64ArrayAttr>(
          tile::KernelOp::atMostAttrName))
    info.rules.push_back({SizeRule::AtMost, most[0], most[1], 0, 0, most[2]});
  info.grid = readMap(kernel, kernel.getGrid());
  for (unsigned n = 0; n < kernel.getArgumentTypes().size(); ++n)
    if (auto sizes = kernel.getArgAttrOfType<AffineMapAttr>(
            n, tile::KernelOp::workspaceAttrName))
      info.workspace.push_back({readMap(kernel, sizes.getValue())});
  readTileFacts(kernel, info);
  if (Failure failure = checkKernel(info))
    return llvm::createStringError(failure.message());
  return info;
}

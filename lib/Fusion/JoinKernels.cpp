//===- JoinKernels.cpp - kernels of one launch ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinKernels.h"
#include "KernelSignature.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Common arguments
//===----------------------------------------------------------------------===//

static Type memoryOfAny(Type type, bool isHanded) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> sizes(tensor.getShape());
  if (isHanded)
    sizes.insert(sizes.begin(), ShapedType::kDynamic);
  return fa::memoryOf(tensor.getElementType(), sizes,
                      SmallVector<int64_t>(sizes.size(), ShapedType::kDynamic));
}

CommonArguments::CommonArguments(func::FuncOp function,
                                 const ArgumentSizes &sizes)
    : names(function.getContext()), function(function), sizes(sizes) {
  auto add = [&](Value value, bool isResult) {
    numbers[value] = all.size();
    all.push_back({value, memoryOfAny(value.getType(), false), isResult, {}});
  };
  for (Value argument : function.getArguments())
    add(argument, /*isResult=*/false);
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    add(result, /*isResult=*/true);
  numGiven = all.size();
}

unsigned CommonArguments::numberOf(Value value) {
  auto [found, isNew] = numbers.try_emplace(value, all.size());
  if (!isNew)
    return found->second;
  unsigned number = found->second;
  all.push_back(
      {value, memoryOfAny(value.getType(), true), /*isResult=*/false, {}});
  for (int64_t d = 0; d < tensorOf(number).getRank(); ++d)
    all[number].sizes.push_back(sizeOf(number, d));
  return number;
}

unsigned CommonArguments::addOwn(Type type, ArrayRef<AffineExpr> sizes) {
  all.push_back({Value(), type, /*isResult=*/false, llvm::to_vector(sizes)});
  return all.size() - 1;
}

AffineExpr CommonArguments::sizeOf(unsigned number, int64_t dim) {
  Value value = all[number].value;
  if (!value) // of a kernel's own: behind the number of splits
    return dim ? all[number].sizes[dim - 1] : names.constant(1);
  RankedTensorType type = tensorOf(number);
  if (!type.isDynamicDim(dim) && !isGiven(number))
    return names.constant(type.getDimSize(dim));
  if (isGiven(number))
    return names.symbol(number, dim);
  ArgumentSize size = sizes.at({value, dim});
  return names.symbol(size.argument, size.dim);
}

/// The expressions of `map`, over the kernel's sizes, of the common ones.
static SmallVector<AffineExpr>
translate(const BoundKernel &bound, CommonArguments &common, AffineMap map) {
  KernelOp kernel = bound.kernel;
  ArrayRef<int64_t> sizes = kernel.getGridSizes();
  SmallVector<AffineExpr> symbols;
  for (size_t n = 0; n < sizes.size(); n += 2)
    symbols.push_back(common.sizeOf(bound.numbers[sizes[n]], sizes[n + 1]));
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return expr.replaceSymbols(symbols);
  });
}

std::optional<int64_t> fa::programsOf(const BoundKernel &bound,
                                      CommonArguments &common) {
  int64_t programs = 1;
  for (AffineExpr size :
       translate(bound, common, KernelOp(bound.kernel).getGrid())) {
    auto number = dyn_cast<AffineConstantExpr>(size);
    if (!number)
      return std::nullopt;
    programs *= number.getValue();
  }
  return programs;
}

void fa::bindOwn(BoundKernel &bound, CommonArguments &common,
                 SmallVectorImpl<unsigned> &own) {
  KernelOp kernel = bound.kernel;
  if (own.empty())
    for (auto [n, type] : llvm::enumerate(kernel.getArgumentTypes()))
      if (auto sizes = kernel.getArgAttrOfType<AffineMapAttr>(
              n, KernelOp::workspaceAttrName))
        own.push_back(
            common.addOwn(type, translate(bound, common, sizes.getValue())));
  bound.numbers.append(own.begin(), own.end());
}

//===----------------------------------------------------------------------===//
// Promises
//===----------------------------------------------------------------------===//

/// What a tensor in workspace begins at multiples of, in bytes
/// (fa/Launch/ChooseLaunch.h), and the step from row to row of aligned rows
/// that code for AMD counts on (tgpu-limit-row-steps).
static constexpr int64_t kWorkspaceAlignment = 16, kMostOfRow = 1 << 24;

bool fa::fitsWorkspace(const BoundKernel &bound, CommonArguments &common) {
  KernelOp kernel = bound.kernel;
  for (auto [n, number] : llvm::enumerate(bound.numbers)) {
    if (!common.isHanded(number))
      continue;
    auto memory = cast<MemRefType>(kernel.getArgumentTypes()[n]);
    ArrayRef<int64_t> sizes = common.tensorOf(number).getShape();
    for (auto [size, promised] : llvm::zip(sizes, memory.getShape()))
      if (!ShapedType::isDynamic(promised) && size != promised)
        return false;
    auto [strides, offset] = memory.getStridesAndOffset();
    for (auto [d, stride] : llvm::enumerate(strides))
      if (!ShapedType::isDynamic(stride) &&
          (stride != 1 || d + 1 != strides.size()))
        return false;
    int64_t alignment = kernel.getAlignment(n);
    int64_t bytes = memory.getElementTypeBitWidth() / 8;
    if (alignment == 1)
      continue;
    if (alignment > kWorkspaceAlignment || sizes.empty() ||
        strides.back() != 1 || ShapedType::isDynamic(sizes.back()) ||
        sizes.back() * bytes % alignment || sizes.back() * bytes >= kMostOfRow)
      return false;
  }
  return true;
}

bool fa::demandsOfGiven(const BoundKernel &bound, CommonArguments &common) {
  KernelOp kernel = bound.kernel;
  for (auto [n, number] : llvm::enumerate(bound.numbers)) {
    if (!common.isGiven(number))
      continue;
    if (kernel.getArgumentTypes()[n] != common.all[number].type ||
        kernel.getAlignment(n) > 1 ||
        kernel.getArgAttr(n, KernelOp::positiveAttrName))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

namespace {

/// Gives one kernel the common arguments.
class Joiner {
public:
  Joiner(BoundKernel &bound, CommonArguments &common)
      : kernel(bound.kernel), bound(bound), common(common), b(kernel) {
    for (const CommonArguments::Argument &argument : common.all) {
      types.push_back(argument.type);
      attributes.emplace_back();
      if (isa<MemRefType>(argument.type))
        attributes.back().append(
            KernelOp::accessAttrName,
            AccessAttr::get(b.getContext(),
                            argument.isResult ? Access::Out : Access::In));
    }
    for (auto [n, number] : llvm::enumerate(bound.numbers)) {
      Type type = kernel.getArgumentTypes()[n];
      types[number] =
          common.isHanded(number) ? behindSplits(cast<MemRefType>(type)) : type;
      if (auto own = kernel.getArgAttrDict(n))
        attributes[number] = NamedAttrList(own);
    }
  }

  /// What a launch must look at before it takes the kernels, of which this is
  /// the first, is said of this one.
  void promise(const BoundKernel &other) {
    KernelOp from = other.kernel;
    for (auto [n, number] : llvm::enumerate(other.numbers)) {
      if (!common.isGiven(number))
        continue;
      if (from.getArgAttr(n, KernelOp::positiveAttrName))
        attributes[number].set(KernelOp::positiveAttrName, b.getUnitAttr());
      auto own = dyn_cast<MemRefType>(types[number]);
      if (!own)
        continue;
      auto its = cast<MemRefType>(from.getArgumentTypes()[n]);
      SmallVector<int64_t> sizes(own.getShape()),
          strides(own.getStridesAndOffset().first);
      take(sizes, its.getShape());
      take(strides, its.getStridesAndOffset().first);
      types[number] = fa::memoryOf(own.getElementType(), sizes, strides);
      int64_t alignment = from.getAlignment(n);
      auto known = dyn_cast_or_null<IntegerAttr>(
          attributes[number].get(KernelOp::alignmentAttrName));
      if (alignment > 1 && (!known || known.getInt() < alignment))
        attributes[number].set(KernelOp::alignmentAttrName,
                               b.getI64IntegerAttr(alignment));
    }
  }

  /// Rules about what is given, of the common arguments. What is handed over
  /// has the sizes that the program's rules ask for.
  void addRules(SmallVectorImpl<Attribute> &rules) {
    if (!kernel.getRules())
      return;
    for (auto rule : kernel.getRules()->getAsRange<SizeRuleAttr>()) {
      unsigned argument = bound.numbers[rule.getArgument()],
               other = bound.numbers[rule.getOther()];
      if (!common.isGiven(argument) || !common.isGiven(other))
        continue;
      auto own = SizeRuleAttr::get(b.getContext(), rule.getKind(), argument,
                                   rule.getDim(), other, rule.getOtherDim(),
                                   rule.getFactor());
      if (!llvm::is_contained(rules, own))
        rules.push_back(own);
    }
  }

  void setArguments() {
    Block &block = kernel.getBody().front();
    ImplicitLocOpBuilder at =
        ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), &block);
    unsigned numOld = block.getNumArguments();
    for (Type type : types)
      block.addArgument(type, kernel.getLoc());
    for (unsigned n = 0; n < numOld; ++n) {
      Value old = block.getArgument(n),
            common = block.getArgument(numOld + bound.numbers[n]);
      if (this->common.isHanded(bound.numbers[n]))
        common = dropSplits(at, common, cast<MemRefType>(old.getType()));
      else if (common.getType() != old.getType())
        common = memref::CastOp::create(at, old.getType(), common);
      old.replaceAllUsesWith(common);
    }
    block.eraseArguments(0, numOld);
    SmallVector<Attribute> dictionaries;
    for (auto [n, argument] : llvm::enumerate(common.all)) {
      if (!common.isGiven(n))
        attributes[n].set(KernelOp::workspaceAttrName,
                          AffineMapAttr::get(common.names.map(argument.sizes)));
      dictionaries.push_back(attributes[n].getDictionary(b.getContext()));
    }
    kernel.setFunctionType(b.getFunctionType(types, {}));
    kernel.setArgAttrsAttr(b.getArrayAttr(dictionaries));
    kernel.setGridSizes(common.names.names);
  }

  KernelOp kernel;

private:
  static void take(SmallVectorImpl<int64_t> &own, ArrayRef<int64_t> its) {
    for (auto [mine, other] : llvm::zip(own, its))
      if (ShapedType::isDynamic(mine))
        mine = other;
  }

  static MemRefType behindSplits(MemRefType type) {
    SmallVector<int64_t> sizes = {ShapedType::kDynamic},
                         strides = {ShapedType::kDynamic};
    llvm::append_range(sizes, type.getShape());
    llvm::append_range(strides, type.getStridesAndOffset().first);
    return fa::memoryOf(type.getElementType(), sizes, strides);
  }

  /// There is one split.
  static Value dropSplits(ImplicitLocOpBuilder &b, Value memory,
                          MemRefType type) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets(type.getRank() + 1, zero),
        strides(type.getRank() + 1, one), sizes = {one};
    for (int64_t d = 0; d < type.getRank(); ++d)
      sizes.push_back(
          type.isDynamicDim(d)
              ? OpFoldResult(
                    memref::DimOp::create(b, memory, d + 1).getResult())
              : OpFoldResult(b.getIndexAttr(type.getDimSize(d))));
    return memref::SubViewOp::create(b, type, memory, offsets, sizes, strides);
  }

  BoundKernel &bound;
  CommonArguments &common;
  Builder b;
  SmallVector<Type> types;
  SmallVector<NamedAttrList> attributes;
};

} // namespace

void fa::joinKernels(MutableArrayRef<BoundKernel> bound,
                     CommonArguments &common, StringRef entry,
                     ArrayRef<Attribute> rules) {
  KernelOp first = bound.front().kernel;
  std::vector<Joiner> joiners;
  for (BoundKernel &each : bound)
    joiners.emplace_back(each, common);
  size_t firsts = bound.front().isAlternative ? 2 : 1;
  for (Joiner &joiner : MutableArrayRef(joiners).take_front(firsts))
    for (const BoundKernel &each : bound)
      joiner.promise(each);
  SmallVector<Attribute> allRules(rules);
  SmallVector<SmallVector<AffineExpr>> grids;
  for (Joiner &joiner : joiners)
    joiner.addRules(allRules);
  for (BoundKernel &each : bound)
    grids.push_back(translate(each, common, each.kernel.getGrid()));
  Builder b(first.getContext());
  for (size_t n = 0; n < bound.size(); ++n)
    if (bound[n].isAlternative)
      bound[n].kernel->setAttr(
          KernelOp::alternativeAttrName,
          FlatSymbolRefAttr::get(bound[n + 1].kernel.getSymNameAttr()));
  for (auto [joiner, grid] : llvm::zip(joiners, grids)) {
    KernelOp kernel = joiner.kernel;
    joiner.setArguments();
    kernel.setGrid(common.names.map(grid));
    kernel.setRulesAttr(b.getArrayAttr(allRules));
    kernel.setEntryAttr(b.getStringAttr(entry));
    kernel->removeAttr(KernelOp::splitsAttrName);
    // It is for these sizes, whatever a launch would choose.
    for (StringRef name :
         {KernelOp::fewProgramsAttrName, KernelOp::priceAttrName,
          KernelOp::pricedKeysAttrName, KernelOp::leastKeysAttrName})
      kernel->removeAttr(name);
    if (kernel != first)
      kernel->setAttr(KernelOp::followsAttrName,
                      FlatSymbolRefAttr::get(first.getSymNameAttr()));
    else if (common.hasWorkspace())
      kernel->setAttr(KernelOp::splitsAttrName, b.getI64IntegerAttr(1));
  }
}

//===- ViewOfArgument.cpp - what a view has of an argument ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewOfArgument.h"

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

bool fa::isMultipleOf(Value index, int64_t factor) {
  if (auto cast = index.getDefiningOp<arith::IndexCastOp>())
    return isMultipleOf(cast.getIn(), factor);
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return *number % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() &&
           isMultipleOf(loop.getLowerBound(), factor) &&
           isMultipleOf(loop.getStep(), factor);
  }
  Operation *op = index.getDefiningOp();
  auto isOne = [&](Value value) { return isMultipleOf(value, factor); };
  if (isa<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isOne);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isOne(select.getTrueValue()) && isOne(select.getFalseValue());
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::RemUIOp>(op) &&
         llvm::all_of(op->getOperands(), isOne);
}

std::optional<int64_t> fa::largestOf(Value index) {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return number;
  Operation *op = index.getDefiningOp();
  if (isa_and_nonnull<tgpu::ConsumerIdOp>(op)) {
    auto consumers =
        op->getParentOfType<KernelOp>()->getAttrOfType<IntegerAttr>(
            tgpu::TileGPUDialect::consumersAttrName);
    return consumers ? std::optional(consumers.getInt() - 1) : std::nullopt;
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto x = largestOf(op->getOperand(0)), y = largestOf(op->getOperand(1));
  if (!x || !y || *x < 0 || *y < 0)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *x + *y : *x * *y;
}

void BoxIndex::add(OpFoldResult index, int64_t factor) {
  if (!isConstantIntValue(index, 0))
    terms.push_back({index, factor});
}

bool BoxIndex::isMultipleOf(int64_t number) const {
  return llvm::all_of(terms, [&](const Term &term) {
    if (std::optional<int64_t> known = getConstantIntValue(term.index))
      return *known * term.factor % number == 0;
    return term.factor % number == 0 ||
           (number % term.factor == 0 &&
            fa::isMultipleOf(cast<Value>(term.index), number / term.factor));
  });
}

bool BoxIndex::all(llvm::function_ref<bool(OpFoldResult)> holds) const {
  return llvm::all_of(terms,
                      [&](const Term &term) { return holds(term.index); });
}

Value BoxIndex::build(ImplicitLocOpBuilder &b,
                      llvm::function_ref<Value(OpFoldResult)> build) const {
  Value sum;
  for (const Term &term : terms) {
    Value value = build(term.index);
    if (term.factor != 1)
      value = arith::MulIOp::create(
          b, value, arith::ConstantIndexOp::create(b, term.factor));
    sum = sum ? Value(arith::AddIOp::create(b, sum, value)) : value;
  }
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A dimension of a kernel's argument.
using ArgumentDim = std::pair<int64_t, int64_t>;

/// Whether the kernel's rules say that two dimensions have one size.
static bool isSameSize(KernelOp kernel, ArgumentDim x, ArgumentDim y) {
  SmallVector<ArgumentDim> known = {x};
  for (size_t n = 0; n < known.size(); ++n) {
    if (known[n] == y)
      return true;
    if (!kernel.getRules())
      continue;
    for (auto rule : kernel.getRules()->getAsRange<SizeRuleAttr>()) {
      if (rule.getKind() != SizeRuleKind::Equal || rule.getFactor() != 1)
        continue;
      ArgumentDim one = {rule.getArgument(), rule.getDim()},
                  other = {rule.getOther(), rule.getOtherDim()};
      for (auto [from, to] : {std::pair(one, other), std::pair(other, one)})
        if (from == known[n] && !llvm::is_contained(known, to))
          known.push_back(to);
    }
  }
  return false;
}

bool fa::isSizeOf(OpFoldResult size, BlockArgument argument, int64_t dim) {
  auto type = cast<MemRefType>(argument.getType());
  if (std::optional<int64_t> number = getConstantIntValue(size))
    return !type.isDynamicDim(dim) && *number == type.getDimSize(dim);
  auto query = dyn_cast<Value>(size).getDefiningOp<memref::DimOp>();
  auto of =
      query ? dyn_cast<BlockArgument>(query.getSource()) : BlockArgument();
  auto at = query ? query.getConstantIndex() : std::nullopt;
  return of && at &&
         isSameSize(cast<KernelOp>(argument.getOwner()->getParentOp()),
                    {of.getArgNumber(), *at}, {argument.getArgNumber(), dim});
}

namespace {

class ViewFinder {
public:
  explicit ViewFinder(std::string &reason) : reason(reason) {}

  bool find(Value view) {
    if (auto argument = dyn_cast<BlockArgument>(view))
      return begin(argument);
    Operation *op = view.getDefiningOp();
    // Of a constant beginning the type forgets that it is one.
    if (auto cast = dyn_cast<memref::CastOp>(op))
      return find(cast.getSource());
    if (auto part = dyn_cast<memref::SubViewOp>(op))
      return find(part.getSource()) && take(part);
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
      return find(expand.getSrc()) && takeApart(expand);
    if (auto transpose = dyn_cast<memref::TransposeOp>(op))
      return find(transpose.getIn()) && permute(transpose);
    return refuse("uses a view that is not a part of an argument");
  }

  ViewOfArgument found;

private:
  bool refuse(const char *why) {
    reason = why;
    return false;
  }

  bool begin(BlockArgument argument) {
    if (!isa<KernelOp>(argument.getOwner()->getParentOp()))
      return refuse("uses a view that is not a part of an argument");
    found.argument = argument;
    int64_t rank = cast<MemRefType>(argument.getType()).getRank();
    found.start.resize(rank);
    for (int64_t dim = 0; dim < rank; ++dim)
      found.dims.push_back({dim, 1, {}, true});
    return true;
  }

  bool take(memref::SubViewOp part) {
    if (!part.hasUnitStride())
      return refuse("uses every so many rows of an argument");
    llvm::SmallBitVector dropped = part.getDroppedDims();
    auto old = std::move(found.dims);
    found.dims.clear();
    for (auto [n, dim] : llvm::enumerate(old)) {
      OpFoldResult offset = part.getMixedOffsets()[n],
                   size = part.getMixedSizes()[n];
      found.start[dim.dim].add(offset, dim.step);
      if (dropped.test(n))
        continue;
      dim.isWhole &= isConstantIntValue(offset, 0) &&
                     isSizeOf(size, found.argument, dim.dim);
      dim.size = size;
      found.dims.push_back(dim);
    }
    return true;
  }

  bool takeApart(memref::ExpandShapeOp expand) {
    auto old = std::move(found.dims);
    found.dims.clear();
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    for (auto [dim, group] :
         llvm::zip_equal(old, expand.getReassociationIndices())) {
      SmallVector<ViewOfArgument::Dim> parts;
      int64_t step = dim.step;
      for (int64_t n : llvm::reverse(group)) {
        if (ShapedType::isDynamic(step))
          return refuse("uses parts of a dimension whose sizes are not known");
        bool isAll = dim.isWhole && isSizeOf(sizes[n], found.argument, dim.dim);
        parts.push_back({dim.dim, step, sizes[n], isAll});
        std::optional<int64_t> size = getConstantIntValue(sizes[n]);
        step = size ? step * *size : ShapedType::kDynamic;
      }
      found.dims.append(parts.rbegin(), parts.rend());
    }
    return true;
  }

  bool permute(memref::TransposeOp transpose) {
    auto old = std::move(found.dims);
    found.dims.clear();
    for (AffineExpr from : transpose.getPermutation().getResults())
      found.dims.push_back(old[cast<AffineDimExpr>(from).getPosition()]);
    return true;
  }

  std::string &reason;
};

} // namespace

std::optional<ViewOfArgument> fa::findViewOfArgument(Value view,
                                                     std::string &reason) {
  ViewFinder finder(reason);
  if (!finder.find(view))
    return std::nullopt;
  return std::move(finder.found);
}

bool fa::readsInput(Operation *op) {
  Value memory;
  if (auto load = dyn_cast<LoadOp>(op))
    memory = load.getSource();
  else if (auto gather = dyn_cast<GatherOp>(op))
    memory = gather.getSource();
  else if (auto scalar = dyn_cast<memref::LoadOp>(op))
    memory = scalar.getMemRef();
  else
    return false;
  while (auto view = memory.getDefiningOp<memref::SubViewOp>())
    memory = view.getSource();
  auto argument = dyn_cast<BlockArgument>(memory);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : KernelOp();
  return kernel && kernel.getAccess(argument.getArgNumber()) == Access::In;
}

//===- TensorBox.cpp - loads and stores as boxes of an argument -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

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

/// Whether `size` is that of dimension `dim` of the argument.
static bool isSizeOf(OpFoldResult size, BlockArgument argument, int64_t dim) {
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

/// 16 bytes are what a tensor map asks of the base and of every stride.
static bool isAligned(BlockArgument argument, KernelOp kernel) {
  auto type = cast<MemRefType>(argument.getType());
  int64_t element = type.getElementTypeBitWidth() / 8;
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t stride : ArrayRef<int64_t>(strides).drop_back())
    if (!ShapedType::isDynamic(stride) && stride * element % 16)
      return false;
  return strides.back() == 1 &&
         kernel.getAlignment(argument.getArgNumber()) % 16 == 0;
}

/// Of what reads or writes a tile, or a vector, at `indices` of `view`.
/// `inBounds`: what is outside of the view does not matter; `mayEnd`: rows may
/// end in the argument.
static std::optional<TensorBox> findBox(Operation *op, Value view,
                                        ValueRange indices, bool inBounds,
                                        bool mayEnd, std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  // Of a constant beginning the type forgets that it is one.
  if (auto cast = view.getDefiningOp<memref::CastOp>())
    view = cast.getSource();
  auto part = view.getDefiningOp<memref::SubViewOp>();
  auto argument = dyn_cast<BlockArgument>(part ? part.getSource() : view);
  auto kernel = op->getParentOfType<KernelOp>();
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return refuse("uses a view that is not a part of an argument");
  if (!isAligned(argument, kernel))
    return refuse("uses an argument whose rows need not begin at multiples "
                  "of 16 bytes");
  TensorBox box;
  box.argument = argument;
  if (cast<MemRefType>(argument.getType()).getRank() > 5)
    return refuse("uses an argument of more than five dimensions");
  auto type = cast<MemRefType>(argument.getType());
  llvm::SmallBitVector dropped(type.getRank());
  Builder b(op->getContext());
  box.start.assign(type.getRank(), b.getIndexAttr(0));
  if (part) {
    if (!part.hasUnitStride())
      return refuse("uses every so many rows of an argument");
    dropped = part.getDroppedDims();
    box.start = part.getMixedOffsets();
  }
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (dropped.test(dim))
      continue;
    size_t n = box.dims.size();
    bool whole = !part || (isSizeOf(part.getMixedSizes()[dim], argument, dim) &&
                           isConstantIntValue(box.start[dim], 0));
    if (!whole && !inBounds && !(mayEnd && n == 0))
      return refuse("uses a view that ends before its argument does");
    if (!isConstantIntValue(box.start[dim], 0)) {
      if (n != 0 || !mayEnd || !kernel->hasAttr(KernelOp::packedRowsAttrName))
        return refuse("uses a view that begins inside of its argument");
      box.origin = box.start[dim];
    }
    if (!whole && !inBounds)
      box.end = part.getMixedSizes()[dim];
    if (n == indices.size())
      return refuse("uses a view of another rank");
    box.start[dim] = indices[n];
    box.dims.push_back(dim);
  }
  if (box.dims.size() != indices.size() ||
      box.dims.back() != type.getRank() - 1)
    return refuse("uses tiles that are not rows of an argument");
  return box;
}

/// The dimension whose rows `view` counts on through the one before it, which
/// the kernel's rules say has no gaps; −1: it is no such view of an argument.
static int64_t findJoined(memref::CollapseShapeOp view, BlockArgument argument,
                          KernelOp kernel) {
  int64_t joined = -1;
  for (const ReassociationIndices &group : view.getReassociationIndices()) {
    if (group.size() == 1)
      continue;
    if (group.size() != 2 || joined >= 0)
      return -1;
    joined = group.back();
  }
  if (joined < 0 || !kernel.getRules())
    return -1;
  int64_t number = argument.getArgNumber();
  auto rules = kernel.getRules()->getAsRange<SizeRuleAttr>();
  bool isPacked = llvm::any_of(rules, [&](SizeRuleAttr rule) {
    return rule.getKind() == SizeRuleKind::Packed &&
           rule.getArgument() == number && rule.getOther() == number &&
           rule.getDim() == joined - 1 && rule.getOtherDim() == joined;
  });
  return isPacked ? joined : -1;
}

/// Of rows that are those of two dimensions: part of a collapsed argument.
static std::optional<TensorBox> findJoinedBox(LoadOp load) {
  auto part = load.getSource().getDefiningOp<memref::SubViewOp>();
  auto view = part ? part.getSource().getDefiningOp<memref::CollapseShapeOp>()
                   : memref::CollapseShapeOp();
  auto argument =
      view ? dyn_cast<BlockArgument>(view.getSrc()) : BlockArgument();
  auto kernel = load->getParentOfType<KernelOp>();
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      !isAligned(argument, kernel) || !part.hasUnitStride())
    return std::nullopt;
  auto type = cast<MemRefType>(argument.getType());
  int64_t last = type.getRank() - 1;
  if (last < 2 || last > 4 || findJoined(view, argument, kernel) != last - 1)
    return std::nullopt;
  // In the view, rows are the dimension before the columns, as in the box.
  llvm::SmallBitVector kept = part.getDroppedDims().flip();
  SmallVector<OpFoldResult> offsets = part.getMixedOffsets(),
                            sizes = part.getMixedSizes();
  if (kept.count() != 2 || !kept.test(last - 2) || !kept.test(last - 1) ||
      !isConstantIntValue(offsets.back(), 0) ||
      !isSizeOf(sizes.back(), argument, last))
    return std::nullopt;
  TensorBox box;
  box.argument = argument;
  box.dims = {last - 1, last};
  box.origin = offsets[last - 2];
  box.joined = true;
  if (!load.getInBounds())
    box.end = sizes[last - 2];
  box.start = offsets;
  box.start[last - 2] = Builder(load.getContext()).getIndexAttr(0);
  box.start.back() = load.getIndices()[0];
  box.start.push_back(load.getIndices()[1]);
  return box;
}

/// Of tiles of two dimensions alone.
static std::optional<TensorBox> findTileBox(Operation *op, Value view,
                                            ValueRange indices, bool inBounds,
                                            bool mayEnd, std::string &reason) {
  if (indices.size() == 2)
    return findBox(op, view, indices, inBounds, mayEnd, reason);
  reason = "uses tiles that are not rows of an argument";
  return std::nullopt;
}

/// Whether `index` is known to be a multiple of `factor`.
static bool isMultipleOf(Value index, int64_t factor) {
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
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(
             op) &&
         llvm::all_of(op->getOperands(), isOne);
}

/// Of rows of pages, which boxes of a power of two of rows do not leave.
static std::optional<TensorBox> findPagedBox(LoadOp load, PagedViewOp view,
                                             std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  auto kernel = load->getParentOfType<KernelOp>();
  auto pages = dyn_cast<BlockArgument>(view.getPages());
  if (!pages || pages.getOwner() != &kernel.getBody().front())
    return refuse("uses pages that are not an argument");
  if (!isAligned(pages, kernel))
    return refuse("uses pages whose rows need not begin at multiples of 16 "
                  "bytes");
  int64_t rows = typeOf(load).getDimSize(0);
  if (!isMultipleOf(load.getIndices()[0], rows & -rows))
    return refuse("uses rows of pages from anywhere on");
  OpFoldResult zero = Builder(load.getContext()).getIndexAttr(0);
  TensorBox box;
  box.argument = pages;
  box.start = {zero, view.getHead(), load.getIndices()[0],
               load.getIndices()[1]};
  box.dims = {2, 3};
  box.pages = view;
  box.anyEnd = load->hasAttr(TileDialect::anyEndAttrName);
  if (!load.getInBounds())
    box.end = view.getLength();
  return box;
}

std::optional<TensorBox> fa::findTensorBox(LoadOp load, std::string &reason) {
  if (auto view = load.getSource().getDefiningOp<PagedViewOp>())
    return findPagedBox(load, view, reason);
  if (auto box = findJoinedBox(load))
    return box;
  bool anyEnd = load->hasAttr(TileDialect::anyEndAttrName);
  return findTileBox(load, load.getSource(), load.getIndices(),
                     load.getInBounds() || anyEnd, /*mayEnd=*/true, reason);
}

std::optional<TensorBox> fa::findTensorBox(StoreOp store) {
  std::string reason;
  auto kernel = store->getParentOfType<KernelOp>();
  return findTileBox(store, store.getDest(), store.getIndices(),
                     /*inBounds=*/false,
                     /*mayEnd=*/kernel->hasAttr(KernelOp::packedRowsAttrName),
                     reason);
}

std::optional<TensorBox> fa::findVectorBox(LoadOp load) {
  std::string reason;
  if (load.getIndices().size() != 1)
    return std::nullopt;
  auto box = findBox(load, load.getSource(), load.getIndices(),
                     load.getInBounds(), /*mayEnd=*/false, reason);
  int64_t together = 128 / typeOf(load).getElementTypeBitWidth();
  if (!box || box->dims[0] == 0 ||
      !isMultipleOf(load.getIndices()[0], together))
    return std::nullopt;
  box->dims.insert(box->dims.begin(), box->dims[0] - 1);
  return box;
}

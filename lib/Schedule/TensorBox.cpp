//===- TensorBox.cpp - loads and stores as boxes of an argument -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBox.h"

#include "fa/Plan/SchedulePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

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

/// Whether a tensor map can describe `argument`; if not, `reason` says why.
static bool canDescribe(BlockArgument argument, KernelOp kernel,
                        std::string &reason) {
  if (!isAligned(argument, kernel))
    reason = "uses an argument whose rows need not begin at multiples of 16 "
             "bytes";
  else if (cast<MemRefType>(argument.getType()).getRank() > 5)
    reason = "uses an argument of more than five dimensions";
  else
    return true;
  return false;
}

/// Of what reads or writes `tile`, or a vector, at `indices` of `view`.
/// `inBounds`: what is outside of the view does not matter.
static std::optional<TensorBox> findBox(Operation *op, RankedTensorType tile,
                                        Value view, ValueRange indices,
                                        bool inBounds, std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  auto found = findViewOfArgument(view, reason);
  if (!found)
    return std::nullopt;
  auto kernel = op->getParentOfType<KernelOp>();
  TensorBox box;
  box.argument = found->argument;
  if (!canDescribe(box.argument, kernel, reason))
    return std::nullopt;
  int64_t rank = cast<MemRefType>(box.argument.getType()).getRank();
  if (found->dims.size() != indices.size())
    return refuse("uses a view of another rank");
  box.start = std::move(found->start);
  for (auto [n, dim] : llvm::enumerate(found->dims)) {
    if (dim.step != 1)
      return refuse("uses every so many rows of an argument");
    if (!box.dims.empty() && dim.dim <= box.dims.back())
      return refuse("uses tiles that are not rows of an argument");
    bool isRow = n + 1 < indices.size();
    BoxIndex &start = box.start[dim.dim];
    auto size = dim.size ? getConstantIntValue(dim.size) : std::nullopt;
    auto last = largestOf(indices[n]);
    bool isInside =
        inBounds || (size && last && *last + tile.getDimSize(n) <= *size);
    if (!dim.isWhole && !isInside && !isRow)
      return refuse("uses a view that ends before its argument does");
    if (!start.isZero() && indices.size() == 1)
      return refuse("uses a view that begins inside of its argument");
    if (isRow && !start.isZero() &&
        (!isInside || kernel->hasAttr(KernelOp::packedRowsAttrName)))
      box.origin = std::exchange(start, BoxIndex());
    bool isBegin = start.isZero();
    start.add(indices[n]);
    if (!isRow && !isBegin &&
        !start.isMultipleOf(128 / tile.getElementTypeBitWidth()))
      return refuse("uses a view whose rows need not begin at multiples of 16 "
                    "bytes");
    if (!dim.isWhole && !isInside)
      box.end = dim.size;
    box.dims.push_back(dim.dim);
  }
  if (box.dims.back() != rank - 1)
    return refuse("uses tiles that are not rows of an argument");
  return box;
}

/// Whether the kernel's rules say of what dimension `dim` of an argument is a
/// multiple: so a launch knows how many heads a group has.
static bool isMultipleByRule(BlockArgument argument, int64_t dim,
                             KernelOp kernel) {
  return kernel.getRules() &&
         llvm::any_of(kernel.getRules()->getAsRange<SizeRuleAttr>(),
                      [&](SizeRuleAttr rule) {
                        return rule.getKind() == SizeRuleKind::Multiple &&
                               rule.getArgument() == argument.getArgNumber() &&
                               rule.getDim() == dim;
                      });
}

/// Of a block of the queries of several heads.
static std::optional<TensorBox> findGroupedBox(LoadOp load, GroupedViewOp view,
                                               std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  auto found = findViewOfArgument(view.getHeads(), reason);
  if (!found)
    return std::nullopt;
  TensorBox box;
  box.argument = found->argument;
  auto kernel = load->getParentOfType<KernelOp>();
  if (!canDescribe(box.argument, kernel, reason))
    return std::nullopt;
  int64_t rank = cast<MemRefType>(box.argument.getType()).getRank();
  if (found->dims.size() != 3)
    return refuse("uses tiles that are not rows of an argument");
  auto [heads, queries, columns] =
      std::tie(found->dims[0], found->dims[1], found->dims[2]);
  if (heads.step != 1 || queries.step != 1 || columns.step != 1 ||
      columns.dim != rank - 1 || heads.dim == queries.dim)
    return refuse("uses tiles that are not rows of an argument");
  if (!queries.isWhole || !columns.isWhole)
    return refuse("uses a view that ends before its argument does");
  if (!heads.size || !isMultipleByRule(box.argument, heads.dim, kernel))
    return refuse("uses heads of which no rule says how many are a group");
  auto block = static_cast<int64_t>(view.getBlock().value_or(0));
  if (!block || block > kMostGroupedRows ||
      typeOf(load).getDimSize(0) != block ||
      !isMultipleOf(load.getIndices()[0], block))
    return refuse("uses rows that are not a block of those of several heads");
  box.start = std::move(found->start);
  box.start[columns.dim] = BoxIndex(load.getIndices()[1]);
  box.dims = {queries.dim, columns.dim};
  box.groups = view;
  box.group = heads.size;
  box.headDim = heads.dim;
  box.block = BoxIndex(load.getIndices()[0]);
  return box;
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
  TensorBox box;
  box.argument = pages;
  box.start = {BoxIndex(), BoxIndex(view.getHead()),
               BoxIndex(load.getIndices()[0]), BoxIndex(load.getIndices()[1])};
  box.dims = {2, 3};
  box.pages = view;
  box.anyEnd = load->hasAttr(TileDialect::anyEndAttrName);
  if (!load.getInBounds())
    box.end = view.getLength();
  return box;
}

/// Of tiles of two dimensions alone.
static std::optional<TensorBox> findTileBox(Operation *op,
                                            RankedTensorType tile, Value view,
                                            ValueRange indices, bool inBounds,
                                            std::string &reason) {
  if (indices.size() == 2)
    return findBox(op, tile, view, indices, inBounds, reason);
  reason = "uses tiles that are not rows of an argument";
  return std::nullopt;
}

std::optional<TensorBox> fa::findTensorBox(LoadOp load, std::string &reason) {
  if (auto view = load.getSource().getDefiningOp<PagedViewOp>())
    return findPagedBox(load, view, reason);
  if (auto view = load.getSource().getDefiningOp<GroupedViewOp>())
    return findGroupedBox(load, view, reason);
  bool anyEnd = load->hasAttr(TileDialect::anyEndAttrName);
  return findTileBox(load, typeOf(load), load.getSource(), load.getIndices(),
                     load.getInBounds() || anyEnd, reason);
}

std::optional<TensorBox> fa::findTensorBox(StoreOp store) {
  std::string reason;
  return findTileBox(store, typeOf(store.getValue()), store.getDest(),
                     store.getIndices(), /*inBounds=*/false, reason);
}

std::optional<TensorBox> fa::findVectorBox(LoadOp load) {
  std::string reason;
  if (load.getIndices().size() != 1)
    return std::nullopt;
  auto box = findBox(load, typeOf(load), load.getSource(), load.getIndices(),
                     load.getInBounds(), reason);
  int64_t together = 128 / typeOf(load).getElementTypeBitWidth();
  if (!box || box->dims[0] == 0 ||
      !isMultipleOf(load.getIndices()[0], together))
    return std::nullopt;
  box->dims.insert(box->dims.begin(), box->dims[0] - 1);
  return box;
}

SmallVector<Value> fa::buildStart(ImplicitLocOpBuilder &b, const TensorBox &box,
                                  llvm::function_ref<Value(OpFoldResult)> build,
                                  Value &end) {
  auto start = llvm::map_to_vector(
      box.start, [&](const BoxIndex &index) { return index.build(b, build); });
  end = box.end ? build(box.end) : Value();
  if (box.origin.isZero())
    return start;
  Value origin = box.origin.build(b, build), &row = start[box.dims[0]];
  row = arith::AddIOp::create(b, origin, row);
  if (end)
    end = arith::AddIOp::create(b, origin, end);
  return start;
}

//===- KernelSignature.cpp - what a kernel is launched with ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"
#include "CapturedReads.h"
#include "ElementReads.h"
#include "WorkspaceSignature.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Argument types
//===----------------------------------------------------------------------===//

/// The rows that a variant makes promises about: q, k, v and the output.
static SmallVector<std::pair<unsigned, const ArgumentView *>>
rowsOf(const AttentionFunction &source) {
  SmallVector<std::pair<unsigned, const ArgumentView *>> rows = {
      {source.q.number, &source.q},
      {source.k.number, &source.k},
      {source.v.number, &source.v}};
  func::FuncOp function = source.function;
  unsigned first = function.getNumArguments();
  for (const AttentionFunction::Result &result : source.results)
    if (!result.isLse)
      rows.push_back({first + result.view.number, &result.view});
  return rows;
}

/// Those of them that have as many rows as there are queries.
static SmallVector<std::pair<unsigned, const ArgumentView *>>
queriesOf(const AttentionFunction &source) {
  auto rows = rowsOf(source);
  rows.erase(rows.begin() + 1, rows.begin() + 3);
  return rows;
}

bool fa::hasVariant(const AttentionFunction &source, const KernelShape &shape) {
  // A launch reads how many queries or keys there are off a size of the
  // argument.
  if ((shape.maxQueries && source.q.dims[2].unitDim < 0) ||
      (shape.maxKeys && source.k.dims[2].unitDim < 0))
    return false;
  if (shape.alignedScores && scoreTiles(source).empty())
    return false;
  if (shape.pack == KernelShape::Queries && shape.maxQueries == 0)
    return false;
  if (shape.pack == KernelShape::Heads)
    return llvm::all_of(queriesOf(source), [](auto &entry) {
      const ViewDim &dim = entry.second->dims[2];
      return dim.isUnit() ||
             (dim.staticSize < 0 && dim.parts.size() == 1 && dim.divisor == 1);
    });
  if (shape.unitStride)
    return llvm::all_of(rowsOf(source), [](auto &entry) {
      return entry.second->dims[3].unitDim >= 0;
    });
  return true;
}

MemRefType fa::memoryOf(Type element, ArrayRef<int64_t> sizes,
                        ArrayRef<int64_t> strides) {
  if (element.isInteger(1))
    element = IntegerType::get(element.getContext(), 8);
  return MemRefType::get(
      sizes, element,
      StridedLayoutAttr::get(element.getContext(), /*offset=*/0, strides));
}

/// Tensors become memrefs of unknown strides, but for what the variant
/// promises.
static SmallVector<Type> argumentTypes(const AttentionFunction &source,
                                       const KernelShape &shape) {
  func::FuncOp function = source.function;
  SmallVector<Type> types(function.getArgumentTypes());
  llvm::append_range(types, function.getResultTypes());
  SmallVector<SmallVector<int64_t>> sizes(types.size()), strides(types.size());
  for (auto [n, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    sizes[n].assign(tensor.getShape().begin(), tensor.getShape().end());
    strides[n].assign(tensor.getRank(), ShapedType::kDynamic);
  }
  if (shape.unitStride) {
    for (auto [n, view] : rowsOf(source))
      strides[n][view->dims[3].unitDim] = 1;
    // Addresses of all that a tile reads would be kept in registers.
    for (const ArgumentView *view : rowNumbers(source))
      strides[view->number].back() = 1;
    for (const ArgumentView *scales : source.scales())
      if (isOfKeys(*scales) && scales->hasOwnSize(2))
        strides[scales->number][scales->dims[2].unitDim] = 1;
  }
  if (shape.alignedScores)
    for (const ArgumentView *view : scoreTiles(source))
      strides[view->number].back() = 1;
  if (shape.pack == KernelShape::Heads)
    for (auto [n, view] : queriesOf(source))
      if (!view->dims[2].isUnit())
        sizes[n][view->dims[2].parts[0]] = 1;
  for (auto [n, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    type = memoryOf(tensor.getElementType(), sizes[n], strides[n]);
  }
  if (shape.part != KernelShape::Whole)
    llvm::append_range(types, workspaceTypes(source));
  if (shape.hasCounter)
    types.push_back(memoryOf(IntegerType::get(function.getContext(), 32),
                             {ShapedType::kDynamic}, {1}));
  return types;
}

//===----------------------------------------------------------------------===//
// Grid and size rules
//===----------------------------------------------------------------------===//

/// Of the rows of a tile.grouped_view: a block has ⌊block ⌈g / block⌉ / g⌋
/// queries, which is 1 of a group that is larger than it.
static AffineExpr countGroupedTiles(AffineExpr group, AffineExpr queries,
                                    const KernelShape &shape) {
  int64_t block = shape.boxRows;
  if (!block)
    return (queries * group).ceilDiv(shape.rows);
  AffineExpr blocksOfQuery = group.ceilDiv(block);
  AffineExpr ofBlock = (blocksOfQuery * block).floorDiv(group);
  AffineExpr blocks = queries.ceilDiv(ofBlock) * blocksOfQuery;
  return blocks.ceilDiv(shape.rows / block);
}

/// Query heads that share a KV head.
static AffineExpr countGroup(const AttentionFunction &source,
                             SizeNames &names) {
  return names.size(source.q, source.q.number, 1)
      .floorDiv(names.size(source.k, source.k.number, 1));
}

/// Tiles of queries, query heads, batches; or tiles of the heads of a group, KV
/// heads, batches. Each tile has programs for its splits, or for parts of its
/// columns where they are merged.
static AffineMap getGrid(const AttentionFunction &source,
                         const KernelShape &shape, SizeNames &names) {
  const ArgumentView &q = source.q, &k = source.k;
  auto sizeOfQ = [&](unsigned dim) { return names.size(q, q.number, dim); };
  AffineExpr tiles, heads;
  if (q.offsets) // slots of sequences: ProgramBuilder::findTile
    return names.map({sizeOfQ(2).floorDiv(shape.rows) + sizeOfQ(0), sizeOfQ(1),
                      names.constant(1)});
  if (shape.pack != KernelShape::OneHead) {
    AffineExpr group = countGroup(source, names);
    heads = names.size(k, k.number, 1);
    tiles = shape.pack == KernelShape::Queries
                ? countGroupedTiles(group, sizeOfQ(2), shape)
                : group.ceilDiv(shape.rows);
  } else {
    tiles = sizeOfQ(2).ceilDiv(shape.rows);
    heads = sizeOfQ(1);
  }
  if (shape.part == KernelShape::Split)
    tiles = tiles * names.symbol(firstOfWorkspace(source), 0);
  if (shape.part == KernelShape::Merge)
    tiles = tiles * countColumnTiles(source, shape);
  AffineExpr batches = sizeOfQ(0);
  return names.map({tiles, heads, batches});
}

void fa::addCaptureRules(RuleList &rules, OperandRange captures,
                         ArrayRef<ArgumentView> views, Region &region,
                         const ArgumentView &q, const ArgumentView &k) {
  std::pair<const ArgumentView *, unsigned> sizes[] = {
      {&q, 0}, {&q, 1}, {&q, 2}, {&k, 2}};
  SmallVector<const ArgumentView *> byNumber;
  size_t next = 0;
  for (Value capture : captures)
    byNumber.push_back(isa<TensorType>(capture.getType()) ? &views[next++]
                                                          : nullptr);
  // Offsets are read at the batch's number, too.
  llvm::SmallDenseSet<std::pair<Value, size_t>> offsets;
  region.walk([&](tensor::ExtractOp extract) {
    for (auto [dim, index] : llvm::enumerate(extract.getIndices()))
      if (isNextBatch(index))
        offsets.insert({extract.getTensor(), dim});
  });
  region.walk([&](tensor::ExtractOp extract) {
    unsigned leading = region.getNumArguments() - byNumber.size();
    const ArgumentView *view =
        byNumber[cast<BlockArgument>(extract.getTensor()).getArgNumber() -
                 leading];
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      int64_t n = getCoordinate(index);
      if (isNextBatch(index))
        rules.addOneMore(view->number, view->dims[dim].parts[0], q, q.number,
                         0);
      else if (n >= 0 && !offsets.contains({extract.getTensor(), dim}))
        rules.addEqual(*view, view->number, dim, *sizes[n].first,
                       sizes[n].first->number, sizes[n].second);
    }
  });
}

static RuleList getRules(const AttentionFunction &source) {
  func::FuncOp function = source.function;
  RuleList rules(function.getContext());
  const ArgumentView &q = source.q, &k = source.k, &v = source.v;
  if (q.offsets) // one sequence
    rules.add(SizeRuleKind::AtLeast, *q.offsets, 0, *q.offsets, 0,
              /*factor=*/2);
  if (source.table) {
    rules.addEqual(*source.table, source.table->number, 0, q, q.number, 0);
    rules.addEqual(v, v.number, 0, k, k.number, 0); // pages
    rules.addLayout(*source.table, source.table->number);
  } else {
    rules.addEqual(k, k.number, 0, q, q.number, 0);
    rules.addEqual(v, v.number, 0, q, q.number, 0);
  }
  rules.addEqual(v, v.number, 1, k, k.number, 1);
  rules.addEqual(v, v.number, 2, k, k.number, 2);
  rules.addMultiple(q, q.number, k, k.number);
  for (const ArgumentView *view : {&q, &k, &v})
    rules.addLayout(*view, view->number);
  if (source.sink) {
    rules.addEqual(*source.sink, source.sink->number, 0, q, q.number, 1);
    rules.addLayout(*source.sink, source.sink->number);
  }
  if (source.rng)
    rules.addLayout(*source.rng, source.rng->number);
  for (const ArgumentView *scales : source.scales()) {
    rules.addEqual(*scales, scales->number, 0, q, q.number, 0);
    rules.addEqual(*scales, scales->number, 1, k, k.number, 1);
    if (isOfKeys(*scales) && source.areScalesCovering(*scales))
      rules.add(SizeRuleKind::Covers, scales->number, scales->dims[2].parts[0],
                k.number, k.dims[2].parts[0],
                *tile::OnlineAttentionOp(source.attention).getScaleKeys());
    else if (isOfKeys(*scales)) // the last one stands for what is missing
      for (int64_t part : scales->dims[2].parts)
        rules.add(SizeRuleKind::AtLeast, scales->number, part, scales->number,
                  part, /*factor=*/1);
    rules.addLayout(*scales, scales->number);
  }
  for (const AttentionFunction::Result &result : source.results) {
    unsigned number = function.getNumArguments() + result.view.number;
    for (unsigned dim = 0; dim < 3; ++dim)
      rules.addEqual(result.view, number, dim, q, q.number, dim);
    rules.addLayout(result.view, number);
  }
  tile::OnlineAttentionOp attention = source.attention;
  for (Region *region : {&attention.getScore(), &attention.getMask()})
    addCaptureRules(rules, attention.getCaptures(), source.captures, *region, q,
                    k);
  for (const ArgumentView &view : source.captures)
    rules.addLayout(view, view.number);
  if (source.lists)
    source.lists->addRules(rules, q, k);
  return rules;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

KernelOp fa::createKernel(ImplicitLocOpBuilder &b,
                          const AttentionFunction &source,
                          const KernelShape &shape, StringRef name,
                          StringRef entry) {
  SmallVector<Type> types = argumentTypes(source, shape);
  OnlineAttentionOp attention = source.attention;
  SmallVector<Attribute> attributes;
  func::FuncOp function = source.function;
  for (auto [n, type] : llvm::enumerate(types)) {
    NamedAttrList list;
    bool isWorkspace = n >= firstOfWorkspace(source);
    Access access = n < function.getNumArguments() ||
                            (isWorkspace && shape.part == KernelShape::Merge)
                        ? Access::In
                    : isWorkspace && shape.hasCounter ? Access::InOut
                                                      : Access::Out;
    if (isa<MemRefType>(type))
      list.append(KernelOp::accessAttrName,
                  AccessAttr::get(b.getContext(), access));
    auto [strides, offset] =
        isa<MemRefType>(type) ? cast<MemRefType>(type).getStridesAndOffset()
                              : std::pair(SmallVector<int64_t>(), int64_t(0));
    bool isRow = llvm::is_contained(
                     {source.q.number, source.k.number, source.v.number}, n) ||
                 (access == Access::Out && !isWorkspace && strides.back() == 1);
    if (shape.alignedScores)
      for (const ArgumentView *view : scoreTiles(source))
        isRow |= view->number == n;
    // A launch lays out workspace by itself.
    if (shape.part == KernelShape::Split && n == firstOfWorkspace(source))
      isRow = strides[strides.size() - 2] * 4 % shape.alignment == 0;
    if (shape.alignment > 1 && isRow)
      list.append(KernelOp::alignmentAttrName,
                  b.getI64IntegerAttr(shape.alignment));
    if (shape.positiveScale && n < function.getNumArguments() &&
        Value(function.getArgument(n)) == attention.getScale())
      list.append(KernelOp::positiveAttrName, b.getUnitAttr());
    attributes.push_back(list.getDictionary(b.getContext()));
  }
  // A map has as many symbols as there are names: all are named first.
  SizeNames names(b.getContext());
  getGrid(source, shape, names);
  if (shape.part != KernelShape::Whole || shape.price)
    nameWorkspaceSizes(source, names);
  AffineMap grid = getGrid(source, shape, names);
  auto kernel = KernelOp::create(
      b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
      AffineMapAttr::get(grid), b.getDenseI64ArrayAttr(names.names),
      b.getArrayAttr(getRules(source).rules), b.getStringAttr(entry),
      /*reference=*/FlatSymbolRefAttr(), /*unfused=*/UnitAttr(),
      b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
  kernel->setAttr(
      KernelOp::tileAttrName,
      b.getDenseI64ArrayAttr({shape.rows, shape.columns * shape.parts}));
  auto setAtMost = [&](const ArgumentView &view, int64_t rows) {
    if (rows)
      kernel->setAttr(
          KernelOp::atMostAttrName,
          b.getDenseI64ArrayAttr({view.number, view.dims[2].unitDim, rows}));
  };
  setAtMost(source.q, shape.maxQueries);
  setAtMost(source.k, shape.maxKeys);
  if (shape.fewPrograms)
    kernel->setAttr(KernelOp::fewProgramsAttrName,
                    b.getI64IntegerAttr(shape.fewPrograms));
  if (source.q.offsets || source.k.offsets)
    kernel->setAttr(KernelOp::packedRowsAttrName, b.getUnitAttr());
  if (shape.fewerRows) {
    kernel->setAttr(KernelOp::fewerRowsAttrName, b.getUnitAttr());
    kernel->setAttr(KernelOp::packedHeadsAttrName,
                    AffineMapAttr::get(names.map({countGroup(source, names)})));
  }
  if (shape.halfRows)
    kernel->setAttr(KernelOp::halfRowsAttrName, b.getUnitAttr());
  if (shape.cluster > 1)
    kernel->setAttr(KernelOp::clusterAttrName,
                    b.getI64IntegerAttr(shape.cluster));
  if (shape.hasCounter)
    setCounterAttributes(kernel, source, names);
  if (shape.manyPrograms)
    kernel->setAttr(KernelOp::manyProgramsAttrName,
                    b.getI64IntegerAttr(shape.manyPrograms));
  if (shape.someKeys)
    kernel->setAttr(KernelOp::someKeysAttrName, b.getUnitAttr());
  if (shape.parts > 1)
    kernel->setAttr(KernelOp::partsAttrName, b.getI64IntegerAttr(shape.parts));
  if (shape.part != KernelShape::Whole)
    setSplitAttributes(kernel, source, shape, names);
  if (shape.price)
    setPriceAttributes(kernel, source, shape, names);
  Block *block = &kernel.getBody().emplaceBlock();
  for (Type type : types)
    block->addArgument(type, kernel.getLoc());
  b.setInsertionPointToStart(block);
  return kernel;
}

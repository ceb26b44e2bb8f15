//===- BackwardSignature.cpp - what gradient kernels are launched with ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardSignature.h"

#include "KernelSignature.h"
#include "SizeNames.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace {

class BackwardSignature {
public:
  BackwardSignature(const BackwardFunction &source, BackwardPart part,
                    bool ownsHeads, const CapturedGradient *captured,
                    const KernelShape &shape)
      : source(source), part(part), ownsHeads(ownsHeads), captured(captured),
        shape(shape), function(source.function), names(function.getContext()) {
    rows = {{source.q.number, &source.q},
            {source.k.number, &source.k},
            {source.v.number, &source.v},
            {source.output.number, &source.output},
            {source.dout.number, &source.dout}};
    for (const auto &gradient : {source.dq, source.dk, source.dv})
      if (gradient)
        gradients.push_back({source.argumentOf(*gradient), *gradient});
    for (const auto &[number, view] : gradients)
      rows.push_back({number, &view});
  }

  KernelOp create(ImplicitLocOpBuilder &b, StringRef name, StringRef entry) {
    SmallVector<Type> types = argumentTypes();
    SmallVector<Attribute> attributes;
    for (auto [n, type] : llvm::enumerate(types))
      attributes.push_back(attributesOf(b, n, type));
    // A map has as many symbols as there are names: all are named first.
    getGrid();
    for (Type type : types)
      if (auto memory = dyn_cast<MemRefType>(type))
        workspaceSizes(memory);
    auto kernel = KernelOp::create(
        b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
        AffineMapAttr::get(getGrid()), b.getDenseI64ArrayAttr(names.names),
        b.getArrayAttr(getRules().rules), b.getStringAttr(entry),
        /*reference=*/FlatSymbolRefAttr(), /*unfused=*/UnitAttr(),
        b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
    kernel->setAttr(KernelOp::tileAttrName,
                    b.getDenseI64ArrayAttr({shape.rows, shape.columns}));
    if (part == BackwardPart::Rows || part == BackwardPart::Whole)
      kernel->setAttr(KernelOp::splitsAttrName, b.getI64IntegerAttr(1));
    if (shape.leastBusy)
      kernel->setAttr(KernelOp::leastBusyAttrName,
                      b.getI64IntegerAttr(shape.leastBusy));
    if (source.isPacked())
      kernel->setAttr(KernelOp::packedRowsAttrName, b.getUnitAttr());
    for (unsigned n = source.firstOfWorkspace(); n < types.size(); ++n)
      kernel.setArgAttr(
          n, KernelOp::workspaceAttrName,
          AffineMapAttr::get(workspaceSizes(cast<MemRefType>(types[n]))));
    Block *block = &kernel.getBody().emplaceBlock();
    for (Type type : types)
      block->addArgument(type, kernel.getLoc());
    b.setInsertionPointToStart(block);
    return kernel;
  }

private:
  SmallVector<Type> argumentTypes() {
    SmallVector<Type> types(function.getArgumentTypes());
    llvm::append_range(types, function.getResultTypes());
    for (auto [n, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      // A gradient of a number is one element.
      bool isNumber = !tensor || tensor.getRank() == 0;
      if (isNumber && n >= function.getNumArguments()) {
        type =
            memoryOf(getElementTypeOrSelf(type), {1}, {ShapedType::kDynamic});
        continue;
      }
      if (!tensor)
        continue;
      SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
      if (shape.unitStride)
        for (auto [number, view] : rows)
          if (number == n && view->dims[3].unitDim >= 0)
            strides[view->dims[3].unitDim] = 1;
      type = memoryOf(tensor.getElementType(), tensor.getShape(), strides);
    }
    int64_t any = ShapedType::kDynamic;
    Type f32 = Float32Type::get(function.getContext());
    types.append(2 + source.numRowSums(),
                 memoryOf(f32, {any, any, any, any}, {any, any, any, 1}));
    if (ownsHeads) {
      auto q = cast<RankedTensorType>(
          AttentionBackwardOp(source.op).getQ().getType());
      types.push_back(memoryOf(f32, {any, any, any, any, q.getDimSize(3)},
                               {any, any, any, any, 1}));
    }
    return types;
  }

  Attribute attributesOf(ImplicitLocOpBuilder &b, unsigned n, Type type) {
    NamedAttrList list;
    bool isWorkspace = n >= source.firstOfWorkspace();
    bool isStatistic = n < source.firstOfWorkspace() + 2;
    bool isOut = isWorkspace ? part == (isStatistic ? BackwardPart::Rows
                                                    : BackwardPart::Queries)
                             : n >= function.getNumArguments();
    Access access = isOut ? Access::Out : Access::In;
    if (isWorkspace && part == BackwardPart::Whole)
      access = Access::InOut;
    if (isa<MemRefType>(type))
      list.append(KernelOp::accessAttrName,
                  AccessAttr::get(b.getContext(), access));
    bool isRow = llvm::any_of(rows, [&](auto &row) { return row.first == n; });
    if (isWorkspace && isa<MemRefType>(type))
      list.append(KernelOp::alignmentAttrName,
                  b.getI64IntegerAttr(kNumbersTogether * sizeof(float)));
    else if (shape.alignment > 1 && isRow)
      list.append(KernelOp::alignmentAttrName,
                  b.getI64IntegerAttr(shape.alignment));
    return list.getDictionary(b.getContext());
  }

  /// Tiles of queries and heads or, where gradients of keys are computed, tiles
  /// of keys and KV heads; batches.
  AffineMap getGrid() {
    if (part == BackwardPart::Whole)
      return names.map(
          {names.constant(1), sizeOf(source.k, 1), sizeOf(source.q, 0)});
    if (part == BackwardPart::Capture)
      return getCaptureGrid();
    if (part == BackwardPart::Table)
      return getTableGrid();
    if (part == BackwardPart::Heads)
      return getHeadsGrid();
    bool ofKeys = part == BackwardPart::Keys;
    const ArgumentView &view = ofKeys ? source.k : source.q;
    if (view.offsets) // slots of sequences: KernelBody::findTile
      return names.map({sizeOf(view, 2).floorDiv(shape.rows) + sizeOf(view, 0),
                        sizeOf(view, 1), names.constant(1)});
    return names.map({sizeOf(view, 2).ceilDiv(shape.rows), sizeOf(view, 1),
                      sizeOf(view, 0)});
  }

  /// Tiles of what the captured tensor has for itself.
  AffineMap getCaptureGrid() {
    AffineExpr one = getAffineConstantExpr(1, function.getContext());
    auto reads = [&](int64_t n) { return captured->readsAt(n); };
    AffineExpr tiles = one;
    if (reads(2))
      tiles = sizeOf(source.q, 2).ceilDiv(shape.rows);
    if (reads(3))
      tiles =
          tiles *
          sizeOf(source.k, 2).ceilDiv(reads(2) ? shape.columns : shape.rows);
    return names.map({tiles, reads(1) ? sizeOf(source.q, 1) : one,
                      reads(0) ? sizeOf(source.q, 0) : one});
  }

  /// Tiles of the table, and the heads and batches that have one of their own.
  AffineMap getTableGrid() {
    AffineExpr one = getAffineConstantExpr(1, function.getContext());
    auto reads = [&](int64_t n) { return captured->readsAt(n); };
    const auto *at = llvm::find(captured->reads, CapturedGradient::kComputed);
    AffineExpr places = sizeOf(captured->tensor, at - captured->reads.begin());
    return names.map({places.ceilDiv(shape.columns),
                      reads(1) ? sizeOf(source.q, 1) : one,
                      reads(0) ? sizeOf(source.q, 0) : one});
  }

  /// Tiles of heads, or one program for all; and the batches that have numbers
  /// of their own.
  AffineMap getHeadsGrid() {
    AffineExpr one = getAffineConstantExpr(1, function.getContext());
    bool ofHead = !captured || captured->readsAt(1);
    bool ofBatch = captured && captured->readsAt(0);
    return names.map({ofHead ? sizeOf(source.q, 1).ceilDiv(shape.rows) : one,
                      one, ofBatch ? sizeOf(source.q, 0) : one});
  }

  AffineExpr sizeOf(const ArgumentView &view, unsigned dim) {
    return names.size(view, view.number, dim);
  }

  /// Rows begin at multiples of 16 bytes, as the tensor memory accelerator
  /// asks, and so does each of packed sequences.
  AffineMap workspaceSizes(MemRefType type) {
    SmallVector<AffineExpr> sizes;
    for (unsigned dim = 0; dim < 3; ++dim)
      sizes.push_back(names.size(source.q, source.q.number, dim));
    if (type.getRank() == 5) { // of whole rows
      sizes.push_back(names.constant(type.getDimSize(4)));
      return names.map(sizes);
    }
    if (source.q.offsets) {
      sizes[2] =
          (sizes[2].floorDiv(kNumbersTogether) + sizes[0]) * kNumbersTogether;
      sizes[0] = names.constant(1);
      return names.map(sizes);
    }
    sizes.back() = sizes.back().ceilDiv(kNumbersTogether) * kNumbersTogether;
    return names.map(sizes);
  }

  RuleList getRules() {
    RuleList rules(function.getContext());
    const ArgumentView &q = source.q, &k = source.k, &v = source.v;
    for (const ArgumentView *view : {&q, &k})
      if (view->offsets) // one sequence
        rules.add(SizeRuleKind::AtLeast, *view->offsets, 0, *view->offsets, 0,
                  /*factor=*/2);
    rules.addEqual(k, k.number, 0, q, q.number, 0);
    for (unsigned dim = 0; dim < 3; ++dim)
      rules.addEqual(v, v.number, dim, k, k.number, dim);
    rules.addMultiple(q, q.number, k, k.number);
    auto addLike = [&](const ArgumentView &view, unsigned number,
                       const ArgumentView &other) {
      for (unsigned dim = 0; dim < 3; ++dim)
        rules.addEqual(view, number, dim, other, other.number, dim);
      rules.addLayout(view, number);
    };
    for (const ArgumentView *view : {&source.output, &source.lse, &source.dout})
      addLike(*view, view->number, q);
    if (source.dlse)
      addLike(*source.dlse, source.dlse->number, q);
    if (source.rng)
      rules.addLayout(*source.rng, source.rng->number);
    for (auto [gradient, of] :
         {std::pair(&source.dq, &q), std::pair(&source.dk, &k),
          std::pair(&source.dv, &v)})
      if (*gradient)
        addLike(**gradient, source.argumentOf(**gradient), *of);
    for (const ArgumentView *view : {&q, &k, &v})
      rules.addLayout(*view, view->number);
    for (const CapturedGradient &gradient : source.dcaptures) {
      addCaptureSizes(rules, gradient.view, gradient.reads);
      const ArgumentView &of = gradient.tensor;
      for (auto [dim, n] : llvm::enumerate(gradient.reads))
        if (n == CapturedGradient::kComputed)
          rules.addEqual(gradient.view, source.argumentOf(gradient.view), dim,
                         of, of.number, dim);
    }
    if (source.dsink) {
      addCaptureSizes(rules, *source.dsink, {1});
      rules.addEqual(*source.sink, source.sink->number, 0, q, q.number, 1);
      rules.addLayout(*source.sink, source.sink->number);
    }
    AttentionBackwardOp op = source.op;
    for (Region *region : {&op.getScore(), &op.getMask(), &op.getDerivative()})
      addCaptureRules(rules, op.getCaptures(), source.captures, *region, q, k);
    for (const auto &lists : {source.keyLists, source.queryLists})
      if (lists)
        lists->addRules(rules, q, k);
    for (const ArgumentView &view : source.captures)
      rules.addLayout(view, view.number);
    return rules;
  }

  /// The gradient of what scores read has the sizes of what it is read at.
  void addCaptureSizes(RuleList &rules, const ArgumentView &gradient,
                       ArrayRef<int64_t> reads) {
    std::pair<const ArgumentView *, unsigned> sizes[] = {
        {&source.q, 0}, {&source.q, 1}, {&source.q, 2}, {&source.k, 2}};
    for (auto [dim, n] : llvm::enumerate(reads))
      if (n >= 0 && n != CapturedGradient::kComputed)
        rules.addEqual(gradient, source.argumentOf(gradient), dim,
                       *sizes[n].first, sizes[n].first->number,
                       sizes[n].second);
    rules.addLayout(gradient, source.argumentOf(gradient));
  }

  using Rows = std::pair<unsigned, const ArgumentView *>;

  const BackwardFunction &source;
  BackwardPart part;
  bool ownsHeads;
  const CapturedGradient *captured;
  const KernelShape &shape;
  func::FuncOp function;
  SizeNames names;
  SmallVector<std::pair<unsigned, ArgumentView>, 3> gradients;
  SmallVector<Rows> rows; ///< what promises are made about: all but lse
};

} // namespace

KernelOp fa::createBackwardKernel(ImplicitLocOpBuilder &b,
                                  const BackwardFunction &source,
                                  BackwardPart part, bool ownsHeads,
                                  const CapturedGradient *captured,
                                  const KernelShape &shape, StringRef name,
                                  StringRef entry) {
  return BackwardSignature(source, part, ownsHeads, captured, shape)
      .create(b, name, entry);
}

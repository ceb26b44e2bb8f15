//===- ArgumentView.cpp - tensors that are views of an argument -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentView.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

SmallVector<ReassociationIndices> fa::groupsWithUnit(int64_t rank, int64_t at) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d) {
    bool joins = !groups.empty() && (d == at ? at != 0 : d == 1 && at == 0);
    if (joins)
      groups.back().push_back(d);
    else
      groups.push_back({d});
  }
  return groups;
}

/// Whether `slice` is as large as its source along dimension `d`, which is
/// dynamic.
static bool isWholeAlong(tensor::ExtractSliceOp slice, int64_t d) {
  auto size = dyn_cast<Value>(slice.getMixedSizes()[d]);
  auto dim = size ? size.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
  return dim && dim.getSource() == slice.getSource() &&
         dim.getConstantIndex() == d && slice.getStaticOffsets()[d] == 0;
}

bool fa::isKnownSlice(tensor::ExtractSliceOp slice) {
  if (!slice.hasUnitStride() ||
      llvm::is_contained(slice.getStaticOffsets(), ShapedType::kDynamic))
    return false;
  // The verifier looks at constant parts of constant sizes.
  return llvm::all_of(
      llvm::seq(slice.getSourceType().getRank()), [&](int64_t d) {
        return slice.getSourceType().isDynamicDim(d) ? isWholeAlong(slice, d)
                                                     : !slice.isDynamicSize(d);
      });
}

/// What `op` does to the tensor that it views, or, `inverse`, what leads from
/// its result back to its operand.
FailureOr<ArgumentView::Step> ArgumentView::stepOf(Operation *op,
                                                   bool inverse) {
  auto shapeOf = [](Value value) {
    return llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape());
  };
  return llvm::TypeSwitch<Operation *, FailureOr<Step>>(op)
      .Case([&](tile::TransposeOp transpose) {
        Step step{Step::Transpose, {}, {}, {}};
        step.permutation.append(transpose.getPermutation().begin(),
                                transpose.getPermutation().end());
        if (inverse)
          for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
            step.permutation[from] = to;
        return step;
      })
      .Case([&](tile::ExpandDimsOp expand) -> FailureOr<Step> {
        SmallVector<int64_t> shape = shapeOf(expand.getResult());
        if (shape.size() == 1)
          return failure(); // of rank 0
        return Step{inverse ? Step::Collapse : Step::Expand,
                    {},
                    groupsWithUnit(shape.size(), expand.getDim()),
                    inverse ? shapeOf(expand.getInput()) : shape};
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        return Step{inverse ? Step::Collapse : Step::Expand,
                    {},
                    expand.getReassociationIndices(),
                    inverse ? shapeOf(expand.getSrc())
                            : shapeOf(expand.getResult())};
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        return Step{inverse ? Step::Expand : Step::Collapse,
                    {},
                    collapse.getReassociationIndices(),
                    inverse ? shapeOf(collapse.getSrc())
                            : shapeOf(collapse.getResult())};
      })
      .Case([&](tensor::ExtractSliceOp slice) -> FailureOr<Step> {
        if (inverse || !isKnownSlice(slice))
          return failure();
        Step step{Step::Slice, {}, {}, {}};
        llvm::append_range(step.shape, slice.getStaticSizes());
        llvm::append_range(step.offsets, slice.getStaticOffsets());
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        for (int64_t d = 0; d < slice.getSourceType().getRank(); ++d)
          if (!dropped.test(d))
            step.permutation.push_back(d);
        return step;
      })
      .Default([](Operation *) { return failure(); });
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

void ArgumentView::start(RankedTensorType type) {
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    ViewDim dim;
    dim.unitDim = d;
    dim.parts.push_back(d);
    if (!ShapedType::isDynamic(size))
      dim.staticSize = size;
    dims.push_back(dim);
  }
}

void ArgumentView::transpose(ArrayRef<int64_t> permutation) {
  SmallVector<ViewDim, 4> old = dims;
  for (auto [to, from] : llvm::enumerate(permutation))
    dims[to] = old[from];
}

LogicalResult ArgumentView::expand(const Step &step) {
  SmallVector<ViewDim, 4> result;
  for (auto [group, source] : llvm::zip(step.groups, dims)) {
    int64_t inner = 1;
    bool wasDynamic = false;
    SmallVector<ViewDim> parts;
    for (int64_t d : llvm::reverse(group)) {
      int64_t size = step.shape[d];
      if (wasDynamic && size != 1)
        return failure(); // the size of a faster dimension has no name
      wasDynamic |= ShapedType::isDynamic(size);
      ViewDim dim;
      dim.staticSize = ShapedType::isDynamic(size) ? -1 : size;
      if (inner == 1 && !dim.isUnit())
        dim.unitDim = source.unitDim;
      if (ShapedType::isDynamic(size)) {
        dim.parts = source.parts;
        dim.divisor = source.divisor * inner;
      } else if (size == source.staticSize) {
        dim = source;
      }
      if (!ShapedType::isDynamic(size))
        inner *= size;
      else if (inner != 1) {
        if (source.parts.size() != 1 || source.divisor != 1)
          return failure();
        divisible.push_back({source.parts[0], inner});
      }
      parts.push_back(dim);
    }
    result.append(parts.rbegin(), parts.rend());
  }
  dims = result;
  return success();
}

LogicalResult ArgumentView::collapse(const Step &step) {
  SmallVector<ViewDim, 4> result;
  for (const ReassociationIndices &group : step.groups) {
    ViewDim joined;
    joined.staticSize = 1;
    for (int64_t d : group) {
      const ViewDim &dim = dims[d];
      if (dim.isUnit())
        continue;
      if (joined.isUnit() && joined.parts.empty()) {
        joined = dim;
        continue;
      }
      // Two dimensions become one: both must be the argument's own.
      if (dim.parts.size() != 1 || dim.divisor != 1 || joined.divisor != 1 ||
          joined.parts.empty() || dim.unitDim != dim.parts[0])
        return failure();
      // No array whose first dimension is its slowest has these without a gap.
      if (dim.parts[0] < joined.parts.back() && dim.staticSize > 1 &&
          joined.staticSize > 1)
        return failure();
      collapsed.push_back({joined.parts.back(), dim.parts[0]});
      joined.parts.push_back(dim.parts[0]);
      joined.staticSize = joined.staticSize < 0 || dim.staticSize < 0
                              ? -1
                              : joined.staticSize * dim.staticSize;
      joined.unitDim = dim.unitDim;
    }
    result.push_back(joined);
  }
  dims = result;
  return success();
}

void ArgumentView::slice(const Step &step) {
  SmallVector<ViewDim, 4> result;
  for (int64_t d : step.permutation) {
    ViewDim dim = dims[d];
    // What is a part of a dimension does not have that dimension's size.
    if (!ShapedType::isDynamic(step.shape[d]) &&
        step.shape[d] != dim.staticSize) {
      dim.parts.clear();
      dim.divisor = 1;
      dim.staticSize = step.shape[d];
    }
    result.push_back(dim);
  }
  dims = result;
  isPart = true;
}

LogicalResult ArgumentView::apply(Step step) {
  LogicalResult result = success();
  switch (step.kind) {
  case Step::Transpose:
    transpose(step.permutation);
    break;
  case Step::Expand:
    result = expand(step);
    break;
  case Step::Collapse:
    result = collapse(step);
    break;
  case Step::Slice:
    slice(step);
    break;
  }
  steps.push_back(std::move(step));
  return result;
}

void ArgumentView::unpack(unsigned offsetsNumber) {
  offsets = offsetsNumber;
  dims.insert(dims.begin(), ViewDim());
}

/// The number of the argument that `offsets` are, or -1.
static int64_t numberOf(Value offsets) {
  auto argument = dyn_cast<BlockArgument>(offsets);
  return argument ? argument.getArgNumber() : -1;
}

FailureOr<ArgumentView> ArgumentView::ofOperand(Value value, bool takesPacked) {
  if (auto ragged = value.getDefiningOp<tile::RaggedOp>();
      ragged && takesPacked) {
    FailureOr<ArgumentView> rows = ofOperand(ragged.getRows());
    int64_t number = numberOf(ragged.getOffsets());
    if (failed(rows) || number < 0)
      return failure();
    rows->unpack(number);
    return rows;
  }
  ArgumentView view;
  SmallVector<Operation *> path;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0 || !isa<TensorType>(value.getType()))
      return failure();
    path.push_back(op);
    value = op->getOperand(0);
  }
  view.number = cast<BlockArgument>(value).getArgNumber();
  view.start(cast<RankedTensorType>(value.getType()));
  for (Operation *op : llvm::reverse(path)) {
    FailureOr<Step> step = stepOf(op, /*inverse=*/false);
    if (failed(step) || failed(view.apply(*step)))
      return failure();
  }
  return view;
}

/// Whether all operands of `op` but `value` are the same for all elements.
static bool isUniformBut(Operation *op, Value value) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           if (operand == value)
             return true;
           if (auto broadcast = operand.getDefiningOp<tile::BroadcastOp>())
             return !isa<TensorType>(broadcast.getInput().getType());
           auto constant = operand.getDefiningOp<arith::ConstantOp>();
           return constant && isa<SplatElementsAttr>(constant.getValue());
         });
}

FailureOr<ArgumentView>
ArgumentView::ofResult(Value value, SmallVectorImpl<Operation *> &epilogue) {
  ArgumentView view;
  SmallVector<Step> path;
  std::optional<int64_t> packedBy;
  while (true) {
    if (!value.hasOneUse())
      return failure();
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (isa<func::ReturnOp>(user)) {
      view.number = use.getOperandNumber();
      break;
    }
    if (isUniformBut(user, value)) {
      epilogue.push_back(user);
    } else if (auto pack = dyn_cast<tile::PackOp>(user)) {
      packedBy = numberOf(pack.getOffsets());
      if (*packedBy < 0 || !path.empty())
        return failure();
    } else {
      FailureOr<Step> step = stepOf(user, /*inverse=*/true);
      if (failed(step))
        return failure();
      path.push_back(*step);
    }
    value = user->getResult(0);
  }
  view.start(cast<RankedTensorType>(value.getType()));
  for (Step &step : llvm::reverse(path))
    if (failed(view.apply(step)))
      return failure();
  if (packedBy)
    view.unpack(*packedBy);
  return view;
}

AffineExpr
ArgumentView::size(unsigned d, MLIRContext *context,
                   llvm::function_ref<AffineExpr(int64_t)> symbol) const {
  const ViewDim &dim = dims[d];
  if (dim.staticSize >= 0 && dim.parts.size() != 1)
    return getAffineConstantExpr(dim.staticSize, context);
  AffineExpr product = getAffineConstantExpr(1, context);
  for (int64_t part : dim.parts)
    product = product * symbol(part);
  return product.floorDiv(dim.divisor);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value ArgumentView::buildExpand(ImplicitLocOpBuilder &b, Value memref,
                                const Step &step) {
  SmallVector<OpFoldResult> sizes;
  // A variant may know more of its argument than the function did.
  SmallVector<int64_t> shape = step.shape;
  for (auto [d, group] : llvm::enumerate(step.groups)) {
    int64_t inner = 1;
    for (int64_t n : group)
      if (!ShapedType::isDynamic(shape[n]))
        inner *= shape[n];
    int64_t whole = cast<MemRefType>(memref.getType()).getDimSize(d);
    for (int64_t n : group) {
      if (ShapedType::isDynamic(shape[n]) && !ShapedType::isDynamic(whole))
        shape[n] = whole / inner;
      if (!ShapedType::isDynamic(shape[n])) {
        sizes.push_back(b.getIndexAttr(shape[n]));
        continue;
      }
      Value size = memref::DimOp::create(b, memref, d);
      if (inner != 1)
        size = arith::DivUIOp::create(b, size,
                                      arith::ConstantIndexOp::create(b, inner));
      sizes.push_back(size);
    }
  }
  return memref::ExpandShapeOp::create(b, shape, memref, step.groups, sizes);
}

Value ArgumentView::buildSlice(ImplicitLocOpBuilder &b, Value memref,
                               const Step &step) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<OpFoldResult> offsets, sizes;
  for (auto [d, size] : llvm::enumerate(step.shape)) {
    offsets.push_back(b.getIndexAttr(step.offsets[d]));
    // A variant may know more of its argument than the function did.
    if (!ShapedType::isDynamic(size) || !type.isDynamicDim(d))
      sizes.push_back(b.getIndexAttr(
          ShapedType::isDynamic(size) ? type.getDimSize(d) : size));
    else
      sizes.push_back(Value(memref::DimOp::create(b, memref, d)));
  }
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  SmallVector<int64_t> kept;
  for (int64_t d : step.permutation)
    kept.push_back(
        getConstantIntValue(sizes[d]).value_or(ShapedType::kDynamic));
  auto viewType = memref::SubViewOp::inferRankReducedResultType(
      kept, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, viewType, memref, offsets, sizes,
                                   strides);
}

Value ArgumentView::build(ImplicitLocOpBuilder &b, Value memref) const {
  for (const Step &step : steps) {
    switch (step.kind) {
    case Step::Transpose: {
      SmallVector<unsigned> permutation(step.permutation.begin(),
                                        step.permutation.end());
      auto map = AffineMap::getPermutationMap(permutation, b.getContext());
      memref = memref::TransposeOp::create(b, memref, AffineMapAttr::get(map));
      break;
    }
    case Step::Expand:
      memref = buildExpand(b, memref, step);
      break;
    case Step::Collapse:
      memref = memref::CollapseShapeOp::create(b, memref, step.groups);
      break;
    case Step::Slice:
      memref = buildSlice(b, memref, step);
      break;
    }
  }
  return memref;
}

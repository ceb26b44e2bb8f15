//===- KernelBody.cpp - what bodies of attention kernels share ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "ElementReads.h"
#include "FindSource.h"
#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Whether the operation that makes `value` can be done in the kernel, if its
/// operands are there.
static bool isMadeInKernel(Value value) {
  if (isa<BlockArgument>(value))
    return !isa<TensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return isKernelScalar(dim.getIndex()) &&
           succeeded(ArgumentView::ofOperand(dim.getSource()));
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return readsFixedElement(extract) && !extract.getType().isInteger(1) &&
           isa<BlockArgument>(extract.getTensor());
  return isPure(op) && op->getNumRegions() == 0;
}

bool fa::isKernelScalar(Value value) {
  auto isElsewhere = [](Value v) { return !isMadeInKernel(v); };
  return !findSource(value, isElsewhere, [](Operation *op) {
    return !isa<tensor::DimOp, tensor::ExtractOp>(op);
  });
}

Value KernelBody::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KernelBody::multipleBelow(Value place, int64_t of) {
  Value multiple = index(of);
  return arith::MulIOp::create(b, arith::DivUIOp::create(b, place, multiple),
                               multiple);
}

BlockArgument KernelBody::argument(Value functionArgument) {
  return kernel.getArgument(
      cast<BlockArgument>(functionArgument).getArgNumber());
}

Value KernelBody::getScalar(Value value) {
  if (Value known = scalars.lookupOrNull(value))
    return known;
  Value scalar;
  Operation *op = value.getDefiningOp();
  if (!op) {
    scalar = argument(value);
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    ArgumentView view = *ArgumentView::ofOperand(dim.getSource());
    Value memory = view.build(b, kernel.getArgument(view.number));
    scalar = memref::DimOp::create(b, memory, getScalar(dim.getIndex()));
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Value> at = llvm::map_to_vector(
        extract.getIndices(), [&](Value index) { return getScalar(index); });
    scalar = memref::LoadOp::create(b, argument(extract.getTensor()), at);
  } else {
    for (Value operand : op->getOperands())
      getScalar(operand);
    b.clone(*op, scalars);
    return scalars.lookup(value);
  }
  scalars.map(value, scalar);
  return scalar;
}

Value KernelBody::view(Value memref, ArrayRef<OpFoldResult> offsets,
                       ArrayRef<OpFoldResult> sizes,
                       ArrayRef<int64_t> keptShape) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  auto viewType = memref::SubViewOp::inferRankReducedResultType(
      keptShape, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, viewType, memref, offsets, sizes,
                                   strides);
}

//===----------------------------------------------------------------------===//
// Packed sequences
//===----------------------------------------------------------------------===//

Value KernelBody::findTile(const ArgumentView &view, Value slot, int64_t rows) {
  auto found = SequenceOfOp::create(b, b.getIndexType(), b.getIndexType(), slot,
                                    kernel.getArgument(*view.offsets), rows);
  batch = found.getSequence();
  return arith::SubIOp::create(b, slot, found.getFirst());
}

KernelBody::Sequence KernelBody::findSequence(const ArgumentView &view,
                                              Value memref) {
  // Whatever offsets say, nothing outside of the argument is touched.
  Value all = memref::DimOp::create(b, memref, 1);
  auto offsetOf = [&](Value number, Value least) -> Value {
    Value offset =
        memref::LoadOp::create(b, kernel.getArgument(*view.offsets), number);
    offset = arith::IndexCastOp::create(b, b.getIndexType(), offset);
    offset = arith::MaxSIOp::create(b, offset, least);
    return arith::MinSIOp::create(b, offset, all);
  };
  Value first = offsetOf(batch, index(0));
  Value end = offsetOf(arith::AddIOp::create(b, batch, index(1)), first);
  return {first, arith::SubIOp::create(b, end, first)};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void KernelBody::mapCaptures(OperandRange operands,
                             ArrayRef<ArgumentView> views) {
  const ArgumentView *view = views.data();
  for (Value capture : operands) {
    if (isa<TensorType>(capture.getType())) {
      Value memory = view->build(b, kernel.getArgument(view->number));
      captures.push_back({RegionValue::Memory, memory});
      ++view;
      continue;
    }
    captures.push_back({RegionValue::Uniform, getScalar(capture)});
  }
}

/// A value of the mask region: at `row` or, without one, for the whole tile.
Value KernelBody::materialize(Value value, Value row, unsigned more) {
  IRMapping here; // not kept: what depends on a row is used in a loop
  std::function<Value(Value)> get = [&](Value value) -> Value {
    if (Value known = maskScalars.lookupOrNull(value))
      return known;
    if (Value known = here.lookupOrNull(value))
      return known;
    IRMapping &mapping = row ? here : maskScalars;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber() - more;
      Value mapped = number == 0   ? batch
                     : number == 1 ? head
                     : number == 2 ? row
                                   : captures[number - 4].value;
      mapping.map(value, mapped);
      return mapped;
    }
    Operation *op = value.getDefiningOp();
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    for (Value operand : op->getOperands())
      mapping.map(operand, get(operand));
    if (!extract) {
      b.clone(*op, mapping);
      return mapping.lookup(value);
    }
    SmallVector<Value> at;
    for (Value operand : extract.getIndices())
      at.push_back(mapping.lookup(operand));
    Value loaded =
        memref::LoadOp::create(b, mapping.lookup(extract.getTensor()), at);
    // A boolean has a byte of its own in memory; any but 0 is true.
    if (loaded.getType() != value.getType())
      loaded =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loaded,
                                Value(arith::ConstantOp::create(
                                    b, b.getIntegerAttr(loaded.getType(), 0))));
    mapping.map(value, loaded);
    return loaded;
  };
  return get(value);
}

/// A form without coordinates, of a region with `more` arguments.
Value KernelBody::evaluate(const AffineForm &form, unsigned more) {
  Value sum = index(form.constant);
  for (auto [value, coefficient] : form.terms) {
    Value term = materialize(value, Value(), more);
    if (!isa<IndexType>(term.getType()))
      term = arith::IndexCastOp::create(b, b.getIndexType(), term);
    term = arith::MulIOp::create(b, term, index(coefficient));
    sum = arith::AddIOp::create(b, sum, term);
  }
  return sum;
}

Value KernelBody::countKeys(const MaskRule &rule, Value numKeys) {
  Value length = numKeys;
  for (const KeyBound &bound : rule.lengths()) {
    AffineForm end = bound.forms.front();
    ++end.constant;
    length = arith::MinSIOp::create(b, length, evaluate(end, /*more=*/0));
  }
  if (length == numKeys)
    return length;
  return arith::MaxSIOp::create(b, length, index(0));
}

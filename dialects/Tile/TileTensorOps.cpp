//===- TileTensorOps.cpp - operations on whole tensors and on tiles -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

/// Whether leading dimension `b` of the right operand may serve dimension `a`
/// of the left one: equal, or dividing it (grouped heads).
static bool isGroupedBatch(int64_t a, int64_t b) {
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b))
    return true;
  return a == b || (b > 0 && a % b == 0);
}

LogicalResult DotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType());
  auto b = cast<RankedTensorType>(getB().getType());
  RankedTensorType r = getType();
  int64_t rank = a.getRank();
  if (rank < 2 || b.getRank() != rank || r.getRank() != rank)
    return emitOpError("expects operands and result of one rank of at least 2, "
                       "found ")
           << a << ", " << b << " and " << r;
  for (Type element :
       {a.getElementType(), b.getElementType(), r.getElementType()})
    if (!isa<FloatType>(element))
      return emitOpError("expects float elements, found ") << element;
  if (r.getElementTypeBitWidth() < a.getElementTypeBitWidth())
    return emitOpError("accumulates in the result's element type, which must "
                       "not be narrower than the operands': found ")
           << r.getElementType() << " for " << a.getElementType();
  if (isTf32() && !(a.getElementType().isF32() && b.getElementType().isF32()))
    return emitOpError("expects operands of f32 for precision tf32, found ")
           << a << " and " << b;

  bool transposed = getTransposeB();
  int64_t kOfB = b.getDimSize(transposed ? rank - 1 : rank - 2);
  int64_t nOfB = b.getDimSize(transposed ? rank - 2 : rank - 1);
  if (!sameSize(a.getDimSize(rank - 1), kOfB))
    return emitOpError("contracts ")
           << a.getDimSize(rank - 1) << " elements of the left operand with "
           << kOfB << " of the right one (" << a << ", " << b << ")";
  if (!sameSize(r.getDimSize(rank - 2), a.getDimSize(rank - 2)) ||
      !sameSize(r.getDimSize(rank - 1), nOfB))
    return emitOpError("expects a result of ")
           << a.getDimSize(rank - 2) << " x " << nOfB << ", found " << r;
  for (int64_t d = 0; d < rank - 2; ++d) {
    if (!sameSize(r.getDimSize(d), a.getDimSize(d)))
      return emitOpError("expects batch dimension ")
             << d << " of the result to be that of the left operand, found "
             << r << " and " << a;
    if (!isGroupedBatch(a.getDimSize(d), b.getDimSize(d)))
      return emitOpError("expects batch dimension ")
             << d << " of the right operand to divide that of the left one, "
             << "found " << b.getDimSize(d) << " and " << a.getDimSize(d);
  }
  return success();
}

bool DotOp::isIeeeF32() {
  return !isTf32() && getElementTypeOrSelf(getA().getType()).isF32();
}

/// Whether the last two dimensions change places, and nothing else does.
static bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  for (auto [d, from] : llvm::enumerate(permutation)) {
    int64_t at = d;
    if (from != (at < rank - 2 ? at : 2 * rank - 3 - at))
      return false;
  }
  return true;
}

/// A transposed right operand is the dot's other form.
LogicalResult DotOp::canonicalize(DotOp dot, PatternRewriter &rewriter) {
  auto transpose = dot.getB().getDefiningOp<TransposeOp>();
  if (!transpose || !swapsLastTwo(transpose.getPermutation()))
    return failure();
  rewriter.modifyOpInPlace(dot, [&] {
    dot.getBMutable().assign(transpose.getInput());
    dot.setTransposeB(!dot.getTransposeB());
  });
  return success();
}

//===----------------------------------------------------------------------===//
// SoftmaxOp, LogSumExpOp, DropoutOp, ReduceOp
//===----------------------------------------------------------------------===//

int64_t SoftmaxOp::getNormalizedDim() {
  return getDim() ? *getDim() : getType().getRank() - 1;
}

/// A sink is one number for each row.
static LogicalResult verifySink(Operation *op, Value sink,
                                RankedTensorType input, int64_t dim) {
  if (!sink)
    return success();
  auto sizes = llvm::to_vector(input.getShape());
  sizes.erase(sizes.begin() + dim);
  return verifyResult(op, cast<RankedTensorType>(sink.getType()), sizes,
                      input.getElementType());
}

LogicalResult SoftmaxOp::verify() {
  if (!isa<FloatType>(getType().getElementType()))
    return emitOpError("expects float elements, found ") << getType();
  if (failed(verifyDim(*this, getNormalizedDim(), getType().getRank())))
    return failure();
  return verifySink(*this, getSink(), getType(), getNormalizedDim());
}

LogicalResult LogSumExpOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (!isa<FloatType>(input.getElementType()))
    return emitOpError("expects float elements, found ") << input;
  if (input.getRank() < 1)
    return emitOpError("expects a rank of at least 1, found ") << input;
  if (failed(verifySink(*this, getSink(), input, input.getRank() - 1)))
    return failure();
  auto sizes = llvm::to_vector(input.getShape().drop_back());
  return verifyResult(*this, getType(), sizes, input.getElementType());
}

LogicalResult DropoutOp::verify() {
  RankedTensorType type = getType();
  if (type.getRank() != 4 || !isa<FloatType>(type.getElementType()))
    return emitOpError("expects floats of rank 4 [batch, head, query, key], "
                       "found ")
           << type;
  return verifyDropout(*this, getRng(), getProbabilityAttr());
}

LogicalResult ReduceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyDim(*this, getDim(), input.getRank())))
    return failure();
  auto sizes = llvm::to_vector(input.getShape());
  sizes.erase(sizes.begin() + getDim());
  return verifyResult(*this, getType(), sizes, input.getElementType());
}

Value fa::tile::combine(ImplicitLocOpBuilder &b, ReduceKind kind, Value x,
                        Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x));
  switch (kind) {
  case ReduceKind::Add:
    return isFloat ? arith::AddFOp::create(b, x, y).getResult()
                   : arith::AddIOp::create(b, x, y).getResult();
  case ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(b, x, y).getResult()
                   : arith::MaxSIOp::create(b, x, y).getResult();
  case ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(b, x, y).getResult()
                   : arith::MinSIOp::create(b, x, y).getResult();
  }
  llvm_unreachable("every kind is handled");
}

//===----------------------------------------------------------------------===//
// TransposeOp, ExpandDimsOp
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> sizes;
  llvm::SmallBitVector seen(input.getRank());
  for (int64_t d : permutation) {
    if (d < 0 || d >= input.getRank() || seen.test(d))
      return emitOpError("expects a permutation of 0 to ")
             << input.getRank() - 1 << ", found [" << permutation << "]";
    seen.set(d);
    sizes.push_back(input.getDimSize(d));
  }
  if (!seen.all())
    return emitOpError("expects a permutation of ")
           << input.getRank() << " dimensions, found [" << permutation << "]";
  return verifyResult(*this, getType(), sizes, input.getElementType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() &&
      llvm::equal(getPermutation(), llvm::seq<int64_t>(getType().getRank())))
    return getInput();
  return nullptr;
}

LogicalResult ExpandDimsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyDim(*this, getDim(), input.getRank() + 1)))
    return failure();
  auto sizes = llvm::to_vector(input.getShape());
  sizes.insert(sizes.begin() + getDim(), 1);
  return verifyResult(*this, getType(), sizes, input.getElementType());
}

LogicalResult RepeatOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  RankedTensorType result = getType();
  if (input.getRank() < 1 || input.getRank() != result.getRank())
    return emitOpError("expects tensors of one rank, of 1 or more, found ")
           << input << " and " << result;
  if (static_cast<int64_t>(getTimes()) < 1)
    return emitOpError("expects to repeat 1 time or more, found ")
           << static_cast<int64_t>(getTimes());
  if (failed(verifySizeOperands(*this, result, getSizes())))
    return failure();
  auto sizes = llvm::to_vector(input.getShape());
  sizes.back() = result.getShape().back();
  return verifyResult(*this, result, sizes, input.getElementType());
}

//===----------------------------------------------------------------------===//
// BroadcastOp, IotaOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType result = getType();
  if (failed(verifySizeOperands(*this, result, getSizes())))
    return failure();
  auto input = dyn_cast<RankedTensorType>(getInput().getType());
  Type element = input ? input.getElementType() : getInput().getType();
  if (element != result.getElementType())
    return emitOpError("expects the input's element type ")
           << element << " in the result, found " << result;
  if (!input)
    return success();
  if (input.getRank() != result.getRank())
    return emitOpError("expects a result of the input's rank ")
           << input.getRank() << ", found " << result
           << " (tile.expand_dims adds a dimension)";
  for (auto [d, size] : llvm::enumerate(input.getShape()))
    if (size != 1 && !sameSize(size, result.getDimSize(d)))
      return emitOpError("repeats only dimensions of size 1; dimension ")
             << d << " is " << size << " in the input and "
             << result.getDimSize(d) << " in the result";
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() && getType().hasStaticShape())
    return getInput();
  if (!getType().hasStaticShape() || !adaptor.getInput())
    return nullptr;
  if (auto splat = dyn_cast<SplatElementsAttr>(adaptor.getInput()))
    return DenseElementsAttr::get(getType(), splat.getSplatValue<Attribute>());
  if (isa<FloatAttr, IntegerAttr>(adaptor.getInput()))
    return DenseElementsAttr::get(getType(), adaptor.getInput());
  return nullptr;
}

LogicalResult IotaOp::verify() {
  if (!getType().getElementType().isIntOrIndex())
    return emitOpError("expects integer or index elements, found ")
           << getType();
  if (failed(verifyDim(*this, getDim(), getType().getRank())))
    return failure();
  return verifySizeOperands(*this, getType(), getSizes());
}

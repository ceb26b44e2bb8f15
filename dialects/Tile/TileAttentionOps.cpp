//===- TileAttentionOps.cpp - attention and its online form ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa::tile;

//===----------------------------------------------------------------------===//
// What attention and online attention have in common
//===----------------------------------------------------------------------===//

/// Checks one region: empty, or a block of `leading` arguments followed by the
/// captures, which yields one value of type `yielded`.
static LogicalResult verifyElementRegion(Operation *op, Region &region,
                                         StringRef name, ArrayRef<Type> leading,
                                         TypeRange captures, Type yielded) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  llvm::append_range(expected, captures);
  Block &block = region.front();
  if (TypeRange(expected) != block.getArgumentTypes())
    return op->emitOpError() << "expects the " << name << " region to take ("
                             << TypeRange(expected) << "), found ("
                             << block.getArgumentTypes() << ")";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError()
           << "expects the " << name << " region to end with tile.yield";
  if (yield.getValue().getType() != yielded)
    return yield.emitOpError()
           << "expects " << yielded << " in the " << name << " region, found "
           << yield.getValue().getType();
  return success();
}

/// Checks which captures say the blocks that are walked, by `name`:
/// tile.block_lists or tile.query_lists.
template <typename OpT>
static LogicalResult verifyBlockLists(OpT op, StringRef name) {
  auto lists = op->template getAttrOfType<DenseI64ArrayAttr>(name);
  if (!lists)
    return success();
  auto expects = [&] { return op->emitOpError("expects of ") << name << " "; };
  ArrayRef<int64_t> found = lists;
  if (found.size() != 4)
    return expects() << "two captures and the sizes of a block, found "
                     << found.size() << " numbers";
  for (int64_t size : found.drop_front(2))
    if (size <= 0 || size % 64)
      return expects() << "blocks of a multiple of 64, found " << size;
  for (int64_t number : found.take_front(2)) {
    if (number < 0 || number >= int64_t(op.getCaptures().size()))
      return expects() << "one of " << op.getCaptures().size()
                       << " captures, found number " << number;
    auto type = dyn_cast<RankedTensorType>(op.getCaptures()[number].getType());
    if (!type || type.getRank() != 4 || !type.getElementType().isInteger(32))
      return expects() << "captures of i32 of rank 4, found "
                       << op.getCaptures()[number].getType();
  }
  auto counts = cast<RankedTensorType>(op.getCaptures()[found[1]].getType());
  if (!sameSize(counts.getDimSize(3), 2))
    return expects() << "two counts of each block of "
                     << (name == TileDialect::queryListsAttrName ? "keys"
                                                                 : "queries")
                     << ", found " << counts;
  return success();
}

template <typename OpT> static LogicalResult verifyBlockLists(OpT op) {
  for (StringRef name :
       {TileDialect::blockListsAttrName, TileDialect::queryListsAttrName})
    if (failed(verifyBlockLists(op, name)))
      return failure();
  return success();
}

/// Checks the dropout and the regions.
template <typename OpT> static LogicalResult verifyElementRegions(OpT op) {
  if (failed(verifyDropout(op, op.getRng(), op.getProbabilityAttr())))
    return failure();
  Builder b(op.getContext());
  Type index = b.getIndexType();
  TypeRange captures = op.getCaptures().getTypes();
  if (failed(verifyElementRegion(op, op.getScore(), "score",
                                 {b.getF32Type(), index, index, index, index},
                                 captures, b.getF32Type())))
    return failure();
  return verifyElementRegion(op, op.getMask(), "mask",
                             {index, index, index, index}, captures,
                             b.getI1Type());
}

/// Checks the shapes of q [b, hq, sq, d], k [b, hkv, sk, d], v [b, hkv, sk,
/// dv], of which k and v, if it `mayWiden` them, may have 8 bits where q
/// has 16.
static LogicalResult verifyQKV(Operation *op, RankedTensorType q,
                               RankedTensorType k, RankedTensorType v,
                               bool mayWiden = false) {
  auto check = [&](RankedTensorType type, StringRef name) -> LogicalResult {
    if (type.getRank() != 4)
      return op->emitOpError() << "expects " << name
                               << " of rank 4 [batch, head, sequence, dim], "
                               << "found " << type;
    if (!isa<FloatType>(type.getElementType()))
      return op->emitOpError()
             << "expects float elements in " << name << ", found " << type;
    return success();
  };
  if (failed(check(q, "q")) || failed(check(k, "k")) || failed(check(v, "v")))
    return failure();
  bool widens = mayWiden && isStorageFloat(k) && isStorageFloat(v) &&
                (q.getElementType().isF16() || q.getElementType().isBF16());
  if (q.getElementType() != k.getElementType() && !widens)
    return op->emitOpError("expects q and k of one element type")
           << (mayWiden ? ", or k and v of f8E4M3FN or f8E5M2 beside q of "
                          "f16 or bf16"
                        : "")
           << ", found " << q << " and " << k;
  if (!sameSize(q.getDimSize(3), k.getDimSize(3)))
    return op->emitOpError("expects q and k of one head dim, found ")
           << q.getDimSize(3) << " and " << k.getDimSize(3);
  if (!sameSize(q.getDimSize(0), k.getDimSize(0)) ||
      !sameSize(q.getDimSize(0), v.getDimSize(0)))
    return op->emitOpError("expects q, k and v of one batch size, found ")
           << q << ", " << k << " and " << v;
  if (!sameSize(k.getDimSize(1), v.getDimSize(1)) ||
      !sameSize(k.getDimSize(2), v.getDimSize(2)))
    return op->emitOpError("expects k and v of one number of heads and one "
                           "length, found ")
           << k << " and " << v;
  int64_t hq = q.getDimSize(1), hkv = k.getDimSize(1);
  if (!ShapedType::isDynamic(hq) && !ShapedType::isDynamic(hkv) &&
      (hkv == 0 ? hq != 0 : hq % hkv != 0))
    return op->emitOpError("expects the number of query heads to be a multiple "
                           "of that of KV heads, found ")
           << hq << " and " << hkv;
  return success();
}

template <typename OpT> static RankedTensorType typeOf(OpT value) {
  return cast<RankedTensorType>(value.getType());
}

/// Checks what is the same in both forms: q, k, v and the scales.
template <typename OpT> static LogicalResult verifyInputs(OpT op) {
  RankedTensorType k = typeOf(op.getK());
  if (failed(verifyQKV(op, typeOf(op.getQ()), k, typeOf(op.getV()),
                       /*mayWiden=*/true)))
    return failure();
  SmallVector<Value> all(op.getKeyScales());
  if (op.getValueScales())
    all.push_back(op.getValueScales());
  bool areByKeys = false;
  for (Value scales : all) {
    RankedTensorType found = typeOf(scales);
    bool isByKeys = found.getRank() == 3;
    if (!(found.getRank() == 2 || isByKeys) ||
        !found.getElementType().isF32() ||
        !sameSize(found.getDimSize(0), k.getDimSize(0)) ||
        !sameSize(found.getDimSize(1), k.getDimSize(1)))
      return op.emitOpError("expects scales of f32 for each batch and head of "
                            "k, or for some keys of each, found ")
             << found;
    areByKeys |= isByKeys;
  }
  std::optional<int64_t> keys = op.getScaleKeys();
  if (keys && *keys < 1)
    return op.emitOpError("expects scale_keys of 1 or more, found ") << *keys;
  if (keys.has_value() != areByKeys)
    return op.emitOpError("expects scale_keys beside scales of three dimensions"
                          ", found ")
           << (areByKeys ? "none" : "them with others");
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionOp, OnlineAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  RankedTensorType q = typeOf(getQ()), v = typeOf(getV());
  if (failed(verifyInputs(*this)))
    return failure();
  SmallVector<int64_t> sizes(q.getShape().drop_back());
  Type f32 = Float32Type::get(getContext());
  if (getLse() && failed(verifyResult(*this, typeOf(getLse()), sizes, f32)))
    return failure();
  sizes.push_back(v.getDimSize(3));
  if (getSink() &&
      failed(verifyResult(*this, typeOf(getSink()), {q.getDimSize(1)}, f32)))
    return failure();
  RankedTensorType output = typeOf(getOutput());
  if (!isa<FloatType>(output.getElementType()))
    return emitOpError("expects a float output, found ") << output;
  if (failed(verifyResult(*this, output, sizes, output.getElementType())))
    return failure();
  if (failed(verifyBlockLists(*this)))
    return failure();
  return verifyElementRegions(*this);
}

/// The factor that `user` multiplies `score` with, a constant; nothing if it
/// does something else.
static std::optional<double> findFactor(Operation *user, Value score) {
  APFloat number(0.0f);
  if (isa<arith::MulFOp, arith::DivFOp>(user))
    for (unsigned n : {0, 1})
      if (user->getOperand(1 - n) == score &&
          matchPattern(user->getOperand(n), m_ConstantFloat(&number)) &&
          (n == 1 || isa<arith::MulFOp>(user))) {
        double factor = number.convertToDouble();
        return isa<arith::DivFOp>(user) ? 1 / factor : factor;
      }
  return std::nullopt;
}

/// What all scores are multiplied with first, as those of a softcap, is a part
/// of the scale: once for a kernel, and not for each of them.
LogicalResult AttentionOp::canonicalize(AttentionOp op,
                                        PatternRewriter &rewriter) {
  Value score = op.getScore().empty() ? Value() : op.getScore().getArgument(0);
  if (!score || !score.hasOneUse())
    return failure();
  Operation *user = *score.user_begin();
  std::optional<double> factor = findFactor(user, score);
  // No scale that is usual becomes infinite or 0 by it.
  constexpr double most = 0x1p32;
  if (!factor || !(std::abs(*factor) <= most && std::abs(*factor) >= 1 / most))
    return failure();
  Value constant = arith::ConstantOp::create(rewriter, op.getLoc(),
                                             rewriter.getF32FloatAttr(*factor));
  Value scale =
      arith::MulFOp::create(rewriter, op.getLoc(), op.getScale(), constant);
  rewriter.modifyOpInPlace(op, [&] { op.getScaleMutable().assign(scale); });
  rewriter.replaceOp(user, score);
  Block &block = op.getScore().front();
  if (block.getTerminator()->getOperand(0) == score)
    rewriter.eraseBlock(&block);
  return success();
}

LogicalResult OnlineAttentionOp::verify() {
  RankedTensorType q = typeOf(getQ()), v = typeOf(getV());
  if (failed(verifyInputs(*this)))
    return failure();
  SmallVector<int64_t> sizes(q.getShape().drop_back());
  Type f32 = Float32Type::get(getContext());
  if (failed(verifyResult(*this, typeOf(getMax()), sizes, f32)) ||
      failed(verifyResult(*this, typeOf(getSum()), sizes, f32)))
    return failure();
  sizes.push_back(v.getDimSize(3));
  if (failed(verifyResult(*this, typeOf(getAcc()), sizes, f32)))
    return failure();
  if (failed(verifyBlockLists(*this)))
    return failure();
  return verifyElementRegions(*this);
}

//===----------------------------------------------------------------------===//
// AttentionBackwardOp
//===----------------------------------------------------------------------===//

/// Checks what `op` says of the captured tensors whose gradients it gives.
static LogicalResult verifyCaptures(AttentionBackwardOp op) {
  size_t gradients = op.getDcaptures().size(), effects = op.getEffects().size();
  ArrayRef<int64_t> numbers = op.getWrt();
  if (gradients != numbers.size() || gradients != effects)
    return op.emitOpError("expects a number and an effect region for each "
                          "gradient of a captured tensor, found ")
           << gradients << " gradients, " << numbers.size() << " numbers and "
           << effects << " regions";
  int64_t count = op.getCaptures().size(), last = -1;
  for (auto [number, gradient] : llvm::zip(numbers, op.getDcaptures())) {
    if (number <= last || number >= count ||
        op.getCaptures()[number].getType() != gradient.getType())
      return op.emitOpError("expects gradients of some of ")
             << count << " captures, in their types and order, found number "
             << number << " and " << gradient.getType();
    if (!isa<FloatType>(getElementTypeOrSelf(gradient.getType())))
      return op.emitOpError("expects gradients of floating point, found ")
             << gradient.getType();
    last = number;
  }
  return success();
}

/// Checks the sink and its gradient, which go together.
static LogicalResult verifySink(AttentionBackwardOp op) {
  if (!op.getSink() && !op.getDsink())
    return success();
  if (!op.getSink() || !op.getDsink())
    return op.emitOpError("expects a sink where its gradient is wanted, and no "
                          "other, found one of the two");
  Type f32 = Float32Type::get(op.getContext());
  int64_t heads = typeOf(op.getQ()).getDimSize(1);
  for (Value value : {op.getSink(), op.getDsink()})
    if (failed(verifyResult(op, typeOf(value), {heads}, f32)))
      return failure();
  return success();
}

LogicalResult AttentionBackwardOp::verify() {
  RankedTensorType q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV());
  if (failed(verifyQKV(*this, q, k, v)))
    return failure();
  if (failed(verifyBlockLists(*this)))
    return failure();
  if (q.getElementType() != v.getElementType())
    return emitOpError("expects q and v of one element type, found ")
           << q << " and " << v;
  SmallVector<int64_t> sizes(q.getShape().drop_back());
  Type f32 = Float32Type::get(getContext());
  if (failed(verifyResult(*this, typeOf(getLse()), sizes, f32)) ||
      (getDlse() && failed(verifyResult(*this, typeOf(getDlse()), sizes, f32))))
    return failure();
  sizes.push_back(v.getDimSize(3));
  for (RankedTensorType rows : {typeOf(getOutput()), typeOf(getDout())})
    if (failed(verifyResult(*this, rows, sizes, q.getElementType())))
      return failure();
  if (getNumResults() == 0)
    return emitOpError("expects a gradient, found none");
  for (auto [gradient, of] :
       {std::pair(getDq(), q), std::pair(getDk(), k), std::pair(getDv(), v)})
    if (gradient && failed(verifyResult(*this, typeOf(gradient), of.getShape(),
                                        of.getElementType())))
      return failure();
  Type index = IndexType::get(getContext());
  auto verifyRegion = [&](Region &region, StringRef name) {
    return verifyElementRegion(*this, region, name,
                               {f32, index, index, index, index},
                               getCaptures().getTypes(), f32);
  };
  if (failed(verifyRegion(getDerivative(), "derivative")))
    return failure();
  for (Region &region : getEffects())
    if (failed(verifyRegion(region, "effect")))
      return failure();
  if (failed(verifyElementRegions(*this)) || failed(verifySink(*this)))
    return failure();
  return verifyCaptures(*this);
}

//===----------------------------------------------------------------------===//
// OnlineSoftmaxOp, OnlineFinalizeOp, OnlineMergeOp
//===----------------------------------------------------------------------===//

/// Checks that `rows` holds one f32 for each row of `tile` [.., m, n].
static LogicalResult verifyRowState(Operation *op, RankedTensorType tile,
                                    RankedTensorType rows) {
  Type f32 = Float32Type::get(op->getContext());
  if (tile.getElementType() != f32)
    return op->emitOpError("expects f32 elements, found ") << tile;
  if (tile.getRank() < 2)
    return op->emitOpError("expects a rank of at least 2, found ") << tile;
  return verifyResult(op, rows, llvm::to_vector(tile.getShape().drop_back()),
                      f32);
}

LogicalResult OnlineSoftmaxOp::verify() {
  return verifyRowState(*this, typeOf(getScores()), typeOf(getMax()));
}

LogicalResult OnlineFinalizeOp::verify() {
  if (getMaxOut() && getMaxOut().getType() != getMax().getType())
    return emitOpError("expects a maximum of type ")
           << getMax().getType() << " apart, found " << getMaxOut().getType();
  return verifyRowState(*this, typeOf(getAcc()), typeOf(getMax()));
}

LogicalResult OnlineMergeOp::verify() {
  return verifyRowState(*this, typeOf(getAcc()), typeOf(getMax()));
}

LogicalResult MergePartsOp::verify() {
  if (cast<KernelOp>((*this)->getParentOp()).getParts() < 2)
    return emitOpError("expects a kernel with '")
           << KernelOp::partsAttrName << "' of at least 2";
  for (auto [from, to] : llvm::zip(getOperands(), getResults()))
    if (typeOf(from).getShape() != typeOf(to).getShape() ||
        typeOf(from).getElementType() != typeOf(to).getElementType())
      return emitOpError("expects results of the operands' sizes, found ")
             << to.getType() << " from " << from.getType();
  if (getSum().getType() != getMax().getType())
    return emitOpError("expects a sum of type ")
           << getMax().getType() << ", found " << getSum().getType();
  return verifyRowState(*this, typeOf(getAcc()), typeOf(getMax()));
}

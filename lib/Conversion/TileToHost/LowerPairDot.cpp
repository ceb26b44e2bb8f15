//===- LowerPairDot.cpp - products of bf16 by instructions on pairs -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AVX512_BF16's vdpbf16ps adds, to each lane of f32, the products of a pair of
// bf16: two steps of the contraction at once, each product exact and each sum
// rounded (Intel SDM volume 2, "VDPBF16PS"; denormals are flushed). Both
// operands then hold pairs of neighbours along the contraction in 32 bits:
//  - the left one, lanes along its rows: [k/2][m] (Q, once a tile; P, as the
//    softmax or what else computes it writes it);
//  - the right one, transposed: as it lies in memory (K);
//  - the right one, as it is: rows 2k and 2k+1 side by side, [k/2][n] (V); what
//    is computed, with its lanes along k: [n][k/2] (dSᵀ in ComputedPairs.cpp).
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

//===----------------------------------------------------------------------===//
// Which dots
//===----------------------------------------------------------------------===//

arith::TruncFOp fa::getOnlyNarrowing(tile::OnlineSoftmaxOp op) {
  if (!op.getP().hasOneUse())
    return {};
  return dyn_cast<arith::TruncFOp>(*op.getP().getUsers().begin());
}

Value fa::getReadP(tile::OnlineSoftmaxOp op) {
  arith::TruncFOp narrowing = getOnlyNarrowing(op);
  return narrowing ? narrowing.getOut() : op.getP();
}

bool fa::isPForOneDot(Value p) {
  auto narrowing = p.getDefiningOp<arith::TruncFOp>();
  auto softmax = (narrowing ? narrowing.getIn() : p)
                     .getDefiningOp<tile::OnlineSoftmaxOp>();
  return softmax && getReadP(softmax) == p && p.hasOneUse();
}

/// Whether both dots, which read `value`, read it alike.
static bool readAlike(Value value, tile::DotOp dot, tile::DotOp other) {
  return (other.getA() == value) == (dot.getA() == value) &&
         (other.getB() == value) == (dot.getB() == value) &&
         other.getTransposeB() == dot.getTransposeB();
}

/// Whether every dot that reads `value` reads it as `dot` does.
static bool isReadInOneWay(Value value, tile::DotOp dot) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    auto other = dyn_cast<tile::DotOp>(use.getOwner());
    return !other || readAlike(value, dot, other);
  });
}

void fa::splitReads(tile::KernelOp kernel, const VectorShape &shape) {
  // A forward's one tile of keys and values is read twice, copied once.
  bool isForward =
      kernel.walk([](tile::OnlineSoftmaxOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (isForward)
    return;
  SmallVector<Operation *> sources;
  kernel.walk([&](Operation *op) {
    bool isRounding = isa<arith::TruncFOp>(op) &&
                      tile::isTile(op->getResult(0)) &&
                      shape.canPair(getElementTypeOrSelf(op->getResult(0)));
    if (isRounding || isa<tile::LoadOp>(op))
      sources.push_back(op);
  });
  for (Operation *source : sources) {
    while (source) {
      Value value = source->getResult(0);
      SmallVector<tile::DotOp> dots;
      for (Operation *user : value.getUsers())
        if (auto dot = dyn_cast<tile::DotOp>(user))
          dots.push_back(dot);
      auto others = llvm::make_filter_range(dots, [&](tile::DotOp dot) {
        return dot.getA() != dot.getB() && !readAlike(value, dot, dots[0]);
      });
      if (others.empty())
        break;
      OpBuilder b(source);
      Operation *rest = b.clone(*source);
      for (tile::DotOp dot : llvm::to_vector(others))
        dot->replaceUsesOfWith(value, rest->getResult(0));
      source = rest;
    }
  }
}

bool fa::isPairDot(HostContext &ctx, tile::DotOp dot) {
  return hasPairs(ctx, dot) &&
         (typeOf(dot.getA()).getElementType().isBF16() || isTileDot(ctx, dot));
}

bool fa::hasPairs(HostContext &ctx, tile::DotOp dot) {
  // CPUs with matrix units do half as many products a second in pairs as in
  // f32: few rows are widened, or go by tiles (LowerRowTiles.cpp).
  if (ctx.alongRows && ctx.shape.tileDots)
    return false;
  RankedTensorType left = typeOf(dot.getA()), right = typeOf(dot.getB());
  if (!ctx.shape.pairDots || !countPieces(left.getElementType()) ||
      (left.getElementType().isF32() && !ctx.shape.tileDots) ||
      left.getElementType() != right.getElementType() || left.getRank() != 2 ||
      dot.getA() == dot.getB())
    return false;
  auto isWholeRows = [&](Value value) {
    auto load = value.getDefiningOp<tile::LoadOp>();
    return load && hasWholeRows(ctx, load) && isReadInOneWay(value, dot);
  };
  // A last step without a partner needs a zero beside it in both operands. Rows
  // that are copied get one, unless they end with a whole vector.
  int64_t depth = left.getDimSize(1);
  if (depth % 2 && !left.getElementType().isF32() &&
      (!dot.getTransposeB() || !isWholeRows(dot.getA()) ||
       (depth + 1) % (2 * ctx.lanes()) == 0))
    return false;
  auto isComputed = [&](Value value) {
    return isComputedPairs(ctx, value) && isReadInOneWay(value, dot);
  };
  bool hasRight = isWholeRows(dot.getB()) ||
                  (!dot.getTransposeB() && isComputed(dot.getB()));
  return hasRight && (isWholeRows(dot.getA()) || isPForOneDot(dot.getA()) ||
                      isComputed(dot.getA()) || isTurnedPairs(ctx, dot.getA()));
}

bool fa::isPairOperand(HostContext &ctx, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<tile::DotOp>(user);
    return dot && (isPairDot(ctx, dot) || isRowTileDot(ctx, dot));
  });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void fa::loadPairOperand(HostContext &ctx, tile::LoadOp load, tile::DotOp dot) {
  Value value = load.getResult();
  bool keys = dot.getB() == value && dot.getTransposeB();
  bool whole = cast<RankedTensorType>(load.getType()).getDimSize(1) %
                       (isTileDot(ctx, dot) ? kTileDepth : 2) ==
                   0 &&
               load.getType().getElementType().isBF16();
  if (keys && whole && load.getInBounds() && isReadOnly(ctx, load))
    return; // read where it lies
  if (keys && whole && isTileDot(ctx, dot) && isReadOnly(ctx, load)) {
    ctx.pairBuffers[value] = {viewOrCopyRows(ctx, load, ctx.constantIndex(0),
                                             load.getType().getDimSize(0)),
                              TileForm::NaturalPairs};
    return;
  }
  if (ctx.alongRows && dot.getB() == value && canReadRowsInPlace(ctx, load))
    return;
  TileForm left = ctx.alongRows ? TileForm::NaturalPairs : TileForm::LanePairs;
  TileForm form = keys                  ? TileForm::NaturalPairs
                  : dot.getA() == value ? left
                  : isTileDot(ctx, dot) ? TileForm::ColumnPairs
                                        : TileForm::RowPairs;
  ctx.pairBuffers[value] = loadTile(ctx, load, form);
}

TileInterval fa::pairsOf(HostContext &ctx, TileInterval interval) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value two = ctx.constantIndex(2);
  // What lies behind the view ends before it begins.
  Value end = arith::MaxSIOp::create(b, interval.second, ctx.constantIndex(0));
  return {arith::DivUIOp::create(b, interval.first, two),
          arith::DivUIOp::create(b, ctx.addIndex(end, 1), two)};
}

/// Rows 2r and 2r + 1 of the tile side by side, where one of them is of `rows`.
void fa::loadRowPairs(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                      TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t columns = cast<RankedTensorType>(load.getType()).getDimSize(1);
  Value two = ctx.constantIndex(2);
  auto [first, last] = pairsOf(ctx, rows);
  auto overPairs = scf::ForOp::create(b, first, last, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overPairs.getBody());
  Value pair = overPairs.getInductionVar();
  Value row = arith::MulIOp::create(b, pair, two);
  auto clamp = load.getInBounds() ? std::nullopt : std::optional(rows);
  auto store = [&](Value both, int64_t column) {
    vector::StoreOp::create(b,
                            Value(vector::BitCastOp::create(
                                b, ctx.vectorType(b.getI32Type()), both)),
                            buffer.memref,
                            ValueRange{pair, ctx.constantIndex(column)});
  };
  for (int64_t column = 0; column < columns; column += 2 * ctx.lanes()) {
    int64_t count = std::min(2 * ctx.lanes(), columns - column);
    int64_t width = count > ctx.lanes() ? 2 * ctx.lanes() : ctx.lanes();
    auto read = [&](Value row) {
      return loadRow(ctx, load, row, ctx.constantIndex(column), count, width,
                     clamp);
    };
    Value even = read(row), odd = read(ctx.addIndex(row, 1));
    for (int64_t n = 0; n < width; n += ctx.lanes()) {
      SmallVector<int64_t> interleaved;
      for (int64_t at = n; at < n + ctx.lanes(); ++at)
        interleaved.append({at, width + at});
      store(vector::ShuffleOp::create(b, even, odd, interleaved), column + n);
    }
  }
  if (tile::DotOp dot = findRowTileDot(ctx, load))
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t column = 0; column < columns; column += elementsOfLine(dot))
        prefetchBeside(ctx, dot, ctx.addIndex(row, r),
                       ctx.constantIndex(column));
}

/// Both halves of a register are converted at once: LLVM has no such form of
/// two conversions, which are two instructions each and one more to interleave.
Value fa::narrowBoth(HostContext &ctx, Value first, Value second) {
  ImplicitLocOpBuilder &b = ctx.b;
  return LLVM::CallIntrinsicOp::create(
             b, VectorType::get({2 * ctx.lanes()}, b.getBF16Type()),
             b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
             ValueRange{second, first})
      .getResult(0);
}

Value fa::packPair(HostContext &ctx, Value even, Value odd) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value both = narrowBoth(ctx, even, odd);
  SmallVector<int64_t> interleaved;
  for (int64_t n = 0; n < ctx.lanes(); ++n)
    interleaved.append({n, ctx.lanes() + n});
  Value pairs = vector::ShuffleOp::create(b, both, both, interleaved);
  return vector::BitCastOp::create(b, ctx.vectorType(b.getI32Type()), pairs);
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

Value fa::loadPair(HostContext &ctx, Value memory, ValueRange at) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value two = vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()),
                                     memory, at);
  Value bits =
      vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), two);
  return vector::ExtractOp::create(b, bits, ArrayRef<int64_t>{0});
}

/// 32 bits of the right operand of `dot`: its elements (2 * pair, n) and
/// (2 * pair + 1, n).
static Value readRightPair(HostContext &ctx, tile::DotOp dot, Value pair,
                           Value n) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto it = ctx.pairBuffers.find(dot.getB());
  if (it != ctx.pairBuffers.end() && it->second.form == TileForm::RowPairs)
    return memref::LoadOp::create(b, it->second.memref, ValueRange{pair, n});
  if (it != ctx.pairBuffers.end() && it->second.form == TileForm::ColumnPairs)
    return memref::LoadOp::create(b, it->second.memref, ValueRange{n, pair});
  Value k = arith::MulIOp::create(b, pair, ctx.constantIndex(2));
  Value memory;
  SmallVector<Value> at = {n, k};
  if (it != ctx.pairBuffers.end()) {
    memory = it->second.memref;
  } else {
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    memory = ctx.mapped(load.getSource());
    for (auto [index, base] : llvm::zip(at, load.getIndices()))
      index = arith::AddIOp::create(b, ctx.mapped(base), index);
  }
  return loadPair(ctx, memory, at);
}

SmallVector<Value> fa::emitPairStep(HostContext &ctx, tile::DotOp dot,
                                    ArrayRef<Value> rows, Value col, Value pair,
                                    ArrayRef<Value> sums) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto pairs = VectorType::get({2 * ctx.lanes()}, b.getBF16Type());
  TileBuffer left = ctx.pairBuffers.lookup(dot.getA());
  SmallVector<Value> a, next;
  for (Value row : rows) {
    Value bits = vector::LoadOp::create(b, ctx.vectorType(b.getI32Type()),
                                        left.memref, ValueRange{pair, row});
    a.push_back(vector::BitCastOp::create(b, pairs, bits));
  }
  for (size_t n = 0; n < sums.size() / rows.size(); ++n) {
    Value bits =
        ctx.toVector(readRightPair(ctx, dot, pair, ctx.addIndex(col, n)));
    Value x = vector::BitCastOp::create(b, pairs, bits);
    for (size_t v = 0; v < rows.size(); ++v) {
      Value sum = sums[n * rows.size() + v];
      next.push_back(
          x86vector::DotBF16Op::create(b, sum.getType(), sum, x, a[v]));
    }
  }
  return next;
}

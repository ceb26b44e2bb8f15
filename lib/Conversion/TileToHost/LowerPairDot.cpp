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
//    softmax writes it);
//  - the right one, transposed: as it lies in memory (K);
//  - the right one, as it is: rows 2k and 2k+1 side by side, [k/2][n] (V).
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
static bool haveOneRole(Value value, tile::DotOp dot, tile::DotOp other) {
  return (other.getA() == value) == (dot.getA() == value) &&
         (other.getB() == value) == (dot.getB() == value) &&
         other.getTransposeB() == dot.getTransposeB();
}

/// Whether every dot that reads `value` reads it as `dot` does.
static bool hasOneRole(Value value, tile::DotOp dot) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    auto other = dyn_cast<tile::DotOp>(use.getOwner());
    return !other || haveOneRole(value, dot, other);
  });
}

void fa::partRoles(tile::KernelOp kernel) {
  // A forward's one tile of keys and values is read twice, copied once.
  bool isForward =
      kernel.walk([](tile::OnlineSoftmaxOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (isForward)
    return;
  SmallVector<tile::LoadOp> loads;
  kernel.walk([&](tile::LoadOp load) { loads.push_back(load); });
  for (tile::LoadOp load : loads) {
    while (load) {
      Value value = load.getResult();
      SmallVector<tile::DotOp> dots;
      for (Operation *user : value.getUsers())
        if (auto dot = dyn_cast<tile::DotOp>(user))
          dots.push_back(dot);
      auto others = llvm::make_filter_range(dots, [&](tile::DotOp dot) {
        return dot.getA() != dot.getB() && !haveOneRole(value, dot, dots[0]);
      });
      if (others.empty())
        break;
      OpBuilder b(load);
      auto rest = cast<tile::LoadOp>(b.clone(*load));
      for (tile::DotOp dot : llvm::to_vector(others))
        dot->replaceUsesOfWith(value, rest.getResult());
      load = rest;
    }
  }
}

bool KernelLowering::isPairDot(tile::DotOp dot) {
  return hasPairs(dot) &&
         (typeOf(dot.getA()).getElementType().isBF16() || isTileDot(dot));
}

bool KernelLowering::hasPairs(tile::DotOp dot) {
  // CPUs with matrix units do half as many products a second in pairs as in
  // f32: few rows are widened, or go by tiles (LowerRowTiles.cpp).
  if (alongRows && shape.tileDots)
    return false;
  RankedTensorType left = typeOf(dot.getA()), right = typeOf(dot.getB());
  if (!shape.pairDots || !countPieces(left.getElementType()) ||
      (left.getElementType().isF32() && !shape.tileDots) ||
      left.getElementType() != right.getElementType() || left.getRank() != 2 ||
      dot.getA() == dot.getB())
    return false;
  auto isWholeRows = [&](Value value) {
    auto load = value.getDefiningOp<tile::LoadOp>();
    return load && hasWholeRows(load) && hasOneRole(value, dot);
  };
  // A last step without a partner needs a zero beside it in both operands. Rows
  // that are copied get one, unless they end with a whole vector.
  int64_t depth = left.getDimSize(1);
  if (depth % 2 && !left.getElementType().isF32() &&
      (!dot.getTransposeB() || !isWholeRows(dot.getA()) ||
       (depth + 1) % (2 * lanes()) == 0))
    return false;
  return isWholeRows(dot.getB()) &&
         (isWholeRows(dot.getA()) || isPForOneDot(dot.getA()));
}

bool KernelLowering::isPairOperand(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<tile::DotOp>(user);
    return dot && (isPairDot(dot) || isRowTileDot(dot));
  });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void KernelLowering::loadPairOperand(tile::LoadOp load, tile::DotOp dot) {
  Value value = load.getResult();
  bool keys = dot.getB() == value && dot.getTransposeB();
  bool whole = cast<RankedTensorType>(load.getType()).getDimSize(1) %
                       (isTileDot(dot) ? kTileDepth : 2) ==
                   0 &&
               load.getType().getElementType().isBF16();
  if (keys && whole && load.getInBounds() && isReadOnly(load))
    return; // read where it lies
  if (keys && whole && isTileDot(dot) && isReadOnly(load)) {
    pairBuffers[value] = {
        viewOrCopyRows(load, constantIndex(0), load.getType().getDimSize(0)),
        Form::NaturalPairs};
    return;
  }
  if (alongRows && dot.getB() == value && canReadRowsInPlace(load))
    return;
  Form left = alongRows ? Form::NaturalPairs : Form::LanePairs;
  Form form = keys                  ? Form::NaturalPairs
              : dot.getA() == value ? left
              : isTileDot(dot)      ? Form::ColumnPairs
                                    : Form::RowPairs;
  pairBuffers[value] = loadTile(load, form);
}

/// Rows 2r and 2r + 1 of the tile side by side, where one of them is of `rows`.
void KernelLowering::loadRowPairs(tile::LoadOp load, Buffer buffer,
                                  Interval rows) {
  int64_t columns = cast<RankedTensorType>(load.getType()).getDimSize(1);
  Value two = constantIndex(2);
  auto overPairs = scf::ForOp::create(
      b, arith::DivUIOp::create(b, rows.first, two),
      arith::DivUIOp::create(b, addIndex(rows.second, 1), two),
      constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overPairs.getBody());
  Value pair = overPairs.getInductionVar();
  Value row = arith::MulIOp::create(b, pair, two);
  auto clamp = load.getInBounds() ? std::nullopt : std::optional(rows);
  auto store = [&](Value both, int64_t column) {
    vector::StoreOp::create(
        b,
        Value(vector::BitCastOp::create(b, vectorType(b.getI32Type()), both)),
        buffer.memref, ValueRange{pair, constantIndex(column)});
  };
  for (int64_t column = 0; column < columns; column += 2 * lanes()) {
    int64_t count = std::min(2 * lanes(), columns - column);
    int64_t width = count > lanes() ? 2 * lanes() : lanes();
    auto read = [&](Value row) {
      return loadRow(load, row, constantIndex(column), count, width, clamp);
    };
    Value even = read(row), odd = read(addIndex(row, 1));
    for (int64_t n = 0; n < width; n += lanes()) {
      SmallVector<int64_t> interleaved;
      for (int64_t at = n; at < n + lanes(); ++at)
        interleaved.append({at, width + at});
      store(vector::ShuffleOp::create(b, even, odd, interleaved), column + n);
    }
  }
  if (tile::DotOp dot = findRowTileDot(load))
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t column = 0; column < columns; column += elementsOfLine(dot))
        prefetchBeside(dot, addIndex(row, r), constantIndex(column));
}

/// Both halves of a register are converted at once: LLVM has no such form of
/// two conversions, which are two instructions each and one more to interleave.
Value KernelLowering::narrowBoth(Value first, Value second) {
  return LLVM::CallIntrinsicOp::create(
             b, VectorType::get({2 * lanes()}, b.getBF16Type()),
             b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
             ValueRange{second, first})
      .getResult(0);
}

Value KernelLowering::packPair(Value even, Value odd) {
  Value both = narrowBoth(even, odd);
  SmallVector<int64_t> interleaved;
  for (int64_t n = 0; n < lanes(); ++n)
    interleaved.append({n, lanes() + n});
  Value pairs = vector::ShuffleOp::create(b, both, both, interleaved);
  return vector::BitCastOp::create(b, vectorType(b.getI32Type()), pairs);
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

Value KernelLowering::loadPair(Value memory, ValueRange at) {
  Value two = vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()),
                                     memory, at);
  Value bits =
      vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), two);
  return vector::ExtractOp::create(b, bits, ArrayRef<int64_t>{0});
}

/// 32 bits of the right operand of `dot`: its elements (2 * pair, n) and
/// (2 * pair + 1, n).
Value KernelLowering::readRightPair(tile::DotOp dot, Value pair, Value n) {
  auto it = pairBuffers.find(dot.getB());
  if (it != pairBuffers.end() && it->second.form == Form::RowPairs)
    return memref::LoadOp::create(b, it->second.memref, ValueRange{pair, n});
  Value k = arith::MulIOp::create(b, pair, constantIndex(2));
  Value memory;
  SmallVector<Value> at = {n, k};
  if (it != pairBuffers.end()) {
    memory = it->second.memref;
  } else {
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    memory = mapped(load.getSource());
    for (auto [index, base] : llvm::zip(at, load.getIndices()))
      index = arith::AddIOp::create(b, mapped(base), index);
  }
  return loadPair(memory, at);
}

SmallVector<Value> KernelLowering::emitPairStep(tile::DotOp dot,
                                                ArrayRef<Value> rows, Value col,
                                                Value pair,
                                                ArrayRef<Value> sums) {
  auto pairs = VectorType::get({2 * lanes()}, b.getBF16Type());
  Buffer left = pairBuffers.lookup(dot.getA());
  SmallVector<Value> a, next;
  for (Value row : rows) {
    Value bits = vector::LoadOp::create(b, vectorType(b.getI32Type()),
                                        left.memref, ValueRange{pair, row});
    a.push_back(vector::BitCastOp::create(b, pairs, bits));
  }
  for (size_t n = 0; n < sums.size() / rows.size(); ++n) {
    Value bits = toVector(readRightPair(dot, pair, addIndex(col, n)));
    Value x = vector::BitCastOp::create(b, pairs, bits);
    for (size_t v = 0; v < rows.size(); ++v) {
      Value sum = sums[n * rows.size() + v];
      next.push_back(
          x86vector::DotBF16Op::create(b, sum.getType(), sum, x, a[v]));
    }
  }
  return next;
}

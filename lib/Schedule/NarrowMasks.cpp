//===- NarrowMasks.cpp - tgpu-narrow-masks --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/ColumnLimit.h"
#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TGPUNARROWMASKS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// Rewrites the comparisons that a mask is the conjunction of.
class MaskNarrower {
public:
  explicit MaskNarrower(Value mask)
      : mask(mask), type(cast<RankedTensorType>(mask.getType())),
        b(mask.getLoc(), mask.getContext()) {
    b.setInsertionPointAfterValue(mask);
  }

  void run() {
    if (!collect(mask))
      return;
    SmallVector<Value> parts(others);
    if (upper)
      parts.push_back(compare(arith::CmpIPredicate::slt, upper));
    if (lower)
      parts.push_back(compare(arith::CmpIPredicate::sge, lower));
    Value narrow = parts.front();
    for (Value part : ArrayRef(parts).drop_front())
      narrow = arith::AndIOp::create(b, narrow, part);
    mask.replaceAllUsesWith(narrow);
  }

private:
  /// Whether there is a comparison to rewrite that was not met before.
  bool collect(Value value) {
    if (!seen.insert(value).second)
      return false;
    if (auto both = value.getDefiningOp<arith::AndIOp>()) {
      bool left = collect(both.getLhs()), right = collect(both.getRhs());
      return left || right;
    }
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    auto limit = compare ? findColumnLimit(compare) : std::nullopt;
    if (!limit) {
      others.push_back(value);
      return false;
    }
    Value rows = rowsOf(*limit);
    Value &side = limit->isUpper ? upper : lower;
    if (!side)
      side = rows;
    else if (limit->isUpper)
      side = arith::MinSIOp::create(b, side, rows);
    else
      side = arith::MaxSIOp::create(b, side, rows);
    return true;
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  RankedTensorType words(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI32Type());
  }

  /// The limit of each row. Between -rows and columns + rows a limit decides,
  /// beyond it is the same for all columns: 32 bits are enough.
  Value rowsOf(const ColumnLimit &limit) {
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    Value start = index(limit.constant);
    for (auto [scalar, sign] : limit.scalars)
      start = sign > 0 ? b.createOrFold<arith::AddIOp>(start, scalar)
                       : b.createOrFold<arith::SubIOp>(start, scalar);
    Value low = index(-rows), high = index(columns + rows);
    auto vector = RankedTensorType::get({rows}, b.getIndexType());
    auto spread = [&](Value scalar) -> Value {
      return BroadcastOp::create(b, vector, scalar, ValueRange{});
    };
    if (!limit.rows.empty())
      start = spread(start), low = spread(low), high = spread(high);
    for (auto [value, sign] : limit.rows) {
      if (value.getType() != vector)
        value = arith::IndexCastOp::create(b, vector, value);
      start = sign > 0 ? arith::AddIOp::create(b, start, value).getResult()
                       : arith::SubIOp::create(b, start, value).getResult();
    }
    start = arith::MaxSIOp::create(b, start, low);
    start = arith::MinSIOp::create(b, start, high);
    Value result;
    if (limit.rows.empty())
      result = BroadcastOp::create(
          b, words(rows),
          arith::IndexCastOp::create(b, b.getI32Type(), start).getResult(),
          ValueRange{});
    else
      result = arith::IndexCastOp::create(b, words(rows), start);
    if (limit.slope == 0)
      return result;
    Value row = IotaOp::create(b, words(rows), 0, ValueRange{});
    if (limit.slope > 0)
      return arith::AddIOp::create(b, result, row);
    return arith::SubIOp::create(b, result, row);
  }

  Value compare(arith::CmpIPredicate predicate, Value rows) {
    Value column = IotaOp::create(b, words(type.getShape()), 1, ValueRange{});
    Value limit = ExpandDimsOp::create(b, words({type.getDimSize(0), 1}), rows,
                                       /*dim=*/1);
    limit = BroadcastOp::create(b, words(type.getShape()), limit, ValueRange{});
    return arith::CmpIOp::create(b, predicate, column, limit);
  }

  Value mask;
  RankedTensorType type;
  ImplicitLocOpBuilder b;
  Value upper, lower; ///< of each row: the least upper limit, ...
  SmallVector<Value> others;
  llvm::DenseSet<Value> seen;
};

/// Whether `op` makes a mask that is not part of a conjunction alone.
bool isWholeMask(Operation *op) {
  if (!isa<arith::AndIOp, arith::CmpIOp>(op) || op->use_empty())
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getRank() == 2 && type.getElementType().isInteger(1) &&
         !llvm::all_of(op->getUsers(), llvm::IsaPred<arith::AndIOp>);
}

struct TgpuNarrowMasks final : fa::impl::TgpuNarrowMasksBase<TgpuNarrowMasks> {
  void runOnOperation() override {
    SmallVector<Value> masks;
    getOperation().walk([&](Operation *op) {
      if (isWholeMask(op))
        masks.push_back(op->getResult(0));
    });
    for (Value mask : masks)
      MaskNarrower(mask).run();
    // What was compared before.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }
};

} // namespace

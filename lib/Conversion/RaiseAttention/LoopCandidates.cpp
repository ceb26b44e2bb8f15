//===- LoopCandidates.cpp - what of a kernel may be attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopProof.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//
static bool hasSeveralRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.getDimSize(0) > 1 &&
         tensor.getDimSize(1) > 1;
}

bool LoopProof::isTile(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return proven.isOneRow
             ? tensor && tensor.getRank() == 1 && tensor.getDimSize(0) > 1 &&
                   isa<FloatType>(tensor.getElementType())
             : hasSeveralRows(type);
}

bool LoopProof::isRows(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return false;
  if (proven.isOneRow)
    return tensor.getNumElements() == 1;
  return tensor.getRank() == 1 ||
         (tensor.getRank() == 2 && tensor.getDimSize(1) == 1);
}

Sum LoopProof::readRow(TileReader &from, Value value) const {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (!isTile(value.getType()))
    return from.read(value, rank == 1 ? ArrayRef<int>{kRow}
                                      : ArrayRef<int>{kRow, kOne});
  return from.read(value, rank == 1 ? ArrayRef<int>{kColumn}
                                    : ArrayRef<int>{kRow, kColumn});
}

//===----------------------------------------------------------------------===//
// Stores and loops
//===----------------------------------------------------------------------===//
bool LoopProof::findStores(Refusal &refusal) {
  bool good = true;
  auto refuse = [&](Operation *op, StringRef why) {
    if (good)
      refusal = {op, why.str()};
    good = false;
  };
  bool hasExponentials = false;
  // A vector is the output where there is nothing larger.
  proven.isOneRow = true;
  kernel.walk([&](tile::StoreOp store) {
    proven.isOneRow &= !hasSeveralRows(store.getValue().getType());
  });
  kernel.walk([&](Operation *op) {
    hasExponentials |= isa<math::ExpOp, math::Exp2Op>(op);
    if (isa<scf::WhileOp>(op))
      refuse(op, "nobody knows how often this loop runs");
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    bool writes = effects && effects.hasEffect<MemoryEffects::Write>();
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store) {
      // What is said to hold changes no result.
      if (writes && !isa<tile::AssertOp>(op))
        refuse(op, "it writes to memory in another way than a tile's store");
      return;
    }
    tile::StoreOp &place =
        isTile(store.getValue().getType()) ? proven.output : proven.lse;
    if (&place == &proven.lse && !isRows(store.getValue().getType()))
      refuse(op, "it stores what is neither a tile nor a number for each row");
    else if (place)
      refuse(op, &place == &proven.lse
                     ? "it stores more than a tile and one number for each row"
                     : "it stores several tiles, where attention has one");
    else
      place = store;
  });
  if (!hasExponentials)
    refuse(kernel, "it has no exponentials");
  if (!proven.output)
    refuse(kernel, "it stores no tile");
  if (good && proven.lse && proven.lse->getBlock() != proven.output->getBlock())
    refuse(proven.lse, "it is not stored where the output is");
  return good;
}

bool LoopProof::findLoops() {
  Block *home = proven.output->getBlock();
  SmallVector<Value> work = {proven.output.getValue()};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != home || !seen.insert(op).second)
      continue;
    llvm::append_range(work, op->getOperands());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
  }
  llvm::sort(loops,
             [](scf::ForOp x, scf::ForOp y) { return x->isBeforeInBlock(y); });
  return !loops.empty();
}

SmallVector<LoopProof::State> LoopProof::listStates() {
  SmallVector<int64_t> tiles, rows;
  for (OpResult result : loops.back().getResults()) {
    if (isTile(result.getType()))
      tiles.push_back(result.getResultNumber());
    else if (isRows(result.getType()))
      rows.push_back(result.getResultNumber());
  }
  SmallVector<State> states;
  for (int64_t acc : tiles)
    for (int64_t sum : rows)
      for (bool normalized : {false, true})
        for (double base : {1.0, std::numbers::ln2}) {
          for (int64_t max : rows)
            if (max != sum) {
              states.push_back(
                  {acc, sum, max, State::SumAndMax, normalized, base});
              states.push_back(
                  {acc, sum, max, State::Logarithm, normalized, base});
            }
          if (normalized)
            states.push_back({acc, sum, -1, State::Logarithm, true, base});
          if (base == 1.0)
            states.push_back({acc, sum, -1, State::SumAlone, normalized, base});
        }
  return states;
}

//===- BlockLists.cpp - blocks that are listed ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"

#include "fa/Fusion/QueryRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

template <typename OpT>
std::optional<BlockLists>
BlockLists::match(OpT op, StringRef name, const ArgumentView &q,
                  const ArgumentView &k, ArrayRef<ArgumentView> captures) {
  auto lists = op->template getAttrOfType<DenseI64ArrayAttr>(name);
  if (!lists || q.offsets || k.offsets || q.dims[2].unitDim < 0 ||
      k.dims[2].unitDim < 0)
    return std::nullopt;
  auto viewOf = [&](int64_t number) {
    auto before = op.getCaptures().take_front(number);
    return captures[llvm::count_if(before.getTypes(),
                                   llvm::IsaPred<TensorType>)];
  };
  BlockLists found = {unsigned(lists[0]),
                      unsigned(lists[1]),
                      lists[2],
                      lists[3],
                      name == TileDialect::queryListsAttrName,
                      viewOf(lists[0]),
                      viewOf(lists[1])};
  for (const ArgumentView *view : {&found.blockView, &found.countView})
    for (unsigned d : {0, 1, 2})
      if (!view->hasOwnSize(d))
        return std::nullopt;
  return found;
}

// Intervals are walked without tables where they are all of the mask.
template <typename OpT>
std::optional<BlockLists>
BlockLists::matchKeys(OpT attention, const ArgumentView &q,
                      const ArgumentView &k, ArrayRef<ArgumentView> captures) {
  if (analyzeMask(attention.getMask()).isIntervals())
    return std::nullopt;
  return match(attention, TileDialect::blockListsAttrName, q, k, captures);
}

template std::optional<BlockLists>
BlockLists::matchKeys(OnlineAttentionOp, const ArgumentView &,
                      const ArgumentView &, ArrayRef<ArgumentView>);
template std::optional<BlockLists>
BlockLists::matchKeys(AttentionBackwardOp, const ArgumentView &,
                      const ArgumentView &, ArrayRef<ArgumentView>);

std::optional<BlockLists>
BlockLists::matchQueries(AttentionBackwardOp gradients, const ArgumentView &q,
                         const ArgumentView &k,
                         ArrayRef<ArgumentView> captures) {
  if (hasQueryIntervals(analyzeMaskOfKeys(gradients.getMask())))
    return std::nullopt;
  return match(gradients, TileDialect::queryListsAttrName, q, k, captures);
}

void BlockLists::addRules(RuleList &rules, const ArgumentView &q,
                          const ArgumentView &k) const {
  const ArgumentView &owner = ofQueries ? k : q, &walked = ofQueries ? q : k;
  for (const ArgumentView *view : {&blockView, &countView}) {
    for (unsigned d : {0, 1})
      rules.addEqual(*view, view->number, d, owner, owner.number, d);
    rules.add(SizeRuleKind::Equal, owner.number, owner.dims[2].unitDim,
              view->number, view->dims[2].parts[0], ofQueries ? keys : queries);
  }
  // Of a list one block is read in any case, ahead of its tile.
  for (auto [view, least] : {std::pair(&blockView, 1), {&countView, 2}})
    if (view->hasOwnSize(3)) {
      int64_t dim = view->dims[3].parts[0];
      rules.add(SizeRuleKind::AtLeast, view->number, dim, view->number, dim,
                least);
    }
  rules.add(SizeRuleKind::Divisible, walked.number, walked.dims[2].unitDim,
            walked.number, walked.dims[2].unitDim, ofQueries ? queries : keys);
}

BlockWalk::BlockWalk(ImplicitLocOpBuilder &b, int64_t rowsOfBlock, Value blocks,
                     Value counts, ArrayRef<Value> at, Value numBlocks)
    : b(b), rowsOfBlock(rowsOfBlock), blocks(blocks), at(at) {
  most = memref::DimOp::create(b, blocks, 3);
  // Each is listed once, so that none is walked where there are none.
  mostSeen = arith::MinSIOp::create(b, most, numBlocks);
  lastBlock = arith::SubIOp::create(b, numBlocks, index(1));
  whole = countRows(counts, 0);
  all = arith::MaxSIOp::create(b, whole, countRows(counts, 1));
}

Value BlockWalk::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value BlockWalk::clamped(Value number, Value most) {
  number = arith::IndexCastOp::create(b, b.getIndexType(), number);
  number = arith::MinSIOp::create(b, number, most);
  return arith::MaxSIOp::create(b, number, index(0));
}

Value BlockWalk::countRows(Value counts, int64_t number) {
  SmallVector<Value> place = at;
  place.push_back(index(number));
  Value count = clamped(memref::LoadOp::create(b, counts, place), mostSeen);
  return arith::MulIOp::create(b, count, index(rowsOfBlock));
}

Value BlockWalk::blockAt(Value place) {
  Value number = arith::DivUIOp::create(b, place, index(rowsOfBlock));
  SmallVector<Value> read = at;
  // Copies begin before their turn, and so behind the last one.
  read.push_back(arith::MinSIOp::create(
      b, number, arith::SubIOp::create(b, most, index(1))));
  return clamped(memref::LoadOp::create(b, blocks, read), lastBlock);
}

Value BlockWalk::rowAt(Value block, Value place, int64_t rows) {
  Value row = arith::MulIOp::create(b, block, index(rowsOfBlock));
  if (rows == rowsOfBlock)
    return row;
  Value inside = arith::RemUIOp::create(b, place, index(rowsOfBlock));
  return arith::AddIOp::create(b, row, inside);
}

//===- BlockLists.cpp - blocks of keys that are listed --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

std::optional<BlockLists> BlockLists::match(OnlineAttentionOp attention,
                                            const ArgumentView &q,
                                            const ArgumentView &k,
                                            ArrayRef<ArgumentView> captures) {
  auto lists = attention->getAttrOfType<DenseI64ArrayAttr>(
      TileDialect::blockListsAttrName);
  if (!lists || q.offsets || k.offsets || q.dims[2].unitDim < 0 ||
      k.dims[2].unitDim < 0)
    return std::nullopt;
  // Intervals of keys are walked without tables where they are all of the mask.
  if (analyzeMask(attention.getMask()).isIntervals())
    return std::nullopt;
  auto viewOf = [&](int64_t number) {
    auto before = attention.getCaptures().take_front(number);
    return captures[llvm::count_if(before.getTypes(),
                                   llvm::IsaPred<TensorType>)];
  };
  BlockLists found = {unsigned(lists[0]), unsigned(lists[1]), lists[2],
                      lists[3],           viewOf(lists[0]),   viewOf(lists[1])};
  for (const ArgumentView *view : {&found.blockView, &found.countView})
    for (unsigned d : {0, 1, 2})
      if (!view->hasOwnSize(d))
        return std::nullopt;
  return found;
}

void BlockLists::addRules(RuleList &rules, const ArgumentView &q,
                          const ArgumentView &k) const {
  for (const ArgumentView *view : {&blockView, &countView}) {
    for (unsigned d : {0, 1})
      rules.addEqual(*view, view->number, d, q, q.number, d);
    rules.add(SizeRuleKind::Equal, q.number, q.dims[2].unitDim, view->number,
              view->dims[2].parts[0], queries);
  }
  // Of a list one block is read in any case, ahead of its tile.
  for (auto [view, least] : {std::pair(&blockView, 1), {&countView, 2}})
    if (view->hasOwnSize(3)) {
      int64_t dim = view->dims[3].parts[0];
      rules.add(SizeRuleKind::AtLeast, view->number, dim, view->number, dim,
                least);
    }
  rules.add(SizeRuleKind::Divisible, k.number, k.dims[2].unitDim, k.number,
            k.dims[2].unitDim, keys);
}

BlockWalk::BlockWalk(ImplicitLocOpBuilder &b, const BlockLists &lists,
                     Value blocks, Value counts, Value batch, Value head,
                     Value row, Value numKeys)
    : b(b), keysOfBlock(lists.keys), blocks(blocks), at{batch, head, row} {
  most = memref::DimOp::create(b, blocks, 3);
  Value numBlocks = arith::DivUIOp::create(b, numKeys, index(lists.keys));
  lastBlock = arith::SubIOp::create(b, numBlocks, index(1));
  whole = countKeys(counts, 0);
  all = arith::MaxSIOp::create(b, whole, countKeys(counts, 1));
}

Value BlockWalk::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value BlockWalk::clamped(Value number, Value most) {
  number = arith::IndexCastOp::create(b, b.getIndexType(), number);
  number = arith::MinSIOp::create(b, number, most);
  return arith::MaxSIOp::create(b, number, index(0));
}

Value BlockWalk::countKeys(Value counts, int64_t number) {
  SmallVector<Value> place = at;
  place.push_back(index(number));
  Value count = clamped(memref::LoadOp::create(b, counts, place), most);
  return arith::MulIOp::create(b, count, index(keysOfBlock));
}

Value BlockWalk::keyAt(Value place, int64_t columns) {
  Value number = arith::DivUIOp::create(b, place, index(keysOfBlock));
  SmallVector<Value> read = at;
  // Copies begin before their turn, and so behind the last one.
  read.push_back(arith::MinSIOp::create(
      b, number, arith::SubIOp::create(b, most, index(1))));
  Value block = clamped(memref::LoadOp::create(b, blocks, read), lastBlock);
  Value key = arith::MulIOp::create(b, block, index(keysOfBlock));
  if (columns == keysOfBlock)
    return key;
  Value inside = arith::RemUIOp::create(b, place, index(keysOfBlock));
  return arith::AddIOp::create(b, key, inside);
}

//===- BuildProducer.cpp - who fetches tiles ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildProducer.h"

#include "PartitionScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace {

class ProducerBuilder {
public:
  ProducerBuilder(ImplicitLocOpBuilder &b, WarpSpecializeOp partitions)
      : b(b), partitions(partitions),
        kernel(partitions->getParentOfType<KernelOp>()),
        consumers(partitions.getConsumers()) {}

  void build(FetchedTiles &tiles) {
    Block &region = partitions.getProducer().front();
    b.setInsertionPointToStart(&region);
    for (FetchedTile &tile : tiles.own)
      fetchForEach(tile, region.getArgument(0), {});
    IRMapping none;
    for (FetchedTile &tile : tiles.whole)
      fetch(tile, region.getArgument(0), none);
    Value step = region.getArgument(1);
    for (FetchingLoop &loop : tiles.loops) {
      b.setLoc(loop.loop.getLoc());
      auto walk = scf::ForOp::create(b, loop.begin, loop.end,
                                     loop.loop.getStep(), step);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(walk.getBody());
      IRMapping mapping;
      mapping.map(loop.loop.getInductionVar(), walk.getInductionVar());
      for (FetchedTile &fetched : loop.fetched)
        fetch(fetched, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &left : loop.lefts)
        fetchForEach(left, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &vector : loop.vectors)
        fetch(vector, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &tile : loop.scores)
        fetchForEach(tile, walk.getRegionIterArg(0), mapping);
      Value next = arith::AddIOp::create(b, walk.getRegionIterArg(0), index(1));
      scf::YieldOp::create(b, next);
      step = walk.getResult(0);
    }
    PassedOp::create(b, step);
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  void fetch(FetchedTile &fetched, Value step, IRMapping &mapping) {
    b.setLoc(fetched.load.getLoc());
    AcquireOp::create(b, fetched.channel, step);
    auto build = [&](OpFoldResult at) {
      auto value = dyn_cast<Value>(at);
      return value ? cloneScalar(b, value, mapping, partitions->getBlock())
                   : index(*getConstantIntValue(at));
    };
    const TensorBox &box = fetched.box;
    Value end;
    SmallVector<Value> start = buildStart(b, box, build, end);
    Value table, sequence;
    if (PagedViewOp pages = box.pages) {
      table = pages.getTable();
      sequence = build(pages.getSequence());
    }
    FetchOp::create(b, box.argument, start, box.dims, end, table, sequence,
                    box.joined, box.anyEnd && table, fetched.channel, step);
  }

  /// Into the slot of each consumer, when `passed` tiles of each have passed.
  void fetchForEach(FetchedTile &tile, Value passed, const IRMapping &loops) {
    for (int64_t consumer = 0; consumer < consumers; ++consumer) {
      IRMapping own = loops;
      Value id = index(consumer);
      own.map(consumerIdOf(kernel), id);
      fetch(tile, ownStep(b, passed, id, consumers), own);
    }
  }

  ImplicitLocOpBuilder &b;
  WarpSpecializeOp partitions;
  KernelOp kernel;
  int64_t consumers;
};

} // namespace

void fa::buildProducer(ImplicitLocOpBuilder &b, WarpSpecializeOp partitions,
                       FetchedTiles &tiles) {
  ProducerBuilder(b, partitions).build(tiles);
}

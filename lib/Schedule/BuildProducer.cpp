//===- BuildProducer.cpp - who fetches and widens tiles -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildProducer.h"

#include "PartitionScalars.h"

#include "Tile/GroupedRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace {

/// Builds a region of all of a kernel's loops that does something with each
/// tile on its way to the consumers, and nothing else.
class TileMover {
public:
  TileMover(ImplicitLocOpBuilder &b, WarpSpecializeOp partitions)
      : b(b), partitions(partitions),
        kernel(partitions->getParentOfType<KernelOp>()),
        consumers(partitions.getConsumers()) {}
  virtual ~TileMover() = default;

  void build(Region &partition, FetchedTiles &tiles) {
    Block &region = partition.front();
    b.setInsertionPointToStart(&region);
    for (FetchedTile &tile : tiles.own)
      moveForEach(tile, region.getArgument(0), {});
    IRMapping none;
    for (FetchedTile &tile : tiles.whole)
      move(tile, region.getArgument(0), none);
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
        move(fetched, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &left : loop.lefts)
        moveForEach(left, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &vector : loop.vectors)
        move(vector, walk.getRegionIterArg(0), mapping);
      for (FetchedTile &tile : loop.scores)
        moveForEach(tile, walk.getRegionIterArg(0), mapping);
      Value next = arith::AddIOp::create(b, walk.getRegionIterArg(0), index(1));
      scf::YieldOp::create(b, next);
      step = walk.getResult(0);
    }
    PassedOp::create(b, step);
  }

protected:
  /// What is done with `tile` in `step`; `mapping` has what loops and consumers
  /// number.
  virtual void move(FetchedTile &tile, Value step, IRMapping &mapping) = 0;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  ImplicitLocOpBuilder &b;
  WarpSpecializeOp partitions;

private:
  /// The slot of each consumer, when `passed` tiles of each have passed.
  void moveForEach(FetchedTile &tile, Value passed, const IRMapping &loops) {
    for (int64_t consumer = 0; consumer < consumers; ++consumer) {
      IRMapping own = loops;
      Value id = index(consumer);
      own.map(consumerIdOf(kernel), id);
      move(tile, ownStep(b, passed, id, consumers), own);
    }
  }

  KernelOp kernel;
  int64_t consumers;
};

class Fetcher final : public TileMover {
  using TileMover::TileMover;

  void move(FetchedTile &fetched, Value step, IRMapping &mapping) override {
    b.setLoc(fetched.load.getLoc());
    AcquireOp::create(b, fetched.fetchedTo(), step);
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
    IntegerAttr heads;
    Value group;
    if (GroupedViewOp view = box.groups) {
      heads = b.getI64IntegerAttr(box.headDim);
      group = build(box.group);
      auto place = GroupedRows(b, group, view.getBlock())
                       .findFirst(b, box.block.build(b, build));
      Value &head = start[box.headDim];
      head = arith::AddIOp::create(b, head, place.head);
      start[box.dims[0]] = place.query;
    }
    FetchOp::create(b, box.argument, start, box.dims, end, table, sequence,
                    heads, group, box.anyEnd && table, fetched.fetchedTo(),
                    step);
  }
};

class Widener final : public TileMover {
  using TileMover::TileMover;

  void move(FetchedTile &tile, Value step, IRMapping &) override {
    if (!tile.narrow)
      return;
    b.setLoc(arith::ExtFOp(tile.widening).getLoc());
    AwaitOp::create(b, tile.narrow, step);
    AcquireOp::create(b, tile.channel, step);
    WidenOp::create(b, tile.narrow, step, tile.channel, step);
    ReleaseOp::create(b, tile.narrow, step);
  }
};

} // namespace

void fa::buildProducer(ImplicitLocOpBuilder &b, WarpSpecializeOp partitions,
                       FetchedTiles &tiles) {
  Fetcher(b, partitions).build(partitions.getProducer(), tiles);
}

void fa::buildConverter(ImplicitLocOpBuilder &b, WarpSpecializeOp partitions,
                        FetchedTiles &tiles) {
  if (!tiles.areWidened())
    return;
  Type index = b.getIndexType();
  partitions.getConvert().emplaceBlock().addArguments({index, index},
                                                      {b.getLoc(), b.getLoc()});
  Widener(b, partitions).build(partitions.getConvert(), tiles);
}

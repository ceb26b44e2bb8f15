//===- LowerFetch.cpp - boxes of tensors into slots, tensor maps ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "Tile/GroupedRows.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// Of the boxes of a tile that ends inside of its argument.
static constexpr int64_t kGroupRows = kSwizzleRows;

/// Blocks of columns of a slot that boxes fill one by one, as wide as a
/// swizzle; a vector comes whole.
static int64_t countBlocks(BufferType buffer) {
  return buffer.getShape()[0] == 1 ? 1 : buffer.getLayout().getLayout().repeat;
}

/// Of boxes that a block of columns of a slot of `buffer` holds.
static TensorMapInfo mapOf(Value argument, int64_t rowDim, BufferType buffer) {
  return {cast<BlockArgument>(argument).getArgNumber(), rowDim,
          buffer.getShape()[0], buffer.getShape()[1] / countBlocks(buffer)};
}

TensorMapInfo fa::tensorMapOf(FetchOp fetch) {
  TensorMapInfo map = mapOf(fetch.getSource(), fetch.getDims()[0],
                            fetch.getChannel().getType().getBuffer());
  if (auto heads = fetch.getHeads())
    map.headDim = static_cast<int64_t>(*heads);
  map.paged = bool(fetch.getTable());
  return map;
}

TensorMapInfo fa::tensorMapOf(DeliverOp deliver) {
  return mapOf(deliver.getDest(), deliver.getDims()[0],
               deliver.getBuffer().getType());
}

TensorMapInfo fa::tensorMapOf(SendOp send) {
  return mapOf(send.getDest(), send.getDims()[0],
               send.getChannel().getType().getBuffer());
}

/// The map of a part of the rows.
static TensorMapInfo mapOfRows(TensorMapInfo map, int64_t rows) {
  map.rows = rows;
  return map;
}

TensorMapInfo fa::tensorMapOf(DeliverOp deliver, int64_t rows) {
  return mapOfRows(tensorMapOf(deliver), rows);
}

/// Of a tile that the blocks of a cluster fetch together: the rows of each; 0:
/// they do not.
static int64_t rowsOfPart(FetchOp fetch) {
  auto channel = fetch.getChannel().getDefiningOp<ChannelOp>();
  if (!channel.getShared())
    return 0;
  auto blocks =
      fetch->getParentOfType<tile::KernelOp>()->getAttrOfType<IntegerAttr>(
          TileGPUDialect::clusterAttrName);
  return tensorMapOf(fetch).rows / blocks.getInt();
}

std::vector<TensorMapInfo> fa::collectTensorMaps(tile::KernelOp kernel) {
  std::vector<TensorMapInfo> maps;
  auto add = [&](const TensorMapInfo &map) {
    if (!llvm::is_contained(maps, map))
      maps.push_back(map);
  };
  kernel.walk([&](FetchOp fetch) {
    if (int64_t rows = rowsOfPart(fetch))
      return add(mapOfRows(tensorMapOf(fetch), rows));
    add(tensorMapOf(fetch));
    if (fetch.getGroup())
      add(mapOfRows(tensorMapOf(fetch), 1));
    if (!fetch.getEnd() || fetch.getAnyEnd())
      return;
    add(mapOfRows(tensorMapOf(fetch), kGroupRows));
    add(mapOfRows(tensorMapOf(fetch), 1));
  });
  kernel.walk([&](DeliverOp deliver) {
    add(tensorMapOf(deliver));
    if (deliver.getEnd())
      for (int64_t rows : {kGroupRows, int64_t(1)})
        add(tensorMapOf(deliver, rows));
  });
  kernel.walk([&](SendOp send) { add(tensorMapOf(send)); });
  return maps;
}

Value fa::parameterOf(NvidiaContext &ctx, const TensorMapInfo &map) {
  auto maps = collectTensorMaps(ctx.kernel);
  return ctx.function.getArgument(1 + (llvm::find(maps, map) - maps.begin()));
}

SmallVector<Value> fa::boxStart(NvidiaContext &ctx, ValueRange indices,
                                int64_t unitDim, int64_t column) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> start;
  for (auto [dim, at] : llvm::enumerate(indices)) {
    Value coordinate =
        arith::IndexCastOp::create(b, b.getI32Type(), ctx.mapped(at));
    if (int64_t(dim) == unitDim)
      coordinate = arith::AddIOp::create(b, coordinate, ctx.i32(column));
    start.insert(start.begin(), coordinate);
  }
  return start;
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

/// Boxes of `rows` rows, one for each block of columns, from row `first` of the
/// argument, or of a page of it, to row `to` of the slot; all are i32.
static void fetchRows(NvidiaContext &ctx, FetchOp op, int64_t rows, Value first,
                      Value to, Value page = {}) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType buffer = op.getChannel().getType().getBuffer();
  int64_t blocks = countBlocks(buffer);
  int64_t columns = buffer.getShape()[1] / blocks;
  int64_t blockBytes = buffer.getSlotBytes() / blocks;
  Value full = fullBarrier(ctx, op.getChannel(), op.getStep());
  Value slot = channelSlot(ctx, op.getChannel(), op.getStep());
  Type cluster = LLVM::LLVMPointerType::get(b.getContext(), /*cluster=*/7);
  Value descriptor = parameterOf(ctx, mapOfRows(tensorMapOf(op), rows)), ranks;
  if (op.getChannel().getDefiningOp<ChannelOp>().getShared())
    ranks = arith::ConstantOp::create(
        b, b.getI16IntegerAttr(int16_t((1 << clusterBlocks(ctx)) - 1)));
  if (to)
    slot = arith::AddIOp::create(
        b, slot,
        arith::MulIOp::create(b, to,
                              ctx.i32(blockBytes / buffer.getShape()[0])));
  for (int64_t block = 0; block < blocks; ++block) {
    SmallVector<Value> start =
        boxStart(ctx, op.getIndices(), op.getDims()[1], block * columns);
    if (first)
      start[start.size() - 1 - op.getDims()[0]] = first;
    sortDims(tensorMapOf(op), start);
    if (page)
      start.back() = page;
    Value bytes = offsetBy(ctx, slot, block * blockBytes);
    Value at = LLVM::AddrSpaceCastOp::create(
        b, cluster, LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), bytes));
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, at, descriptor, start, full, ValueRange(), ranks, Value(),
        NVVM::TMALoadMode::TILE, false, NVVM::CTAGroupKindAttr(), Value());
  }
}

static Value isLess(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}

/// `body` of 0, `step`, .. below `end`, all i32: of each by another lane, or by
/// the thread that is alone. There are no more than lanes.
static void forEachLane(NvidiaContext &ctx, Value step, int64_t end,
                        llvm::function_ref<void(Value)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto yield = [&](Value at) {
    body(at);
    scf::YieldOp::create(b);
  };
  if (!ctx.runsInWholeWarps()) {
    scf::ForOp::create(
        b, ctx.i32(0), ctx.i32(end), step, ValueRange(),
        [&](OpBuilder &, Location, Value at, ValueRange) { yield(at); });
    return;
  }
  Value lane =
      arith::AndIOp::create(b, ctx.threadInBlock, ctx.i32(kWarpThreads - 1));
  Value at = arith::MulIOp::create(b, lane, step);
  scf::IfOp::create(b, isLess(b, at, ctx.i32(end)),
                    [&](OpBuilder &, Location) { yield(at); });
}

/// `body` of `first` to `end`, i32, fewer than lanes: of each by another lane,
/// or by the thread that is alone.
static void forEachRest(NvidiaContext &ctx, Value first, int64_t end,
                        llvm::function_ref<void(Value)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value last = ctx.i32(end);
  if (!ctx.runsInWholeWarps()) {
    scf::ForOp::create(b, first, last, ctx.i32(1), ValueRange(),
                       [&](OpBuilder &, Location, Value at, ValueRange) {
                         body(at);
                         scf::YieldOp::create(b);
                       });
    return;
  }
  Value lane =
      arith::AndIOp::create(b, ctx.threadInBlock, ctx.i32(kWarpThreads - 1));
  Value at = arith::AddIOp::create(b, first, lane);
  scf::IfOp::create(b, isLess(b, at, last), [&](OpBuilder &, Location) {
    body(at);
    scf::YieldOp::create(b);
  });
}

/// A tile of which `valid` rows are there, fewer than it has: groups of rows,
/// and those of a group that is cut one by one. `fetch` gets rows that are not
/// there, too.
static void
fetchGroups(NvidiaContext &ctx, FetchOp op, Value valid,
            llvm::function_ref<void(Value row, int64_t count)> fetch) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  Value cut = arith::AndIOp::create(b, valid, ctx.i32(-kGroupRows));
  Value isCut = arith::AndIOp::create(b, isLess(b, ctx.i32(0), valid),
                                      isLess(b, cut, valid));
  forEachLane(ctx, ctx.i32(kGroupRows), rows, [&](Value group) {
    Value isThis =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, cut);
    Value isWhole = arith::XOrIOp::create(
        b, arith::AndIOp::create(b, isCut, isThis),
        arith::ConstantOp::create(b, b.getBoolAttr(true)));
    scf::IfOp::create(b, isWhole, [&](OpBuilder &, Location) {
      fetch(group, kGroupRows);
      scf::YieldOp::create(b);
    });
  });
  scf::IfOp::create(b, isCut, [&](OpBuilder &, Location) {
    forEachLane(ctx, ctx.i32(1), kGroupRows, [&](Value row) {
      fetch(arith::AddIOp::create(b, cut, row), 1);
    });
    scf::YieldOp::create(b);
  });
}

/// A tile of which `valid` rows are there, fewer than it has, from row `first`
/// of the argument on. Rows before those of a tensor read as 0, too: there
/// begin the boxes of what is not.
static void fetchPart(NvidiaContext &ctx, FetchOp op, Value first,
                      Value valid) {
  ImplicitLocOpBuilder &b = ctx.b;
  fetchGroups(ctx, op, valid, [&](Value row, int64_t count) {
    Value from = arith::SelectOp::create(b, isLess(b, row, valid),
                                         arith::AddIOp::create(b, first, row),
                                         ctx.i32(-count));
    fetchRows(ctx, op, count, from, row);
  });
}

/// What is outside of the tensor arrives as well.
static void expectTile(NvidiaContext &ctx, FetchOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::MBarrierArriveExpectTxOp::create(
      b, Type(), fullBarrier(ctx, op.getChannel(), op.getStep()),
      ctx.i32(op.getChannel().getType().getBuffer().getSlotBytes()),
      NVVM::MemScopeKindAttr::get(b.getContext(), NVVM::MemScopeKind::CTA),
      b.getBoolAttr(false), Value());
}

/// A tile of rows in pages: a box by each lane, as large as lies in a page. Of
/// a tile that ends before its slot does, a group of rows.
static void fetchPages(NvidiaContext &ctx, FetchOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  GlobalView::Pages pages = openTable(ctx, openView(ctx, op.getSource()),
                                      op.getTable(), op.getSequence());
  Value first = ctx.i32Of(ctx.mapped(op.getIndices()[op.getDims()[0]])), valid;
  if (op.getEnd())
    valid = arith::SubIOp::create(b, ctx.i32Of(ctx.mapped(op.getEnd())), first);
  byOneLane(ctx, [&] { expectTile(ctx, op); });
  // `isThere`: null if all rows are.
  auto fetch = [&](Value row, int64_t box, int64_t count, Value isThere) {
    auto [page, from] =
        findPage(ctx, pages, arith::AddIOp::create(b, first, row), isThere);
    if (isThere)
      from = arith::SelectOp::create(b, isThere, from, ctx.i32(-count));
    fetchRows(ctx, op, box, from, row, page);
  };
  auto fetchBoxes = [&](bool mayEnd) {
    Value negative = arith::SubIOp::create(b, ctx.i32(0), pages.rows);
    Value power = arith::AndIOp::create(b, pages.rows, negative);
    power = arith::MinUIOp::create(b, power, ctx.i32(rows & -rows));
    forEachLane(ctx, power, rows, [&](Value row) {
      fetch(row, rows, rows, mayEnd ? isLess(b, row, valid) : Value());
    });
  };
  if (!valid || op.getAnyEnd())
    return fetchBoxes(/*mayEnd=*/bool(valid));
  scf::IfOp::create(
      b, isLess(b, valid, ctx.i32(rows)),
      [&](OpBuilder &, Location) {
        fetchGroups(ctx, op, valid, [&](Value row, int64_t count) {
          fetch(row, count, count, isLess(b, row, valid));
        });
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        fetchBoxes(/*mayEnd=*/false);
        scf::YieldOp::create(b);
      });
}

/// By the thread that is alone, or a lane of a warp.
static void byFetcher(NvidiaContext &ctx, llvm::function_ref<void()> lower) {
  if (ctx.fetcher == Fetcher::OfWarp)
    return byOneLane(ctx, lower);
  lower();
}

/// A block of rows of several heads: a box of whole queries, and the rows that
/// are left one by one, from before the first query: fewer than lanes.
static void fetchGroup(NvidiaContext &ctx, FetchOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  tile::GroupedRows block(b, ctx.mapped(op.getGroup()), rows);
  Value filled =
      ctx.i32Of(arith::MulIOp::create(b, block.heads, block.queries));
  byFetcher(ctx, [&] {
    expectTile(ctx, op);
    fetchRows(ctx, op, rows, Value(), Value());
  });
  forEachRest(ctx, filled, rows,
              [&](Value row) { fetchRows(ctx, op, 1, ctx.i32(-1), row); });
}

/// This block's part of a tile, for all blocks of the cluster: at the same
/// places of their slots, completing bytes at the same barriers.
static void fetchShared(NvidiaContext &ctx, FetchOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = rowsOfPart(op);
  Value to = arith::MulIOp::create(b, rankInCluster(ctx), ctx.i32(rows));
  Value first = ctx.i32Of(ctx.mapped(op.getIndices()[op.getDims()[0]]));
  fetchRows(ctx, op, rows, arith::AddIOp::create(b, first, to), to);
}

static void fetchTile(NvidiaContext &ctx, FetchOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  auto fetchWhole = [&] { fetchRows(ctx, op, rows, Value(), Value()); };
  if (!op.getEnd() || rowsOfPart(op))
    return byFetcher(ctx, [&] {
      expectTile(ctx, op);
      rowsOfPart(op) ? fetchShared(ctx, op) : fetchWhole();
    });
  byFetcher(ctx, [&] { expectTile(ctx, op); });
  Value first = ctx.i32Of(ctx.mapped(op.getIndices()[op.getDims()[0]]));
  Value valid =
      arith::SubIOp::create(b, ctx.i32Of(ctx.mapped(op.getEnd())), first);
  scf::IfOp::create(
      b, isLess(b, valid, ctx.i32(rows)),
      [&](OpBuilder &, Location) {
        fetchPart(ctx, op, first, valid);
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        byFetcher(ctx, fetchWhole);
        scf::YieldOp::create(b);
      });
}

static void lowerFetch(NvidiaContext &ctx, FetchOp op) {
  if (!ctx.produced.contains(op.getChannel()))
    return;
  if (op.getTable())
    return fetchPages(ctx, op);
  if (op.getGroup())
    return fetchGroup(ctx, op);
  fetchTile(ctx, op);
}

void fa::addFetchLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerFetch);
}

//===- LowerFetch.cpp - boxes of tensors into slots, tensor maps ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

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

/// Of boxes that a block of columns of a slot of `buffer` holds.
static TensorMapInfo mapOf(Value argument, int64_t rowDim, BufferType buffer) {
  return {cast<BlockArgument>(argument).getArgNumber(), rowDim,
          buffer.getShape()[0],
          buffer.getShape()[1] / buffer.getLayout().getLayout().repeat};
}

TensorMapInfo fa::tensorMapOf(FetchOp fetch) {
  TensorMapInfo map = mapOf(fetch.getSource(), fetch.getDims()[0],
                            fetch.getChannel().getType().getBuffer());
  map.joined = fetch.getJoined();
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

TensorMapInfo fa::rowMapOf(DeliverOp deliver) {
  return mapOfRows(tensorMapOf(deliver), 1);
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
    if (!fetch.getEnd())
      return;
    add(mapOfRows(tensorMapOf(fetch), kGroupRows));
    add(mapOfRows(tensorMapOf(fetch), 1));
  });
  kernel.walk([&](DeliverOp deliver) {
    add(tensorMapOf(deliver));
    if (deliver.getEnd())
      add(rowMapOf(deliver));
  });
  kernel.walk([&](SendOp send) { add(tensorMapOf(send)); });
  return maps;
}

Value NvidiaLowering::parameterOf(const TensorMapInfo &map) {
  auto maps = collectTensorMaps(kernel);
  return function.getArgument(1 + (llvm::find(maps, map) - maps.begin()));
}

SmallVector<Value> NvidiaLowering::boxStart(ValueRange indices, int64_t unitDim,
                                            int64_t column) {
  SmallVector<Value> start;
  for (auto [dim, at] : llvm::enumerate(indices)) {
    Value coordinate =
        arith::IndexCastOp::create(b, b.getI32Type(), mapped(at));
    if (int64_t(dim) == unitDim)
      coordinate = arith::AddIOp::create(b, coordinate, i32(column));
    start.insert(start.begin(), coordinate);
  }
  return start;
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

/// Boxes of `rows` rows, one for each block of columns, from row `first` of the
/// argument, or of a page of it, to row `to` of the slot; all are i32.
void NvidiaLowering::fetchRows(FetchOp op, int64_t rows, Value first, Value to,
                               Value page) {
  BufferType buffer = op.getChannel().getType().getBuffer();
  int64_t blocks = buffer.getLayout().getLayout().repeat;
  int64_t columns = buffer.getShape()[1] / blocks;
  int64_t blockBytes = buffer.getSlotBytes() / blocks;
  Value full = fullBarrier(op.getChannel(), op.getStep());
  Value slot = channelSlot(op.getChannel(), op.getStep());
  Type cluster = LLVM::LLVMPointerType::get(b.getContext(), /*cluster=*/7);
  Value descriptor = parameterOf(mapOfRows(tensorMapOf(op), rows)), ranks;
  if (op.getChannel().getDefiningOp<ChannelOp>().getShared())
    ranks = arith::ConstantOp::create(
        b, b.getI16IntegerAttr(int16_t((1 << clusterBlocks()) - 1)));
  if (to)
    slot = arith::AddIOp::create(
        b, slot,
        arith::MulIOp::create(b, to, i32(blockBytes / buffer.getShape()[0])));
  for (int64_t block = 0; block < blocks; ++block) {
    SmallVector<Value> start =
        boxStart(op.getIndices(), op.getDims()[1], block * columns);
    if (first)
      start[start.size() - 1 - op.getDims()[0]] = first;
    if (page)
      start.back() = page;
    Value bytes = offsetBy(slot, block * blockBytes);
    Value at = LLVM::AddrSpaceCastOp::create(
        b, cluster, LLVM::IntToPtrOp::create(b, sharedPointer(), bytes));
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, at, descriptor, start, full, ValueRange(), ranks, Value(),
        NVVM::TMALoadMode::TILE, false, NVVM::CTAGroupKindAttr(), Value());
  }
}

static Value isLess(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}

/// A group of a tile's rows of which `valid` are there: as one, or row by row
/// if it is cut. `fetch` gets rows that are not there, too.
void NvidiaLowering::fetchGroup(
    FetchOp op, Value group, Value valid,
    llvm::function_ref<void(Value row, int64_t count)> fetch) {
  Value end = arith::AddIOp::create(b, group, i32(kGroupRows));
  Value isCut =
      arith::AndIOp::create(b, isLess(b, group, valid), isLess(b, valid, end));
  scf::IfOp::create(
      b, isCut,
      [&](OpBuilder &, Location) {
        scf::ForOp::create(b, group, end, i32(1), ValueRange(),
                           [&](OpBuilder &, Location, Value row, ValueRange) {
                             fetch(row, 1);
                             scf::YieldOp::create(b);
                           });
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        fetch(group, kGroupRows);
        scf::YieldOp::create(b);
      });
}

/// A tile of which `valid` rows are there, fewer than it has, from row `first`
/// of the argument on. Rows before those of a tensor read as 0, too: there
/// begin the boxes of what is not.
void NvidiaLowering::fetchPart(FetchOp op, Value first, Value valid) {
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  auto fetch = [&](Value row, int64_t count) {
    Value from = arith::SelectOp::create(b, isLess(b, row, valid),
                                         arith::AddIOp::create(b, first, row),
                                         i32(-count));
    fetchRows(op, count, from, row);
  };
  scf::ForOp::create(b, i32(0), i32(rows), i32(kGroupRows), ValueRange(),
                     [&](OpBuilder &, Location, Value group, ValueRange) {
                       fetchGroup(op, group, valid, fetch);
                       scf::YieldOp::create(b);
                     });
}

/// A tile of rows in pages: a box by each lane, as large as lies in a page. Of
/// a tile that ends before its slot does, a group of rows.
void NvidiaLowering::fetchPages(FetchOp op) {
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  GlobalView::Pages pages =
      openTable(openView(op.getSource()), op.getTable(), op.getSequence());
  Value lane = arith::AndIOp::create(b, threadInBlock, i32(31));
  Value first = i32Of(mapped(op.getIndices()[op.getDims()[0]]));
  byOneLane([&] { expectTile(op); });
  auto byLanes = [&](Value step, llvm::function_ref<void(Value)> fetch) {
    Value row = arith::MulIOp::create(b, lane, step);
    scf::IfOp::create(b, isLess(b, row, i32(rows)), [&](OpBuilder &, Location) {
      fetch(row);
      scf::YieldOp::create(b);
    });
  };
  auto fetchWhole = [&] {
    Value negative = arith::SubIOp::create(b, i32(0), pages.rows);
    Value power = arith::AndIOp::create(b, pages.rows, negative);
    power = arith::MinUIOp::create(b, power, i32(rows & -rows));
    byLanes(power, [&](Value row) {
      auto [page, within] =
          findPage(pages, arith::AddIOp::create(b, first, row), Value());
      fetchRows(op, rows, within, row, page);
    });
  };
  if (!op.getEnd())
    return fetchWhole();
  Value valid = arith::SubIOp::create(b, i32Of(mapped(op.getEnd())), first);
  auto fetchSome = [&](Value row, int64_t count) {
    Value isThere = isLess(b, row, valid);
    auto [page, within] =
        findPage(pages, arith::AddIOp::create(b, first, row), isThere);
    Value from = arith::SelectOp::create(b, isThere, within, i32(-count));
    fetchRows(op, count, from, row, page);
  };
  scf::IfOp::create(
      b, isLess(b, valid, i32(rows)),
      [&](OpBuilder &, Location) {
        byLanes(i32(kGroupRows),
                [&](Value group) { fetchGroup(op, group, valid, fetchSome); });
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        fetchWhole();
        scf::YieldOp::create(b);
      });
}

/// This block's part of a tile, for all blocks of the cluster: at the same
/// places of their slots, completing bytes at the same barriers.
void NvidiaLowering::fetchShared(FetchOp op) {
  int64_t rows = rowsOfPart(op);
  Value to = arith::MulIOp::create(b, rankInCluster(), i32(rows));
  Value first = i32Of(mapped(op.getIndices()[op.getDims()[0]]));
  fetchRows(op, rows, arith::AddIOp::create(b, first, to), to);
}

void NvidiaLowering::lowerFetch(FetchOp op) {
  if (!produced.contains(op.getChannel()))
    return;
  if (op.getTable())
    return fetchPages(op);
  if (fetcher == Fetcher::OfWarp)
    return byOneLane([&] { fetchTile(op); });
  fetchTile(op);
}

/// What is outside of the tensor arrives as well.
void NvidiaLowering::expectTile(FetchOp op) {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, Type(), fullBarrier(op.getChannel(), op.getStep()),
      i32(op.getChannel().getType().getBuffer().getSlotBytes()),
      NVVM::MemScopeKindAttr::get(b.getContext(), NVVM::MemScopeKind::CTA),
      b.getBoolAttr(false), Value());
}

void NvidiaLowering::fetchTile(FetchOp op) {
  expectTile(op);
  int64_t rows = op.getChannel().getType().getBuffer().getShape()[0];
  if (rowsOfPart(op))
    return fetchShared(op);
  if (!op.getEnd())
    return fetchRows(op, rows, Value(), Value());
  Value first = i32Of(mapped(op.getIndices()[op.getDims()[0]]));
  Value valid = arith::SubIOp::create(b, i32Of(mapped(op.getEnd())), first);
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, valid, i32(rows));
  scf::IfOp::create(
      b, isWhole,
      [&](OpBuilder &, Location) {
        fetchRows(op, rows, Value(), Value());
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        fetchPart(op, first, valid);
        scf::YieldOp::create(b);
      });
}

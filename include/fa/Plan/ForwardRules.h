//===- ForwardRules.h - sizes of a machine's attention kernels --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that planning a forward starts from: one set for each kind of
// machine, whose numbers cite the race that settled them
// (bench/results/index.md), changed by what is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_FORWARDRULES_H
#define FA_PLAN_FORWARDRULES_H

#include "fa/Plan/Constraints.h"
#include "fa/Plan/Machine.h"

#include "llvm/ADT/ArrayRef.h"

namespace fa {

/// Queries by keys of a tile; 0: as in the kernels for any launch.
struct TileSize {
  int64_t rows = 0, columns = 0;
};

/// A tile of a product of matrices, and of what is summed over.
struct ProductTile {
  int64_t rows = 0, columns = 0, depth = 0;
};
/// What it costs a processor, beside others.
struct PricedProduct {
  ProductTile tile;
  int64_t cost;
};

/// Kernels whose warps are specialized: one warpgroup fetches tiles and the
/// others compute, 64 rows each.
struct SpecializedRules {
  TileSize tile; ///< no rows: there are none
  /// Rows where the largest head dimension is at most 64 and little has to be
  /// done to scores.
  int64_t narrowRows = 128;
  /// Keys where it is above 64 and below 128, and then `narrowRows`, too; 0: as
  /// for 128. The power of two below it where scores are modified, a mask
  /// leaves out keys before those that are seen, or programs are few.
  int64_t middleColumns = 0;
  /// Keys of `narrowRows` where a partition widens tiles.
  int64_t widenedColumns = 128;
  /// Keys where a row sees at most `shortWindow`, between two bounds; twice as
  /// many where the largest head dimension is at most 64.
  int64_t shortColumns = 0, shortWindow = 0;
  /// Rows of a kernel for launches of few programs, and how many programs a
  /// processor may have of such a launch: twice as many where later queries see
  /// more keys. 0 rows: there is none.
  int64_t fewRows = 0, fewPrograms = 1;
  /// Its keys where the largest head dimension is above 80 and at most 96,
  /// later queries see more keys and nothing changes scores; 0: the power of
  /// two below those of the kernel for many programs.
  int64_t fewMiddleColumns = 0;
  /// Of kernels for few keys, two blocks of which run on a processor at a time:
  /// their tile. 0: there are none.
  TileSize paired = {0, 0};
  /// Rows of a kernel whose rows are the queries of all heads that share a KV
  /// head, beside which there is one of the tile for many programs where that
  /// has more, and the most queries that they are taken for; 0: there are none.
  int64_t packedRows = 0, packedQueries = 0;
  /// Blocks of a kernel for full attention that fetch keys and values together;
  /// 1: there is none.
  int64_t clusterBlocks = 1;
  /// Of packed sequences there is a kernel whose blocks take programs in turn,
  /// for launches of so many programs for each processor; 0: there is none.
  int64_t dynamicPrograms = 0;
  /// Other sequences have such a kernel, too.
  bool dynamicForAll = false;
  /// The kernel for many programs has one on splits of the keys, too, where all
  /// queries see as many: its programs may leave processors idle.
  bool hasSplits = false;
  /// Slots of its tiles have a multiple of so many columns.
  int64_t slotColumns = 1;
  /// Values have more columns than a warpgroup's dot: consumers share the rows
  /// of one. How many keys a tile has then; 0: as many as there is room for.
  bool hasWide = false;
  int64_t wideKeys = 0;
};

/// Decode: the rows of a tile are the heads of one query that share a KV head.
struct DecodeRules {
  TileSize tile = {16, 0};
  /// Bytes of K and V in a tile of 16-bit elements, which has fewer keys else,
  /// 16 at least; 0: any.
  int64_t tileBytes = 0;
  /// Parts of a block with keys of their own of a further kernel, for launches
  /// of one program a processor at most; 1: there is none.
  int64_t parts = 1;
};

struct ForwardRules {
  TileSize tile = {64, 128};
  int64_t rows16bit = 128; ///< where elements have 16 bits
  /// Of bf16 whose rows lie without gaps; 0: as others of 16 bits.
  TileSize bf16;
  /// f16 and f32 are multiplied as sums of bf16, in tiles of its size.
  bool sumsOfBf16 = false;
  /// Up to so many queries f32 is multiplied as it is, in tiles of `tile`; 0:
  /// there is no such kernel.
  int64_t shortQueries = 0;
  /// Keys in a tile of 16-bit elements where the largest head dimension is
  /// above 80 and at most 128; 0: as for others.
  int64_t middleColumns = 0;
  /// Of f32 that dots may round to tf32 where no head dimension exceeds 64.
  TileSize tf32;
  DecodeRules decode;
  /// Rows of the kernel whose rows are the queries of all heads that share a KV
  /// head, and the most queries that it is taken for; 0: there is none. In bf16
  /// of `bf16` tiles, `packedRowsBf16`, with as many keys as those.
  int64_t packedRows = 0, packedRowsBf16 = 0;
  SpecializedRules specialized;
  /// Tiles of products of matrices whose operands are copied asynchronously;
  /// none: as those of other products.
  llvm::ArrayRef<PricedProduct> products;
  /// Of the largest card that it is for, where a launch's sizes are known.
  int64_t processors = 1;
  /// The most rows where a head dimension exceeds 128.
  int64_t wideRows = 1024;
  /// Bytes that a tile of Q and two each of K and V may take: fewer keys in a
  /// tile make them fit; 0: any.
  int64_t tileBytes = 0;
  /// Left operands take no shared memory, and the others one slot.
  bool leftInRegisters = false;
  /// Bytes of a tile of K and V that leave room for a second block: where a
  /// head dimension exceeds 128, of 16 bits, tiles have as many keys as fit,
  /// and `wideRows` does not hold. Values of more than 192 columns leave
  /// registers for one block alone, whose tiles have all keys. 0: `wideRows`
  /// holds.
  int64_t pairedTileBytes = 0;
  int64_t stridedRows = 1024; ///< the most rows of the kernel for any strides
  int64_t alignment = 1; ///< bytes that rows begin at multiples of, but there
  /// The softmax applies a scale that is promised to be above 0, but in the
  /// kernel for any strides, and a last factor of a score region that is a
  /// constant above 0, such as a softcap.
  bool foldScale = false;
  int64_t dimMultiple = 1; ///< tiles round head dimensions up to a multiple
  /// There are kernels for decode and for any strides.
  bool variants = true;
  /// Splits of the keys in kernels for few queries; 0: a launch chooses.
  int64_t splits = 1;
  /// A program merges whole rows, split by split: for a processor that reads
  /// ahead by itself.
  bool wideMerge = false;
  /// A program of gradients may own a KV head with all of its queries.
  bool ownsHeads = false;
  /// Where elements have 16 bits, the head dimension of K is a multiple of so
  /// many there: dQᵀ then has whole tiles, as dQ has, and the same bits.
  int64_t ownedMultiple = 1;
};

/// The rules of `machine` where so much is asked for.
ForwardRules forwardRules(const Machine &machine,
                          const PlanConstraints &constraints);

} // namespace fa

#endif // FA_PLAN_FORWARDRULES_H

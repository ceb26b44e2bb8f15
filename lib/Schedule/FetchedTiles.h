//===- FetchedTiles.h - what a producer can fetch ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_FETCHEDTILES_H
#define FA_LIB_SCHEDULE_FETCHEDTILES_H

#include "TensorBox.h"

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <vector>

namespace fa {

/// The load that `value` is the transpose of, if nothing else reads what is
/// loaded and no dot reads `value`: each thread loads the elements that it
/// computes with. Else null.
tile::LoadOp findTurnedLoad(mlir::Value value);

/// A load that becomes a fetch of the producer.
struct FetchedTile {
  tile::LoadOp load;
  TensorBox box;
  /// Of a tile of 8 bits: what makes of it the one that dots multiply, or null.
  mlir::arith::ExtFOp widening = {};
  /// Dots of 8 bits multiply it as it is.
  bool staysNarrow = false;
  /// Where it is fetched to, and read from, once there are channels.
  mlir::TypedValue<tgpu::ChannelType> channel = {};
  /// Of one that is widened: where it is fetched to, between who fetches and
  /// who converts.
  mlir::TypedValue<tgpu::ChannelType> narrow = {};

  /// The tile that dots multiply.
  mlir::Value tile() const {
    return widening ? mlir::arith::ExtFOp(widening).getOut()
                    : tile::LoadOp(load).getResult();
  }
  bool isWidened() const { return widening && !staysNarrow; }
  /// The type of what dots read.
  mlir::RankedTensorType type() const {
    return tile::typeOf(isWidened() ? tile() : tile::LoadOp(load).getResult());
  }
  /// Where it is fetched to.
  mlir::TypedValue<tgpu::ChannelType> fetchedTo() const {
    return narrow ? narrow : channel;
  }
};

/// A loop over tiles of keys: what it fetches, in order.
struct FetchingLoop {
  mlir::scf::ForOp loop;
  /// From and to which key tiles are fetched; the loop's unless consumers walk
  /// what their own rows see.
  mlir::Value begin, end;
  llvm::SmallVector<FetchedTile> fetched;
  /// Left operands, of each consumer its own.
  llvm::SmallVector<FetchedTile> lefts;
  /// What else it loads that lies as scores do: a bias, a mask.
  llvm::SmallVector<FetchedTile> scores;
  /// Vectors along the columns of its scores, which all consumers read.
  llvm::SmallVector<FetchedTile> vectors;
  /// What its consumers exchange, in order.
  llvm::SmallVector<tgpu::ExchangeOp> exchanges;
};

/// All that the dots of a kernel read, and what changes their scores.
struct FetchedTiles {
  /// Those that stay for all loops, of each consumer its own, as left operands
  /// are.
  llvm::SmallVector<FetchedTile> own;
  /// Right operands that stay for all loops, the same for all consumers.
  llvm::SmallVector<FetchedTile> whole;
  std::vector<FetchingLoop> loops;

  /// Whether any of them is widened on its way to a dot.
  bool areWidened() const;
};

/// Slots for `tile`: rows of whole lines of 128 bytes, as the swizzle is.
/// Behind a tile that has not are columns that no dot reads.
tgpu::BufferType slotsFor(mlir::RankedTensorType tile, int64_t slots);

/// Slots for a vector: a row of whole lines of 128 bytes, more than one, as
/// boxes of one line are swizzled. Behind the vector is what nothing reads.
tgpu::BufferType vectorSlots(mlir::RankedTensorType vector, int64_t slots);

/// Slots for what consumers exchange, all rows of it.
tgpu::BufferType exchangeSlots(tgpu::ExchangeOp exchange, int64_t slots);

/// The load whose tile `operand` of a dot is, or is widened from; null: it is
/// none.
tile::LoadOp loadOf(mlir::Value operand);

/// The load of which `dot` multiplies all columns with its left operand, or
/// some (tgpu.columns); null: its right operand is none.
tile::LoadOp rightLoad(tile::DotOp dot);

/// What a producer fetches for the dots of `kernel`, whose rows are dealt to
/// warpgroups. Where one of them is nothing that it could fetch, or a dot none
/// of a warpgroup's, null, and `reason` says why.
std::optional<FetchedTiles> findFetchedTiles(tile::KernelOp kernel,
                                             std::string &reason);

} // namespace fa

#endif // FA_LIB_SCHEDULE_FETCHEDTILES_H

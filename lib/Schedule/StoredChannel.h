//===- StoredChannel.h - outputs that a partition stores --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_STOREDCHANNEL_H
#define FA_LIB_SCHEDULE_STOREDCHANNEL_H

#include "TensorBox.h"

#include "TileGPU/TileGPU.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// A channel from consumers to the region of `tgpu.warp_specialize` that
/// stores, with a slot for each consumer: one tile of each goes through it in a
/// program.
class StoredChannel {
public:
  /// Of `slots`, one for each consumer of `partitions`.
  StoredChannel(tile::KernelOp kernel, tgpu::WarpSpecializeOp partitions,
                tgpu::BufferType slots);

  /// `store`, at the end of the consumer's program, puts its tile into the
  /// channel, and who stores sends it to `box`. Without effect where that would
  /// need what the consumer alone knows.
  void move(tile::StoreOp store, const TensorBox &box);

private:
  mlir::Block &openRegion();
  void send(mlir::Value channel, const TensorBox &box, mlir::Block &region);

  tile::KernelOp kernel;
  tgpu::WarpSpecializeOp partitions;
  tgpu::BufferType slots;
  mlir::ImplicitLocOpBuilder b;
  int64_t consumers;
  mlir::Value id; ///< the consumer's number
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_STOREDCHANNEL_H

//===- NvidiaLowerings.h - what lowerings for NVIDIA share ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of dots that are read from shared memory are not read where the
// program says but fragment by fragment where the dot needs them; that keeps
// few registers busy.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERINGS_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERINGS_H

#include "../TileGPUToSimt/SimtLowerings.h"
#include "../TileGPUToSimt/SimtMemory.h"
#include "NvidiaContext.h"

#include "fa/Launch/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa {

using ChannelValue = mlir::TypedValue<tgpu::ChannelType>;

//===--- NvidiaContext.cpp ---===//
/// How many blocks a cluster has.
int64_t clusterBlocks(NvidiaContext &ctx);
/// The same number, i32 or i64: what follows from it is not computed earlier.
mlir::Value hide(NvidiaContext &ctx, mlir::Value number);
/// Of the warps that run one program, the number among the block's, i32;
/// leaves the thread its number among theirs.
mlir::Value takeWarpNumber(NvidiaContext &ctx);

//===--- LowerPairs.cpp ---===//
/// The four codes of `format` in `word` as two words of `element`, of
/// neighbours or, if `isAcross`, of every second one.
std::array<mlir::Value, 2> widenWord(NvidiaContext &ctx, mlir::Value word,
                                     bool isAcross, mlir::Type format,
                                     mlir::Type element);

//===--- LowerPrograms.cpp ---===//
/// The number of this block in its cluster; i32.
mlir::Value rankInCluster(NvidiaContext &ctx);
/// The region of a partition, for one program or for all that are the block's.
mlir::LogicalResult lowerPartition(NvidiaContext &ctx, mlir::Block &region);

//===--- LowerParts.cpp ---===//
/// Numbers the threads of each part and its shared memory.
void divideIntoParts(NvidiaContext &ctx);

//===--- LowerCopy.cpp ---===//
/// Whether the only dot that uses `read` can do the reading.
bool isReadByDot(tgpu::ReadOp read);
mlir::SmallVector<mlir::Value>
loadMatrices(NvidiaContext &ctx, mlir::Value address, const MatrixLoad &load);
/// How a copy of a tile's layout is read from a buffer by ldmatrix; in bytes.
struct CopyLoad {
  MatrixLoad load;
  int64_t begin = 0;                   ///< of the copy
  uint32_t first = 0;                  ///< to XOR with all other offsets
  mlir::SmallVector<uint32_t> threads; ///< by bit of a thread's number
};
/// Of each copy; nothing if it cannot be done.
mlir::SmallVector<CopyLoad> planCopyLoads(const TileLayout &registers,
                                          const TileLayout &shared,
                                          int64_t bytes);
mlir::SmallVector<mlir::Value> loadQuad(NvidiaContext &ctx,
                                        mlir::Value address);

//===--- LowerFmaDot.cpp ---===//
mlir::LogicalResult lowerFmaDot(NvidiaContext &ctx, tile::DotOp dot);

//===--- LowerWarpSpecialize.cpp ---===//
mlir::LogicalResult lowerWarpSpecialize(NvidiaContext &ctx,
                                        tgpu::WarpSpecializeOp op);
/// Lowers something for one lane of a warp.
void byOneLane(NvidiaContext &ctx, llvm::function_ref<void()> lower);

//===--- LowerChannels.cpp ---===//
/// The address of a step's slot, i32.
mlir::Value channelSlot(NvidiaContext &ctx, ChannelValue channel,
                        mlir::Value step);
/// Pointers to the channel's barriers: those of full slots come first.
mlir::Value barrierAddress(NvidiaContext &ctx, ChannelValue channel,
                           mlir::Value number);
mlir::Value fullBarrier(NvidiaContext &ctx, ChannelValue channel,
                        mlir::Value step);
mlir::Value emptyBarrier(NvidiaContext &ctx, ChannelValue channel,
                         mlir::Value step);

//===--- LowerFetch.cpp ---===//
/// The kernel's parameter.
mlir::Value parameterOf(NvidiaContext &ctx, const TensorMapInfo &map);
/// Coordinates of a box, i32, innermost first: `indices`, and `column` more in
/// dimension `unitDim`.
mlir::SmallVector<mlir::Value> boxStart(NvidiaContext &ctx,
                                        mlir::ValueRange indices,
                                        int64_t unitDim, int64_t column);

//===--- LowerDeliver.cpp ---===//
/// What fills lines of a slot, as many columns as `line` has or as there are,
/// from `column` of `tile` on; the first line begins at `address`.
void writeLine(NvidiaContext &ctx, mlir::Value tile, int64_t column,
               const TileLayout &line, mlir::Value address);
/// What this thread has written to shared memory comes before what is read
/// there by the asynchronous proxy.
void fenceStores(NvidiaContext &ctx);
/// Until what this thread has delivered has left shared memory.
void awaitDeliveries(NvidiaContext &ctx);
/// A barrier of this consumer's threads; with a condition, whether it is true
/// in any of them.
mlir::Value meetConsumer(NvidiaContext &ctx, mlir::Value condition = {});

//===--- LowerExchange.cpp ---===//
/// Where this consumer's rows of the transpose begin, i32.
mlir::Value exchangedRows(NvidiaContext &ctx, tgpu::ExchangeOp op);

//===--- LowerRamp.cpp ---===//
/// Writes what ramps are multiplied with, if there are any.
void writeNumbers(NvidiaContext &ctx);
mlir::Value numbersDescriptor(NvidiaContext &ctx, tgpu::RampOp ramp);
/// The left operand of the step that adds `ramp`, four words.
mlir::SmallVector<mlir::Value> leftOf(NvidiaContext &ctx, tgpu::RampOp ramp,
                                      bool isSeldom);
/// Whether what takes the scores of `wait` knows of its ramp, if it has one.
mlir::LogicalResult checkRamp(tgpu::DotWaitOp wait);

//===--- The lowerings of each file ---===//
/// Those of any GPU, then all of the following.
void addNvidiaLowerings(NvidiaContext &ctx);
void addChannelsLowerings(NvidiaContext &ctx);
void addCopyLowerings(NvidiaContext &ctx);
void addDeliverLowerings(NvidiaContext &ctx);
void addDotLowerings(NvidiaContext &ctx);
void addExchangeLowerings(NvidiaContext &ctx);
void addExpectedLowerings(NvidiaContext &ctx);
void addFetchLowerings(NvidiaContext &ctx);
void addPairsLowerings(NvidiaContext &ctx);
void addPartsLowerings(NvidiaContext &ctx);
void addProgramsLowerings(NvidiaContext &ctx);
void addTakenProgramsLowerings(NvidiaContext &ctx);
void addRampLowerings(NvidiaContext &ctx);
void addWarpSpecializeLowerings(NvidiaContext &ctx);
void addSequenceLowerings(NvidiaContext &ctx);
void addWarpgroupDotLowerings(NvidiaContext &ctx);
void addWidenLowerings(NvidiaContext &ctx);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERINGS_H

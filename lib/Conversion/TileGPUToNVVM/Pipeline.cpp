//===- Pipeline.cpp - fa-nvidia: from S0 to the LLVM dialect --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Schedule/Passes.h"
#include "fa/Target/NvidiaInfo.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// The facts of the architecture; of one that is not known no more than that it
/// is refused.
static fa::NvidiaInfo findInfo(OpPassManager &pm,
                               const fa::GpuPipelineOptions &options) {
  auto info = fa::getNvidiaInfo(options.arch.empty() ? StringRef("sm_80")
                                                     : StringRef(options.arch));
  if (!info) {
    fa::refuseArchitecture(pm, toString(info.takeError()));
    return {"", 0, 0, "", false, false, 0};
  }
  if (options.sharedLimit)
    info->sharedLimit = options.sharedLimit;
  if (options.schedule == "plain")
    info->hasWarpgroups = false;
  return *info;
}

/// Of K and V in a tile of few queries. A block is one warp then, which takes
/// longer for a tile than memory does: on an H200, four blocks a
/// multiprocessor, each with two such tiles under way, were the fastest.
static constexpr int64_t kDecodeTileBytes = 16384;

/// Of warp roles with D between 64 and 128: as many keys as leave three
/// consumers the registers of their scores, and room for three slots.
static constexpr int64_t kMiddleKeys = 96;

/// Of warp roles: tiles of fewer keys than 128 have three slots up to D 128,
/// which is faster on an H200; of 128 keys or wider ones a third slot is not.
static constexpr int64_t kChannelKeys = 128, kChannelKeyBytes = 2 * 128 * 2;

/// Parts of a block for few queries whose programs are at most as many as the
/// processors, where their tiles have room: each has as much as a block of one
/// warp, queries of at most this many bytes among it.
static constexpr int64_t kDecodeParts = 4, kDecodeQueryBytes = 16 * 128 * 2;

/// Of consumers that begin at different tiles: with four slots of 128 keys they
/// come to the ends of short programs one after the other.
static constexpr int64_t kApartBytes = 4 * 32768;

/// Of warp roles: of a consumer, which is all that launches of few programs
/// have.
static constexpr int64_t kConsumerRows = 64;

/// Blocks that fetch the same tiles together, where that pays or is asked for.
static constexpr int64_t kClusterBlocks = 2;

/// Of one role: with 64 keys a thread has too few registers at head dimensions
/// above 80 (docs/spills.md), and on an sm_80 shared memory for one block. With
/// tf32, 128 rows and 32 keys are 1.1 times as fast on an H200 as 64 and 64.
static constexpr int64_t kFewKeys = 32, kTf32Rows = 128;

void fa::buildNvidiaKernelPipeline(OpPassManager &pm,
                                   const GpuPipelineOptions &options) {
  NvidiaInfo info = findInfo(pm, options);
  TileToKernelOptions tiles;
  if (info.hasWarpgroups) {
    // Two or three warpgroups.
    int64_t rows =
        options.consumers ? kConsumerRows * options.consumers : options.qTile;
    tiles.rolesQTile = rows ? rows : 2 * kConsumerRows;
    tiles.narrowRolesQTile = rows ? rows : 3 * kConsumerRows;
    tiles.rolesKvTile = options.kvTile ? options.kvTile : 128;
    tiles.middleRolesKvTile = options.kvTile ? options.kvTile : kMiddleKeys;
    // Beside what is asked for there is nothing else.
    if (!rows && options.schedule.empty()) {
      tiles.fewRolesQTile = kConsumerRows;
      tiles.packedRolesQTile = 2 * kConsumerRows;
      tiles.clusterBlocks = kClusterBlocks;
    }
    // 128 bytes of 16-bit elements, as wide as boxes and swizzles are.
    tiles.rolesSlotColumns = 64;
  }
  tiles.tileBytes = info.sharedLimit;
  if (!options.kvTile)
    tiles.decodeTileBytes = kDecodeTileBytes;
  if (!options.qTile && !options.kvTile) {
    tiles.tf32QTile = kTf32Rows;
    tiles.tf32KvTile = kFewKeys;
    // Warp roles leave others what their own tiles cannot describe; two blocks
    // with 64 keys have room there, and are 1.07 to 1.12 times as fast.
    if (!info.hasWarpgroups)
      tiles.middleKvTile = kFewKeys;
  }
  // Beside what is asked for there is nothing else.
  if (!options.qTile && !options.kvTile && !options.stages && !options.warps &&
      kDecodeParts * (3 * kDecodeTileBytes + kDecodeQueryBytes) <=
          info.sharedLimit)
    tiles.decodeParts = kDecodeParts;
  buildGpuKernelPipeline(pm, options, tiles);
}

void fa::buildNvidiaSchedulePipeline(OpPassManager &pm,
                                     const GpuPipelineOptions &options) {
  ScheduleOptions schedule;
  if (options.warps)
    schedule.warps = options.warps;
  if (options.stages)
    schedule.stages = options.stages;
  else {
    schedule.oneWarpBytes = 3 * kDecodeTileBytes;
    schedule.channelKeys = kChannelKeys;
    schedule.channelKeyBytes = kChannelKeyBytes;
    schedule.apartBytes = kApartBytes;
  }
  NvidiaInfo info = findInfo(pm, options);
  schedule.sharedLimit = info.sharedLimit;
  schedule.roles = info.hasWarpgroups;
  schedule.persistent = options.schedule != "roles";
  if (options.schedule == "clusters")
    schedule.cluster = kClusterBlocks;
  buildSchedulePipeline(pm, schedule);
  if (info.hasEarlyLaunch)
    pm.addPass(createTgpuOverlapKernels());
}

void fa::buildNvidiaLoweringPipeline(OpPassManager &pm,
                                     const GpuPipelineOptions &) {
  pm.addPass(createConvertTileGPUToNVVM());
  buildSimtLoweringPipeline(pm);
}

void fa::registerNvidiaPipelines() {
  PassPipelineRegistration<GpuPipelineOptions>(
      "fa-nvidia", "attention (S0) to NVIDIA kernels in the LLVM dialect",
      [](OpPassManager &pm, const GpuPipelineOptions &options) {
        buildNvidiaKernelPipeline(pm, options);
        buildNvidiaSchedulePipeline(pm, options);
        buildNvidiaLoweringPipeline(pm, options);
        pm.addPass(createConvertTileGPUSimtToNVVM());
      });
}

//===- TileOps.td - every operation of the tile dialect -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "TileTensorOps.td"
include "TileAttentionOps.td"
include "TileKernelOps.td"
include "TilePagedOps.td"
include "TileGroupedOps.td"
include "TileRaggedOps.td"

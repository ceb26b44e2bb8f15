//===- KernelThreads.cpp - threads and programs of a block ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/KernelThreads.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

int64_t fa::lanesOf(tile::KernelOp kernel) {
  auto lanes =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::lanesAttrName);
  return lanes ? lanes.getInt() : 32;
}

int64_t fa::programsOfBlock(tile::KernelOp kernel) {
  auto programs =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::programsAttrName);
  return programs ? programs.getInt() : 1;
}

int32_t fa::countThreads(tile::KernelOp kernel) {
  auto number = [&](StringRef name) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  int64_t groups = 1;
  for (WarpSpecializeOp partitions :
       kernel.getBody().getOps<WarpSpecializeOp>())
    groups = partitions.countGroups();
  return lanesOf(kernel) * number(TileGPUDialect::warpsAttrName) * groups *
         kernel.getParts() * programsOfBlock(kernel);
}

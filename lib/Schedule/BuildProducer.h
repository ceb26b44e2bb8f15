//===- BuildProducer.h - who fetches and widens tiles -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_BUILDPRODUCER_H
#define FA_LIB_SCHEDULE_BUILDPRODUCER_H

#include "FetchedTiles.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Fills the region of `partitions` that fetches: `tiles` into their channels,
/// those that stay before the loops, the others in loops like those of the
/// consumers.
void buildProducer(mlir::ImplicitLocOpBuilder &b,
                   tgpu::WarpSpecializeOp partitions, FetchedTiles &tiles);

/// Fills the region that converts: of `tiles` those that are widened, from the
/// channels that they are fetched to into those that are read, in the same
/// loops. Without effect if there are none.
void buildConverter(mlir::ImplicitLocOpBuilder &b,
                    tgpu::WarpSpecializeOp partitions, FetchedTiles &tiles);

} // namespace fa

#endif // FA_LIB_SCHEDULE_BUILDPRODUCER_H

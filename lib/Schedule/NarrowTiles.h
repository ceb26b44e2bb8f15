//===- NarrowTiles.h - tiles of 8 bits that dots read -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_NARROWTILES_H
#define FA_LIB_SCHEDULE_NARROWTILES_H

#include "FetchedTiles.h"

namespace fa {

/// Says of each of `tiles` that has 8 bits whether dots multiply it as it is.
void markNarrow(tile::KernelOp kernel, FetchedTiles &tiles);

/// Why the others cannot be widened by a partition; empty: they can.
std::string whyNotWidened(const FetchedTiles &tiles);

/// Left operands of `dot` that are rounded to bf16 for a right one of 8 bits
/// become f16, which has all numbers of those, too: that rounds them less, and
/// is one conversion from 8 bits.
void multiplyInHalves(tile::DotOp dot);

} // namespace fa

#endif // FA_LIB_SCHEDULE_NARROWTILES_H

//===- CombineRegion.h - how two elements become one ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TRITONTOTILE_COMBINEREGION_H
#define FA_LIB_CONVERSION_TRITONTOTILE_COMBINEREGION_H

#include "Tile/Tile.h"

#include <optional>

namespace fa {

/// How `block`, of a reduction or a scan of one tile, combines two elements;
/// none: as no kernel does.
std::optional<tile::ReduceKind> combineKindOf(mlir::Block &block);

/// Max or Min, if `block`, of a reduction of values with their indices, chooses
/// the pair with that value and, of pairs with equal values, either or the one
/// with the lesser index.
std::optional<tile::ReduceKind> indexedKindOf(mlir::Block &block);

} // namespace fa

#endif // FA_LIB_CONVERSION_TRITONTOTILE_COMBINEREGION_H

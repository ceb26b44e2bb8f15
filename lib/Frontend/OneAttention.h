//===- OneAttention.h - the attention that code is added to -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FRONTEND_ONEATTENTION_H
#define FA_LIB_FRONTEND_ONEATTENTION_H

#include "Tile/Tile.h"

#include "llvm/Support/Error.h"

namespace fa {

/// The one attention of `module`, which is brought to S1.
llvm::Expected<tile::AttentionOp> findAttention(mlir::ModuleOp module);

/// The block of `region`, made if the region is empty, with its terminator.
mlir::Block &openRegion(tile::AttentionOp op, mlir::Region &region,
                        bool takesScore);

} // namespace fa

#endif // FA_LIB_FRONTEND_ONEATTENTION_H

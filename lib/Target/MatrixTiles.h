//===- MatrixTiles.h - the registers of AMX and the system ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_MATRIXTILES_H
#define FA_LIB_TARGET_MATRIXTILES_H

#include "llvm/IR/Module.h"

namespace fa {

/// Gives a module whose code needs the registers of AMX a constructor that asks
/// the system for them, so that a program asks that links it. Nothing where the
/// code needs none.
void addTileRequest(llvm::Module &module);

} // namespace fa

#endif // FA_LIB_TARGET_MATRIXTILES_H

//===- ShareBits.h - bits of positions are moved once -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_SHAREBITS_H
#define FA_LIB_TARGET_SHAREBITS_H

#include "llvm/IR/PassManager.h"

namespace fa {

/// What moves bits about, by and, or and shifts by constants, says the same of
/// x | c as of x and of c, one or the other: f(x | c) = f(x) | f(c). Positions
/// in a tile are such: x is the tile's and the thread's, c the element's, a
/// constant. So f(x) is computed once, and of each element remains one or with
/// a constant. A mask in Morton order is computed in this way.
///
/// LLVM knows that of each operation that has one use, and of none that has
/// two, as x | (x >> 1) has. Other functions stay as they are.
struct ShareBits : llvm::PassInfoMixin<ShareBits> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace fa

#endif

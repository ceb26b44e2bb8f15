//===- Loops.h - loops that reach what a machine can do ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_PEAK_LOOPS_H
#define FA_TOOLS_FA_PEAK_LOOPS_H

#include "fa/Target/HostInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace fa {

/// Every loop is `void f(const void *data, void *result, int64_t trips)`.
using PeakLoop = void (*)(const void *data, void *result, int64_t trips);

/// What one trip of a loop does, in floating-point operations or bytes.
struct LoopWork {
  llvm::StringRef name; ///< also of the function
  llvm::StringRef unit;
  double perTrip;
};

/// `fma_f32`: fused multiply-adds in registers, as many independent ones as
/// hide their latency; `data` holds two vectors of factors.
LoopWork buildMultiplyAdds(llvm::Module &module, const HostInfo &host);

/// `dot_bf16`: the same with AVX512_BF16's products of pairs. The host must
/// have them.
LoopWork buildPairDots(llvm::Module &module, const HostInfo &host);

/// `tile_bf16`: AMX's products of tiles, four independent ones, as many as its
/// registers allow with their operands. The host must have them.
LoopWork buildTileProducts(llvm::Module &module);

/// `read`: loads `data` in order, eight vectors a trip.
LoopWork buildReads(llvm::Module &module, const HostInfo &host);

} // namespace fa

#endif // FA_TOOLS_FA_PEAK_LOOPS_H

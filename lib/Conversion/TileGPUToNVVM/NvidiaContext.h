//===- NvidiaContext.h - what a thread does on NVIDIA -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIACONTEXT_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIACONTEXT_H

#include "../TileGPUToSimt/SimtContext.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace fa {

inline constexpr int32_t kWarpThreads = 32;

/// Which programs of a persistent kernel are a block's (Turns.h).
struct Turns;

/// Who is in a producer: one thread, or a warp of which a lane fetches.
enum class Fetcher { None, Alone, OfWarp };

class NvidiaContext final : public SimtContext {
public:
  /// `convertsNarrow`: there are conversions of pairs of e4m3 (sm_89).
  NvidiaContext(tile::KernelOp kernel, bool convertsNarrow);

  //===--- The function, instructions (NvidiaContext.cpp) ---===//
  void declareFunction() override;
  void numberThreads() override;
  Value blockNumber() override;
  Value programNumber() override;
  Value exp2(Value x) override;
  Value log2(Value x) override;
  Value readThread() override;
  Value shuffleWord(Value value, uint32_t mask) override;
  Value sameInAll(Value word) override;
  bool runsInWholeWarps() const override { return fetcher != Fetcher::Alone; }
  bool testsBits() const override { return true; }
  Value anyLane(Value condition) override;
  Value opaque(Value address) override;
  Value scaleHalves(Value halves) override;
  Value toBfloats(Value halves) override;

  //===--- Scores (LowerRamp.cpp, LowerExpected.cpp) ---===//
  bool hasRamp(Value scores) override;
  bool firstIsApart() override;
  Value firstOfRamp(Value scores) override;
  bool expectsMaxima() override;

  bool convertsNarrow;
  Value threadInBlock, warpgroup; ///< i32
  Turns *turnsOfPartition =
      nullptr;      ///< while a partition's loop over them is lowered
  Value warpNumber; ///< i32: of a warp that runs a program by itself
  Value part;       ///< i32: this thread's, until the parts are merged
  /// Channels of the warp that is lowered.
  llvm::SmallPtrSet<Value, 4> produced;
  /// Of the producer that is lowered now, if one is.
  Fetcher fetcher = Fetcher::None;
  /// In words.
  llvm::DenseMap<tgpu::ReceiveOp, llvm::SmallVector<Value>> received;
  /// Of a program's factors, the left operands of ramps.
  llvm::DenseMap<Value, mlir::SmallVector<Value>> rampWords;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIACONTEXT_H

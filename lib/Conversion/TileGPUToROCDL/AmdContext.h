//===- AmdContext.h - what one lane does on an AMD card ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDCONTEXT_H
#define FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDCONTEXT_H

#include "../TileGPUToSimt/SimtContext.h"
#include "fa/Machine/AmdInfo.h"

namespace fa {

class AmdContext final : public SimtContext {
public:
  /// `sharedName` is the variable that is the kernel's LDS.
  AmdContext(tile::KernelOp kernel, const AmdInfo &info,
             llvm::StringRef sharedName);

  void declareFunction() override;
  void numberThreads() override;
  Value blockNumber() override;
  Value exp2(Value x) override;
  Value log2(Value x) override;
  Value shuffleWord(Value value, uint32_t mask) override;
  Value anyLane(Value condition) override;
  Value opaque(Value address) override;

  AmdInfo info;
  mlir::ArrayAttr scopes; ///< of copies, once asked for
  /// How many reads of 16 bytes brought a tile, if all were such.
  llvm::DenseMap<Value, int64_t> wideReads;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDCONTEXT_H

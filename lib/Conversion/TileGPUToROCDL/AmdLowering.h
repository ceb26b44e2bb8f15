//===- AmdLowering.h - what one lane does on an AMD card --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files: AmdLowering (the function, exchanges, barriers), LowerDot (mfma),
// LowerMemory (vectors from and to both memories), LowerBuffer (rows by buffer
// descriptors), InstructionOrder (what the back end may not move).
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H
#define FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H

#include "../TileGPUToSimt/SimtLowering.h"
#include "fa/Target/AmdInfo.h"

namespace fa {

/// `count` elements as a vector, or the one.
inline mlir::Type vectorOf(int64_t count, mlir::Type element) {
  return count == 1 ? element
                    : mlir::Type(mlir::VectorType::get({count}, element));
}

/// What a load of `count` elements gives: pairs of 16 bits travel as words.
inline mlir::Type loadedType(int64_t count, mlir::Type element) {
  return element.getIntOrFloatBitWidth() == 16 && count > 1
             ? vectorOf(count / 2,
                        mlir::IntegerType::get(element.getContext(), 32))
             : vectorOf(count, element);
}

class AmdLowering final : public SimtLowering {
public:
  /// `sharedName` is the variable that is the kernel's LDS.
  AmdLowering(tile::KernelOp kernel, const AmdInfo &info,
              llvm::StringRef sharedName);

private:
  //===--- The function, exchanges (AmdLowering.cpp) ---===//
  void declareFunction() override;
  void numberThreads() override;
  Value blockNumber() override;
  mlir::LogicalResult lowerTargetOp(mlir::Operation *op) override;
  Value exp2(Value x) override;
  Value log2(Value x) override;
  Value shuffleXor(Value value, uint32_t mask) override;
  Value anyLane(Value condition) override;
  Value opaque(Value address) override;
  /// The same of a number that each lane has its own of.
  Value opaqueInLanes(Value number);
  void barrier();
  /// A word of the lane whose number differs in the bits `mask`.
  Value exchange(Value word, uint32_t mask);

  //===--- Dots (LowerDot.cpp) ---===//
  mlir::LogicalResult lowerDot(tile::DotOp dot) override;
  struct DotOperand;
  DotOperand openOperand(Value operand, unsigned depthDim);
  /// The elements of step `step` of the depth at (or across from) `across`, as
  /// mfma takes them.
  Value fragment(const DotOperand &operand, int32_t across, int64_t step,
                 int64_t count, mlir::Type element);
  Value multiply(Value a, Value b, Value c, int64_t side, int64_t count,
                 mlir::Type element);

  //===--- The back end's order (InstructionOrder.cpp) ---===//
  /// Nothing before this moves behind it and nothing behind it in front.
  void keepOrder();
  /// Behind a dot: its reads of `operand` from LDS come one by one between its
  /// `products` mfma, and the dot stays where it is.
  void spreadReads(Value operand, int64_t products);

  //===--- Memory (LowerMemory.cpp) ---===//
  mlir::LogicalResult lowerLoad(tile::LoadOp op) override;
  void lowerRead(tgpu::ReadOp op) override;
  void lowerWrite(tgpu::WriteOp op) override;
  /// Elements of a tile that one load from `view` at `indices` brings.
  static int64_t loadWidth(tile::LoadOp op);
  /// The same load by a descriptor of the rows, which gives 0 for those that do
  /// not exist (LowerBuffer.cpp); `width` elements each.
  void lowerBufferLoad(tile::LoadOp op, const GlobalView &view, int64_t width);
  /// The rows of a tile from `start` on, `rowBytes` long: a descriptor, and the
  /// bytes from one to the next.
  std::pair<Value, Value> describeRows(const GlobalView &view, Value start,
                                       int64_t rows, bool inBounds);
  /// One vector: `count` elements at `address`, 0 if they are not `inside`.
  Value loadVector(const GlobalView &view, Value address, Value inside,
                   int64_t count);
  /// Keeps vectors of `count` neighbours each as the registers of `tile`.
  void setVectors(Value tile, mlir::ArrayRef<Value> vectors);

  AmdInfo info;
  /// How many reads of 16 bytes brought a tile, if all were such.
  llvm::DenseMap<Value, int64_t> wideReads;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H

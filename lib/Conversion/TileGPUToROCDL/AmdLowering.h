//===- AmdLowering.h - what one lane does on an AMD card --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files: AmdLowering (the function, exchanges, barriers), LowerDot (mfma),
// LowerMemory (vectors from and to both memories), LowerBuffer (rows by buffer
// descriptors), LowerCopy (loads direct to LDS), InstructionOrder (what the
// back end may not move).
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H
#define FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H

#include "../TileGPUToSimt/SimtLowering.h"
#include "fa/Machine/AmdInfo.h"

namespace fa {

/// `count` elements as a vector, or the one.
inline mlir::Type vectorOf(int64_t count, mlir::Type element) {
  return count == 1 ? element
                    : mlir::Type(mlir::VectorType::get({count}, element));
}

/// What a load of `count` elements gives: those of 16 and of 8 bits travel as
/// words.
inline mlir::Type loadedType(int64_t count, mlir::Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  int64_t ofWord = bits == 8 || bits == 16 ? 32 / bits : 1;
  return ofWord > 1 && count >= ofWord
             ? vectorOf(count / ofWord,
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

  //===--- Loads direct to LDS (LowerCopy.cpp) ---===//
  void lowerCopy(tgpu::CopyOp op);
  void waitForCopies();
  /// Says that `read` is none of bytes that a copy under way writes: barriers
  /// see to it, and LLVM would wait for all copies in front of each read.
  template <typename Op> void isBesideCopies(Op read) {
    if (info.hasDirectLoads)
      read.setNoaliasScopesAttr(copyScopes());
  }
  mlir::ArrayAttr copyScopes();
  /// Reads a tile transposed (CDNA4 ISA, DS_READ_B64_TR_B16).
  void lowerTurnedRead(tgpu::ReadOp op, const TurnedRead &plan);

  //===--- Memory (LowerMemory.cpp) ---===//
  mlir::LogicalResult lowerLoad(tile::LoadOp op) override;
  void lowerRead(tgpu::ReadOp op) override;
  void lowerWrite(tgpu::WriteOp op) override;
  mlir::LogicalResult lowerStore(tile::StoreOp op) override;
  /// Elements of `tile` that one access to `view` at `indices` has.
  static int64_t accessWidth(Value view, mlir::ValueRange indices, Value tile);
  /// Whether a descriptor can bound the rows of `tile` there, which are whole.
  bool hasDescriptor(Value view, Value tile, mlir::ArrayRef<bool> certain,
                     int64_t width);
  /// Loads and stores by a descriptor of the rows: those that do not exist give
  /// 0 and are not written (LowerBuffer.cpp); `width` elements each.
  void lowerBufferLoad(tile::LoadOp op, const GlobalView &view, int64_t width);
  void lowerBufferStore(tile::StoreOp op, const GlobalView &view,
                        int64_t width);
  /// Calls `access` with the descriptor and the byte of each `width` elements
  /// that a thread has of `tile`, and the first register of those.
  void
  walkRows(const GlobalView &view, mlir::ValueRange indices, Value tile,
           bool inBounds, int64_t width,
           llvm::function_ref<void(Value descriptor, Value offset, int64_t reg)>
               access);
  /// The rows of a tile from `start` on, `rowBytes` long: a descriptor, and the
  /// bytes from one to the next.
  std::pair<Value, Value> describeRows(const GlobalView &view, Value start,
                                       int64_t rows, bool inBounds);
  /// One vector: `count` elements at `address`, 0 if they are not `inside`.
  Value loadVector(const GlobalView &view, Value address, Value inside,
                   int64_t count);
  /// Keeps vectors of `count` neighbours each as the registers of `tile`.
  void setVectors(Value tile, mlir::ArrayRef<Value> vectors);
  /// The elements of 8 bits in `words`, four in each.
  mlir::SmallVector<Value> codesOf(mlir::ArrayRef<Value> words);

  AmdInfo info;
  mlir::ArrayAttr scopes; ///< of copies, once asked for
  /// How many reads of 16 bytes brought a tile, if all were such.
  llvm::DenseMap<Value, int64_t> wideReads;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOROCDL_AMDLOWERING_H

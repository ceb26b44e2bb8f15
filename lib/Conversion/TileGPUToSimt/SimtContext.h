//===- SimtContext.h - one tile.kernel as what one thread does --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lowerings of tiles with layouts to scalar code share
// (LoweringRegistry.h).
//
// A tile value is a list of registers: the elements that this thread holds, in
// the order of its layout. Which elements those are is the XOR of a constant of
// the register and a linear function of the thread's number, so that code of a
// register needs no arithmetic of its own: `threadLinear` builds the thread's
// part once, at the function's entry.
//
// Two neighbours of 16 bits can also be held as one packed word of 32, which is
// what mma.sync, ldmatrix and the conversions of pairs work on; either form is
// made from the other when it is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTCONTEXT_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTCONTEXT_H

#include "../LoweringRegistry.h"
#include "GlobalView.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>
#include <string>

namespace fa {

/// What a test of an element of a mask reads.
struct WordBit {
  mlir::Value word; ///< i32
  unsigned bit;
};

/// What a thread holds of a tile: elements, pairs of them, or both.
struct TileRegisters {
  mlir::SmallVector<mlir::Value> elements;
  mlir::SmallVector<mlir::Value> packed; ///< i32
  /// Of a mask in words, what each element tests.
  mlir::SmallVector<WordBit> bits = {};
};

class SimtContext {
public:
  using Value = mlir::Value;

  /// `kernel` is at S7.
  explicit SimtContext(tile::KernelOp kernel);
  virtual ~SimtContext() = default;

  //===--- What a target has in a way of its own ---===//
  /// Creates `function` with its first parameter, the pointer to the words of
  /// the arguments, and with an entry block.
  virtual void declareFunction() = 0;
  /// Sets `thread` and what else numbers threads, at the start of the entry.
  virtual void numberThreads() = 0;
  /// The block's number in a linear grid, i32.
  virtual Value blockNumber() = 0;
  /// That of the program which this thread runs, i32.
  virtual Value programNumber() { return blockNumber(); }
  /// Two to the power of `x`, and its inverse: approximations, denormals are 0.
  virtual Value exp2(Value x) = 0;
  virtual Value log2(Value x) = 0;
  /// `thread`, read anew: neither LLVM nor an assembler takes it for the same.
  virtual Value readThread() { return shuffleXor(thread, 0); }
  /// The value, of 32 bits, that the lane has whose number differs in the bits
  /// `mask`.
  virtual Value shuffleWord(Value value, uint32_t mask) = 0;
  /// i32: what the first lane of the warp has, which is what all have: for
  /// assemblers that see that no lane has another number.
  virtual Value sameInAll(Value word) { return word; }
  /// Whether what is lowered now is run by all threads of a warp.
  virtual bool runsInWholeWarps() const { return true; }
  /// Whether a test of a bit costs no more than a comparison.
  virtual bool testsBits() const { return false; }
  /// Whether `condition` holds in any lane of the warp.
  virtual Value anyLane(Value condition) = 0;
  /// The same address, of which LLVM does not know what it is made of: nothing
  /// that is added to it moves out of a loop.
  virtual Value opaque(Value address) = 0;
  /// Two halves, <2 x f16>, times 256, denormals included.
  virtual Value scaleHalves(Value halves);
  /// Two halves that bf16 has as well, as a word of two of these.
  virtual Value toBfloats(Value halves);

  //===--- What a target knows of scores ---===//
  /// Whether `scores`, perhaps masked, have a bias that falls or rises along
  /// the keys, added by their dot.
  virtual bool hasRamp(Value scores) { return false; }
  /// Whether such dots leave out element 0, which the softmax adds: there are
  /// few registers.
  virtual bool firstIsApart() { return false; }
  /// What scores that a dot leaves, perhaps masked, lack for that; null:
  /// nothing.
  virtual Value firstOfRamp(Value scores) { return {}; }
  /// Whether steps of the kernel expect old maxima to do, and others are what
  /// is done where they do not.
  virtual bool expectsMaxima() { return false; }

  //===--- Registers (SimtRegisters.cpp) ---===//
  mlir::ArrayRef<Value> elementsOf(Value tile);
  mlir::ArrayRef<Value> packedOf(Value tile);
  /// Neighbours of 16 bits as words, of 32 as vectors of two.
  mlir::SmallVector<Value> pairsOf(Value tile);
  void setElements(Value tile, mlir::SmallVector<Value> elements);
  void setPacked(Value tile, mlir::SmallVector<Value> packed);
  Value mapped(Value scalar) { return mapping.lookup(scalar); }
  /// `values` with each tile as its elements.
  mlir::SmallVector<Value> flatten(mlir::ValueRange values);
  /// The inverse: takes what `tile` needs from `flat`.
  void takeFrom(mlir::ValueRange &flat, Value tile);

  //===--- Threads (SimtRegisters.cpp) ---===//
  /// The value, of 32 or 64 bits, that the lane has whose number differs in the
  /// bits `mask`.
  Value shuffleXor(Value value, uint32_t mask);
  /// XOR of the bases of the bits that are set in the thread's number, i32.
  /// Built once at the function's entry.
  Value threadLinear(mlir::ArrayRef<uint32_t> bases);
  /// The thread's part of the coordinate along `dim`, as index.
  Value threadCoord(const TileLayout &layout, unsigned dim);
  /// The whole coordinate of register `reg`, as index.
  Value coordinate(const TileLayout &layout, unsigned reg, unsigned dim);
  /// i1: of the threads that hold copies, this is the first; null if there are
  /// no copies.
  Value isFirstCopy(const TileLayout &layout);

  //===--- Numbers (SimtRegisters.cpp) ---===//
  Value index(int64_t value);
  Value i32(int64_t value);
  /// An index as i32.
  Value i32Of(Value value);
  /// Quotient and remainder, without signs.
  std::pair<Value, Value> divide(Value x, Value y);
  mlir::Type sharedPointer();

  LoweringRegistry registry;
  tile::KernelOp kernel;
  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp function;
  mlir::IRMapping mapping; ///< scalars, memrefs, buffers (as pointers)
  llvm::DenseMap<Value, TileRegisters> tiles;
  llvm::DenseMap<Value, GlobalView> views;
  std::map<std::vector<uint32_t>, Value> linears;
  mlir::Operation *entryEnd = nullptr; ///< threadLinear builds before it
  int64_t warps;
  mlir::SmallVector<Value> extents; ///< programs on each axis, index
  std::string sharedName; ///< of the variable that is the shared memory
  Value ownShared; ///< i32: the byte of it where this part's begins, or null
  Value thread; ///< i32; of a warp-specialized kernel counted in the warpgroup

private:
  /// The other form of a tile that was asked for last.
  mlir::SmallVector<Value> scratchElements, scratchPacked;
};

/// As long as it lives, what follows from the thread's number is computed where
/// it is lowered, so that no register holds it from the function's entry on.
class ThreadAnew {
public:
  explicit ThreadAnew(SimtContext &ctx);
  ~ThreadAnew();

private:
  SimtContext &ctx;
  mlir::Value thread;
  std::map<std::vector<uint32_t>, mlir::Value> linears;
  mlir::Operation *entryEnd;
};

//===----------------------------------------------------------------------===//
// Layouts (SimtRegisters.cpp)
//===----------------------------------------------------------------------===//

/// The coordinates of register `reg` in lane 0 of warp 0.
inline Coord coordOf(const TileLayout &layout, unsigned reg) {
  return layout.apply(reg, 0, 0);
}
/// For every element of register coordinates (those of lane 0, warp 0), the
/// first register.
std::map<Coord, unsigned> registerTable(const TileLayout &layout);
/// Whether every thread that holds an element of `result` holds that of
/// `source` with the same coordinates: dimension d of the result is dimension
/// `dims[d]` of the source; -1 is any.
bool inSameThreads(const TileLayout &source, const TileLayout &result,
                   mlir::ArrayRef<int64_t> dims);
/// The bits of a coordinate that differ between threads.
int32_t threadBits(const TileLayout &layout, unsigned dim);
/// The type that registers and memory have for elements of `type`: of 8 bits
/// integers.
mlir::Type inRegisters(mlir::Type type);
mlir::MemRefType inRegisters(mlir::MemRefType type);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTCONTEXT_H

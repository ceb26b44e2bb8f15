//===- SimtLowering.h - one tile.kernel as what one thread does -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How tiles with layouts become scalar code.
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
// Operands of dots that are read from shared memory are not read where the
// program says but fragment by fragment where the dot needs them; that keeps
// few registers busy.
//
// Files: SimtLowering (the function, the walk, control flow), SimtRegisters
// (who holds what), LowerPrograms, LowerElementwise, LowerDot, LowerFmaDot, LowerWarpgroupDot,
// LowerSoftmax, LowerGlobal, LowerShared, LowerRoles.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_SIMTLOWERING_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_SIMTLOWERING_H

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace fa {

class SimtLowering {
public:
  using Value = mlir::Value;

  explicit SimtLowering(tile::KernelOp kernel);

  /// Builds the function before the kernel, which is left in place. Emits an
  /// error at the operation that has no lowering.
  mlir::LogicalResult run();

private:
  /// What a thread holds of a tile: elements, pairs of them, or both.
  struct Registers {
    mlir::SmallVector<Value> elements;
    mlir::SmallVector<Value> packed; ///< i32
  };

  //===--- The walk (SimtLowering.cpp) ---===//
  void createFunction();
  void numberThreads(int32_t threads);
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);

  /// `values` with each tile as its elements.
  mlir::SmallVector<Value> flatten(mlir::ValueRange values);
  /// The inverse: takes what `tile` needs from `flat`.
  void takeFrom(mlir::ValueRange &flat, Value tile);

  //===--- Programs (LowerPrograms.cpp) ---===//
  bool isPersistent() const;
  mlir::LogicalResult lowerBody();
  /// The region of a role, for one program or for all that are the block's.
  mlir::LogicalResult lowerRole(mlir::Block &region);
  struct Turns;
  Turns takeTurns();
  /// Which of the programs of a turn is this block's.
  Value positionIn(const Turns &turns, Value turn);
  Value i32Of(Value value);
  /// Quotient and remainder.
  std::pair<Value, Value> divide(Value x, Value y);
  /// Maps a program's numbers on the three axes.
  void mapPrograms(mlir::ArrayRef<Value> ids);
  /// Those of the `number`-th program.
  void mapInOrder(Value number);
  void mapInGroups(Value number, Value blocks);

  //===--- Element by element (LowerElementwise.cpp) ---===//
  mlir::LogicalResult lowerConstant(mlir::Operation *op);
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);
  mlir::LogicalResult lowerBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult lowerConvert(tgpu::ConvertOp op);
  bool lowerToPairs(mlir::Operation *op);
  bool lowerRescale(mlir::Operation *op);
  bool lowerColumnLimit(mlir::Operation *op);
  Value cloneOnElements(mlir::Operation *op, mlir::ValueRange operands);
  void lowerIota(tile::IotaOp op);

  //===--- Registers (SimtRegisters.cpp) ---===//
  mlir::ArrayRef<Value> elementsOf(Value tile);
  mlir::ArrayRef<Value> packedOf(Value tile);
  void setElements(Value tile, mlir::SmallVector<Value> elements);
  void setPacked(Value tile, mlir::SmallVector<Value> packed);
  Value mapped(Value scalar) { return mapping.lookup(scalar); }

  /// For every element of register coordinates (those of lane 0, warp 0), the
  /// first register.
  static std::map<Coord, unsigned> registerTable(const TileLayout &layout);
  /// The coordinates of register `reg` in lane 0 of warp 0.
  static Coord coordOf(const TileLayout &layout, unsigned reg) {
    return layout.apply(reg, 0, 0);
  }

  //===--- Threads (SimtRegisters.cpp) ---===//
  /// Whether every thread that holds an element of `result` holds that of
  /// `source` with the same coordinates: dimension d of the result is dimension
  /// `dims[d]` of the source; -1 is any.
  static bool inSameThreads(const TileLayout &source, const TileLayout &result,
                            mlir::ArrayRef<int64_t> dims);
  /// XOR of the bases of the bits that are set in the thread's number, i32.
  /// Built once at the function's entry.
  Value threadLinear(mlir::ArrayRef<uint32_t> bases);
  /// The thread's part of the coordinate along `dim`, as index.
  Value threadCoord(const TileLayout &layout, unsigned dim);
  /// The bits of a coordinate that differ between threads.
  static int32_t threadBits(const TileLayout &layout, unsigned dim);
  /// The whole coordinate of register `reg`, as index.
  Value coordinate(const TileLayout &layout, unsigned reg, unsigned dim);
  /// i1: of the threads that hold copies, this is the first; null if there are
  /// no copies.
  Value isFirstCopy(const TileLayout &layout);

  //===--- Dots (LowerDot.cpp) ---===//
  mlir::LogicalResult lowerDot(tile::DotOp dot);
  struct Fragments;
  Fragments fragmentsOf(Value operand);
  /// The packed word that holds (row, column) and its neighbour in registers
  /// or, if it has not been read yet, by a matrix load.
  Value fragment(Fragments &fragments, int32_t row, int32_t column);

  //===--- Dots of f32 (LowerFmaDot.cpp) ---===//
  mlir::LogicalResult lowerFmaDot(tile::DotOp dot);
  struct SharedOperand;
  mlir::FailureOr<SharedOperand> openOperand(tile::DotOp dot, Value operand,
                                             unsigned depthDim);
  /// Element (row, column) of the operand in the block of the depth that begins
  /// at `depth`; neighbours are read with it.
  Value readElement(SharedOperand &operand, Coord at, Value depth);

  //===--- Softmax (LowerSoftmax.cpp) ---===//
  using Combine = llvm::function_ref<Value(Value, Value)>;
  /// The values of the lanes that differ in the bits `lanes`, combined.
  Value combineLanes(Value value, uint32_t lanes, Combine combine);
  /// For each register of `result`, the elements of `layout` in its row (or
  /// column, what is left without `dim`), combined; over the lanes, too, or for
  /// each thread its own.
  mlir::FailureOr<mlir::SmallVector<Value>>
  reduceAlong(mlir::Operation *op, mlir::ArrayRef<Value> elements,
              const TileLayout &layout, unsigned dim, const TileLayout &result,
              Combine combine, bool overLanes = true);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  mlir::LogicalResult lowerOnlineSoftmax(tile::OnlineSoftmaxOp op);
  mlir::LogicalResult lowerOnlineFinalize(tile::OnlineFinalizeOp op);
  struct Exponent;
  struct ExponentRow;
  /// How scores become p where they are multiplied with `c` in base 2: the same
  /// for all rows, and for one whose maximum becomes `max`.
  Exponent exponentOf(Value c);
  ExponentRow rowExponent(const Exponent &exponent, Value oldMax, Value max);
  Value exp2(Value x);
  Value shuffleXor(Value value, uint32_t mask);

  //===--- Global memory (LowerGlobal.cpp) ---===//
  /// A view in global memory, taken apart.
  struct GlobalView {
    mlir::MemRefType type;
    Value base; ///< pointer to the view's element 0
    mlir::SmallVector<Value> sizes, strides;
  };
  GlobalView openView(Value view);
  /// `address` + `step` elements.
  Value stepFrom(Value address, mlir::Type element, Value step);
  /// The same address, of which LLVM does not know what it is made of: nothing
  /// that is added to it moves out of a loop.
  Value opaque(Value address);
  /// The address of an element, all coordinates as index.
  Value addressOf(const GlobalView &view, mlir::ValueRange coords);
  /// i1: the coordinates are inside the view; null if that is certain.
  Value isInside(const GlobalView &view, mlir::ValueRange coords,
                 mlir::ArrayRef<bool> certain);
  /// Which dimensions of a tile at `indices` cannot leave the view.
  mlir::SmallVector<bool> certainDims(const GlobalView &view,
                                      mlir::ValueRange indices,
                                      mlir::ArrayRef<int64_t> tile,
                                      bool inBounds);
  Value loadOrZero(Value address, mlir::Type type, Value condition);
  void storeIf(Value address, Value value, Value condition);
  mlir::LogicalResult lowerLoad(tile::LoadOp op);
  mlir::LogicalResult lowerStore(tile::StoreOp op);
  mlir::LogicalResult lowerGather(tile::GatherOp op);

  //===--- Shared memory (LowerShared.cpp) ---===//
  void lowerCopy(tgpu::CopyOp op);
  void lowerRead(tgpu::ReadOp op);
  void lowerWrite(tgpu::WriteOp op);
  /// Whether the only dot that uses `read` can do the reading.
  static bool isReadByDot(tgpu::ReadOp read);
  /// The address of a slot's first byte, i32.
  Value slotAddress(mlir::TypedValue<tgpu::BufferType> buffer, Value slot);
  /// Pointer to `address` + (thread's part XOR `offset`) bytes.
  Value swizzledAddress(Value address, mlir::ArrayRef<uint32_t> threadBases,
                        uint32_t offset);
  Value offsetBy(Value address, int64_t bytes);
  /// The bytes that each bit of the thread's number steps in a buffer, and
  /// those of each register.
  static std::pair<mlir::SmallVector<uint32_t>, mlir::SmallVector<uint32_t>>
  byteOffsets(const LinearLayout &registers, const LinearLayout &shared,
              int64_t bytes);
  mlir::SmallVector<Value> loadMatrices(Value address, const MatrixLoad &load);

  //===--- Roles, channels (LowerRoles.cpp) ---===//
  mlir::LogicalResult lowerRoles(tgpu::RolesOp op);
  void initializeBarriers(int64_t consumers);
  void lowerAcquire(tgpu::AcquireOp op);
  void lowerFetch(tgpu::FetchOp op);
  void lowerAwait(tgpu::AwaitOp op);
  void lowerRelease(tgpu::ReleaseOp op);
  /// Number of a step's slot, and how often the slot was used before, modulo 2;
  /// i32.
  Value slotOf(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  Value phaseOf(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  std::pair<Value, Value>
  divideStep(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  /// The address of a step's slot, i32.
  Value channelSlot(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  /// Pointers to the channel's barriers: those of full slots come first.
  Value barrierAddress(mlir::TypedValue<tgpu::ChannelType> channel,
                       Value number);
  Value fullBarrier(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  Value emptyBarrier(mlir::TypedValue<tgpu::ChannelType> channel, Value step);
  /// Byte `offset` of the block's shared memory, i32.
  Value sharedBase(int64_t offset);

  //===--- Dots of warpgroups (LowerWarpgroupDot.cpp) ---===//
  void lowerDotStart(tgpu::DotStartOp op);
  void lowerDotWait(tgpu::DotWaitOp op);

  //===--- Small helpers ---===//
  Value index(int64_t value);
  Value i32(int64_t value);
  mlir::Type sharedPointer();

  tile::KernelOp kernel;
  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp function;
  mlir::IRMapping mapping; ///< scalars, memrefs, buffers (as pointers)
  llvm::DenseMap<Value, Registers> tiles;
  llvm::DenseMap<Value, GlobalView> views;
  std::map<std::vector<uint32_t>, Value> linears;
  mlir::Operation *entryEnd = nullptr; ///< threadLinear builds before it
  int64_t warps;
  mlir::SmallVector<Value> extents; ///< programs on each axis, index
  /// i32. Of a kernel with roles `thread` is counted in the warpgroup.
  Value thread, threadInBlock, warpgroup;
  /// The other form of a tile that was asked for last.
  mlir::SmallVector<Value> scratchElements, scratchPacked;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_SIMTLOWERING_H

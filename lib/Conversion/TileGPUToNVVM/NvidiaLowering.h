//===- NvidiaLowering.h - what a thread does on NVIDIA ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of dots that are read from shared memory are not read where the
// program says but fragment by fragment where the dot needs them; that keeps
// few registers busy.
//
// Files: NvidiaLowering (the function, exchanges), LowerPrograms, LowerCopy,
// LowerDot, LowerFmaDot, LowerWarpgroupDot, LowerRamp, LowerRoles, LowerFetch,
// LowerDeliver, LowerExchange.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERING_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERING_H

#include "../TileGPUToSimt/SimtLowering.h"

#include "fa/Launch/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa {

inline constexpr int32_t kWarpThreads = 32;

class NvidiaLowering final : public SimtLowering {
public:
  /// `convertsNarrow`: there are conversions of pairs of e4m3 (sm_89).
  NvidiaLowering(tile::KernelOp kernel, bool convertsNarrow);

private:
  //===--- The function, exchanges (NvidiaLowering.cpp) ---===//
  void declareFunction() override;
  void numberThreads() override;
  Value takeWarpNumber();
  Value blockNumber() override;
  Value programNumber() override;
  mlir::LogicalResult lowerTargetOp(mlir::Operation *op) override;
  Value exp2(Value x) override;
  Value log2(Value x) override;
  Value readThread() override;
  Value shuffleXor(Value value, uint32_t mask) override;
  bool runsInWholeWarps() const override { return fetcher != Fetcher::Alone; }
  bool testsBits() const override { return true; }
  Value anyLane(Value condition) override;
  Value opaque(Value address) override;
  /// The same number, i32 or i64: what follows from it is not computed earlier.
  Value hide(Value number);
  bool convertPairs(mlir::Operation *op) override;
  bool widenPairs(mlir::arith::ExtFOp op);
  Value scaleHalves(Value halves) override;
  Value toBfloats(Value halves) override;
  /// The four codes of e4m3 in `word` as two words of `element`, of neighbours
  /// or, if `isAcross`, of every second one.
  std::array<Value, 2> widenWord(Value word, bool isAcross, mlir::Type element);
  /// By ldmatrix, where that can be.
  void lowerRead(tgpu::ReadOp op) override;

  //===--- Packed sequences (LowerSequence.cpp) ---===//
  void lowerSequenceOf(tile::SequenceOfOp op) override;

  //===--- Programs (LowerPrograms.cpp) ---===//
  bool isPersistent() const;
  /// How many blocks a cluster has.
  int64_t clusterBlocks() const;
  /// The number of this one among them; i32.
  Value rankInCluster();
  mlir::LogicalResult lowerBody() override;
  mlir::LogicalResult lowerBodyOfWarp();
  /// The region of a role, for one program or for all that are the block's.
  mlir::LogicalResult lowerRole(mlir::Block &region);
  /// Of a role that has the loop over its programs written out.
  mlir::LogicalResult lowerLoopOfRole(mlir::Block &region);
  mlir::LogicalResult lowerTurns(tgpu::TurnsOp op);
  mlir::LogicalResult lowerProgramIn(tgpu::ProgramInOp op);
  void lowerAnew(tgpu::AnewOp op);
  void keepInLoop(mlir::memref::DimOp size);
  struct Turns;
  Turns takeTurns();
  /// The program that this block runs in a turn, by axis.
  std::array<Value, 3> programIn(const Turns &turns, Value turn);

  //===--- Shared memory (LowerCopy.cpp) ---===//
  void lowerCopy(tgpu::CopyOp op);
  /// Whether the only dot that uses `read` can do the reading.
  static bool isReadByDot(tgpu::ReadOp read);
  mlir::SmallVector<Value> loadMatrices(Value address, const MatrixLoad &load);
  mlir::SmallVector<Value> loadQuad(Value address);
  void lowerQuadRead(tgpu::ReadOp op);

  //===--- Dots (LowerDot.cpp) ---===//
  mlir::LogicalResult lowerDot(tile::DotOp dot) override;
  struct Fragments;
  Fragments fragmentsOf(Value operand);
  /// The word whose first element is (row, column), in registers or, if it has
  /// not been read yet, from shared memory.
  Value fragment(Fragments &fragments, int32_t row, int32_t column);
  /// Reads the word of register `reg` of a copy of the layout, and what the
  /// same instruction brings.
  void loadFragments(Fragments &fragments, unsigned copy, unsigned reg);
  static std::optional<int64_t> columnStride(const Fragments &fragments,
                                             int32_t step);
  /// Where it pays, a loop over parts of the depth of `dot`, in whose body
  /// `left`, `right` and `acc` are those of a part, of `depth` steps; else
  /// none.
  mlir::scf::ForOp beginDepthLoop(tile::DotOp dot, Fragments &left,
                                  Fragments &right, int32_t &depth,
                                  mlir::SmallVector<Value> &acc);
  /// An f32, or its bits, as the word that mma.sync takes.
  Value toTf32(Value element);
  static mlir::SmallVector<int32_t> rowsOf(const TileLayout &layout);

  //===--- Parts of a block (LowerParts.cpp) ---===//
  /// Numbers the threads of each part and its shared memory.
  void divideIntoParts();
  void lowerBarrier();
  mlir::LogicalResult lowerMergeParts(tgpu::MergePartsOp op);
  void joinParts();

  //===--- Dots of f32 (LowerFmaDot.cpp) ---===//
  mlir::LogicalResult lowerFmaDot(tile::DotOp dot);
  struct SharedOperand;
  mlir::FailureOr<SharedOperand> openOperand(tile::DotOp dot, Value operand,
                                             unsigned depthDim);
  /// Element (row, column) of the operand in the block of the depth that begins
  /// at `depth`; neighbours are read with it.
  Value readElement(SharedOperand &operand, Coord at, Value depth);

  //===--- Roles, channels (LowerRoles.cpp) ---===//
  mlir::LogicalResult lowerRoles(tgpu::RolesOp op);
  void initializeBarriers(int64_t consumers);
  /// Waits for all threads of the block and of those in its cluster.
  void syncCluster();
  mlir::LogicalResult lowerProducers(tgpu::RolesOp op);
  mlir::LogicalResult lowerConsumer(tgpu::RolesOp op);
  mlir::LogicalResult lowerStorer(tgpu::RolesOp op);
  /// Gives away or takes registers, as the plan says of a partition.
  void exchangeRegisters(llvm::StringRef partition);
  /// Lowers something for one lane of a warp.
  void byOneLane(llvm::function_ref<void()> lower);
  void giveFirstTurn(tgpu::RolesOp roles);
  void lowerOrderWait(tgpu::OrderWaitOp op);
  void lowerOrderArrive(tgpu::OrderArriveOp op);
  void lowerAcquire(tgpu::AcquireOp op);
  void lowerAwait(tgpu::AwaitOp op);
  void lowerReceive(tgpu::ReceiveOp op);
  void receiveVector(tgpu::ReceiveOp op);
  void lowerRelease(tgpu::ReleaseOp op);
  Value whenRead(mlir::ArrayRef<Value> words);
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

  //===--- Boxes of tensors (LowerFetch.cpp) ---===//
  void lowerFetch(tgpu::FetchOp op);
  void fetchTile(tgpu::FetchOp op);
  void fetchRows(tgpu::FetchOp op, int64_t rows, Value first, Value to,
                 Value page = {});
  void fetchPages(tgpu::FetchOp op);
  void expectTile(tgpu::FetchOp op);
  void fetchShared(tgpu::FetchOp op);
  void fetchPart(tgpu::FetchOp op, Value first, Value valid);
  void fetchGroups(tgpu::FetchOp op, Value valid,
                   llvm::function_ref<void(Value row, int64_t count)> fetch);
  void forEachLane(Value step, int64_t end,
                   llvm::function_ref<void(Value)> body);
  void byFetcher(llvm::function_ref<void()> lower);
  /// The kernel's parameter.
  Value parameterOf(const TensorMapInfo &map);
  /// Coordinates of a box, i32, innermost first: `indices`, and `column` more
  /// in dimension `unitDim`.
  mlir::SmallVector<Value> boxStart(mlir::ValueRange indices, int64_t unitDim,
                                    int64_t column);

  //===--- Tiles that leave (LowerDeliver.cpp) ---===//
  void lowerDeliver(tgpu::DeliverOp op);
  /// What fills lines of a slot, as many columns as `line` has or as there are,
  /// from `column` of `tile` on; the first line begins at `address`.
  void writeLine(Value tile, int64_t column, const TileLayout &line,
                 Value address);
  void lowerPut(tgpu::PutOp op);
  void lowerSend(tgpu::SendOp op);
  /// Where slots of `buffer` are stored to.
  struct Boxes {
    TensorMapInfo map;
    tgpu::BufferType buffer;
    mlir::ValueRange indices;
    llvm::ArrayRef<int64_t> dims;
    Value offset = {}; ///< rows behind `indices`, i32; null: none
  };
  /// Those at `address`, from `column` of the tile on, by the threads of which
  /// `stores` is true.
  void storeBoxes(const Boxes &boxes, int64_t column, Value address,
                  Value stores);
  Value storeCutRows(tgpu::DeliverOp op, Boxes boxes, int64_t column,
                     Value slot, Value valid);
  /// What this thread has written to shared memory comes before what is read
  /// there by the asynchronous proxy.
  void fenceStores();
  /// Until what this thread has delivered has left shared memory.
  void awaitDeliveries();
  /// A barrier of this consumer's threads; with a condition, whether it is true
  /// in any of them.
  Value meetConsumer(Value condition = {});

  //===--- Tiles that consumers exchange (LowerExchange.cpp) ---===//
  void lowerExchange(tgpu::ExchangeOp op);
  void meetConsumers(tgpu::RolesOp roles);
  /// The address of the slot of its step, i32.
  Value exchangeSlot(tgpu::ExchangeOp op);
  /// Where this consumer's rows of the transpose begin, i32.
  Value exchangedRows(tgpu::ExchangeOp op);

  //===--- Dots of warpgroups (LowerWarpgroupDot.cpp) ---===//
  void lowerDotStart(tgpu::DotStartOp op);
  void lowerDotWait(tgpu::DotWaitOp op);
  void keepStepsHere(tgpu::DotStartOp op);
  Value anyOfDot(Value condition) override;

  //===--- Ramps as a step of a dot (LowerRamp.cpp) ---===//
  /// Writes what ramps are multiplied with, if there are any.
  void writeNumbers();
  Value numbersDescriptor(tgpu::RampOp ramp);
  /// The left operand of the step that adds `ramp`, four words.
  mlir::SmallVector<Value> leftOf(tgpu::RampOp ramp, bool isSeldom);
  /// Those of a factor and of a tile whose first element is as far away; null:
  /// of one that is at 0.
  mlir::SmallVector<Value> wordsOf(Value factor, Value distance);
  mlir::ArrayRef<Value> programWords(Value factor);
  llvm::DenseMap<Value, mlir::SmallVector<Value>> rampWords;

  bool convertsNarrow;
  Value threadInBlock, warpgroup; ///< i32
  Turns *turnsOfRole = nullptr;   ///< while lowerLoopOfRole lowers it
  Value warpNumber; ///< i32: of a warp that runs a program by itself
  Value part;       ///< i32: this thread's, until the parts are merged
  /// Channels of the warp that is lowered.
  llvm::SmallPtrSet<Value, 4> produced;
  /// Who is in the producer that is lowered now, if one is.
  enum class Fetcher { None, Alone, OfWarp } fetcher = Fetcher::None;
  /// In words.
  llvm::DenseMap<tgpu::ReceiveOp, llvm::SmallVector<Value>> received;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_NVIDIALOWERING_H

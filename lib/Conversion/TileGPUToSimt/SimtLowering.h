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
// Here is what GPUs have in common. A target derives from the class and says
// how a function looks, what computes dots, how lanes exchange values and what
// moves tiles between memories: NvidiaLowering, AmdLowering.
//
// Files: SimtLowering (the function, the walk, control flow), SimtRegisters
// (who holds what), LowerElementwise, LowerNarrow, LowerPositions, LowerTanh,
// LowerSoftmax, LowerGlobal, LowerShared.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERING_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERING_H

#include "TileGPU/TileGPU.h"
#include "fa/Layout/Plans.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>
#include <string>

namespace fa {

struct OddTanh;
struct SmallTanh;

/// Checks that `kernel` is at stage S7: that it says its warps and how much
/// shared memory a block has.
mlir::LogicalResult verifyPlaced(tile::KernelOp kernel);

class SimtLowering {
public:
  using Value = mlir::Value;

  /// `kernel` is at S7.
  explicit SimtLowering(tile::KernelOp kernel);
  virtual ~SimtLowering() = default;

  /// Builds the function before the kernel, which is left in place. Emits an
  /// error at the operation that has no lowering.
  mlir::LogicalResult run();

protected:
  //===--- What a target decides ---===//
  /// Creates `function` with its first parameter, the pointer to the words of
  /// the arguments, and with an entry block.
  virtual void declareFunction() = 0;
  /// Sets `thread` and what else numbers threads, at the start of the entry.
  virtual void numberThreads() = 0;
  /// The block's number in a linear grid, i32.
  virtual Value blockNumber() = 0;
  /// That of the program which this thread runs, i32.
  virtual Value programNumber() { return blockNumber(); }
  /// The kernel's body: a block runs the program that has its number.
  virtual mlir::LogicalResult lowerBody();
  virtual mlir::LogicalResult lowerDot(tile::DotOp dot) = 0;
  /// An operation of tgpu that not every GPU has in the same way; an error if
  /// this one has it in none.
  virtual mlir::LogicalResult lowerTargetOp(mlir::Operation *op);
  /// Two to the power of `x`, and its inverse: approximations, denormals are 0.
  virtual Value exp2(Value x) = 0;
  virtual Value log2(Value x) = 0;
  /// `thread`, read anew: neither LLVM nor an assembler takes it for the same.
  virtual Value readThread() { return shuffleXor(thread, 0); }
  /// The value that the lane has whose number differs in the bits `mask`.
  virtual Value shuffleXor(Value value, uint32_t mask) = 0;
  /// Whether what is lowered now is run by all threads of a warp.
  virtual bool runsInWholeWarps() const { return true; }
  /// Whether a test of a bit costs no more than a comparison.
  virtual bool testsBits() const { return false; }
  /// Whether `condition` holds in any lane of the warp.
  virtual Value anyLane(Value condition) = 0;
  /// The same address, of which LLVM does not know what it is made of: nothing
  /// that is added to it moves out of a loop.
  virtual Value opaque(Value address) = 0;
  /// f32 to a tile of 16 bits, or back, in instructions of its own; false:
  /// there are none.
  virtual bool convertPairs(mlir::Operation *) { return false; }
  /// Two halves, <2 x f16>, times 256, denormals included.
  virtual Value scaleHalves(Value halves);
  /// Two halves that bf16 has as well, as a word of two of these.
  virtual Value toBfloats(Value halves);
  /// Tiles from and to global and shared memory: element by element.
  virtual mlir::LogicalResult lowerLoad(tile::LoadOp op);
  virtual mlir::LogicalResult lowerStore(tile::StoreOp op);
  virtual void lowerRead(tgpu::ReadOp op);
  virtual void lowerWrite(tgpu::WriteOp op);

  struct WordBit {
    Value word; ///< i32
    unsigned bit;
  };

  /// What a thread holds of a tile: elements, pairs of them, or both.
  struct Registers {
    mlir::SmallVector<Value> elements;
    mlir::SmallVector<Value> packed; ///< i32
    /// Of a mask in words, what each element tests.
    mlir::SmallVector<WordBit> bits = {};
  };

  //===--- The walk (SimtLowering.cpp) ---===//
  void createFunction();
  /// Maps what a program is on each axis, i32, and of how many.
  void mapPrograms(std::array<Value, 3> program);
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  /// A branch that is seldom taken: masks that it reads are computed anew,
  /// since ptxas would keep what their bits were in registers, with an
  /// instruction for each.
  mlir::LogicalResult lowerSeldom(mlir::Block &block);

  /// `values` with each tile as its elements.
  mlir::SmallVector<Value> flatten(mlir::ValueRange values);
  /// The inverse: takes what `tile` needs from `flat`.
  void takeFrom(mlir::ValueRange &flat, Value tile);

  //===--- Loops over rows (LowerExtremes.cpp) ---===//
  /// Whether a loop finds the smallest or largest of scalars that depend on its
  /// number alone, in whatever order.
  static bool findsExtremes(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerExtremes(mlir::scf::ForOp loop);
  Value shuffleIndex(Value value, uint32_t mask);

  //===--- Element by element (LowerElementwise.cpp) ---===//
  mlir::LogicalResult lowerConstant(mlir::Operation *op);
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);
  mlir::LogicalResult lowerBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult lowerConvert(tgpu::ConvertOp op);
  bool lowerRescale(mlir::Operation *op);
  bool lowerColumnLimit(mlir::Operation *op);
  bool lowerNumberBits(mlir::Operation *op);
  /// In LowerColumnBits.cpp: columns between two limits.
  bool lowerColumnBits(mlir::Operation *op);
  /// A selection by such columns.
  bool lowerBitSelect(mlir::Operation *op);
  Value testBit(const WordBit &at);
  /// Of registers whose columns in a row are `run` neighbours in each `period`:
  /// a bit for each, in ascending order, which is set from column `limit` on.
  Value bitsFrom(Value limit, int64_t period, int64_t run, int64_t columns);
  /// In LowerPositions.cpp.
  struct Position;
  bool addPosition(Value tile, bool minus, Position &sum);
  bool lowerPosition(mlir::Operation *op);
  /// In LowerTanh.cpp.
  bool lowerTanh(mlir::Operation *op);
  Value largestOf(mlir::ArrayRef<Value> elements);
  mlir::SmallVector<Value> scaleCoefficients(const SmallTanh &form,
                                             Value factor);
  Value evaluate(mlir::ArrayRef<Value> coefficients, Value argument);
  /// What `tanh` is of: a tile, and the number that all of it is multiplied
  /// with.
  std::pair<mlir::SmallVector<Value>, Value>
  takeFactor(mlir::math::TanhOp tanh);
  /// i1: powers of `factor` are no numbers for a polynomial's coefficients.
  Value isOutOfRange(Value factor);
  /// i1, of a thread: whether tanh(factor · score) of one of these needs more
  /// than a form for numbers up to `bound`.
  Value isBeyond(mlir::ArrayRef<Value> scores, Value factor, float bound);
  /// tanh(factor · score), in the first form that does for all of a warp's.
  mlir::SmallVector<Value> tanhOf(mlir::ArrayRef<Value> scores, Value factor,
                                  mlir::ArrayRef<SmallTanh> forms);
  Value cloneOnElements(mlir::Operation *op, mlir::ValueRange operands);
  void lowerIota(tile::IotaOp op);

  //===--- Elements of 8 bits (LowerNarrow.cpp) ---===//
  /// The type that registers and memory have for elements of `type`: of 8 bits
  /// integers.
  static mlir::Type inRegisters(mlir::Type type);
  static mlir::MemRefType inRegisters(mlir::MemRefType type);
  /// Whether `op` widens e4m3; it is lowered then.
  bool lowerWidening(mlir::Operation *op);
  /// Two codes of e4m3, in the low bytes of a word's halves, as <2 x f16>.
  Value widenCodes(Value codes);
  /// `halves`, <2 x f16>, as a word of two of `element`, f16 or bf16.
  Value asWord(Value halves, mlir::Type element);

  //===--- Registers (SimtRegisters.cpp) ---===//
  mlir::ArrayRef<Value> elementsOf(Value tile);
  mlir::ArrayRef<Value> packedOf(Value tile);
  /// Neighbours of 16 bits as words, of 32 as vectors of two.
  mlir::SmallVector<Value> pairsOf(Value tile);
  /// Vectors of two neighbours each.
  mlir::SmallVector<Value> pairUp(mlir::ArrayRef<Value> elements);
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

  /// As long as it lives, what follows from the thread's number is computed
  /// where it is lowered, so that no register holds it from the function's
  /// entry on.
  class ThreadAnew {
  public:
    explicit ThreadAnew(SimtLowering &lowering);
    ~ThreadAnew();

  private:
    SimtLowering &lowering;
    Value thread;
    std::map<std::vector<uint32_t>, Value> linears;
    mlir::Operation *entryEnd;
  };

  //===--- Softmax (LowerSoftmax.cpp) ---===//
  using Combine = llvm::function_ref<Value(Value, Value)>;
  /// The values of the lanes that differ in the bits `lanes`, combined.
  Value combineLanes(Value value, uint32_t lanes, Combine combine);
  /// Adds up `sum`, of rows `rows`, over the threads that share a row of `acc`,
  /// if `op` says that they are those of threads.
  mlir::LogicalResult addThreadSums(mlir::Operation *op, const TileLayout &acc,
                                    const TileLayout &rows,
                                    mlir::MutableArrayRef<Value> sum);
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
  void lowerOnlineMerge(tile::OnlineMergeOp op);
  /// p = exp2(s c − m c), one multiply-add and one exp2 for each score, where c
  /// is log2 e times the scale. The rounding of m c is a factor that all of a
  /// row's p and its sum share: at most 2^8 while |m c| < 2^28, 2^32 while it
  /// is below 2^30. From such a limit on, different scores are far apart in the
  /// exponent, by 16 or 64: p is 1 where s is m and next to 0 elsewhere. The
  /// power of two in c does for c then, and m times it is exact. Sentinels of
  /// −1e30 are such scores.
  struct Exponent {
    Value c, power; ///< c, and the power of two in it
    Value limit;    ///< |m| from which on the power does
    /// A maximum of −inf is this one: what a product with the power leaves
    /// finite.
    Value lowest;
    /// By how many powers of two of p a maximum that is held begins above the
    /// scores, so that p stays below 1; 0: it is the maximum, and p goes up to
    /// 2^7.
    float startsAbove;
    /// A little less than what |m c| is below `limit`.
    float mostProduct;
  };
  /// Of one row: factor · s + offset is the exponent of p; `alpha` rescales
  /// what came before.
  struct ExponentRow {
    Value factor, offset, alpha;
  };
  /// Of an online softmax: p, and each row's new maximum and factor of what
  /// came before.
  struct SoftmaxStep {
    mlir::SmallVector<Value> p, max, alpha;
  };
  using ScoreMasks = mlir::SmallVector<mlir::SmallVector<Value>>;
  /// The conditions of what masks `scores` (`belowMasks`).
  ScoreMasks masksOf(Value scores);
  /// `value`, or −inf where element `reg` is masked.
  Value masked(Value value, const ScoreMasks &masks, size_t reg);
  mlir::FailureOr<SoftmaxStep> softmaxStep(tile::OnlineSoftmaxOp op,
                                           mlir::SmallVector<Value> scores);
  /// Where scores are capped: in LowerCapped.cpp, with the operations that cap
  /// and mask them.
  mlir::FailureOr<SoftmaxStep> cappedStep(tile::OnlineSoftmaxOp op);
  /// Whether steps of the kernel are `tgpu.expected_softmax`.
  bool expectsMaxima();
  bool isPartOfCapped(mlir::Operation *op);
  /// Whether the step `op` of capped scores asks for the form of tanh itself:
  /// beside expected maxima it is what is done where the short one does not do.
  bool hasShortForm(tile::OnlineSoftmaxOp op);
  /// Where old maxima are expected to do: in LowerExpected.cpp.
  mlir::LogicalResult lowerExpectedSoftmax(tgpu::ExpectedSoftmaxOp op);
  /// What caps the scores of `op`, below their masks; null: nothing does.
  static mlir::math::TanhOp cappedOf(tgpu::ExpectedSoftmaxOp op);
  /// In LowerCapped.cpp: the exponents of such scores, c tanh(f s) + the offset
  /// of each register, by a short polynomial, and whether a score of this
  /// thread is beyond what that is for.
  std::pair<mlir::SmallVector<Value>, Value>
  cappedExponents(tgpu::ExpectedSoftmaxOp op, Value c,
                  llvm::function_ref<Value(size_t)> offsetOf);
  OddTanh tanhUpTo(tgpu::ExpectedSoftmaxOp op);
  Value squareAbove(mlir::ArrayRef<Value> squares, Value limit);
  /// Whether `condition` is true in any thread whose dots are the same.
  virtual Value anyOfDot(Value condition);
  static constexpr float kLog2e = 1.44269504f;
  /// How scores become p where they are multiplied with `c` in base 2: the same
  /// for all rows, and for one whose maximum becomes `max`. Unless `limited`,
  /// without `power`, `limit` and `lowest`.
  Exponent exponentOf(Value c, bool limited = true);
  /// The maximum that a row goes on with: `raised`, or still `old`; one that is
  /// new is at least `least`, unless that is null.
  Value holdMax(const Exponent &exponent, Value old, Value raised, Value least);
  /// With `shift`, the scores lack as much (`firstOfRamp`), `max` does not.
  ExponentRow rowExponent(const Exponent &exponent, Value oldMax, Value max,
                          Value shift = {});
  /// Whether dots with ramps leave out element 0, 0 of them, which the softmax
  /// adds: three consumers have few registers. Not with ramps of two sides,
  /// whose factors are those of a tile.
  bool firstIsApart();
  /// What scores that a dot leaves, perhaps masked, lack for that; null:
  /// nothing.
  Value firstOfRamp(Value scores);
  /// Whether what takes the scores of `wait` knows of its ramp, if it has one.
  mlir::LogicalResult checkRamp(tgpu::DotWaitOp wait);

  //===--- Global memory (LowerGlobal.cpp) ---===//
  /// A view in global memory, taken apart.
  struct GlobalView {
    mlir::MemRefType type;
    Value base; ///< pointer to the view's element 0
    mlir::SmallVector<Value> sizes, strides;
    /// Where rows are found through a table, i32 but for the steps: `base` is
    /// row 0 of page 0, `strides` are of a page's rows and columns.
    struct Pages {
      Value table;      ///< pointer to the entry of row 0
      Value entryStep;  ///< entries of the row's are apart by, elements
      Value pageStep;   ///< pages are apart by, elements
      Value rows;       ///< of a page
      Value reciprocal; ///< (2^32 - 1) / rows
      Value last;       ///< page
    };
    std::optional<Pages> pages;
  };
  GlobalView openView(Value view);
  /// Which packed sequence a slot belongs to: by each thread for itself.
  virtual void lowerSequenceOf(tile::SequenceOfOp op);
  /// Where rows of `sequence` are found in `pages`, of rank 4.
  GlobalView::Pages openTable(const GlobalView &pages, Value table,
                              Value sequence);
  /// The page of a row, and the row's number in it; all are i32. Of what
  /// `isInside` says is not there, some page's.
  std::pair<Value, Value> findPage(const GlobalView::Pages &pages, Value row,
                                   Value isInside);
  /// Opens a view of pages where it is made.
  void openPages(tile::PagedViewOp op);
  /// Makes a view of a slot a part of the pages.
  void openSlotView(tile::SlotViewOp op);
  std::pair<Value, Value> divideByPage(const GlobalView::Pages &pages,
                                       Value row);
  /// Where row `row` of a view of pages begins; `isCertain`: the view has it.
  /// Of a row that it has not, some address.
  Value findPagedRow(const GlobalView &view, Value row, bool isCertain);
  /// `address` + `step` elements.
  Value stepFrom(Value address, mlir::Type element, Value step);
  /// The address of an element, all coordinates as index; `isRowCertain`: the
  /// view has its row.
  Value addressOf(const GlobalView &view, mlir::ValueRange coords,
                  bool isRowCertain = false);
  /// A walk over the elements that one thread accesses, from address to
  /// address: one of its own for each would fill the registers.
  struct AddressWalk {
    Value address;
    Coord last;              ///< its coordinates in the tile
    Value firstRow;          ///< of a view of pages
    int64_t firstInTile = 0; ///< the same in the tile
  };
  /// The address of the element at `coords`, in the tile at `inTile` but for
  /// the thread's part, which is the same for all.
  Value stepTo(AddressWalk &walk, const GlobalView &view,
               mlir::ValueRange coords, const Coord &inTile,
               bool isRowCertain = false);
  /// i1: the coordinates are inside the view; null if that is certain.
  Value isInside(const GlobalView &view, mlir::ValueRange coords,
                 mlir::ArrayRef<bool> certain);
  /// Which dimensions of a tile at `indices` cannot leave the view.
  mlir::SmallVector<bool> certainDims(const GlobalView &view,
                                      mlir::ValueRange indices,
                                      mlir::ArrayRef<int64_t> tile,
                                      bool inBounds);
  /// `isConstant`: nobody writes there while the kernel runs.
  Value loadOrZero(Value address, mlir::Type type, Value condition,
                   bool isConstant = false);
  void storeIf(Value address, Value value, Value condition);
  mlir::LogicalResult lowerGather(tile::GatherOp op);

  //===--- Shared memory (LowerShared.cpp) ---===//
  /// Byte `offset` of the shared memory of the block, or of this part of it,
  /// i32.
  Value sharedBase(int64_t offset);
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

  //===--- Small helpers ---===//
  Value index(int64_t value);
  Value i32(int64_t value);
  /// An index as i32.
  Value i32Of(Value value);
  /// Quotient and remainder, without signs.
  std::pair<Value, Value> divide(Value x, Value y);
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
  std::string sharedName; ///< of the variable that is the shared memory
  Value ownShared; ///< i32: the byte of it where this part's begins, or null
  Value thread;    ///< i32; of a kernel with roles counted in the warpgroup
  /// The other form of a tile that was asked for last.
  mlir::SmallVector<Value> scratchElements, scratchPacked;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERING_H

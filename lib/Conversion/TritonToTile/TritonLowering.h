//===- TritonLowering.h - one of Triton's functions as a kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tt.func becomes a tile.kernel, operation by operation. Beside scalars and
// tiles, which stay what they are, a value is
//
//  - an integer tile whose elements are sums of steps (AffineTile): it is made
//  a
//    tile only where one is asked for;
//  - a mask: bounds of single dimensions, and a tile for what is none;
//  - addresses: an argument and how far from its first element, as an
//  AffineTile
//    or, where they follow no steps, as a tile;
//  - a block: a block pointer, or a descriptor.
//
// A load or store whose addresses have steps is one of a view; bounds are the
// view's sizes. Everything else is a gather or a scatter, or an error that
// names the operation: nothing is guessed.
//
// Files: TritonLowering (the function, the walk), LowerTiles (what is
// computed), LowerShapes, LowerReductions, LowerAddresses, LowerMasks,
// LowerMemory, LowerStores, LowerLoops, LowerControl; IndexMath.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TRITONTOTILE_TRITONLOWERING_H
#define FA_LIB_CONVERSION_TRITONTOTILE_TRITONLOWERING_H

#include "IndexMath.h"

#include "Tile/Tile.h"
#include "Triton/Triton.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// Which elements of a tile are meant.
struct TileMask {
  /// Elements of dimension `dim` from `limit` on are not, nor are those before
  /// `first`: numbers of type index; null is no bound.
  struct Bound {
    int64_t dim;
    mlir::Value first, limit;
  };
  llvm::SmallVector<Bound> bounds;
  mlir::Value rest; ///< a tile of i1 that holds, too; null: none
};

/// Where the elements of a tile, or one element, are in memory.
struct Addresses {
  mlir::Value memory; ///< the kernel's argument
  AffineTile offsets;
  mlir::Value unordered; ///< offsets that follow no steps: a tile of index
};

/// A block pointer, whose offsets are its own, or a descriptor.
struct TensorBlock {
  mlir::Value memory, base;
  llvm::SmallVector<mlir::Value> sizes, strides, offsets;
  bool padsWithNan = false;
};

class TritonLowering {
public:
  using Value = mlir::Value;
  using Operation = mlir::Operation;

  explicit TritonLowering(triton::FuncOp func);

  /// Builds the kernel before the function, which is left in place. Emits an
  /// error at the operation that no kernel has.
  mlir::LogicalResult run();

private:
  //===--- The function and the walk (TritonLowering.cpp) ---===//
  mlir::LogicalResult createKernel();
  void lowerDivisibility(mlir::BlockArgument argument);
  mlir::LogicalResult lowerBody();
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(Operation *op);
  /// An error at `op`: what it is, and why no kernel has it.
  mlir::InFlightDiagnostic refuse(Operation *op, const llvm::Twine &why);

  //===--- What is computed (LowerTiles.cpp) ---===//
  mlir::LogicalResult lowerElementwise(Operation *op);
  mlir::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult lowerDot(triton::DotOp op);
  mlir::LogicalResult lowerClamp(triton::ClampFOp op);
  mlir::LogicalResult lowerMulhi(triton::MulhiUIOp op);
  mlir::LogicalResult lowerIntegers(Operation *op);
  mlir::LogicalResult lowerProgram(Operation *op, Value index);
  static bool isIntegerTile(Value value);

  /// `source` as a tile, or as the scalar that it is. A scalar that was reduced
  /// from a tile is a tile of one element.
  mlir::FailureOr<Value> get(Operation *user, Value source);
  /// The same of a scalar, which all threads have, if it was reduced.
  mlir::FailureOr<Value> getScalar(Operation *user, Value source);
  /// `value`, or the only element of the tile that it is.
  Value scalarOf(Value value);
  /// Numbers, or tiles, as the same: beside a number that was reduced others
  /// are tiles of one element, too.
  void makeAlike(mlir::MutableArrayRef<Value> numbers);
  /// The same of a number of type index; null if it has none.
  mlir::FailureOr<Value> getIndex(Operation *user, Value source);
  /// `tile` with the elements of `offsets`, of `element`'s type.
  Value materialize(const AffineTile &offsets, llvm::ArrayRef<int64_t> shape,
                    mlir::Type element);
  Value broadcast(Value scalar, mlir::RankedTensorType type);
  Value iota(int64_t dim, llvm::ArrayRef<int64_t> shape, mlir::Type element);
  std::optional<AffineTile> findAffine(Value source);

  //===--- LowerShapes.cpp ---===//
  mlir::LogicalResult lowerSplat(triton::SplatOp op);
  mlir::LogicalResult lowerExpandDims(triton::ExpandDimsOp op);
  mlir::LogicalResult lowerBroadcast(triton::BroadcastOp op);
  mlir::LogicalResult lowerReshape(triton::ReshapeOp op);
  mlir::LogicalResult lowerTrans(triton::TransOp op);

  //===--- LowerReductions.cpp ---===//
  mlir::LogicalResult lowerReduce(triton::ReduceOp op);
  mlir::LogicalResult lowerIndexed(triton::ReduceOp op, Value tile, Value most);
  mlir::LogicalResult lowerMoments(triton::ReduceOp op);
  mlir::LogicalResult lowerScan(triton::ScanOp op);
  mlir::LogicalResult lowerHistogram(triton::HistogramOp op);
  /// Checks that `source` is a tile that `op` can reduce or scan.
  mlir::LogicalResult checkCombined(Operation *op, Value source);
  mlir::FailureOr<Value> turnReduced(Operation *op, int64_t axis, Value source);
  Value reduceRows(tile::ReduceKind kind, Value tile);

  //===--- LowerMasks.cpp ---===//
  bool lowerCompare(mlir::arith::CmpIOp op);
  bool lowerBothMasks(mlir::arith::AndIOp op);
  Value materialize(const TileMask &mask, llvm::ArrayRef<int64_t> shape);
  std::optional<TileMask> findMask(Value source);
  /// All `size` elements of a dimension, or none.
  TileMask::Bound allOrNone(int64_t dim, int64_t size, Value condition);
  /// The same of the only element of dimension `bound.dim` where it is
  /// repeated.
  TileMask::Bound repeat(const TileMask::Bound &bound, int64_t size);

  //===--- LowerAddresses.cpp ---===//
  mlir::LogicalResult lowerAddPtr(triton::AddPtrOp op);
  mlir::LogicalResult lowerMakeTensorPtr(triton::MakeTensorPtrOp op);
  mlir::LogicalResult lowerAdvance(triton::AdvanceOp op);
  mlir::LogicalResult lowerMakeDescriptor(triton::MakeTensorDescOp op);
  mlir::FailureOr<Addresses> findAddresses(Operation *user, Value source);
  mlir::FailureOr<TensorBlock> findBlock(Operation *user, Value source);

  //===--- LowerMemory.cpp ---===//
  mlir::FailureOr<TensorBlock> findBlockAt(Operation *op, Value descriptor,
                                           mlir::ValueRange indices);
  /// A view of memory and where a tile begins in it.
  struct TileView {
    Value view;
    llvm::SmallVector<Value> indices;
    bool inBounds;
    /// The shape of what is read: a dimension that does not move is 1.
    llvm::SmallVector<int64_t> shape;
  };
  TileView openView(const Addresses &addresses, TileMask mask,
                    llvm::ArrayRef<int64_t> shape);
  TileView openBlock(const TensorBlock &block, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int32_t> checked);
  Value makeView(Value memory, Value offset, llvm::ArrayRef<Value> sizes,
                 llvm::ArrayRef<Value> strides,
                 llvm::ArrayRef<int64_t> staticSizes);
  Value loadView(const TileView &view, mlir::RankedTensorType type);
  mlir::LogicalResult lowerLoad(triton::LoadOp op);
  mlir::LogicalResult lowerLoadScalar(triton::LoadOp op);
  /// Where the elements of a tile are, one by one.
  struct TilePlaces {
    Value offsets; ///< from the memory's first element: a tile of index
    Value mask;    ///< those that are meant: a tile of i1; null: all
  };
  TilePlaces findPlaces(const Addresses &addresses, TileMask mask,
                        llvm::ArrayRef<int64_t> shape);
  void lowerGather(triton::LoadOp op, const Addresses &from,
                   const TileMask &mask);

  //===--- LowerStores.cpp ---===//
  mlir::LogicalResult lowerStore(triton::StoreOp op);
  mlir::LogicalResult lowerAtomic(triton::AtomicRMWOp op);
  /// Stores or adds `tile`, a tile of `shape` or one number, where `pointers`
  /// and the mask `given`, which may be null, say.
  mlir::LogicalResult write(Operation *op, Value pointers, Value given,
                            llvm::ArrayRef<int64_t> shape, Value tile,
                            bool add);
  /// Where the elements of `tile`, a tile of `shape` or one number, go in
  /// memory by steps. Of a number it makes a tile.
  mlir::FailureOr<TileView> openTarget(Operation *op, Addresses to,
                                       const TileMask &mask,
                                       llvm::ArrayRef<int64_t> shape,
                                       Value &tile);
  mlir::LogicalResult storeView(Operation *op, const TileView &view,
                                Value tile);

  //===--- LowerMemory.cpp, blocks ---===//
  mlir::LogicalResult loadBlock(Operation *op, const TensorBlock &block,
                                llvm::ArrayRef<int32_t> checked,
                                bool padsWithNan);
  mlir::LogicalResult lowerDescriptorLoad(triton::DescriptorLoadOp op);
  mlir::LogicalResult lowerDescriptorStore(triton::DescriptorStoreOp op);
  mlir::FailureOr<TileMask> maskOf(Operation *op, Value mask, Value pointer);

  //===--- LowerControl.cpp ---===//
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerAssert(Operation *op, Value condition,
                                  llvm::StringRef message, bool promise);
  /// Whether `branch` computes numbers of numbers alone, none of which were
  /// reduced, without memory, and says nothing of them.
  bool isOfScalars(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerScalarIf(mlir::scf::IfOp branch, Value condition);
  mlir::LogicalResult lowerGuardedIf(mlir::scf::IfOp branch, Value condition);
  /// What is lowered next happens only where `condition` is `expected`, too.
  void narrowGuard(Value condition, bool expected);

  //===--- LowerLoops.cpp ---===//
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult yieldParts(Operation *loop, mlir::ValueRange yielded,
                                 mlir::ValueRange inits,
                                 mlir::ValueRange carried,
                                 mlir::ValueRange lowered);
  bool isMadeIn(mlir::Region &region, Value source);
  /// The values that a loop carries for `source`, appended to `parts`.
  mlir::LogicalResult appendParts(Operation *user, Value source,
                                  llvm::SmallVectorImpl<Value> &parts);
  /// The same as a loop's argument `carried` has them.
  mlir::LogicalResult appendCarried(Operation *user, Value source,
                                    Value carried,
                                    llvm::SmallVectorImpl<Value> &parts);
  void findReduced();
  void findComputed();
  /// Makes `target` what `like` is, of `parts`, which are taken off.
  void assignParts(Value target, Value like, mlir::ValueRange &parts);
  /// Whether `value` is carried as `like` is: steps do not change in a loop.
  mlir::LogicalResult checkParts(Operation *user, Value value, Value like);

  triton::FuncOp func;
  tile::KernelOp kernel;
  mlir::ImplicitLocOpBuilder b;
  IndexMath math{b};
  /// Whether what is read and written here is: there are no branches around
  /// tiles, which not every target has. Null: it is.
  Value guard;
  mlir::IRMapping values;
  llvm::DenseMap<Value, AffineTile> integers;
  llvm::DenseMap<Value, TileMask> masks;
  llvm::DenseMap<Value, Addresses> addresses;
  llvm::DenseMap<Value, TensorBlock> blocks;
  /// Numbers that are computed of what was reduced from a tile: they are tiles
  /// of one element.
  llvm::DenseSet<Value> reduced;
  /// Integer tiles that may follow no steps: loops carry their elements.
  llvm::DenseSet<Value> computed;
};

/// Calls `reach` with the arguments and results that a value becomes by `use`
/// in a loop, or at the end of a loop or branch. False: the use is another one.
bool forCarried(mlir::OpOperand &use,
                llvm::function_ref<void(mlir::Value)> reach);

/// What makes a vector, `source`, of a tile of two dimensions for reductions
/// alone, which then are of all of its elements; null: it is none.
triton::ReshapeOp findWhole(mlir::Value source);

/// A division of integers in `block`, which must not be computed where the
/// block is not meant to run; null: there is none.
mlir::Operation *findDivision(mlir::Block &block);

/// The shape of a tile; none of a scalar.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getShape() : llvm::ArrayRef<int64_t>();
}

} // namespace fa

#endif // FA_LIB_CONVERSION_TRITONTOTILE_TRITONLOWERING_H

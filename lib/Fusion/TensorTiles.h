//===- TensorTiles.h - tiles of tensors and where they lie ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of a kernel on tensors has a tile of the results, along two axes or
// one, and one index of each other axis. Tiles at an end are cut off by loads
// and stores.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_TENSORTILES_H
#define FA_LIB_FUSION_TENSORTILES_H

#include "KernelBody.h"
#include "SizeNames.h"
#include "TensorPart.h"

#include <map>

namespace fa {

/// A side of a tile: elements along an axis, or along none.
struct TileSide {
  std::optional<AxisId> axis = std::nullopt;
  int64_t size = 0; ///< 0: there is no such side
  /// Which tile it is, where the axis has exactly the side's elements.
  std::optional<AxisId> outer = std::nullopt;
  mlir::Value offset = {}; ///< of the first element
};

/// Where a tile is: along rows and, unless it has rank 1, columns.
struct TilePlace {
  TileSide rows, columns;

  llvm::SmallVector<int64_t> shape() const {
    llvm::SmallVector<int64_t> sizes = {rows.size};
    if (columns.size)
      sizes.push_back(columns.size);
    return sizes;
  }
};

/// What kernels on tensors need to see parts of their arguments.
class TensorTiles : protected KernelBody {
protected:
  TensorTiles(mlir::OpBuilder &builder, const TensorPart &part, bool promises,
              const ForwardRules &rules)
      : KernelBody(builder, mlir::func::FuncOp(part.function).getLoc()),
        part(part), names(builder.getContext()), promises(promises),
        rules(rules) {}

  //===--- Axes and sides (TensorSides.cpp) ---===//

  int64_t sizeOf(AxisId axis) const { return part.axes.sizeOf(axis); }
  bool isDynamic(AxisId axis) const {
    return mlir::ShapedType::isDynamic(sizeOf(axis));
  }
  bool isDot() const {
    return mlir::isa<tile::DotOp>(part.nodes[*part.sum].value.getDefiningOp());
  }
  /// The number of a result among the kernel's arguments.
  unsigned resultArgument(size_t n) const {
    return mlir::func::FuncOp(part.function).getNumArguments() + n;
  }

  /// The axis along which tiles have many elements: what is fastest in memory
  /// if it is long enough, else the longest.
  std::optional<AxisId> chooseAxis(llvm::ArrayRef<AxisId> axes) const;

  /// Of `most` elements, or what the axis has.
  int64_t tileSize(std::optional<AxisId> axis, int64_t most) const;

  /// The side along one of `axes`, which is taken from them, of `most` elements
  /// at most. What whole sides make up is split: then no tile is cut off.
  TileSide takeSide(AxisList &axes, int64_t most);

  /// What a fetch of several elements wants rows to begin at multiples of, in
  /// bytes.
  static constexpr int64_t kRowAlignment = 16;
  /// Whether rows of `type` do, if they are neighbours in memory.
  static bool beginsAligned(mlir::ShapedType type);

  /// Whether a producer could fetch tiles of a dot's operand `number`, whose
  /// rows in memory go along `first` or `second`.
  bool isFetched(unsigned number, std::optional<AxisId> first,
                 std::optional<AxisId> second) const;
  /// Of a dot, at most.
  ProductTile dotTile() const;

  /// Chooses the sides of tiles, and which axes have one index in a program.
  void chooseSides();

  /// Programs of a product that run at a time have tiles of few rows and few
  /// columns, which a cache holds: all columns of some rows come first.
  bool isGrouped() const;
  /// The numbers of this program's tile along rows and columns.
  std::pair<Value, Value> numbersOfTile();
  /// Finds this program's tile and its indices of other axes.
  void placeSides();

  //===--- What lies in memory (TensorTiles.cpp) ---===//

  /// The axes of `dims` in the order of memory; none for a dimension of
  /// size 1.
  llvm::SmallVector<std::optional<AxisId>>
  flatten(llvm::ArrayRef<AxisList> dims) const;

  /// Whether `first` is a faster one of `dims` than `second`.
  bool isAcross(llvm::ArrayRef<AxisList> dims, std::optional<AxisId> first,
                std::optional<AxisId> second) const;

  /// The size of `axis` in terms of sizes of the results.
  mlir::AffineExpr sizeName(AxisId axis);

  /// `memory`, of dimensions `dims`, with a dimension for each axis.
  Value expand(Value memory, llvm::ArrayRef<AxisList> dims);

  /// The memory of `node`, which is read, with a dimension for each axis. The
  /// first time that is asked for stands before all loops.
  Value memoryOf(unsigned number);

  /// The same of the memory of a result.
  Value memoryOfResult(size_t n);

  /// A number of the function, computed before all loops.
  Value scalarOf(Value value);

  /// The loop around the place where the builder is that is in no other one.
  mlir::Operation *outermost();

  /// How long `axis` is, of which something in memory is made.
  Value sizeValue(AxisId axis);

  /// What is at this program's indices of `memory`, along the sides of `place`
  /// that it has, in the order of memory.
  Value viewAt(Value memory, llvm::ArrayRef<AxisList> dims,
               const TilePlace &place);

  /// Whether `node` has elements along `side`.
  bool hasSide(const TensorNode &node, const TileSide &side) const;

  /// `value`, a number or a tile along one side of a place, its rows
  /// if `alongRows`, at all of `place`.
  Value spread(Value value, const TilePlace &place, bool alongRows);

  /// A boolean has a byte of its own in memory, of which any but 0 is true.
  Value toBoolean(Value bytes);

  /// The tile at `place` of what is in memory.
  Value load(unsigned number, const TilePlace &place);

  /// The transposed tile of rank 2.
  Value transposed(Value value);

  /// The index along `dim` of an iota, a number or a tile at `place`.
  Value indexAlong(const AxisList &dim, const TilePlace &place);

  TensorPart part;
  SizeNames names;
  bool promises; ///< rows of arguments are neighbours in memory, and aligned
  const ForwardRules &rules;
  TileSide rows, columns, depth;
  AxisList fixed;      ///< of which a program has one index each
  AxisList outerDepth; ///< that are summed over, beside that of `depth`
  llvm::DenseMap<AxisId, Value> indices;

private:
  /// How many tiles `side` has.
  Value countTiles(const TileSide &side);

  std::map<unsigned, Value> memories, resultMemories;
};

} // namespace fa

#endif // FA_LIB_FUSION_TENSORTILES_H

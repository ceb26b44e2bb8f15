//===- HostContext.h - one tile.kernel as a host function -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a tile program becomes vector code.
//
// Vector lanes run along dimension 0 of every tile: the queries. A tile of
// M x N is kept transposed, N rows of M contiguous elements, so that a dot is
// `acc[n][lanes of m] += b[k, n] * a[k][lanes of m]` with scalar broadcasts of
// b read where it lies, and a row reduction needs no horizontal operation.
// 16-bit floats are held as f32 and rounded where the program rounds.
//
// A tile value is in one of three states:
//  - lazy: an elementwise operation, broadcast, iota, ... is evaluated where it
//    is needed, at one coordinate at a time (`evaluate`);
//  - buffered: dots, reductions, loads and what a loop carries have memory of
//    the kernel's scratch;
//    products of bf16 pairs take their operands in pairs (LowerPairDot.cpp);
//  - pending: a dot whose only user is an online softmax is computed by that,
//    so that scores go through their modification and mask in registers.
//
// Blocks whose rows no store keeps are not computed.
//
// A kernel of few rows (decode) is lowered along rows instead: tiles lie as in
// memory, and lanes run along dimension 1 (RowForm.cpp).
//
// The context is what lowerings share: the kernel, the builder, what stands for
// each value. A lowering is a function of the context and an operation, in the
// file of its kind, whose last function registers it (../LoweringRegistry.h).
// What files have for each other is in HostDots.h, HostMemory.h and
// HostSoftmax.h, the walk and the list of files in HostLowerings.h.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTCONTEXT_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTCONTEXT_H

#include "../LoweringRegistry.h"
#include "HostKernel.h"
#include "TileBuffer.h"

#include "Tile/ColumnLimit.h"
#include "Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// Upper limits of the columns that a row sees.
using ColumnLimits = mlir::SmallVector<tile::ColumnLimit, 0>;

class HostContext {
public:
  using Value = mlir::Value;

  /// `kernel` is at S3.
  HostContext(tile::KernelOp kernel, const VectorShape &shape);

  //===--- Scratch (Scratch.cpp) ---===//
  TileBuffer allocate(mlir::RankedTensorType type, TileForm form);
  /// `count` rows of `type`, not widened.
  TileBuffer allocateRows(int64_t count, mlir::RankedTensorType type);
  Value allocate(mlir::MemRefType type);
  /// The buffer that `result` of the current op shall be written to: that of
  /// the loop-carried value it becomes if nobody reads the old value later.
  TileBuffer bufferForResult(Value result);
  /// `value` in memory in the given form, evaluated there if need be.
  TileBuffer materialize(Value value, TileForm form);
  void copyInto(Value value, TileBuffer buffer);

  //===--- Lazy values (Evaluate.cpp) ---===//
  /// `value` at `coords`: a vector if one coordinate has lanes and the value
  /// depends on it, else a scalar. Null after an error.
  Value evaluate(Value value, mlir::ArrayRef<TileCoord> coords);
  Value evaluateVector(Value value, mlir::ArrayRef<TileCoord> coords);
  Value readBuffer(TileBuffer buffer, mlir::ArrayRef<TileCoord> coords);
  Value toVector(Value scalarOrVector);

  //===--- Loops ---===//
  /// Calls `body(row, vectors)` for blocks of whole registers over `rows`; with
  /// `end`, of the widest blocks for those that begin before it.
  void forRowBlocks(int64_t rows, llvm::function_ref<void(Value, int64_t)> body,
                    Value end = {});
  /// Calls `body(row)` for every `step`-th of the `rows` of a tile, up to the
  /// last that is kept.
  void forLiveRows(int64_t rows, int64_t step,
                   llvm::function_ref<void(Value)> body);
  /// Calls `body(column, carried)`, which gives what is carried on, for every
  /// vector of `columns`, a multiple of lanes.
  mlir::SmallVector<Value> forVectors(
      int64_t columns, mlir::ValueRange carried,
      llvm::function_ref<mlir::SmallVector<Value>(Value, mlir::ValueRange)>
          body);

  //===--- Numbers and types ---===//
  int64_t lanes() const { return shape.lanes; }
  int64_t paddedRows(int64_t rows) const {
    return llvm::divideCeil(rows, lanes()) * lanes();
  }
  /// How tiles are held.
  TileForm tileForm() const {
    return alongRows ? TileForm::Natural : TileForm::Lanes;
  }
  Value constantIndex(int64_t value);
  Value constantVector(double value);
  Value addIndex(Value base, int64_t offset);
  mlir::VectorType vectorType(mlir::Type element);
  /// The type in which elements are computed: f32 for narrower floats.
  mlir::Type computeType(mlir::Type element);
  Value mapped(Value value) { return mapping.lookupOrDefault(value); }

  LoweringRegistry registry;
  tile::KernelOp kernel;
  VectorShape shape;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;
  mlir::IRMapping mapping; ///< scalars and memrefs of the kernel -> function
  llvm::DenseMap<Value, TileBuffer> buffers;
  /// Operands of pair dots.
  llvm::DenseMap<Value, TileBuffer> pairBuffers;
  /// Of left operands of dots: the columns beyond are not there.
  llvm::DenseMap<Value, ColumnLimits> limitsOf;
  /// Buffers of the values that the enclosing loops carry, by region argument.
  llvm::DenseMap<Value, TileBuffer> carriedBuffers;
  /// While a pending dot's block is emitted: its accumulator at the coordinate
  /// that is being evaluated.
  llvm::DenseMap<Value, Value> dotElement;
  bool alongRows = false;
  bool tiles = false;     ///< whether there are tile dots
  bool narrowExp = false; ///< whether P is rounded to 15 bits or fewer
  Value liveRows;         ///< how many rows are kept, null if all
  Value scratch;
  int64_t scratchTop = 0;
  int64_t scratchBytes = 0;

private:
  bool isReadAfter(Value value, mlir::Operation *op);
  Value evaluateElementwise(mlir::Operation *op,
                            mlir::ArrayRef<TileCoord> coords);
  /// The same, without a look at what was evaluated.
  Value evaluateNewElementwise(mlir::Operation *op,
                               mlir::ArrayRef<TileCoord> coords);

  /// What the elements that are being evaluated have asked for: a value may be
  /// read more than once.
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<Evaluated, 1>> evaluated;
  unsigned evaluationDepth = 0;
};

/// Whether `op` on tiles is evaluated where its result is needed.
bool isLazy(mlir::Operation *op);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTCONTEXT_H

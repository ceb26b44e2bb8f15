//===- SizeTable.h - sizes that are known, and agree ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of a function's tensors as numbers or as arguments' dimensions.
// What operations ask of them either holds, becomes a rule of the arguments'
// sizes, which a launch checks, or cannot be checked.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_SIZETABLE_H
#define FA_LIB_FUSION_SIZETABLE_H

#include "UnfusedKernel.h"

#include "Tile/Tile.h"

namespace fa {

/// A size: what it is, if that is known, and the argument's dimension that it
/// is the size of, if there is one; of keys in pages the product of two.
struct TensorSize {
  int64_t argument = -1, dim = 0;
  int64_t number = -1;                ///< -1: known at launch
  int64_t factor = -1, factorDim = 0; ///< the other argument of a product

  bool isProduct() const { return factor >= 0; }
  TensorSize factorSize() const { return {factor, factorDim}; }
  static TensorSize of(int64_t number) { return {-1, 0, number}; }
  bool hasName() const { return argument >= 0; }
  bool isKnown() const { return number >= 0; }
};

/// All of these questions are answered with false where what they ask for
/// cannot be checked before a launch.
class SizeTable {
public:
  using Value = mlir::Value;

  explicit SizeTable(mlir::MLIRContext *context) : context(context) {}

  static int64_t rankOf(Value value);
  bool contains(Value value, int64_t dim) const {
    return sizes.contains({value, dim});
  }
  TensorSize lookup(Value value, int64_t dim) const {
    return sizes.lookup({value, dim});
  }
  void set(Value value, int64_t dim, TensorSize size) {
    sizes[{value, dim}] = size;
  }
  /// The sizes that are those of an argument.
  void addTo(ArgumentSizes &named) const;

  void add(tile::SizeRuleKind kind, TensorSize x, TensorSize y);
  mlir::ArrayRef<mlir::Attribute> getRules() const { return rules; }

  /// Dimension d of `x` is as large as dimension e of `y`; one of them may not
  /// be known yet.
  bool unite(Value x, int64_t d, Value y, int64_t e);
  bool uniteAll(Value x, Value y);
  /// `rows` has the dimensions of `full` but for `dim`.
  bool dropDim(Value rows, Value full, int64_t dim);
  /// Dimension d of `y` divides that of `x`.
  bool shares(Value x, Value y, int64_t d);
  /// The dynamic sizes of `result` are `values`: sizes of tensors or numbers.
  bool setDynamic(Value result, mlir::ValueRange values);

private:
  /// Dimension d of `x`, of which the number is known, takes the name of `y` if
  /// that is of the same size.
  bool adopt(Value x, int64_t d, TensorSize y);
  bool require(TensorSize x, TensorSize y);

  mlir::MLIRContext *context;
  llvm::DenseMap<std::pair<Value, int64_t>, TensorSize> sizes;
  mlir::SmallVector<mlir::Attribute> rules;
};

//===----------------------------------------------------------------------===//
// What operations of attention ask for (AttentionSizes.cpp)
//===----------------------------------------------------------------------===//

bool understandAttention(SizeTable &sizes, tile::OnlineAttentionOp op);
bool understandBackward(SizeTable &sizes, tile::AttentionBackwardOp op);
bool understandPaged(SizeTable &sizes, tile::PagedOp op);

} // namespace fa

#endif // FA_LIB_FUSION_SIZETABLE_H

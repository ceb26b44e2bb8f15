//===- BlockLists.h - blocks that are listed --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_BLOCKLISTS_H
#define FA_LIB_FUSION_BLOCKLISTS_H

#include "ArgumentView.h"
#include "RuleList.h"

#include "Tile/Tile.h"

namespace fa {

/// What an attention or its gradients say of the blocks that are walked: of
/// keys, for each block of queries (tile.block_lists), or of queries, for each
/// block of keys (tile.query_lists).
struct BlockLists {
  /// Numbers of captures: i32 [b, hq, sq / queries, most] and [..., 2], or
  /// [b, hkv, sk / keys, most] and [..., 2].
  unsigned blocks, counts;
  int64_t queries, keys; ///< of a block
  bool ofQueries;
  ArgumentView blockView, countView;

  /// The keys' lists of `attention`, whose operands are views of a function's
  /// arguments, `captures` those of its captured tensors; none if it has none,
  /// if intervals of keys are all of its mask, or if sizes of arguments do not
  /// say how many blocks there are.
  template <typename OpT>
  static std::optional<BlockLists>
  matchKeys(OpT attention, const ArgumentView &q, const ArgumentView &k,
            llvm::ArrayRef<ArgumentView> captures);

  /// The queries' lists of gradients, in the same way; none if intervals of
  /// queries are all of the mask.
  static std::optional<BlockLists>
  matchQueries(tile::AttentionBackwardOp gradients, const ArgumentView &q,
               const ArgumentView &k, llvm::ArrayRef<ArgumentView> captures);

  /// Adds that queries and keys come in whole blocks, each listed.
  void addRules(RuleList &rules, const ArgumentView &q,
                const ArgumentView &k) const;

private:
  template <typename OpT>
  static std::optional<BlockLists>
  match(OpT op, llvm::StringRef name, const ArgumentView &q,
        const ArgumentView &k, llvm::ArrayRef<ArgumentView> captures);
};

/// The blocks of one list.
class BlockWalk {
public:
  /// `blocks` and `counts` are the lists' memory, `at` the numbers of batch,
  /// head and block that the list is of, and `numBlocks` how many blocks of
  /// `rowsOfBlock` rows can be listed.
  BlockWalk(mlir::ImplicitLocOpBuilder &b, int64_t rowsOfBlock,
            mlir::Value blocks, mlir::Value counts,
            llvm::ArrayRef<mlir::Value> at, mlir::Value numBlocks);

  /// How many rows the blocks have that are seen whole, and all of them:
  /// places 0 to `all` are walked.
  mlir::Value whole, all;

  /// The number of the block at `place`. Whatever the list says, one of those
  /// that there are.
  mlir::Value blockAt(mlir::Value place);
  /// The first row of a tile of `rows` rows at `place`, which lies in `block`.
  mlir::Value rowAt(mlir::Value block, mlir::Value place, int64_t rows);

private:
  mlir::Value index(int64_t value);
  /// Between 0 and `most`.
  mlir::Value clamped(mlir::Value number, mlir::Value most);
  mlir::Value countRows(mlir::Value counts, int64_t number);

  mlir::ImplicitLocOpBuilder &b;
  int64_t rowsOfBlock;
  mlir::Value blocks;
  llvm::SmallVector<mlir::Value> at; ///< of the list
  /// How many blocks a list has room for, and how many of them there may be.
  mlir::Value most, mostSeen;
  mlir::Value lastBlock; ///< that can be listed
};

} // namespace fa

#endif // FA_LIB_FUSION_BLOCKLISTS_H

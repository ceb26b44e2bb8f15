//===- BlockLists.h - blocks of keys that are listed ------------*- C++ -*-===//
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

/// What an attention says of the blocks that are walked (tile.block_lists).
struct BlockLists {
  /// Numbers of captures: i32 [b, hq, sq / queries, most] and [..., 2].
  unsigned blocks, counts;
  int64_t queries, keys; ///< of a block
  ArgumentView blockView, countView;

  /// Those of `attention`, whose operands are views of a function's arguments,
  /// `captures` those of its captured tensors; none if it has none, if
  /// intervals of keys are all of its mask, or if sizes of arguments do not say
  /// how many blocks there are.
  static std::optional<BlockLists> match(tile::OnlineAttentionOp attention,
                                         const ArgumentView &q,
                                         const ArgumentView &k,
                                         llvm::ArrayRef<ArgumentView> captures);

  /// Adds that queries and keys come in whole blocks, each listed.
  void addRules(RuleList &rules, const ArgumentView &q,
                const ArgumentView &k) const;
};

/// The blocks that rows of one block of queries walk.
class BlockWalk {
public:
  /// `blocks` and `counts` are the lists' memory, `row` the number of the block
  /// of queries of `batch` and `head`, and `numKeys` how many keys there are.
  BlockWalk(mlir::ImplicitLocOpBuilder &b, const BlockLists &lists,
            mlir::Value blocks, mlir::Value counts, mlir::Value batch,
            mlir::Value head, mlir::Value row, mlir::Value numKeys);

  /// How many keys the blocks have that are seen whole, and all of them:
  /// places 0 to `all` are walked.
  mlir::Value whole, all;

  /// The first key of a tile of `columns` keys at `place`. Whatever the list
  /// says, one of those that there are.
  mlir::Value keyAt(mlir::Value place, int64_t columns);

private:
  mlir::Value index(int64_t value);
  /// Between 0 and `most`.
  mlir::Value clamped(mlir::Value number, mlir::Value most);
  mlir::Value countKeys(mlir::Value counts, int64_t number);

  mlir::ImplicitLocOpBuilder &b;
  int64_t keysOfBlock;
  mlir::Value blocks;
  llvm::SmallVector<mlir::Value> at; ///< of the list
  mlir::Value most;                  ///< how many blocks a list has room for
  mlir::Value lastBlock;             ///< of the keys
};

} // namespace fa

#endif // FA_LIB_FUSION_BLOCKLISTS_H

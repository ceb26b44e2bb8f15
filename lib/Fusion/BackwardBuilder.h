//===- BackwardBuilder.h - builds kernels of gradients at S3 ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_BACKWARDBUILDER_H
#define FA_LIB_FUSION_BACKWARDBUILDER_H

#include "BackwardFunction.h"
#include "KernelBody.h"
#include "KeyLoops.h"

#include "fa/Plan/Backward.h"

namespace fa {

/// Builds one kernel of a chain: what programs own, and the row statistics
/// (BackwardBuilder.cpp), the way along queries or keys
/// (BackwardLoops.cpp), a KV head with all of its queries
/// (BackwardWhole.cpp), the gradient of a captured tensor
/// (BackwardCapture.cpp), that of a table (BackwardTable.cpp), and that of
/// numbers of heads or of all (BackwardHeads.cpp).
class BackwardBuilder : KernelBody {
public:
  /// `ownsHeads`: whether programs of the chain's first kernel do.
  BackwardBuilder(mlir::OpBuilder &builder, const BackwardFunction &source,
                  const PlannedBackward &plan, bool ownsHeads,
                  const CapturedGradient *captured)
      : KernelBody(builder, tile::AttentionBackwardOp(source.op).getLoc()),
        source(source), op(source.op), part(plan.part), ownsHeads(ownsHeads),
        captured(captured), shape(plan.shape) {
    if (plan.ofKeys)
      dk = source.dk;
    if (plan.ofValues)
      dv = source.dv;
  }

  tile::KernelOp build(mlir::StringRef name, mlir::StringRef entry);

private:
  using Values = mlir::SmallVector<Value>;

  /// Tiles that a step computes with: rows of Q, dO, K and V, and the
  /// log-sum-exp in base 2 and delta of the queries.
  struct Tiles {
    Value q, dout, k, v, lse, delta;
    Value turnedK; ///< Kᵀ, of whole heads
  };
  /// Where a step is: its first query and key, and whether some score of its
  /// tile may be masked.
  struct Place {
    Value query, key;
    bool partial;
  };

  //===--- What a program owns (BackwardBuilder.cpp) ---===//
  void openArguments();
  void findProgram();
  /// Sets the rows of the packed sequence that `batch` is.
  void findSequences();
  void buildStatistics();
  void buildQueryGradients();
  void buildKeyGradients();
  Value memoryOf(const ArgumentView &view);
  /// `rows` of head `number` of `memory`, [b, h, s, d] or [b, h, s], packed
  /// without b: [s, d] or [s].
  Value rowsOf(Value memory, Value number, const Sequence &rows);
  /// Tensor `number` of workspace, of this head: sums of dO · O (0) or the
  /// log-sum-exp (1).
  Value statistics(unsigned number);
  /// Where those of a packed sequence begin, in each head's row.
  Value firstStatistic();
  /// A tile of `rows` rows of `view`, from row `first` on.
  Value load(Value view, int64_t rows, Value first, bool inBounds = false);
  /// The sums of dO · O, less dlse, of `rows` queries.
  Value loadDelta(int64_t rows, Value first);
  Value zeros(int64_t rows, Value memory);
  /// Stores `sum` as the gradient `of`, from where the program's tile begins.
  void store(Value sum, const ArgumentView &of, Value headNumber,
             const Sequence &rows);
  /// A scale's product with `value`.
  Value scaled(Value value);
  int64_t columnsOf(Value memory);

  //===--- The way along (BackwardLoops.cpp) ---===//
  /// dQ of the program's queries, if it is wanted, and the sums over the keys
  /// of what the gradients of heads have as terms.
  Values walkKeys(const Tiles &owned, mlir::ValueRange initial);
  /// dK and dV, those of them that are wanted, of the program's keys: the
  /// queries of all heads of the group.
  Values walkQueries(const Tiles &owned, mlir::ValueRange initial);
  /// Walks the blocks of `numBlocks` that `lists` has for block `block` of head
  /// `number`: those that are seen whole, then the others, a loop each.
  template <typename BuildLoop>
  Values walkListed(const BlockLists &lists, Value number, Value block,
                    Value numBlocks, mlir::ValueRange initial,
                    BuildLoop buildLoop);
  /// Tiles of queries `from` to `to`, rounded up or down.
  Value countTiles(Value from, Value to, bool up);
  /// Where each head of the group has `ofEach` of something, one head's behind
  /// the other's: which of its head's number `number` is; sets `head`.
  Value findHead(Value number, Value ofEach);
  /// The first query of tile `number` of those from query `begin` on.
  Value firstOfTile(Value number, Value begin);
  /// The first query of the tile at `place` of the walk; sets `head`.
  Value findListedQuery(Value place);
  Values buildQueryLoop(const KeyLoop &loop, const Tiles &owned,
                        mlir::ValueRange state);
  /// The products and what is between them. Rows of scores are the program's.
  Value buildX(const Tiles &tiles);
  Value buildP(Value x, const Tiles &tiles, const Place &place, Value mask);
  /// p · (Z ∘ dp − delta), Z the factors of dropout, and that times what
  /// `region` gives, masked.
  Value buildDs(Value p, Value dp, const Tiles &tiles, const Place &place);
  Value timesSlope(Value ds, mlir::Region &region, Value x, const Place &place,
                   Value mask);
  Value isInside(int64_t dim, Value first, Value size);
  Value buildMask(const Place &place);
  mlir::SmallVector<RegionValue> regionArguments(const Place &place);
  Value applyToScores(mlir::Region &region, Value x, const Place &place);
  /// Numbers of queries, for each score.
  Value spread(Value queries);
  Value filled(double value);
  /// Rounds a tile of scores, `computed`, to the type of `loaded`, which it is
  /// multiplied with; with `wide_p` widens that.
  void makeAlike(Value &computed, Value &loaded);
  /// left · right, of which the first is computed.
  Value accumulate(Value left, Value right, Value sum);
  tile::DotPrecision precisionOf(Value operand);

  //===--- A KV head with all of its queries (BackwardWhole.cpp) ---===//
  void buildWhole();
  /// Builds `body` for each tile of queries of the group, which `head` and
  /// `tileStart` are those of.
  void forQueriesOfGroup(llvm::function_ref<void()> body);
  /// What dQ of this head is summed in, [s, d].
  Value querySums();
  /// Rows of `memory`, [s, d], as columns.
  Value turned(Value memory);
  /// `count` of them, from where the program's tile begins.
  Value loadTurned(Value memory, int64_t count);
  /// Adds dS K to dQ of the queries from `first` on.
  void addToQueries(Value ds, Value turnedK, Value first);

  //===--- A captured tensor (BackwardCapture.cpp) ---===//
  /// Where a program of a captured tensor's gradient is and what it walks.
  struct CaptureWalk {
    Value query, key;            ///< of the tile that it owns; null: walked
    Value tiles, heads, batches; ///< that it walks, 1 of what it owns
    Value ownHead, ownBatch;     ///< null: walked
  };
  void buildCaptureGradient();
  CaptureWalk findCaptureWalk();
  Place findCaptureStep(Value step, const CaptureWalk &walk);
  Value buildContribution(const Place &place);
  /// Stores `sum`, whose rows, or rows and columns, begin at the number that
  /// `owned` has for their coordinate (kComputed: the place in a table); of
  /// others that is the place.
  void storeCapture(Value sum, const ArgumentView &of,
                    mlir::ArrayRef<int64_t> reads, mlir::ArrayRef<Value> owned);

  //===--- A table (BackwardTable.cpp) ---===//
  void buildTableGradient();
  /// The tiles of scores that a program walks, of each head.
  struct TableWalk {
    Value queryTiles, keyTiles; ///< there are so many of them
    /// What places are, if they are distances; of two the second one where
    /// `condition`, a value of the score region, holds.
    mlir::SmallVector<AffineForm, 2> distances;
    Value condition, tilesOfDistance; ///< of keyTiles, of one distance
  };
  TableWalk findTableWalk();
  Value findFirstKey(AffineForm distance, Value query, Value first);
  Value beginOfTile(Value key);
  Value buildPlaces(const TableWalk &walk, const Place &place, Value number);
  /// Adds to `sums`, of queries and `count` places from `first` on, those of
  /// `terms` whose place that is.
  Value addAtPlaces(Value sums, Value terms, Value places, Value first,
                    Value count);

  //===--- Numbers of heads or of all (BackwardHeads.cpp) ---===//
  void buildHeadsGradient();
  /// `memory`, [b, h, s] or a tensor of workspace, for this batch: [h, s].
  /// Packed it has no b, and is cut out for this sequence.
  Value headsOf(Value memory);
  Value countHeads();
  Value countSlots();
  /// A tile of it: of the program's heads, from query `first` on.
  Value loadHeads(Value memory, Value first);
  /// What queries from `first` on add.
  Value buildHeadsTerm(Value first);
  Value buildSinkTerm(Value first);
  /// The sums of the rows of `terms`, in the first column of zeros.
  Value inFirstColumn(Value terms);
  /// Stores the sum of the first column of `sums`, whose others are 0, as the
  /// gradient of what there is one number of, or one for each batch.
  void storeTotal(Value sums, Value ownBatch);

  /// Whether some region looks at scale · q kᵀ.
  bool looksAtX() { return !op.getScore().empty() || !op.getEffects().empty(); }
  /// Whether rows of scores are keys.
  bool ownsKeys() const {
    return part == BackwardPart::Keys || part == BackwardPart::Whole ||
           (part == BackwardPart::Capture && !captured->readsAt(2));
  }
  mlir::RankedTensorType scoreType(mlir::Type element) {
    return tile({shape.rows, shape.columns}, element);
  }

  const BackwardFunction &source;
  tile::AttentionBackwardOp op;
  BackwardPart part;
  bool ownsHeads;
  const CapturedGradient *captured;   ///< whose kernel this is, if it is one's
  std::optional<ArgumentView> dk, dv; ///< what is computed of a program's keys
  KernelShape shape;
  MaskRule rule;
  Value qMemory, kMemory, vMemory, doutMemory; ///< [b, h, s, d] or [h, s, d]
  Sequence queryRows, keyRows;                 ///< of this batch
  Value kvHead, group, tileStart, scale;
  Value length; ///< of the keys that there are for this batch and head
  std::optional<BlockWalk> walk; ///< over blocks that are listed
};

} // namespace fa

#endif // FA_LIB_FUSION_BACKWARDBUILDER_H

//===- LoopProof.h - that a kernel's loops compute attention ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop of online softmax carries rows m and l and a tile a, however they are
// called and ordered, of which a sum and an accumulator are made:
//
//     Z = l · exp(m) or exp(l) or l        N = a · exp(m) or a · Z
//
// (or the same with exp2). It computes attention if a step adds to them
//
//     Z' = Z + Σ_j exp(s_j)                N' = N + Σ_j exp(s_j) · v_j
//
// of the same scores s, which depend on nothing that is carried, if Z and N are
// 0 before it and the output is N / Z. What m is does not matter: it cancels.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_LOOPPROOF_H
#define FA_LIB_CONVERSION_RAISEATTENTION_LOOPPROOF_H

#include "TileReader.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa::raise {

/// Where a proof ends, and why.
struct Refusal {
  mlir::Operation *at = nullptr;
  std::string why;
};

/// Keys that are added: by a loop, or once.
struct Stage {
  mlir::scf::ForOp loop; ///< null: once
  mlir::Block *block;    ///< what computes the scores
  Sum score;             ///< of axes kRow and kSummed, natural base
  mlir::Value value;     ///< loaded, of axes kSummed and kColumn, or turned
  std::vector<int> valueAxes;
};

/// What was proved of a kernel.
struct ProvenLoops {
  tile::StoreOp output;
  tile::StoreOp lse;  ///< null: none
  double lseBase = 1; ///< what the stored logarithm is multiplied by to be ln
  /// What the output and the log-sum-exp are if nothing else is stored.
  std::vector<TileReader::Choice> outputChoices, lseChoices;
  mlir::Value sink; ///< one more score of a row, or null
  std::vector<Stage> stages;
  std::string form; ///< how the state is carried, for a report
  /// A program has one query: what tiles are elsewhere has columns alone.
  bool isOneRow = false;
};

class LoopProof {
public:
  using Value = mlir::Value;

  LoopProof(tile::KernelOp kernel, ExponentialSums &sums, TileReader &reader)
      : kernel(kernel), sums(sums), reader(reader), dividing(sums) {}

  /// Nothing, with a refusal, if the kernel is not attention by this proof.
  std::optional<ProvenLoops> prove(Refusal &refusal);

private:
  /// Which results of a loop the state is, and how it is carried.
  struct State {
    int64_t acc = -1, sum = -1, max = -1; ///< numbers; -1: none
    enum Form { SumAndMax, SumAlone, Logarithm } form = SumAndMax;
    bool isNormalized = false; ///< acc is divided by Z
    double base = 1;           ///< of the exponentials: 1, or ln 2
  };
  struct Values {
    Value acc, sum, max;
  };

  //===--- What the kernel has (LoopCandidates.cpp) ---===//
  /// Whether `type` has several rows and several columns, or the columns of the
  /// only row.
  bool isTile(mlir::Type type) const;
  /// Whether it has one number for each row.
  bool isRows(mlir::Type type) const;
  /// `value`, which is one or the other, by the axes of an element.
  Sum readRow(TileReader &reader, Value value) const;
  bool findStores(Refusal &refusal);
  bool findLoops();
  llvm::SmallVector<State> listStates();

  //===--- The proof (LoopProof.cpp) ---===//
  bool proveStraight(Refusal &refusal);
  bool proveState(State state);
  bool proveStart(const State &state);
  bool proveEnd(const State &state);
  /// The failed attempt that came furthest is what is reported.
  void note(unsigned level, size_t length, mlir::Operation *at,
            std::string why);

  //===--- Sums and accumulators (LoopSteps.cpp) ---===//
  /// Z or N of the state's values.
  Sum totalOf(TileReader &from, const State &state, const Values &values);
  Sum accumulatorOf(TileReader &from, const State &state, const Values &values);
  std::optional<Stage> matchAdded(const Sum &total, const Sum &accumulator,
                                  mlir::scf::ForOp loop, mlir::Operation *at);
  bool dependsOnState(const Sum &score, mlir::scf::ForOp loop);

  //===--- Guards (LoopGuards.cpp) ---===//
  bool proveGuards(Refusal &refusal);
  bool isMaximumOfScores(Value value, const Stage &stage);
  bool isSumOfExponentials(Value value);

  tile::KernelOp kernel;
  ExponentialSums &sums;
  TileReader &reader;
  TileReader dividing; ///< divisors are factors
  /// Of what follows the loops.
  std::optional<TileReader> ofOutput, ofLse;
  ProvenLoops proven;
  std::vector<mlir::scf::ForOp> loops;
  State found;
  Refusal best;
  std::pair<unsigned, int64_t> bestLevel = {0, 0};
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_LOOPPROOF_H

//===- Backward.h - the kernels of an attention's gradients -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients are computed by a chain of kernels, none of which adds to what
// another program adds to, so that they have the same bits in each run: one
// that makes row statistics (delta, and the log-sum-exp in base 2), one whose
// programs own queries and walk keys (dQ, three dots), and one whose programs
// own keys and walk the queries of all heads of a group (dK and dV, four dots).
// Of wide heads a warpgroup has registers for one of the last two sums: there
// is a kernel for dV (two dots) and one for dK (three).
// Two dots are computed twice; in turn nothing is added in memory (Dao,
// "FlashAttention-2", arXiv 2307.08691, section 3.2, has one kernel and adds).
// On a host, where programs are as long as one likes, there is a chain in which
// a program owns a KV head with all of its queries: it walks both, makes the
// statistics itself, and adds dQ in workspace that no other program has. That
// is five dots, with the same bits, for launches whose heads keep all threads
// busy.
// Where the gradient of a bias is wanted, one more kernel has programs that own
// a tile of it and walk all scores that read it, with two dots more; where a
// table is read at places that are computed, distances for instance, they look
// in each score for the places that they own. What heads have one number of,
// slopes or sinks, and what is one number for all, is summed over rows: of
// slopes beside dQ.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_BACKWARD_H
#define FA_PLAN_BACKWARD_H

#include "fa/Plan/AttentionFacts.h"
#include "fa/Plan/ForwardRules.h"
#include "fa/Plan/KernelShape.h"

#include <vector>

namespace fa {

/// What a kernel of the chain computes: row statistics, dQ, dK and dV of a KV
/// head; row statistics alone, dQ and terms of `Heads` by rows, dK and dV, the
/// gradient of a tensor that scores read at queries or keys, that of a table
/// that they read at places which are computed, or that of what has a number
/// for each head or for all. Of the last three there is a kernel for each
/// gradient.
enum class BackwardPart { Whole, Rows, Queries, Keys, Capture, Table, Heads };

/// One kernel of a chain. Rows of its shape are queries, of `Keys` and `Whole`
/// keys, and columns the other ones; of `Heads` rows are heads and columns
/// queries. A program of `Table` owns as many places as there are columns.
struct PlannedBackward {
  BackwardPart part;
  llvm::StringLiteral suffix; ///< of its name, behind that of its chain
  KernelShape shape;
  /// Its warps are specialized: the schedule keeps it or the kernel behind it.
  bool isAlternative = false;
  /// Of `Keys`: whether dK, and dV, is computed.
  bool ofKeys = true, ofValues = true;
};

/// Kernels of one launch, one after the other.
struct PlannedChain {
  llvm::StringLiteral suffix; ///< of the names of its kernels
  std::vector<PlannedBackward> kernels;
  /// Its first kernel is one of `Whole`, which is for dQ, dK and dV together.
  bool ownsHeads = false;
};

/// The chains of the gradients of an attention, in the order in which a launch
/// looks for one that takes its arguments; the last one takes any. An error
/// says that head dimensions are too large for shared memory.
llvm::Expected<std::vector<PlannedChain>>
planBackward(const AttentionFacts &facts, const ForwardRules &rules);

} // namespace fa

#endif // FA_PLAN_BACKWARD_H
